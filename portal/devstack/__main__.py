"""`python -m portal.devstack up|down|reset`."""

import argparse
import sys

from portal.devstack import up
from portal.devstack.errors import LocalError
from portal.devstack.options import options_read

_VERBS = {"up": up.up, "down": up.down, "reset": up.reset}


def main() -> int:
    """Do what was asked; a refusal is one line and status 1."""
    parser = argparse.ArgumentParser(prog="python -m portal.devstack", description=__doc__)
    parser.add_argument("verb", choices=_VERBS)
    arguments = parser.parse_args()
    try:
        _VERBS[arguments.verb](options_read())
    except LocalError as error:
        print(f"weir: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
