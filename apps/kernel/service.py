"""`@service`: one transaction, one actor, one recorded act. Every write of the product goes through one."""

import inspect
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from django.db import transaction

from apps.kernel import case_mirror, wiring
from apps.kernel.actor import CURRENT_ACT, Act, Actor, plain_value
from apps.kernel.errors import Forbidden, ReadOnly

P = ParamSpec("P")
R = TypeVar("R")
_SECRET = ("password", "token", "secret", "credential", "session_key", "hook_url")
_SCALARS = (str, int, float, bool, Decimal, UUID, date, Enum)
_MAX_DETAIL = 200


def service(
    permission: str = "", *, recorded: bool = True, joins: bool = False, own: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a service.

    It takes keyword arguments only, `actor` among them; runs in one transaction (a nested service joins it);
    demands `permission` of the actor first; and leaves an act unless `recorded` is False (high-volume machine
    traffic, which has records of its own). Nested, it may be undone alone by whoever catches its error; not so if it
    `joins`: its error undoes the whole transaction, and it costs no savepoint. What somebody does to his `own` account
    and messages a read-only role allows too (PLAT-TEN-32); everything else it refuses.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        _demand_signature(function)

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            actor = kwargs["actor"]
            assert isinstance(actor, Actor), "a service wants an Actor as `actor`"
            if permission:
                actor.require(permission)
            if actor.is_read_only and not own and CURRENT_ACT.get() is None:
                raise ReadOnly()
            act = Act(name=function.__name__, actor=actor, detail=_detail(kwargs))
            return _run(function, act, kwargs, recorded, joins)

        run.permission = permission  # type: ignore[attr-defined]
        run.is_service = True  # type: ignore[attr-defined]
        return run

    return decorate


def refusal_record(actor: Actor, method: str, path: str, error: Forbidden) -> None:
    """Keep that somebody known asked for what his role does not allow (PLAT-LOG).

    Called where a request is answered: what was asked for has left no trace, and its transaction is over.
    """
    if not actor.is_user:
        return
    detail = {"method": method, "path": path[:_MAX_DETAIL], **{k: str(v) for k, v in error.fields.items()}}
    act_keep(Act("act_refused", actor, subject_kind="address", subject_id=path[:64], detail=detail))


def act_keep(act: Act) -> None:
    """Keep an act that no service did, in a transaction of its own."""
    with transaction.atomic():
        for record in wiring.recorders():
            record(act)


def _demand_signature(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    if "actor" not in parameters or any(p.kind is not p.KEYWORD_ONLY for p in parameters.values()):
        raise TypeError(
            f"{function.__qualname__}: a service takes keyword-only arguments, `actor` among them"
        )


def _run(function: Callable[..., R], act: Act, kwargs: dict[str, Any], recorded: bool, joins: bool) -> R:
    outermost = CURRENT_ACT.get() is None
    current = CURRENT_ACT.set(act)
    guard = case_mirror.mirror_open() if outermost else None
    try:
        with transaction.atomic(savepoint=not joins):
            result = function(**kwargs)
            if outermost:
                case_mirror.mirror_check()
            if recorded:
                for record in wiring.recorders():
                    record(act)
            return result
    finally:
        CURRENT_ACT.reset(current)
        if guard is not None:
            case_mirror.mirror_close(guard)


def _detail(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The scalar arguments, without secrets, shortened: enough to answer "with what?"."""
    return {
        name: plain_value(value) if not isinstance(value, str) else value[:_MAX_DETAIL]
        for name, value in kwargs.items()
        if name != "actor" and isinstance(value, _SCALARS) and not any(word in name for word in _SECRET)
    }
