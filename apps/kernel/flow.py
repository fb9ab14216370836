"""`Flow`: a life cycle as a table of allowed moves, carried out by compare-and-set."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.case_mirror import mirror_touched
from apps.kernel.errors import Conflict


class MoveRefused(Conflict):
    """The state table has no such move: nothing was changed."""

    code = "move_refused"


class Flow:
    """The moves a model's state may make.

    Args:
        table: `{(from, to): permission}`; an empty permission means that the calling service decides.
        mirrored: the case kind whose mirror must follow each move, or "".
    """

    def __init__(self, table: Mapping[tuple[str, str], str], *, mirrored: str = "") -> None:
        self.table = dict(table)
        self.mirrored = mirrored

    def targets(self, state: str) -> frozenset[str]:
        """The states that can follow `state`."""
        return frozenset(to for (source, to) in self.table if source == state)

    def move(self, row: models.Model, to: str, *, actor: Actor, **changes: Any) -> None:
        """Move `row` to state `to`, setting `changes` with it; refuse without a trace when it is not allowed
        or when somebody else moved the row first."""
        source = row.state  # type: ignore[attr-defined]
        if (source, to) not in self.table:
            raise MoveRefused(_("It is %(state)s and cannot become %(to)s.") % {"state": source, "to": to})
        permission = self.table[(source, to)]
        if permission:
            actor.require(permission)
        if hasattr(row, "updated_at"):
            changes.setdefault("updated_at", timezone.now())
        rows = type(row)._base_manager.filter(pk=row.pk, state=source)
        if not rows.update(state=to, **changes):
            # Whoever comes second hears the same, however close behind.
            now = type(row)._base_manager.filter(pk=row.pk).values_list("state", flat=True).first()
            if now is not None and (now, to) not in self.table:
                raise MoveRefused(_("It is %(state)s and cannot become %(to)s.") % {"state": now, "to": to})
            raise Conflict(_("It is no longer %(state)s: somebody else moved it first.") % {"state": source})
        row.state = to  # type: ignore[attr-defined]
        for name, value in changes.items():
            setattr(row, name, value)
        if self.mirrored:
            mirror_touched(self.mirrored, row.uid)  # type: ignore[attr-defined]
