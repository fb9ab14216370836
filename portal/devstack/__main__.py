"""`python -m portal.devstack up|serve|down|reset`."""

import argparse
import sys

from portal.devstack import up
from portal.devstack.errors import LocalError
from portal.devstack.options import EmptyOptions, Options, options_read

# What each does, and with which defaults.
_VERBS = {
    "up": (up.up, Options),
    "serve": (up.up, EmptyOptions),
    "down": (up.down, Options),
    "reset": (up.reset, Options),
}


def main() -> int:
    """Do what was asked; a refusal is one line and status 1."""
    parser = argparse.ArgumentParser(prog="python -m portal.devstack", description=__doc__)
    parser.add_argument("verb", choices=_VERBS)
    arguments = parser.parse_args()
    act, defaults = _VERBS[arguments.verb]
    try:
        act(options_read(defaults))
    except LocalError as error:
        print(f"weir: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
