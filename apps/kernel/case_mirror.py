"""A guard against mirror drift: a mirrored row moved in a service must be put in its case before commit."""

from contextvars import ContextVar

_dirty: ContextVar[dict[tuple[str, str], str] | None] = ContextVar("weir_mirror", default=None)


class MirrorDrift(AssertionError):
    """A programming error: a service changed a mirrored row and forgot its `case_put`."""


def mirror_open() -> object:
    return _dirty.set({})


def mirror_close(token: object) -> None:
    _dirty.reset(token)  # type: ignore[arg-type]


def mirror_touched(kind: str, uid: object) -> None:
    """Say that the row of `kind` with `uid` changed in a way its case shows."""
    rows = _dirty.get()
    if rows is not None:
        rows[(kind, str(uid))] = kind


def mirror_put(kind: str, uid: object) -> None:
    """Say that its case was written."""
    rows = _dirty.get()
    if rows is not None:
        rows.pop((kind, str(uid)), None)


def mirror_check() -> None:
    """Raise MirrorDrift when a touched row was not put."""
    rows = _dirty.get()
    if rows:
        raise MirrorDrift(f"changed without case_put: {', '.join(f'{kind} {uid}' for kind, uid in rows)}")
