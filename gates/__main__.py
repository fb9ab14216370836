"""The rules that ratchets hold: retired names, docstrings that lean, queries on foreign tables, templates.

`python -m gates` fails for what is new and for what is mended and still listed; `--shrink` takes the latter out.
"""

import argparse
import sys
from collections.abc import Callable

from gates import borders, docstrings, names, ratchet, template_lines

# The ratchet's name, what finds the offences, and what to do about one in a sentence.
RULES: dict[str, tuple[Callable[[], list[str]], Callable[[str], str]]] = {
    "names": (names.found, names.advice),
    "docstrings": (docstrings.found, docstrings.advice),
    "borders": (borders.found, borders.advice),
    "templates": (template_lines.found, template_lines.advice),
}


def new(rule: str) -> list[str]:
    """What this rule refuses, with what to do, a sentence each."""
    find, advice = RULES[rule]
    return [advice(offence) for offence in ratchet.beyond(rule, find())]


def main(arguments: list[str] | None = None) -> int:
    """Check every rule, or shrink its ratchet; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gates", description=__doc__)
    parser.add_argument("--shrink", action="store_true", help="take what is mended out of the ratchets")
    asked = parser.parse_args(arguments)
    wrong = []
    for rule, (find, _) in RULES.items():
        wrong += new(rule)
        if asked.shrink:
            ratchet.shrink(rule, find())
        wrong += [
            f"gates/ratchets/{rule}.txt forgives {offence!r}, which is mended: run `make ratchets` and commit it"
            for offence in ratchet.mended(rule, find())
        ]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
