"""PyTorch's own databases against device and CPU, in a process of its own: an abort fails the test, not the run.

`python -m tests.sessions.databases operators modules optimizers derivatives [--only NAME]` prints one JSON object: of
each suite how many samples were equal to the CPU's, and what was not. `modules/100` runs one sample of a hundred,
`modules/100/7` the eighth of each hundred. With `--device cuda:0` the session computes on a card.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial

import torch

from tests.sessions.databases import derivatives, modules, operators, optimizers
from tests.sessions.databases.comparing import Tally, reference_set

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
    parser.add_argument("databases", nargs="+", metavar="DATABASE[/EVERY[/FIRST]]", help=", ".join(DATABASES))
    parser.add_argument("--only", default="", help="run what has this in its name")
    parser.add_argument("--device", default="cpu", help="what the session computes on")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    reference_set(asked.device)
    weir.torch.attach(InProcessLink(Session(asked.device, 1024)))
    found = {}
    for database in asked.databases:
        chosen, *steps = database.split("/")
        for name, suite in DATABASES[chosen].items():
            tally = Tally(*map(int, steps))
            suite(tally, asked.only)
            found[name] = tally.as_json()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
