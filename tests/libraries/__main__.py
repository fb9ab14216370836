"""Programs of libraries that nobody here wrote, with small random models: the device against the CPU in one process.

`python -m tests.libraries transformers timm peft accelerate lightning trainer [--only NAME] [--from NAME]` prints one
JSON object: of each library how many programs were equal to the CPU's, and what was not. `transformers/20` runs one of
twenty, the first, and `transformers/20+1` the one after it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", ACCELERATE_TORCH_DEVICE="weir:0")

import torch

SUITES = {
    "transformers": "architectures",
    "timm": "pictures",
    "peft": "adapters",
    "accelerate": "accelerated",
    "lightning": "fitted",
    "trainer": "trainers",
}


def main() -> None:
    import weir.torch

    from node_agent.sessions.execution.core import Session
    from tests.libraries import torchvision_operators
    from tests.libraries.comparing import Programs
    from tests.sessions.inprocess import InProcessLink

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY[/EVERY[+FIRST]]", help=", ".join(SUITES))
    parser.add_argument("--only", default="", help="run what has this in its name")
    parser.add_argument(
        "--from", dest="begin", default="", help="run what comes from this name on, by the alphabet"
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    torchvision_operators.declare()
    weir.torch.attach(InProcessLink(Session("cpu", 4096)))
    found = {}
    for library in asked.libraries:
        name, _, part = library.partition("/")
        every, _, first = part.partition("+")
        tally = Programs(int(every or 1), int(first or 0), asked.begin)
        importlib.import_module(f"tests.libraries.{SUITES[name]}").suite(tally, asked.only)
        found[name] = tally.as_json()
    # Some of the libraries write lines of their own: this one is the last.
    print(json.dumps(found))


if __name__ == "__main__":
    main()
