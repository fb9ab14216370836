"""Ten thousand submissions in one call: one transaction, few statements, all of them or none."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from uuid import uuid4

from django.db.models.base import ModelState
from django.utils.translation import gettext as _

from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.kernel.events import emit
from apps.kernel.prepared_queries import pipeline
from apps.kernel.service import service
from apps.scheduling.events import WorkloadsSubmitted
from apps.scheduling.locks import submissions_lock
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.services.workloads.admission import MOST, admission_check, open_check
from apps.scheduling.services.workloads.submission.dependencies import waits_read
from apps.scheduling.services.workloads.submission.submit import take_in, workload_draft
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant

# In these alike submissions may differ; whatever else they ask for is judged once.
_OWN = frozenset({"name", "client_key", "argv", "env"})
_SHARED = tuple(each.name for each in fields(WorkloadRequest) if each.name not in _OWN)


@service(P.OPERATE)
def workload_submit_many(*, actor: Actor, tenant: Tenant, asked: Sequence[WorkloadRequest]) -> list[Workload]:
    """Put many programs or sessions in their queues, in the order given; refused for the reasons of
    `workload_request`, and then none is taken in.

    Whoever repeats a call with the same client keys gets the same workloads. At most MOST in one call, and as much
    open work of one user and one tenant as the policy lets them (TooMuchOpen).
    """
    _size_check(asked)
    act_subject("tenant", tenant.schema_name, count=len(asked))
    known = _known(actor, tenant, asked)
    rows: list[Workload | None] = [known.get(each.client_key) for each in asked]
    new = [at for at, row in enumerate(rows) if row is None]
    open_check(tenant, actor.user_id, len(new))
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for at in new:
        # Those without a program of their own run what their image does.
        alike[(bool(asked[at].argv), *(getattr(asked[at], name) for name in _SHARED))].append(at)
    # In the order of the first of each: what a job waits for stands before it.
    by_key: dict[str, Workload] = {}
    for group in alike.values():
        made = _group_make(actor, tenant, [asked[at] for at in group], by_key)
        for at, row in zip(group, made, strict=True):
            rows[at] = row
        by_key |= {row.client_key: row for row in made if row.client_key}
    if new:
        emit(WorkloadsSubmitted(schema=tenant.schema_name, count=len(new)), actor=actor)
    return [row for row in rows if row is not None]


def _size_check(asked: Sequence[WorkloadRequest]) -> None:
    if not 1 <= len(asked) <= MOST:
        raise InvalidInput(
            _("%(count)s were submitted in one call.") % {"count": len(asked)},
            cure=_("Submit 1 to %(most)s in one call.") % {"most": MOST},
        )
    twice = [key for key, count in Counter(each.client_key for each in asked).items() if key and count > 1]
    if twice:
        raise InvalidInput(
            _("The key %(key)s stands for two of them.") % {"key": twice[0]}, fields={"client_key": twice[0]}
        )


def _known(actor: Actor, tenant: Tenant, asked: Sequence[WorkloadRequest]) -> dict[str, Workload]:
    """Those the actor submitted before, by their keys; two calls with the same keys are served one after the other."""
    keys = [each.client_key for each in asked if each.client_key]
    if not keys:
        return {}
    submissions_lock(tenant)
    own = Workload.plain.filter(tenant=tenant, submitted_by_id=actor.user_id)
    rows = own.filter(client_key__in=keys).select_related("queue", "tenant")
    return {row.client_key: row for row in rows}


def _group_make(
    actor: Actor, tenant: Tenant, group: Sequence[WorkloadRequest], by_key: Mapping[str, Workload]
) -> list[Workload]:
    waits = waits_read(actor, tenant, group[0], by_key)
    draft, amounts = workload_draft(actor, tenant, group[0], waits)
    admission_check(actor, draft, more=len(group))
    rows = [row_like(draft, each) for each in group]
    with pipeline():
        take_in(actor, tenant, rows, amounts, waits)
    return rows


def row_like(draft: Workload, asked: WorkloadRequest) -> Workload:
    """Another workload as the draft, with a name, a key and work of its own; not saved."""
    # What was found out with the draft: they have it in common.
    common = ("volumes", "image", "packages")
    work = asked.work | {name: draft.work[name] for name in common if name in draft.work}
    work["argv"] = work["argv"] or draft.work["argv"]
    if work != draft.work:
        work_check({**work, "kind": draft.kind, "idle_timeout_s": draft.idle_timeout_s}, draft.run_timeout_s)
    row = copy(draft)
    row._state = ModelState()
    row.uid = uuid4()
    row.no = f"W-{row.uid.hex[:10].upper()}"
    row.name_en = row.name_zh = asked.name
    row.client_key, row.work = asked.client_key, work
    return row
