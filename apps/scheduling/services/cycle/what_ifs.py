"""Try settings on the past: asked for on the page or over the API, carried out by a worker. Nothing live changes."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.events import WhatIfAsked, WhatIfEnded
from apps.scheduling.models import WhatIf
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.forecasts.what_if import MOST_DAYS, past_check, what_if_get, what_ifs_open
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.snapshot.cluster import queues_read, rules_read
from apps.scheduling.states import WhatIfState
from apps.tenancy.selectors import tenant_get

Changes = Mapping[str, Mapping[str, Any]]
CHANGEABLE = frozenset({"policy", "queues", "quotas"})
# What decided on each submission when it came, and stays as it was.
_NOT_REPLAYED = frozenset({"is_default", "max_run_s", "oversubscribe", "max_jobs"})


@service(P.MANAGE)
def what_if_ask(*, actor: Actor, name: str, days: int, changes: Changes) -> WhatIf:
    """Ask what the last `days` days would have been under `changes`: `policy` (see `policy_set`), `queues` by code
    (see `queue_change`), `quotas` by tenant, totals by item. Settings that are refused there are refused here."""
    if not 1 <= days <= MOST_DAYS:
        raise InvalidInput(fields={"days": _("1 to %(most)s") % {"most": MOST_DAYS}})
    if not any(changes.values()) or set(changes) - CHANGEABLE:
        raise InvalidInput(_("Nothing is changed."), cure=_("Choose at least one setting to try."))
    untried = {name for each in changes.get("queues", {}).values() for name in _NOT_REPLAYED & set(each)}
    if untried:
        raise InvalidInput(fields=dict.fromkeys(untried, _("is not tried on the past")))
    past_check(days, timezone.now())
    rules_changed(actor, changes, days)
    row = WhatIf.objects.create(name=name, days=days, changes=dict(changes), made_by_id=actor.user_id)
    act_subject("what_if", row.uid, name=name)
    emit(WhatIfAsked(uid=row.uid), actor=actor)
    return row


def rules_changed(actor: Actor, changes: Changes, days: int) -> dict[str, Any]:
    """The rules as they would have been in the last days: the services make the changes, the rules are read, and all
    of it is undone."""
    with transaction.atomic():
        _apply(actor, changes)
        # The windows of those days, and not of the next ones.
        since = timezone.now() - timedelta(days=days)
        found = {**rules_read(), "queues": queues_read(since, days + 1)}
        transaction.set_rollback(True)
    return found


def _apply(actor: Actor, changes: Changes) -> None:
    if changes.get("policy"):
        policy_set(actor=actor, changes=changes["policy"])
    for code, settings in changes.get("queues", {}).items():
        given = dict(settings)
        if given.get("parent"):
            given["parent"] = queue_get(given["parent"])
        queue_change(actor=actor, queue=queue_get(code), changes=given)
    for schema, totals in changes.get("quotas", {}).items():
        for item, total in totals.items():
            quota_set(actor=actor, tenant=tenant_get(schema), item=item, total=total)


@service(recorded=False)
def what_if_begin(*, actor: Actor, uid: UUID | str) -> dict[str, Any] | None:
    """Take it on: the rules as they would be. None where somebody else has."""
    row = what_if_get(uid)
    mine = what_ifs_open().filter(pk=row.pk).update(state=WhatIfState.RUNNING, began_at=timezone.now())
    if not mine:
        return None
    try:
        return rules_changed(actor, row.changes, row.days)
    except WeirError as error:
        # What it wants to change has gone since it was asked for.
        _ended(row, actor, WhatIfState.FAILED, error=str(error.message))
        return None


@service(recorded=False)
def what_if_end(*, actor: Actor, uid: UUID | str, result: Mapping[str, Any]) -> None:
    """Keep what came of it; the first answer counts."""
    _ended(what_if_get(uid), actor, WhatIfState.DONE, result=dict(result))


@service(recorded=False)
def what_if_fail(*, actor: Actor, uid: UUID | str, error: str) -> None:
    """It could not be replayed, and why."""
    _ended(what_if_get(uid), actor, WhatIfState.FAILED, error=error)


def _ended(row: WhatIf, actor: Actor, state: WhatIfState, **found: Any) -> None:
    rows = WhatIf.objects.filter(pk=row.pk, state=WhatIfState.RUNNING)
    if rows.update(state=state, ended_at=timezone.now(), **found):
        emit(WhatIfEnded(uid=row.uid), actor=actor)
