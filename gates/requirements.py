"""The table of requirements: what each of docs/requirements/ says, how far it is met, and which tests show it.

`python -m gates.requirements` writes docs/requirements/coverage.md; `--check` writes nothing and fails where the
table is old or something is wrong: a mark that names no requirement, a requirement that is said to work without a
test. Marks are read from the tests' source, so neither a database nor PyTorch is needed.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "requirements"
CATALOGUES = {
    "platform": "The platform (PLAT)",
    "pooling": "Pooling (POOL)",
    "elastic": "Elastic scheduling (ELA)",
    "jointcloud": "Jointcloud (JC)",
    "orchestration": "Orchestration (ORCH)",
}
STATES = ("works", "thin", "unverified", "none", "unread")
_ID = r"(?:PLAT|POOL|ELA|JC|ORCH)-[A-Za-z0-9.\-]*[A-Za-z0-9]"
_ENTRY = re.compile(rf"^(?:\|\s*({_ID})\s*\||#+\s+({_ID}(?<=\d))\s)")
_CITED = re.compile(rf"(?<![A-Za-z0-9-])({_ID})")


class State(NamedTuple):
    """How far one requirement is met, and in a sentence what lacks; `unread`: nobody has looked yet."""

    name: str = "unread"
    lacks: str = ""


def requirements(catalogue: str) -> list[str]:
    """The IDs of one catalogue, in its order: the first column of its tables and the headings that begin with one.

    The open questions of a source (JC-Q-…, ORCH-Q-…) are no requirements: decisions.md answers them.
    """
    found = (_ENTRY.match(line) for line in (FOLDER / f"{catalogue}.md").read_text().splitlines())
    return [name for name in dict.fromkeys(m[1] or m[2] for m in found if m) if "-Q-" not in name]


def states(catalogue: str) -> dict[str, State]:
    """The committed states of one catalogue."""
    file = FOLDER / "states" / f"{catalogue}.toml"
    if not file.exists():
        return {}
    return {name: State(*row) for name, row in tomllib.loads(file.read_text()).items()}


def marks(folder: Path = ROOT / "tests") -> dict[str, list[str]]:
    """For each ID named by a `@pytest.mark.req`, the test files that name it, sorted."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        # Most files have no mark and need not be parsed.
        for name in _marked(ast.parse(text)) if "mark.req" in text else ():
            found[name].add(str(path.relative_to(folder.parent)))
    return {name: sorted(files) for name, files in found.items()}


def _marked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "req":
            # What is not a plain text names no requirement, and is told as such.
            yield from (
                argument.value
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                else ast.unparse(argument)
                for argument in node.args
            )


def cited(text: str) -> list[str]:
    """The IDs that a text names; `POOL-12.3/E2` names POOL-12.3."""
    return _CITED.findall(text)


def known() -> set[str]:
    """All that may be cited: requirements, and what several of them share (PLAT-CLU, POOL-12, POOL-8.1)."""
    texts = ((FOLDER / f"{catalogue}.md").read_text() for catalogue in CATALOGUES)
    every = {name for text in texts for name in cited(text)}
    shared = {match[0] for name in every for match in re.finditer(r"^[A-Z]+-[A-Z0-9]+(?:\.\d+)?", name)}
    return (
        every
        | shared
        | {name.rsplit(".", 1)[0] for name in every}
        | {name.rsplit("-", 1)[0] for name in every}
    )


def faults(tests: Mapping[str, list[str]]) -> list[str]:
    """What is wrong with marks and states, a sentence each."""
    every = {name for catalogue in CATALOGUES for name in requirements(catalogue)}
    wrong = [
        f"{file}: marked {name}, which no catalogue has; docs/requirements/ lists the IDs"
        for name, files in tests.items()
        if name not in every
        for file in files
    ]
    for catalogue in CATALOGUES:
        names = set(requirements(catalogue))
        for name, state in states(catalogue).items():
            place = f"docs/requirements/states/{catalogue}.toml: {name}"
            if name not in names:
                wrong.append(f"{place} is not in {catalogue}.md")
            if state.name not in STATES:
                wrong.append(f"{place} is {state.name!r}; the states are {', '.join(STATES)}")
            if state.name == "works" and name not in tests:
                wrong.append(f"{place} is said to work and no test is marked with it")
    return wrong


def table(tests: Mapping[str, list[str]]) -> str:
    """The text of coverage.md."""
    parts = [_HEAD, _summary(tests)]
    for catalogue, title in CATALOGUES.items():
        known_states = states(catalogue)
        parts += [f"## {title}", "", f"What each says: [{catalogue}.md]({catalogue}.md).", ""]
        parts += ["| ID | State | Tests | What lacks |", "|---|---|---|---|"]
        for name in requirements(catalogue):
            state = known_states.get(name, State())
            lacks = state.lacks.replace("|", "\\|")
            shown = ", ".join(_link(file) for file in tests.get(name, []))
            parts.append(f"| {name} | {state.name} | {shown} | {lacks} |")
        parts.append("")
    return "\n".join(parts)


_HEAD = """# Requirements: state and tests

Written by `make requirements` from the marks of the tests and from `states/`; never by hand. *works*: it can be done
by page, API or command and a test shows it; *thin*: part of it; *unverified*: built and tested, not yet on what it
names (hardware, mostly); *none*: not there; *unread*: nobody has yet held the code against it. A test beside a
requirement shows at least part of it.
"""


def _summary(tests: Mapping[str, list[str]]) -> str:
    lines = [f"| | all | {' | '.join(STATES)} | with a test |", "|---|" + "---:|" * (len(STATES) + 2)]
    for catalogue, title in CATALOGUES.items():
        names, known_states = requirements(catalogue), states(catalogue)
        counts = Counter(known_states.get(name, State()).name for name in names)
        figures = [len(names), *(counts[state] for state in STATES), sum(name in tests for name in names)]
        lines.append(f"| {title} | {' | '.join(map(str, figures))} |")
    return "\n".join([*lines, ""])


def _link(file: str) -> str:
    return f"[{file.removeprefix('tests/').removesuffix('.py')}](../../{file})"


def main(arguments: list[str] | None = None) -> int:
    """Write the table, or only check; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gates.requirements", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the table is old")
    asked = parser.parse_args(arguments)
    tests = marks()
    wrong = faults(tests)
    file, text = FOLDER / "coverage.md", table(tests)
    if asked.check and (not file.exists() or file.read_text() != text):
        wrong.append("docs/requirements/coverage.md is old: run `make requirements` and commit it")
    if not asked.check:
        file.write_text(text)
    for sentence in wrong:
        print(f"requirements: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
