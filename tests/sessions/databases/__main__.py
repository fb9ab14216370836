"""PyTorch's own databases against device and CPU, in a process of its own: an abort fails the test, not the run.

`python -m tests.sessions.databases operators modules optimizers derivatives [--only NAME]` prints one JSON object: of
each suite how many samples were equal to the CPU's, and what was not. `modules/100` runs one sample of a hundred.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial

import torch

from tests.sessions.databases import derivatives, modules, operators, optimizers
from tests.sessions.databases.comparing import Tally

Suite = Callable[[Tally, str], None]
DATABASES: dict[str, dict[str, Suite]] = {
    "operators": {
        "forward": partial(operators.suite, needs_grad=False),
        "backward": partial(operators.suite, needs_grad=True),
    },
    "modules": {"modules": modules.suite},
    "optimizers": {"optimizers": optimizers.suite},
    "derivatives": {"derivatives": derivatives.suite},
}


def main() -> None:
    import weir.torch

    from node_agent.sessions.execution.core import Session
    from tests.sessions.inprocess import InProcessLink

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("databases", nargs="+", metavar="DATABASE[/EVERY]", help=", ".join(DATABASES))
    parser.add_argument("--only", default="", help="run what has this in its name")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    weir.torch.attach(InProcessLink(Session("cpu", 1024)))
    found = {}
    for database in asked.databases:
        chosen, _, every = database.partition("/")
        for name, suite in DATABASES[chosen].items():
            tally = Tally(int(every or 1))
            suite(tally, asked.only)
            found[name] = tally.as_json()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
