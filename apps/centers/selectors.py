"""Reading the centres, which are the operators'."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Case, Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, When, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from apps.centers.models import Center, CenterTenant, CenterUsage, RemoteTask, ResourceSpec, SpecOffer
from apps.centers.states import OPEN_STATES, SENT_STATES, RemoteState, Serves, Wanted
from apps.kernel.errors import NotFound


def center_list(*, search: str = "", status: str = "") -> QuerySet[Center]:
    """The centres, each with its last sample, its tenants and `offer_count`; those whose code, name or region
    contains `search`, in a status or in any."""
    named = Prefetch("tenants", CenterTenant.objects.select_related("tenant").order_by("tenant__name", "pk"))
    rows = Center.objects.select_related("sample").prefetch_related(named)
    rows = rows.annotate(offer_count=Count("offers"))
    if search:
        rows = rows.filter(
            Q(ai_center_id__icontains=search) | Q(name__icontains=search) | Q(region__icontains=search)
        )
    return rows.filter(status=status) if status else rows


def centers_serving(tenant: str) -> Q:
    """Of centres those that serve the tenant of this code."""
    named = CenterTenant.objects.filter(center=OuterRef("pk"), tenant__schema_name=tenant)
    return Q(serves=Serves.ALL) | Q(Exists(named))


def centers_sampled(tenant: str = "") -> QuerySet[Center]:
    """All centres by code, each with its last sample; with a tenant's code those that serve it."""
    rows = Center.objects.select_related("sample").order_by("ai_center_id")
    return rows.filter(centers_serving(tenant)) if tenant else rows


def tenants_named() -> dict[int, frozenset[str]]:
    """By the key of each centre the codes of the tenants that are named there; a centre without any is not in it."""
    found: dict[int, set[str]] = {}
    for pk, code in CenterTenant.objects.order_by().values_list("center", "tenant__schema_name"):
        found.setdefault(pk, set()).add(code)
    return {pk: frozenset(codes) for pk, codes in found.items()}


def center_tenants(center: Center) -> list[CenterTenant]:
    """The tenants that are named at a centre, by name, each with who named it."""
    rows = CenterTenant.objects.filter(center=center).select_related("tenant", "changed_by")
    return list(rows.order_by("tenant__name", "pk"))


def center_names() -> dict[str, str]:
    """What each centre is called, by its code."""
    return dict(Center.objects.values_list("ai_center_id", "name"))


def specs_plain() -> QuerySet[ResourceSpec]:
    """All specifications by code, without their offers."""
    return ResourceSpec.objects.order_by("resource_spec_id")


def offers_plain() -> QuerySet[SpecOffer]:
    """All offers, without their specifications and centres."""
    return SpecOffer.objects.order_by("center_id", "spec_id")


def center_keys() -> set[int]:
    """The keys of all centres."""
    return set(Center.objects.values_list("pk", flat=True))


def center_get(ai_center_id: str, *, rows: QuerySet[Center] | None = None) -> Center:
    """The centre of a code. Raises NotFound."""
    if rows is None:
        rows = Center.objects.select_related("sample", "credential__changed_by")
    # A code holds nothing that PostgreSQL would not take.
    found = rows.filter(ai_center_id=ai_center_id).first() if ai_center_id.isprintable() else None
    if found is None:
        raise NotFound(_("There is no centre %(code)s.") % {"code": ai_center_id[:64]})
    return found


def center_held(ai_center_id: str, tenant: str = "") -> Center | None:
    """The centre of a code, which stays on the network until the transaction ends, or None; its samples go on being
    kept. With a tenant's code one that serves it."""
    rows = Center.objects.select_for_update(no_key=True).filter(ai_center_id=ai_center_id)
    if tenant:
        rows = rows.filter(centers_serving(tenant))
    return rows.first() if ai_center_id.isprintable() else None


def resource_spec_list(*, search: str = "") -> QuerySet[ResourceSpec]:
    """The specifications, each with its offers and their centres; those whose code or name contains `search`."""
    offers = SpecOffer.objects.select_related("center__sample", "spec").order_by("center__name", "pk")
    rows = ResourceSpec.objects.prefetch_related(Prefetch("offers", offers))
    if search:
        rows = rows.filter(Q(resource_spec_id__icontains=search) | Q(resource_spec_name__icontains=search))
    return rows


def resource_spec_get(resource_spec_id: str, *, rows: QuerySet[ResourceSpec] | None = None) -> ResourceSpec:
    """The specification of a code. Raises NotFound."""
    if rows is None:
        rows = resource_spec_list()
    found = rows.filter(resource_spec_id=resource_spec_id).first() if resource_spec_id.isprintable() else None
    if found is None:
        raise NotFound(_("There is no network specification %(code)s.") % {"code": resource_spec_id[:64]})
    return found


def center_offers(center: Center) -> QuerySet[SpecOffer]:
    """What a centre offers."""
    rows = SpecOffer.objects.filter(center=center).select_related("spec", "center__sample")
    return rows.order_by("spec__resource_spec_name", "pk")


def offer_list(*, search: str = "") -> QuerySet[SpecOffer]:
    """All offers; those whose specification or centre has `search` in its code or name."""
    rows = SpecOffer.objects.select_related("spec", "center__sample")
    if not search:
        return rows
    return rows.filter(
        Q(spec__resource_spec_id__icontains=search)
        | Q(spec__resource_spec_name__icontains=search)
        | Q(center__ai_center_id__icontains=search)
        | Q(center__name__icontains=search)
    )


def center_codes(codes: Collection[str], tenant: str = "") -> set[str]:
    """Those of `codes` that a centre has, with a tenant's code one that serves it."""
    rows = Center.objects.filter(ai_center_id__in=[code for code in codes if code.isprintable()])
    if tenant:
        rows = rows.filter(centers_serving(tenant))
    return set(rows.values_list("ai_center_id", flat=True))


def centers_lost(now: datetime) -> set[str]:
    """The codes of centres that were, by `now`, asked in vain for as long as each says. Time in which nobody asked, as
    while the portal itself was away, does not count."""
    rows = Center.objects.filter(failing_since__isnull=False, error_at__lte=now)
    told = rows.values_list("ai_center_id", "failing_since", "error_at", "lost_after_s")
    return {
        code
        for code, since, last, after_s in told
        if since is not None and last is not None and last - since >= timedelta(seconds=after_s)
    }


def resource_specs_named(codes: Collection[str]) -> dict[str, ResourceSpec]:
    """The specifications that there are of these codes."""
    rows = ResourceSpec.objects.filter(resource_spec_id__in=[code for code in codes if code.isprintable()])
    return {row.resource_spec_id: row for row in rows}


def spec_offers_at(resource_spec_id: str, centers: Collection[str]) -> dict[str, SpecOffer]:
    """The offers of a specification, by the codes of these centres."""
    rows = SpecOffer.objects.select_related("center", "spec").filter(
        spec__resource_spec_id=resource_spec_id, center__ai_center_id__in=list(centers)
    )
    return {row.center.ai_center_id: row for row in rows}


def remote_tasks_named(keys: Collection[str]) -> dict[str, RemoteTask]:
    """The remote tasks of these keys, each with its centre."""
    rows = RemoteTask.objects.select_related("center").filter(key__in=list(keys))
    return {row.key: row for row in rows}


def remote_task_list(center: Center) -> QuerySet[RemoteTask]:
    """The remote tasks of a centre, newest first."""
    return RemoteTask.objects.filter(center=center).order_by("-created_at", "-pk")


def remote_task_count(center: Center) -> int:
    """How many remote tasks of a centre are not over."""
    return RemoteTask.objects.filter(center=center, state__in=OPEN_STATES).count()


def remote_tasks_new(center: Center, most: int) -> list[RemoteTask]:
    """What is to be sent to a centre and never was, oldest first."""
    rows = RemoteTask.objects.filter(center=center, state=RemoteState.NEW, desired=Wanted.RUN)
    return list(rows.order_by("pk")[:most])


def remote_tasks_sent(center: Center) -> list[RemoteTask]:
    """What a centre may have: all that was sent and is not over, and what is left there of tasks that are."""
    rows = RemoteTask.objects.filter(Q(state__in=SENT_STATES) | Q(is_left=True), center=center)
    return list(rows.order_by("pk"))


def remote_tasks_open(center: Center) -> list[int]:
    """The keys of rows of all tasks of a centre that are not over."""
    rows = RemoteTask.objects.filter(center=center, state__in=OPEN_STATES)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def remote_tasks_to_stop(center: Center) -> list[RemoteTask]:
    """Of what a centre has, by its number there, all that is to end: first what still waits there, which would begin in
    the place of the others."""
    rows = RemoteTask.objects.filter(
        Q(state__in=SENT_STATES, desired=Wanted.STOP) | Q(is_left=True), center=center
    )
    runs = Case(When(state=RemoteState.WAITING, then=0), default=1)
    return list(rows.exclude(native_id="").order_by(runs, "pk"))


def remote_tasks_unaccounted(center: Center, most: int) -> list[RemoteTask]:
    """Tasks of a centre that are over, or may still be there though they count as over, and of which its accounts have
    not told yet: at most `most` of each account there, so that none holds up another's; the oldest first, those that
    are lost last."""
    rows = RemoteTask.objects.filter(center=center, is_accounted=False).exclude(state__in=OPEN_STATES)
    is_lost = Case(When(state=RemoteState.LOST, then=1), default=0)
    place = Window(RowNumber(), partition_by="account", order_by=[is_lost.asc(), F("pk").asc()])
    return list(rows.annotate(place=place).filter(place__lte=most).order_by("pk"))


def usages_believed(keys: Collection[str]) -> dict[str, CenterUsage]:
    """What centres' accounts say of these remote tasks and is believed, by key."""
    return {row.key: row for row in CenterUsage.objects.filter(key__in=list(keys), fault="").defer("raw")}


def usages_doubted(keys: Collection[str]) -> set[str]:
    """Those of these remote tasks of which a centre's accounts said something that is not believed."""
    return set(CenterUsage.objects.filter(key__in=list(keys)).exclude(fault="").values_list("key", flat=True))


def remote_tasks_awaiting(keys: Collection[str]) -> dict[str, datetime]:
    """Those of these remote tasks that are there and of which their centre's accounts have not told yet: by key, since
    when each is in its state by our clock."""
    rows = RemoteTask.objects.filter(key__in=list(keys), is_accounted=False)
    return dict(rows.values_list("key", "state_at"))
