"""The console script: what has to hold before the command line is imported, and when its packages are missing."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


class _Stopped(SystemExit):
    """A signal came while `serve` was starting."""


def main() -> None:
    """Run `warmline` with the arguments of the process."""
    if sys.argv[1:2] == ["serve"]:
        # Until the server listens to these signals itself. Not by KeyboardInterrupt: if one has passed through an
        # exec(), as in making a dataclass, Python ends as killed by SIGINT, whatever exit code it is given.
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, _stop)
    try:
        from .cli import run

        status = run(sys.argv[1:])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "warmline":
            raise
        print(
            f"warmline: the command line needs the package {error.name}, which is missing; "
            "install the serve extra with: pip install '.[serve]' in a clone of Warmline (make serve does it, too)",
            file=sys.stderr,
        )
        status = 1
    except KeyboardInterrupt:
        status = 130
    except _Stopped:
        print("stopped", file=sys.stderr)
        raise
    sys.exit(status)


def _stop(signum: int, frame: object) -> NoReturn:
    raise _Stopped(0)


if __name__ == "__main__":
    main()
