"""The console script. Says what to install when the packages of the service are missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `warmline` with the arguments of the process."""
    try:
        from .cli import run

        status = run(sys.argv[1:])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "warmline":
            raise
        print(
            f"warmline: the command line needs the package {error.name}, which is missing; "
            'install it with: pip install "warmline[serve]"',
            file=sys.stderr,
        )
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
