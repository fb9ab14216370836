"""A file of queues against those that stand: what it would change, and all of it or nothing (ELA-1701)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.fleet.selectors import group_list
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.engine.model.types import Ordering
from apps.scheduling.errors import InvalidQueueFile
from apps.scheduling.events import QueueChanged
from apps.scheduling.models import Queue, QueueTenant, TenantShare, UserGroup
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.queue_config.reader import file_read
from apps.scheduling.queue_config.schema import PREEMPTS, Entry, FairShareIn, QueueFile
from apps.scheduling.selectors.entitlements.resource_tickets import user_groups_find
from apps.scheduling.selectors.queues.queue_state import FAIR, State, queue_state
from apps.scheduling.selectors.workloads import policy_get, queue_list
from apps.scheduling.services.queues import checks
from apps.scheduling.services.queues.queue_settings import (
    default_clear,
    policy_set,
    queue_remove,
    windows_put,
)
from apps.tenancy.selectors import tenant_get, tenant_list

FAIR_SHARE = "fairShare"


@dataclass(frozen=True)
class Change:
    """What becomes of a queue, or of the fair share: `act` is make, change or remove; `fields` has each setting's value
    before and after, in the words of the file."""

    name: str
    act: str
    fields: Mapping[str, tuple[Any, Any]]

    def __str__(self) -> str:
        told = ", ".join(f"{name} {before} → {after}" for name, (before, after) in self.fields.items())
        return f"{self.act} {self.name}" + (f": {told}" if told else "")


@dataclass(frozen=True)
class Outcome:
    """What a file changes, or changed. `kept`: queues that stand and that it does not name; `state`: what stood when
    this was found out, for `queue_file_apply`."""

    changes: tuple[Change, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    state: str


@service(P.MANAGE, recorded=False)
def queue_file_plan(*, actor: Actor, text: str, prune: bool = False) -> Outcome:
    """What `queue_file_apply` would do, and whether it would be refused; nothing is kept of it."""
    with transaction.atomic():
        found = _carry_out(actor, file_read(text), prune)
        transaction.set_rollback(True)
    return found


@service(P.MANAGE)
def queue_file_apply(*, actor: Actor, text: str, prune: bool = False, state: str = "") -> Outcome:
    """Bring the queues to what the file says, in one transaction; running work stays, the next cycle follows.

    Queues that it does not name stay; with `prune` they are removed, but for the default queue. Applying it twice
    changes nothing more. Raises InvalidQueueFile with the line, Conflict where it is no longer the `state` that was
    planned for: the queues are then as they were.
    """
    found = _carry_out(actor, file_read(text), prune, state)
    act_subject("queue_file", found.state, changes=[str(each) for each in found.changes])
    for each in found.changes:
        if each.name != FAIR_SHARE and each.act != "remove":
            emit(QueueChanged(code=each.name), actor=actor)
    return found


def _carry_out(actor: Actor, file: QueueFile, prune: bool, state: str = "") -> Outcome:
    # All queues are locked: what holds of a tree cannot be seen from one of them.
    standing = {
        row.code: row for row in Queue.objects.select_for_update().filter(retired_at=None).order_by("pk")
    }
    before = queue_state()
    if state and state != before.digest:
        raise Conflict(_("The queues were changed meanwhile."), cure=_("Plan once more and look at it."))
    for entry in file.entries:
        standing[entry.code] = standing.get(entry.code) or _made(entry)
    _default_put(file, standing)
    for entry in file.entries:
        _put(entry, standing)
    named = {entry.code for entry in file.entries}
    if prune:
        _prune(actor, named)
    _checked(file)
    if file.fair_share is not None:
        _fair_share_put(actor, file.fair_share)
    after = queue_state()
    kept = tuple(code for code in after.queues if code not in named)
    return Outcome(tuple(_changes(before, after)), kept, (*file.notes, *_notes(file)), before.digest)


def _made(entry: Entry) -> Queue:
    try:
        with transaction.atomic():
            return Queue.objects.create(code=entry.code, name_en=entry.code, name_zh=entry.code)
    except IntegrityError as error:
        raise Conflict(_("There is a queue %(code)s already.") % {"code": entry.code}) from error


def _put(entry: Entry, standing: Mapping[str, Queue]) -> None:
    row, settings = standing[entry.code], {**entry.settings, "is_default": standing[entry.code].is_default}
    if settings.get("parent") is not None:
        settings["parent"] = standing.get(settings["parent"])
        if settings["parent"] is None:
            cause = _("there is no queue %(code)s.") % {"code": entry.settings["parent"]}
            raise entry.refusal(cause, _("List it too, or name another one."), "parent")
    try:
        checks.changes_check(settings)
    except WeirError as error:
        raise _refused(entry, error) from error
    for name, value in settings.items():
        setattr(row, name, value)
    row.save()
    _tenants_put(entry, row)
    if entry.windows is not None:
        windows_put(row, entry.windows)
    if entry.user_groups is not None:
        row.user_groups.set(_groups(entry))


def _groups(entry: Entry) -> list[UserGroup]:
    try:
        return user_groups_find(entry.user_groups or ())
    except InvalidInput as error:
        raise entry.refusal(error.message, error.cure, "userGroups") from error


def _default_put(file: QueueFile, standing: Mapping[str, Queue]) -> None:
    """The queue that the file makes the default takes that from whichever is; one there is always (PLAT-CLU-50)."""
    chosen = [entry for entry in file.entries if entry.settings.get("is_default")]
    if len(chosen) > 1:
        cause = _("queue %(code)s is the default one already") % {"code": chosen[0].code}
        raise chosen[1].refusal(cause, _("Leave one of them the default."), "is_default")
    if chosen:
        default_clear()
        for row in standing.values():
            row.is_default = row.code == chosen[0].code
    for entry in file.entries:
        row = standing[entry.code]
        is_given_up = row.is_default and entry.settings.get("is_default") is False
        row.is_default = row.is_default and not is_given_up
        try:
            checks.default_check(row, was_default=is_given_up)
        except WeirError as error:
            raise entry.refusal(error.message, error.cure, "is_default") from error


def _tenants_put(entry: Entry, row: Queue) -> None:
    if entry.tenants is None:
        return
    admitted = []
    for schema in entry.tenants:
        try:
            admitted.append(tenant_get(schema))
        except NotFound as error:
            cause = _("there is no tenant %(code)s.") % {"code": schema}
            raise entry.refusal(cause, _("Name tenants by their codes."), "tenants") from error
    QueueTenant.plain.filter(queue=row).exclude(tenant__in=admitted).delete()
    for tenant in admitted:
        QueueTenant.plain.get_or_create(queue=row, tenant=tenant)


def _prune(actor: Actor, named: Collection[str]) -> None:
    """Take away what the file does not name, what is inside others first: but the default queue, and those of resource
    groups, which go with them. Raises QueueInUse."""
    rows = [row for row in queue_list() if row.code not in named and not row.is_default]
    groups = set(group_list().values_list("code", flat=True))
    for row in sorted(rows, key=_depth, reverse=True):
        if row.code not in groups:
            queue_remove(actor=actor, queue=row)


def _depth(row: Queue) -> int:
    return 0 if row.parent is None else 1 + _depth(row.parent)


def _checked(file: QueueFile) -> None:
    """What must hold of the whole tree, once all of it is written: in between it need not."""
    rows = {row.code: row for row in Queue.objects.filter(retired_at=None).select_related("parent")}
    parents = {code: row.parent.code if row.parent else None for code, row in rows.items()}
    for entry in file.entries:
        _cycle_check(entry, parents)
    for entry in file.entries:
        try:
            checks.bound_check(rows[entry.code])
            checks.tree_check(rows[entry.code])
        except WeirError as error:
            raise _refused(entry, error) from error


def _cycle_check(entry: Entry, parents: Mapping[str, str | None]) -> None:
    path: list[str] = [entry.code]
    while (above := parents[path[-1]]) is not None and above not in path:
        path.append(above)
    if above == entry.code:
        cause = _("A queue cannot be part of itself: %(path)s.") % {"path": " → ".join([*path, above])}
        raise entry.refusal(cause, _("Choose another queue to be part of, or none."), "parent")


def _refused(entry: Entry, error: WeirError) -> WeirError:
    """A refusal of one queue, with the line that asks for it."""
    told = " ".join([str(error.message), *(f"{name}: {text}" for name, text in error.fields.items())])
    return entry.refusal(told, error.cure, *error.fields)


def _fair_share_put(actor: Actor, wanted: FairShareIn) -> None:
    policy = policy_get()
    changes: dict[str, Any] = {}
    if wanted.enabled != (policy.ordering in FAIR):
        changes["ordering"] = (Ordering.FAIR_SHARE if wanted.enabled else Ordering.PRIORITY).value
    if (wanted.preemption == PREEMPTS) != policy.fair_share_preempts:
        changes["fair_share_preempts"] = wanted.preemption == PREEMPTS
    if changes:
        policy_set(actor=actor, changes=changes)
    if wanted.shares is not None:
        _shares_put(wanted.shares)


def _shares_put(shares: Mapping[str, int]) -> None:
    tenants = {tenant.schema_name: tenant for tenant in tenant_list().filter(schema_name__in=shares)}
    if unknown := sorted(shares.keys() - tenants.keys()):
        raise InvalidQueueFile(
            _("fairShare: there is no tenant %(code)s.") % {"code": ", ".join(unknown)},
            cure=_("Name tenants by their codes."),
        )
    TenantShare.plain.exclude(tenant__in=tenants.values()).delete()
    for code, share in shares.items():
        TenantShare.plain.update_or_create(tenant=tenants[code], defaults={"share": share})


def _notes(file: QueueFile) -> list[str]:
    """What the file counts on and the policy does not do."""
    policy, found = policy_get(), []
    if not policy.has_preemption and any(entry.settings.get("preempts") for entry in file.entries):
        found.append(_("Preemption is off as a whole: the policy decides before any queue does."))
    kept = any(entry.settings.get("guaranteed_compute_percent") for entry in file.entries)
    if not policy.has_reclaim and kept:
        found.append(_("Guarantees are not taken back from who borrowed them: the policy says so."))
    return found


def _changes(before: State, after: State) -> list[Change]:
    found = []
    for code in sorted(before.queues.keys() | after.queues.keys()):
        old, new = before.queues.get(code), after.queues.get(code)
        if old != new:
            act = "make" if old is None else "remove" if new is None else "change"
            found.append(Change(code, act, {} if new is None else _fields(old or {}, new)))
    if before.fair_share != after.fair_share:
        found.append(Change(FAIR_SHARE, "change", _fields(before.fair_share, after.fair_share)))
    return found


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        name: (old.get(name), value)
        for name, value in new.items()
        if name != "name" and old.get(name, _EMPTY.get(name)) != value
    }


# What a new queue has is not told where the file says nothing else.
_EMPTY = {
    "onlyBorrows": False, "priority": 0, "ordering": "", "placing": "", "resourceGroup": "", "borrowCapacity": 0,
    "guaranteedMemoryMiB": 0, "borrowMemoryMiB": 0, "reclaims": True, "tenants": [], "windows": [], "default": False,
    "oversubscribe": "FORCE", "userGroups": [],
}  # fmt: skip
