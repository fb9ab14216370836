"""Which files are ours, read and parsed once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREES = ("apps", "portal", "workflows", "node_agent", "client", "weir_wire", "gates")


@cache
def python() -> tuple[Path, ...]:
    """All Python of the product, without migrations and tests."""
    found = (path for tree in TREES for path in (ROOT / tree).rglob("*.py"))
    return tuple(sorted(path for path in found if not {"migrations", "build"} & set(path.parts)))


@cache
def text(path: Path) -> str:
    """What is written in one file. Rules look here first: to parse a file costs a hundred times as much."""
    return path.read_text()


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(text(path), str(path))


@cache
def templates() -> tuple[Path, ...]:
    """All templates."""
    return tuple(sorted((ROOT / "templates").rglob("*.html")))


def dotted(path: Path) -> str:
    """The name by which a file of ours is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
