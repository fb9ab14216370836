"""Every column that a command prints is a field of what the API answers: nothing stays empty because of its name."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from typer.testing import CliRunner
from weir import api_types
from weir.api import Client
from weir.cli import billing, ordering, resources, show
from weir.cli.centre import components, fleet, watching
from weir.cli.main import app
from weir.cli.work import workloads

UID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
MODULES = (billing, components, fleet, ordering, resources, watching, workloads)
# What a command is called with, where it needs anything; a report brings its own columns.
WORDS = {
    "bill": [UID],
    "claim": [UID],
    "confirm": [UID],
    "pay": [UID],
    "rollout": [UID],
    "node": [UID],
    "quote": [UID, "--amount", "cpu=1"],
    "apply": [UID, "--amount", "cpu=1", "--business-system", UID],
    "submit-form": [UID],
    "withdraw": [UID],
    "order": [UID],
    "resource": [UID],
    "usage": [UID],
    "alarm": [UID],
    "alarm-rule": ["queue_wait"],
    "eta": [],
    "explain": [UID],
}
ALONE = (
    "catalogue", "applications", "inbox", "orders", "systems", "resources", "arrays", "quota", "queue", "coupon-centre",
    "coupons", "bills", "bill-now", "account", "transactions", "messages", "nodes", "devices", "slices", "groups",
    "specs", "components", "releases", "release-keys", "rollouts", "pool-log", "alarms", "alarm-rules",
)  # fmt: skip
# A what-if of work not submitted has no place; a waiting one has nothing that could start now.
ELSEWHERE = {"eta": {"position"}}


def _sample(kind: Any) -> Any:
    """A value of a type with everything in it."""
    if is_typeddict(kind):
        return {name: _sample(inner) for name, inner in get_type_hints(kind).items()}
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (list, Iterator):
        return [_sample(inner[0])]
    if origin is Literal:
        return inner[0]
    if origin in (Union, UnionType):
        return _sample(next(each for each in inner if each is not type(None)))
    return {} if origin is dict else {str: "x", int: 1, float: 1.0, bool: True}.get(kind)


class Centre:
    """Answers each call of the client with all that its type says."""

    def __enter__(self) -> "Centre":
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is open."""

    def __getattr__(self, name: str) -> Any:
        told = get_type_hints(getattr(Client, name), localns=vars(api_types))["return"]
        return lambda *_words, **_options: _sample(told)


def _missing(row: Mapping[str, Any], key: str) -> bool:
    value: Any = row
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return True
        value = value[part]
    return isinstance(value, Mapping) and bool(value)


@pytest.mark.parametrize("name", [*WORDS, *ALONE])
def test_each_column_names_a_field_of_the_answer(name, monkeypatch):
    asked: list[tuple[Mapping[str, Any], str]] = []
    shown = show.cell
    monkeypatch.setattr(show, "cell", lambda row, key: asked.append((row, key)) or shown(row, key))
    for module in MODULES:
        monkeypatch.setattr(module, "caller", lambda _ctx: Centre())
    done = CliRunner().invoke(app, [name, *WORDS.get(name, [])], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert asked
    assert {key for row, key in asked if _missing(row, key)} <= ELSEWHERE.get(name, set())
