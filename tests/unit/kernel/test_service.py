"""The decorator's own contract, without a database: what it demands of a function and what it writes down."""

from decimal import Decimal
from uuid import UUID

import pytest

from apps.kernel import service as module
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import Forbidden
from apps.kernel.service import service

USER = Actor("user", "u", 1, "acme", "tenant_front_line", frozenset({"orders.apply"}))


def test_a_service_without_an_actor_is_refused_at_import():
    with pytest.raises(TypeError, match="actor"):

        @service()
        def lost(*, amount: int) -> None:
            """Nobody did it."""


def test_positional_arguments_are_refused_at_import():
    with pytest.raises(TypeError, match="keyword-only"):

        @service()
        def positional(amount: int, *, actor: Actor) -> None:
            """Easy to mix up."""


def test_permission_is_asked_before_anything_happens():
    done = []

    @service("billing.pay")
    def pay(*, actor: Actor) -> None:
        done.append(1)

    with pytest.raises(Forbidden) as refusal:
        pay(actor=USER)
    assert refusal.value.fields == {"permission": "billing.pay"}
    assert done == []


def test_the_system_may_do_everything_and_others_only_what_their_role_says():
    assert SYSTEM.may("anything.at_all")
    assert USER.may("orders.apply")
    assert not USER.may("orders.terminate")


def test_acts_keep_scalars_and_never_secrets():
    detail = module._detail(
        {
            "actor": USER,
            "uid": UUID(int=1),
            "amount": Decimal("1.5"),
            "password": "hunter2",
            "join_token": "s",
            "session_key": "of a browser that is signed in",
            "rows": object(),
            "note": "x" * 500,
        }
    )
    assert set(detail) == {"uid", "amount", "note"}
    assert detail["amount"] == "1.5"
    assert len(detail["note"]) == 200
