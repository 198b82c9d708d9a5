"""The console script: what has to hold before the command line is imported, and when its packages are missing."""

from __future__ import annotations

import signal
import sys

from .cli.interrupts import Stopped, stop_by


def main() -> None:
    """Run `warmline` with the arguments of the process."""
    command = next(iter(sys.argv[1:]), "")
    if command == "serve":
        stop_by(0, signal.SIGINT, signal.SIGTERM)  # until the server listens to these signals itself
    elif command in ("edit", "complete"):
        stop_by(130, signal.SIGINT)  # until the request is made
    try:
        from .cli.app import run

        status = run(sys.argv[1:])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "warmline":
            raise
        extra = "lsp" if command == "lsp" else "serve"
        print(
            f"warmline: the command line needs the package {error.name}, which is missing; install the {extra} extra "
            f"with: pip install '.[{extra}]' in a clone of Warmline (make serve does it, too)",
            file=sys.stderr,
        )
        status = 1
    except KeyboardInterrupt:
        status = 130
    except Stopped:
        print("stopped" if command == "serve" else "warmline: cancelled; no file was touched", file=sys.stderr)
        raise
    sys.exit(status)


if __name__ == "__main__":
    main()
