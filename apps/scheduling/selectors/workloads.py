"""Reads: quotas, workloads, resources, and when work would start."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Case, Count, OuterRef, Prefetch, Q, QuerySet, Subquery, Sum, When
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.models import Node, Slice
from apps.fleet.selectors import node_list, session_connection_get
from apps.fleet.types import SessionConnection
from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden, InvalidInput, NotFound
from apps.kernel.pick_list import Pick
from apps.kernel.unit_text import mib_text, span_text
from apps.scheduling.engine.cycle.explain import Words, sentence
from apps.scheduling.engine.model import types as engine
from apps.scheduling.engine.simulate.eta import eta
from apps.scheduling.models import (
    Allocation,
    Environment,
    HookCall,
    Queue,
    QueueTenant,
    QuotaHold,
    Reservation,
    StartEstimate,
    TenantQuota,
    Workload,
)
from apps.scheduling.permissions import work_reached
from apps.scheduling.snapshot.cluster import policy_get as policy_get
from apps.scheduling.snapshot.workloads import request_of, snapshot_get
from apps.scheduling.states import (
    FINAL_STATES,
    TURN_CODE,
    AllocationState,
    HoldState,
    HookCallState,
    WorkKind,
    WorkloadState,
)
from apps.scheduling.text.end_reasons import PREEMPTION_SENTENCES, dependency_sentence, end_sentence
from apps.scheduling.types import Amounts, ExpectedStart, QuotaFigures
from apps.tenancy.models import Tenant

# Words are looked for in the names of so many, the newest.
MATCHED_AMONG = 2000

# --- quota -----------------------------------------------------------------------------------------------------


def quota_get(tenant: Tenant) -> dict[str, QuotaFigures]:
    """The figures of every item that has a quota (PLAT-TEN-11); of quotas on a model too: `quota_list`."""
    return quota_figures(tenant, TenantQuota.objects.of(tenant).filter(model="").order_by("item"))


def quota_figures(tenant: Tenant, rows: Iterable[TenantQuota]) -> dict[str, QuotaFigures]:
    """By item, of these quotas of the whole."""
    sums = {
        (row["item"], row["state"]): row["sum"]
        for row in QuotaHold.objects.of(tenant)
        .exclude(state=HoldState.RELEASED)
        .values("item", "state")
        .annotate(sum=Sum("amount"))
    }
    return {
        row.item: QuotaFigures(
            item=row.item,
            total=row.total,
            allocated=row.allocated,
            used=sums.get((row.item, HoldState.USED), 0),
            in_process=sums.get((row.item, HoldState.IN_PROCESS), 0),
        )
        for row in rows
    }


def queue_list() -> QuerySet[Queue]:
    """The queues in the order in which they are served, with the tenants that each admits."""
    admitted = Prefetch("admitted", QueueTenant.objects.across().select_related("tenant"))
    rows = Queue.objects.filter(retired_at=None).select_related("parent")
    return rows.order_by("-priority", "-weight", "code").prefetch_related(admitted)


def queue_get(code: str) -> Queue:
    row = queue_list().filter(code=code).first()
    if row is None:
        raise NotFound()
    return row


def queue_default() -> Queue | None:
    """Where work goes that names no queue (PLAT-CLU-50); None where no queue is the default one."""
    return Queue.objects.filter(is_default=True).first()


def reservation_list() -> QuerySet[Reservation]:
    """What is reserved now or later, what begins next first."""
    rows = Reservation.objects.filter(cancelled_at=None, to_at__gt=timezone.now())
    return rows.select_related("tenant", "queue").order_by("from_at", "pk")


def hook_call_list() -> QuerySet[HookCall]:
    """The calls of a site's hooks that were not made yet, those that were given up first, the newest before others."""
    rows = HookCall.objects.exclude(state=HookCallState.DONE)
    return rows.order_by(Case(When(state=HookCallState.FAILED, then=0), default=1), "-at", "-pk")


# --- environments ----------------------------------------------------------------------------------------------


def environment_list(tenant: Tenant | str) -> QuerySet[Environment]:
    """A tenant's environments that are in use, newest first."""
    return Environment.objects.of(tenant).filter(is_retired=False).select_related("made_by")


def environment_get(tenant: Tenant | str, uid: UUID) -> Environment:
    row = environment_list(tenant).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def environment_find(tenant: Tenant | str, given: str) -> Environment:
    """The environment of that name or uid; InvalidInput for none."""
    try:
        named = Q(uid=UUID(given))
    except ValueError:
        named = Q(name=given)
    row = environment_list(tenant).filter(named).first()
    if row is None:
        raise InvalidInput(
            _("There is no environment %(name)s.") % {"name": given}, fields={"environment": given}
        )
    return row


# --- workloads -------------------------------------------------------------------------------------------------


def workload_list(tenant: Tenant | str, *, actor: Actor) -> QuerySet[Workload]:
    """The workloads of a tenant that the actor reaches, newest first, with their allocations, devices and nodes."""
    return _with_place(Workload.objects.of(tenant).filter(work_reached(actor)))


def workloads_keyed(tenant: Tenant, user_id: int) -> QuerySet[Workload]:
    """What somebody has submitted in a tenant under keys of their own, each with its tenant."""
    rows: QuerySet[Workload] = Workload.objects.of(tenant).filter(submitted_by=user_id)
    return rows.exclude(client_key="").select_related("tenant")


def workload_list_across() -> QuerySet[Workload]:
    """All tenants' workloads: the operators' side only."""
    return _with_place(Workload.objects.across())


def running_counts(tenants: Iterable[Tenant]) -> dict[int, int]:
    """How much work of each of the tenants has begun and not ended, by the tenant's key: the operators' side only."""
    rows = Workload.objects.across().filter(tenant__in=list(tenants)).exclude(state=WorkloadState.PENDING)
    rows = rows.exclude(state__in=FINAL_STATES).order_by()
    return dict(rows.values_list("tenant").annotate(count=Count("pk")))


def slice_works(slices: Iterable[Slice]) -> dict[UUID, tuple[Workload, int]]:
    """The work of each slice, and of work that has several shares which of them it is, from 1, by the slice's uid; 0 of
    work with one share. By two queries for all: the operators' side only."""
    found = list(slices)
    works = {
        row.uid: row for row in Workload.objects.across().filter(uid__in=[s.workload_uid for s in found])
    }
    held = Allocation.objects.filter(slice_uid__in=[part.uid for part in found])
    shares = dict(held.values_list("slice_uid", "share"))
    return {
        part.uid: (work, shares.get(part.uid, 0) + 1 if work.shares > 1 else 0)
        for part in found
        if (work := works.get(part.workload_uid)) is not None
    }


def workloads_matching(words: Sequence[str]) -> QuerySet[Workload]:
    """Work of all tenants by words: all of them begin its number, or stand in its number or name where it is among the
    newest `MATCHED_AMONG`. An index answers for the former, a bound for the latter."""
    newest = Workload.objects.across().order_by("-created_at", "-id").values("pk")[:MATCHED_AMONG]
    among, numbered = Q(pk__in=newest), Q()
    for word in words:
        among &= Q(no__icontains=word) | Q(name_en__icontains=word) | Q(name_zh__icontains=word)
        numbered &= Q(no__startswith=word.upper())
    numbers = Workload.objects.across().filter(numbered).values("pk")
    found = Workload.objects.across().filter(among).values("pk").union(numbers[:MATCHED_AMONG])
    return Workload.objects.across().filter(pk__in=found).order_by("-created_at", "-pk")


def work_picks(tenant: Tenant, actor: Actor, words: Sequence[str], most: int) -> list[Pick]:
    """Among the newest `MATCHED_AMONG` of the tenant's work that the actor reaches, what has every one of the words in
    its number or name, at most `most`, by number."""
    reached = Workload.objects.of(tenant).filter(work_reached(actor)).order_by("-created_at", "-pk")
    rows = Workload.objects.of(tenant).filter(pk__in=reached.values("pk")[:MATCHED_AMONG])
    for word in words:
        rows = rows.filter(Q(no__icontains=word) | Q(name_en__icontains=word) | Q(name_zh__icontains=word))
    found = rows.order_by("-created_at", "-pk")[:most]
    return [Pick(row.no, row.no, f"{row.name} · {row.get_state_display()}") for row in found]


def _with_place(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    allocations = Allocation.objects.select_related("device__node")
    return rows.select_related("queue", "tenant", "environment", "submitted_by", "array").prefetch_related(
        Prefetch("allocations", allocations)
    )


def workload_get(tenant: Tenant | str, uid: UUID | str, *, actor: Actor) -> Workload:
    """One workload; NotFound for another tenant's and for one that the actor does not reach."""
    row = workload_list(tenant, actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def workload_get_across(uid: UUID | str) -> Workload:
    """Anybody's workload: the operators' side only."""
    row = workload_list_across().filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def workload_find(uid: UUID | str) -> Workload | None:
    """A workload of any tenant; None where there is none of that uid."""
    return Workload.objects.across().filter(uid=uid).first()


def workload_state_of(uid: OuterRef) -> Subquery:
    """In a query of another app: the state of the workload that a row names."""
    return Subquery(Workload.objects.across().filter(uid=uid).values("state")[:1])


def session_shares(
    *, actor: Actor, tenant: Tenant, uid: UUID | str
) -> tuple[Workload, list[SessionConnection]]:
    """A session and how to reach each of its shares, for who submitted it and nobody else: it names the keys."""
    row = workload_get(tenant, uid, actor=actor)
    if row.kind != WorkKind.SESSION:
        raise NotFound(_("%(no)s is no session.") % {"no": row.no})
    if actor.user_id is None or row.submitted_by_id != actor.user_id:
        raise Forbidden(
            _("The session %(no)s is somebody else's.") % {"no": row.no},
            cure=_("Open a session of your own."),
        )
    held = row.allocations.all()
    if row.is_final or not any(part.state == AllocationState.ACTIVE for part in held):
        return row, []
    return row, session_connection_get(row.uid)


def workload_reason(row: Workload) -> str:
    """Why it waits or how it ended, one sentence in the reader's language (ELA-409)."""
    if row.preemption_cause:
        return _(PREEMPTION_SENTENCES[row.preemption_cause])
    if not row.reason:
        return ""
    if "works" in row.reason:
        return dependency_sentence(row.reason)
    if row.reason_code == TURN_CODE:
        return str(_("It waits for its turn: %(at_once)s tasks of %(array)s run at once.") % row.reason)
    if "text" in row.reason:
        text = str(row.reason["text"])
        return end_sentence(
            row.reason_code,
            text,
            seconds=row.run_timeout_s,
            idle_s=row.idle_timeout_s,
            mib=row.memory_mib,
        )
    return reason_sentence(row.reason_code, row.reason)


def reason_sentence(code: str, params: dict[str, object]) -> str:
    """The engine's reason in the reader's language."""
    return sentence(engine.ReasonCode(code), params, Words(_, span_text, mib_text))


def node_name(uid: str) -> str:
    """What a node is called; "" for none."""
    return Node.objects.filter(uid=uid).values_list("name", flat=True).first() or "" if uid else ""


def node_ready_names() -> list[str]:
    """The nodes that take work, by name."""
    return [node.name for node in node_list() if node.is_ready]


# --- when it would start ----------------------------------------------------------------------------------------


def expected_start_get(*, tenant: Tenant, amounts: Amounts, duration_s: int | None = None) -> ExpectedStart:
    """When such a request would start if it were submitted now; shown with the quote. Changes nothing."""
    now = timezone.now()
    queue = queue_default() or Queue()
    row = Workload(
        tenant=tenant,
        queue=queue,
        shares=amounts.shares,
        compute_percent=amounts.compute_percent,
        memory_mib=amounts.memory_mib,
        host_cpu_milli=amounts.host_cpu_milli,
        host_memory_mib=amounts.host_memory_mib,
        run_timeout_s=duration_s,
    )
    found = eta(snapshot_get(), request_of(row), now=int(now.timestamp()))
    start_at = _start_at(found)
    return ExpectedStart(start_at, found.basis.value, _start_sentence(found, start_at))


def _start_at(found: engine.Eta) -> datetime | None:
    return datetime.fromtimestamp(found.start_at_s, UTC) if found.start_at_s is not None else None


def workload_expected_start(row: Workload) -> datetime | None:
    """When waiting work was estimated to start, while that is still to come; None when it does not wait or nobody can
    say. `explain` judges anew, by a look at the whole pool: whoever waits asks here each second."""
    if row.state != WorkloadState.PENDING:
        return None
    estimates = StartEstimate.objects.filter(workload=row, start_at__gt=timezone.now())
    return estimates.values_list("start_at", flat=True).first()


def _start_sentence(found: engine.Eta, start_at: datetime | None) -> str:
    if found.basis is engine.EtaBasis.FREE_NOW:
        return _("There is room now: it starts right after approval.")
    why = reason_sentence(found.reason.code, dict(found.reason.params)) if found.reason else ""
    if start_at is not None:
        clock = timezone.localtime(start_at).strftime("%Y-%m-%d %H:%M")
        return _("It would start about %(time)s. %(why)s") % {"time": clock, "why": why}
    if found.basis is engine.EtaBasis.NEVER_FITS:
        return _("It could never start. %(why)s") % {"why": why}
    return _("Nobody can say yet when it would start. %(why)s") % {"why": why}


def workload_shares(tenant: Tenant, uid: UUID) -> tuple[str, int]:
    """A workload's number, and how many shares it asked for."""
    found: tuple[str, int] = Workload.objects.of(tenant).values_list("no", "shares").get(uid=uid)
    return found


def workload_numbers_mounting(key: str, most: int = 5) -> list[str]:
    """Numbers of the work, whoever's, that mounts what nodes know by this key and has not ended, the first few."""
    rows = Workload.objects.across().filter(work__contains={"volumes": [{"key": key}]})
    return list(rows.exclude(state__in=FINAL_STATES).order_by("pk").values_list("no", flat=True)[:most])


def workload_numbers_using(tenant: Tenant, volume: UUID, key: str, most: int = 5) -> list[str]:
    """Numbers of the tenant's work that mounts a volume or is to leave its outputs there and has not ended, the first
    few. `key`: how nodes know the volume."""
    rows = _using(tenant, volume, {"key": key})
    return list(rows.values_list("no", flat=True)[:most])


def workloads_using(tenant: Tenant, volume: UUID, key: str, *, are_writers: bool) -> list[UUID]:
    """All of the work that `workload_numbers_using` names; of `are_writers` no work that only reads there."""
    mount: dict[str, object] = {"key": key}
    if are_writers:
        mount["read_only"] = False
    return list(_using(tenant, volume, mount).values_list("uid", flat=True))


def _using(tenant: Tenant, volume: UUID, mount: dict[str, object]) -> QuerySet[Workload]:
    rows = Workload.objects.of(tenant).filter(Q(work__contains={"volumes": [mount]}) | Q(outputs=volume))
    return rows.exclude(state__in=FINAL_STATES).order_by("pk")


def workload_numbers_in_image(version: UUID, most: int = 5) -> list[str]:
    """Numbers of work, of whatever tenant, that runs in a version of an image and has not ended, the first few."""
    rows = Workload.objects.across().filter(work__contains={"image": {"version": str(version)}})
    return list(rows.exclude(state__in=FINAL_STATES).order_by("pk").values_list("no", flat=True)[:most])


def is_any_work_of_system(tenant: Tenant, uid: UUID) -> bool:
    """Whether work was ever sent for a business system, ended or not."""
    return Workload.objects.of(tenant).filter(business_system_uid=uid).exists()
