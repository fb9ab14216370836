"""Docstrings that stand alone: each says by itself what its function, class or module does.

"The same for many." makes a reader look for what it is the same as, and is wrong after the next move.
"""

import ast
import re

from gates.sources import dotted, parsed, python, text

# How a docstring begins that leans on the one above it.
LEANING = re.compile(
    r"(One more|Once more|The same|Same|Likewise|Ditto|Dito|As above|See above|Also|And|So too|Just so|Another one)\b",
)
_MAY_LEAN = re.compile(rf"""["']\s*{LEANING.pattern}""")


def found() -> list[str]:
    """Each docstring that leans on another: `name: its first line`."""
    offences = []
    for path in python():
        if not _MAY_LEAN.search(text(path)):
            continue
        tree = parsed(path)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
                said = (ast.get_docstring(node) or "").split("\n", 1)[0]
                if LEANING.match(said):
                    name = dotted(path).rsplit(".", 1)[-1] if isinstance(node, ast.Module) else node.name
                    offences.append(f"{name}: {said}")
    return offences


def advice(offence: str) -> str:
    """What to do, in a sentence."""
    return f"{offence!r} leans on another docstring: say what this one does, with units and errors"
