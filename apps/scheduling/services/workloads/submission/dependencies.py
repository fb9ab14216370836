"""Work that waits for other work (as in Slurm): what is named at its submission, and whether that holds.

What is named was submitted before, so in a circle nothing can wait. While it waits for other work the scheduler does
not see it; once let go its wait for room begins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.errors import InvalidInput
from apps.scheduling.models import Workload, WorkloadDependency
from apps.scheduling.permissions import work_reached
from apps.scheduling.states import FINAL_STATES, TURN_CODE, AfterWork, WorkloadState
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant

DEPENDENCIES_MOST = 20_000
"""So many may be written down by one call: of an array each task has its own."""
_NEVER = gettext_noop("%(work)s has ended otherwise than this work waits for: it could never start.")


@dataclass(frozen=True, slots=True)
class Waits:
    """What work is submitted to wait for and does not hold yet, with the work waited for, locked."""

    on: tuple[tuple[AfterWork, Workload], ...] = ()

    @property
    def reason(self) -> dict[str, object]:
        """Why it waits, as its row keeps it (`reason_of`)."""
        return reason_of(self.on)


NOTHING = Waits()


def reason_of(on: Sequence[tuple[str, Workload]]) -> dict[str, object]:
    """What work waits for, as its row keeps it: by kind the number and names of each, the first few."""
    shown = [[str(kind), row.no, row.name_en, row.name_zh] for kind, row in on[:REASON_SHOWN]]
    return {"works": shown, "more": len(on) - len(shown)}


REASON_SHOWN = 5
WAITING_CODE = "dependency"


def holds(kind: str, row: Workload) -> bool | None:
    """Whether what is waited for is so; None while that is open. What ended by itself and without an error has finished
    well; what was stopped or ran out of its time has not."""
    has_ended = row.state in FINAL_STATES
    is_well = row.state == WorkloadState.FINISHED and row.reason_code == "completed"
    match kind:
        case AfterWork.STARTED:
            return True if has_ended or row.started_at is not None else None
        case AfterWork.ENDED:
            return True if has_ended else None
        case AfterWork.OK:
            return is_well if has_ended else None
        case _:
            return not is_well if has_ended else None


def waits_read(
    actor: Actor, tenant: Tenant, asked: WorkloadRequest, known: Mapping[str, Workload] | None = None
) -> Waits:
    """What the work has to wait for of what it names; `known`: by the keys of one call, what was made in it before.

    The work waited for is locked, so that its end and this submission know of each other. Raises InvalidInput for what
    the actor does not reach, and for what can never hold.
    """
    named = {kind: getattr(asked, kind) for kind in AfterWork.values if getattr(asked, kind)}
    if not named:
        return NOTHING
    rows = _find(actor, tenant, {name for names in named.values() for name in names}, known or {})
    locked = {
        row.pk: row
        for row in Workload.plain.select_for_update(no_key=True)
        .filter(pk__in={row.pk for found in rows.values() for row in found})
        .order_by("pk")
    }
    on: dict[tuple[AfterWork, int], Workload] = {}
    for kind, names in named.items():
        for row in (locked[each.pk] for name in names for each in rows[name]):
            verdict = holds(kind, row)
            if verdict is False:
                raise InvalidInput(
                    _(_NEVER) % {"work": _called(row)},
                    cure=_("Name other work, or wait for its end whatever it is (after_any)."),
                    fields={kind: row.no},
                )
            if verdict is None:
                on[(AfterWork(kind), row.pk)] = row
    return Waits(tuple((kind, on[kind, pk]) for kind, pk in sorted(on, key=lambda each: each[1])))


def _find(
    actor: Actor, tenant: Tenant, names: set[str], known: Mapping[str, Workload]
) -> dict[str, list[Workload]]:
    """By what it is called (a number, also of an array, a uid, or the submitter's own key): the work."""
    reached = Workload.plain.filter(work_reached(actor), tenant=tenant)
    uids = {name: uid for name in names if (uid := _uid(name)) is not None}
    numbers = {name: name.upper() for name in names}
    mine = Q(client_key__in=names, submitted_by_id=actor.user_id)
    found = list(
        reached.filter(
            Q(no__in=numbers.values()) | Q(uid__in=uids.values()) | Q(array__no__in=numbers.values()) | mine
        ).select_related("array")
    )
    by_name: dict[str, list[Workload]] = {}
    for name in names:
        if name in known:
            by_name[name] = [known[name]]
            continue
        by_name[name] = [row for row in found if row.no == numbers[name] or row.uid == uids.get(name)]
        by_name[name] += [row for row in found if row.array is not None and row.array.no == numbers[name]]
        if not by_name[name]:
            by_name[name] = [row for row in found if row.client_key == name]
        if not by_name[name]:
            raise InvalidInput(
                _("There is no work %(name)s to wait for.") % {"name": name},
                cure=_(
                    "Name work of yours that was submitted before, by its number; in one call, by the key of a job that"
                    " stands before it. Work that waits for itself in a circle would never start."
                ),
                fields={"after": name},
            )
    return by_name


def _uid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _called(row: Workload) -> str:
    return f"{row.name} ({row.no})"


def dependencies_put(rows: Sequence[Workload], waits: Waits) -> None:
    """Write down what new work waits for; internal to its submission."""
    if len(rows) * len(waits.on) > DEPENDENCIES_MOST:
        raise InvalidInput(
            _("%(count)s works would wait for %(on)s each.") % {"count": len(rows), "on": len(waits.on)},
            cure=_("At most %(most)s such waits in one call: let one work stand between.")
            % {"most": DEPENDENCIES_MOST},
        )
    insert_many(
        [
            WorkloadDependency(workload_id=row.pk, on_id=on.pk, kind=kind)
            for row in rows
            for kind, on in waits.on
        ],
        keyed=False,
    )


def waits_again(row: Workload) -> dict[str, object]:
    """What suspended work that is resumed waits for, and says so: for other work still, for its turn in its array, or
    for nothing but room."""
    turn: dict[str, object] = {}
    if row.array is not None and row.array.at_once is not None:
        turn["waits_for_turn"] = True
    if not row.waits_for_work:
        reason = {"array": row.array.no, "at_once": row.array.at_once} if turn and row.array else {}
        return turn | {"reason_code": TURN_CODE if turn else "", "reason": reason}
    left = row.dependencies.filter(is_open=True).select_related("on")
    return turn | {"reason_code": WAITING_CODE, "reason": reason_of([(each.kind, each.on) for each in left])}
