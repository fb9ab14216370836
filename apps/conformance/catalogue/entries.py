"""The tests as data: what is done and what is expected, in both languages, and the level each counts for."""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence in both languages."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One functional test. `level` is the first of annex A that asks for it, 0 for a test of our own."""

    number: str
    level: int
    title: Text
    clauses: tuple[str, ...]
    preconditions: tuple[Text, ...]
    steps: Mapping[str, Text]
    expectations: Mapping[str, Text]
    nodes: int


LEVELS = {
    1: Text("Simple virtualisation", "简单虚拟化"),
    2: Text("Arbitrary virtualisation", "任意虚拟化"),
    3: Text("Remote call", "远程调用"),
    4: Text("Resource pooling", "资源池化"),
    5: Text("Heterogeneous pooling", "异构池化"),
}
_HERE = Path(__file__).parent


@cache
def standard() -> dict[str, Entry]:
    """The 27 tests of clause 12 by number, in the standard's order (POOL-12.1 to POOL-12.27)."""
    return _read("standard.toml")


@cache
def own() -> dict[str, Entry]:
    """Our tests of the clauses that no test of the standard covers, by clause."""
    return _read("own.toml")


def entry(number: str) -> Entry:
    """The test of this number. Raises KeyError."""
    return standard().get(number) or own()[number]


def required(level: int) -> tuple[str, ...]:
    """The tests that annex A asks for at a level."""
    return tuple(number for number, test in standard().items() if test.level <= level)


def level_reached(passed: Collection[str]) -> int:
    """The highest level whose whole column passed; 0 for none (POOL-A-0)."""
    reached = 0
    for level in LEVELS:
        if not set(required(level)) <= set(passed):
            break
        reached = level
    return reached


def _read(name: str) -> dict[str, Entry]:
    rows = tomllib.loads((_HERE / name).read_text(encoding="utf-8"))["test"]
    return {row["number"]: _entry(row) for row in rows}


def _entry(row: dict[str, Any]) -> Entry:
    level = row.get("level", 0)
    expects = [Text(*pair) for pair in row["expects"]]
    named = ", ".join(row["clauses"])
    clauses = Text(f"The clauses hold: {named}", f"符合条款要求：{named.replace(', ', '、')}")
    return Entry(
        number=row["number"],
        level=level,
        title=Text(row["en"], row["zh"]),
        clauses=tuple(row["clauses"]),
        preconditions=(*_places(row["nodes"]), *(Text(*pair) for pair in row.get("needs", []))),
        steps={f"S{n}": Text(*pair) for n, pair in enumerate(row["steps"], 1)},
        expectations={f"E{n}": text for n, text in enumerate([clauses, *expects], 1)},
        nodes=row["nodes"],
    )


def _places(nodes: int) -> tuple[Text, Text]:
    counted = "1 compute node" if nodes == 1 else f"At least {nodes} compute nodes"
    return Text("1 control node", "使用1个控制节点"), Text(
        counted, f"使用{'' if nodes == 1 else '至少'}{nodes}个计算节点"
    )
