"""Makes a network as work would have it, once.

`python -m node_agent.runtime.network.probe LEVEL`; the last line of its errors says what went wrong.
"""

from __future__ import annotations

import sys

from node_agent.runtime.network.rules import Rules
from node_agent.runtime.network.work_network import NetworkWanted, WorkNetwork
from node_agent.runtime.sandbox import become_subreaper


def main(level: str) -> int:
    """Exit code 0: it can be had."""
    become_subreaper()
    try:
        network = WorkNetwork(NetworkWanted(Rules() if level == "private" else None))
        network.ready()
    except OSError as error:
        print((error.strerror or str(error)).replace("\n", " "), file=sys.stderr)
        return 1
    network.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
