"""Words that the glossary has retired: in names of modules, classes and functions, and in titles of pages.

`python -m gates.names` says which names have one; docs/glossary.md says what to call the thing instead.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gates.sources import ROOT, parsed, python, templates, text

GLOSSARY = ROOT / "docs" / "glossary.md"
_ROW = re.compile(r"^\|(?!---)([^|]+)\|([^|]+)\|([^|]+)\|([^|]*)\|$", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_CLASS = re.compile(r"^\s*class\s+_*(\w+)", re.MULTILINE)
_TITLE = re.compile(r"{% block title %}(.*?){% endblock")
_TEXT = re.compile(r"""{% trans(?:late)? ["']([^"']+)["']""")


class Retired(NamedTuple):
    """What the glossary retires, each with the word that is kept for it."""

    words: dict[str, str]
    functions: dict[str, str]
    classes: dict[str, str]
    titles: dict[str, str]


def rows() -> list[tuple[str, str, str, str]]:
    """The rows of the glossary: word, Chinese, meaning, what is retired for it."""
    found = (tuple(cell.strip() for cell in row) for row in _ROW.findall(GLOSSARY.read_text()))
    return [(word, chinese, meaning, old) for word, chinese, meaning, old in found if word != "Word"]


def retired() -> Retired:
    """What the last column of the glossary says."""
    every = Retired({}, {}, {}, {})
    for word, _, _, old in rows():
        for name in re.findall(r"`([^`]+)`", old):
            if name.endswith("()"):
                every.functions[name.removesuffix("()")] = word
            else:
                (every.classes if name[0].isupper() else every.words)[name] = word
        for title in re.findall(r'"([^"]+)"', old):
            every.titles[title] = word
    return every


def found() -> list[str]:
    """Each retired name that stands in the tree: `module books`, `class FreedHold`, `function order_told`,
    `argument wish`, `title My processes`."""
    return [*_modules(), *_classes(), *_functions(), *_titles()]


def _modules() -> Iterator[str]:
    words = retired().words
    for path in python():
        name = path.parent.name if path.name == "__init__.py" else path.stem
        if set(name.split("_")) & set(words):
            yield f"module {name}"


def _classes() -> Iterator[str]:
    old = retired()
    for path in python():
        if not any(_is_retired(name, old) for name in _CLASS.findall(text(path))):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and _is_retired(name := node.name.lstrip("_"), old):
                yield f"class {name}"


def _functions() -> Iterator[str]:
    old = set(retired().functions)
    for path in python():
        if not any(word in text(path) for word in old):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                kind, name = "function", node.name
            elif isinstance(node, ast.arg):
                kind, name = "argument", node.arg
            else:
                continue
            if set(name.split("_")) & old:
                yield f"{kind} {name}"


def _is_retired(name: str, old: Retired) -> bool:
    return name in old.classes or bool({word.lower() for word in _WORD.findall(name)} & set(old.words))


def _titles() -> Iterator[str]:
    old = {title.lower() for title in retired().titles}
    for path in templates():
        for block in _TITLE.findall(path.read_text()):
            yield from (f"title {title}" for title in _TEXT.findall(block) if title.lower() in old)


def advice(offence: str) -> str:
    """What to call the thing instead, in a sentence."""
    kind, _, name = offence.partition(" ")
    old = retired()
    if kind == "title":
        cure = next(word for title, word in old.titles.items() if title.lower() == name.lower())
    elif kind in ("function", "argument"):
        cure = next(old.functions[word] for word in name.split("_") if word in old.functions)
    else:
        words = [word.lower() for word in _WORD.findall(name)] + name.split("_")
        cure = old.classes.get(name) or next(old.words[word] for word in words if word in old.words)
    return f'{offence}: the glossary retires this name; its word is "{cure}" (docs/glossary.md)'
