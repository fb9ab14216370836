"""Coupons as operators budget, draft, issue and end them, and what became of each that a tenant claimed."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.billing.selectors.bills import bill_list
from apps.catalog.models import CouponActivity
from apps.catalog.permissions import CatalogPermission, CouponPermission
from apps.catalog.selectors.coupons import (
    coupon_activity_any_get,
    coupon_activity_summary,
    coupon_all,
    coupon_any_get,
    coupon_budgets,
    coupon_claim_totals,
    coupon_uses,
)
from apps.catalog.services.coupons import (
    coupon_activity_change,
    coupon_activity_create,
    coupon_activity_delete,
    coupon_activity_end,
    coupon_activity_issue,
    coupon_budget_set,
    coupon_recall,
)
from apps.catalog.states import ActivityState, CouponState
from apps.console.selling.forms.coupons import (
    ActivitiesForm,
    ActivityForm,
    BudgetForm,
    CouponsForm,
    RecallForm,
    activity_initial,
)
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import NotFound, WeirError
from apps.kernel.translatable import localized
from apps.tenancy.selectors import tenant_list

_VIEW, _MANAGE = CatalogPermission.VIEW, CouponPermission.MANAGE
_LIST, _ONE = "operator:coupons", "operator:coupon_activity"
_CNY = gettext_lazy("CNY")

ACTIVITIES = PageList(
    Column("name", gettext_lazy("Name"), sort=lambda: localized("name_zh", "name_en"), value="name"),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", ActivityState.values), value="get_state_display"
    ),
    Column("face", gettext_lazy("Face value"), sort="face_value", value="face_value", unit=_CNY),
    Column("quantity", gettext_lazy("Quantity"), sort="quantity", value="quantity"),
    Column("claimed", gettext_lazy("Claimed"), sort="claimed_count", value="claimed_count"),
    Column("issued_value", gettext_lazy("Issued"), sort="issued_value", value="issued_value", unit=_CNY),
    Column(
        "claimed_value", gettext_lazy("Claimed for"), sort="claimed_value", value="claimed_value", unit=_CNY
    ),
    Column("used_value", gettext_lazy("Used"), sort="used_value", value="used_value", unit=_CNY),
    Column("from", gettext_lazy("Valid from"), sort="valid_from", value="valid_from", is_extra=True),
    Column("until", gettext_lazy("Valid until"), sort="valid_until", value="valid_until"),
    Column("made", gettext_lazy("Made"), sort="created_at", value="created_at", is_extra=True),
    order="-made",
)
CLAIMED = PageList(
    Column("code", gettext_lazy("Code"), sort="code", value="code"),
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name"),
    Column(
        "activity",
        gettext_lazy("Activity"),
        sort=lambda: localized("activity__name_zh", "activity__name_en"),
        value="activity.name",
    ),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", CouponState.values), value="get_state_display"
    ),
    Column("face", gettext_lazy("Face value"), sort="face_value", value="face_value", unit=_CNY),
    Column("remaining", gettext_lazy("Remaining"), sort="remaining", value="remaining", unit=_CNY),
    Column(
        "by", gettext_lazy("Claimed by"), sort="claimed_by__display_name", value="claimed_by.display_name"
    ),
    Column("claimed", gettext_lazy("Claimed at"), sort="created_at", value="created_at"),
    Column(
        "until", gettext_lazy("Valid until"), sort="activity__valid_until", value="activity.valid_until",
        is_extra=True,
    ),
    order="-claimed",
)  # fmt: skip


# --- activities -----------------------------------------------------------------------------------------------------


@operator_page(_VIEW)
def activities(request: PortalRequest) -> HttpResponseBase:
    """All activities, with what was issued, claimed and used of each (PLAT-OPS-35)."""
    chosen = cleaned(ActivitiesForm(request.GET))
    context = {
        "chosen": chosen,
        "states": ActivityState.choices,
        "may_manage": request.actor.may(_MANAGE),
        "tab": "activities",
    }
    return show_list(
        request, "catalog/operator/activities", ACTIVITIES, coupon_activity_summary(**chosen), context
    )


@operator_page(_MANAGE)
def activity_new(request: PortalRequest) -> HttpResponse:
    """Draft an activity: nobody sees it before it is issued."""
    form = ActivityForm(request.POST or None, initial={"minimum_spend": 0})
    return _edit(request, form, lambda: coupon_activity_create(actor=request.actor, **form.cleaned_data))


@operator_page(_MANAGE)
def activity_edit(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Change a draft."""
    row = coupon_activity_any_get(uid)
    form = ActivityForm(request.POST or None, initial=activity_initial(row))

    def put() -> CouponActivity:
        return coupon_activity_change(actor=request.actor, activity_uid=uid, changes=form.cleaned_data)

    return _edit(request, form, put, row=row)


def _edit(
    request: PortalRequest,
    form: ActivityForm,
    put: Callable[[], CouponActivity],
    row: CouponActivity | None = None,
) -> HttpResponse:
    status = 200
    if request.method == "POST" and not form.is_valid():
        status = 400
    elif request.method == "POST":
        try:
            made = put()
        except WeirError as error:
            form.refuse(error)
            status = error.status
        else:
            messages.success(request, _("Saved as a draft: tenants see it once it is issued."))
            return go(request, _ONE, made.uid)
    form.mark()
    context = {
        "form": form,
        "back": _LIST,
        "back_name": _("Coupons"),
        "new_name": _("New coupon activity"),
        "row": row,
        "cancel_url": reverse(_ONE, args=[row.uid]) if row else "",
    }
    return show(request, "catalog/operator/edit", context, status=status)


@operator_page(_VIEW)
def activity(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One activity: its conditions, what became of it, and the coupons that were claimed of it last."""
    row = coupon_activity_any_get(uid)
    year = timezone.localtime().year
    budget = next((each for each in coupon_budgets() if each.year == year), None)
    left = budget.left if budget else Decimal(0)
    claimed = coupon_all(activity=row)
    context = {
        "row": row,
        "may_manage": request.actor.may(_MANAGE),
        "year": year,
        "wanted": row.face_value * row.quantity,
        "left": left,
        "left_after": left - row.face_value * row.quantity,
        "claimed": claimed[:20],
        "is_draft": row.state == ActivityState.DRAFT,
        "is_issued": row.state == ActivityState.ISSUED,
    }
    return show(request, "catalog/operator/activity", context)


@require_POST
@operator_page(_MANAGE)
def activity_act(request: PortalRequest, uid: UUID, act: str) -> HttpResponse:
    """Issue a draft, delete it, or end what is issued."""
    acts: dict[str, tuple[Callable[..., CouponActivity], str]] = {
        "issue": (coupon_activity_issue, _("Tenants can claim coupons of %(name)s.")),
        "delete": (coupon_activity_delete, _("The draft of %(name)s is deleted.")),
        "end": (coupon_activity_end, _("%(name)s is ended; claimed coupons stay good.")),
    }
    if act not in acts:
        raise NotFound()
    service, told = acts[act]
    row = service(actor=request.actor, activity_uid=uid)
    messages.success(request, told % {"name": row})
    return go(request, _LIST) if act == "delete" else go(request, _ONE, uid)


# --- coupons --------------------------------------------------------------------------------------------------------


@operator_page(_VIEW)
def claimed(request: PortalRequest) -> HttpResponseBase:
    """The coupons of all tenants, under what each tenant has claimed (PLAT-OPS-33, PLAT-OPS-36)."""
    chosen = cleaned(CouponsForm(request.GET))
    context = {
        "chosen": chosen,
        "states": CouponState.choices,
        "tenants": tenant_list(),
        "totals": coupon_claim_totals(),
        "tab": "claimed",
    }
    return show_list(request, "catalog/operator/claimed", CLAIMED, coupon_all(**chosen), context)


@operator_page(_VIEW)
def coupon(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One coupon: whose it is, what remains of it, and which bills it paid."""
    row = coupon_any_get(uid)
    uses = coupon_uses(row)
    may_see_bills = request.actor.may("billing.view")
    paid = [use.bill_uid for use in uses if use.bill_uid] if may_see_bills else []
    numbers = {str(bill.uid): bill.no for bill in bill_list(actor=request.actor).filter(uid__in=paid)}
    context: dict[str, Any] = {
        "row": row,
        "uses": [(use, numbers.get(use.bill_uid, "")) for use in uses],
        "may_recall": row.state == CouponState.CLAIMED and request.actor.may(_MANAGE),
        "form": RecallForm(),
    }
    return show(request, "catalog/operator/coupon", context)


@require_POST
@operator_page(_MANAGE)
def recall(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Take a claimed coupon back, for a reason (PLAT-OPS-27)."""
    row = coupon_any_get(uid)
    coupon_recall(actor=request.actor, coupon_uid=uid, **cleaned(RecallForm(request.POST)))
    messages.success(request, _("Coupon %(code)s is recalled.") % {"code": row.code})
    return go(request, "operator:coupon", uid)


# --- budgets --------------------------------------------------------------------------------------------------------


@operator_page(_VIEW, changes=_MANAGE)
def budgets(request: PortalRequest) -> HttpResponse:
    """What may be issued in each year, and what is (PLAT-OPS-34)."""
    form = BudgetForm(request.POST or None, initial={"year": timezone.localtime().year})
    status = 200
    if request.method == "POST" and not form.is_valid():
        status = 400
    elif request.method == "POST":
        try:
            made = coupon_budget_set(actor=request.actor, **form.cleaned_data)
        except WeirError as error:
            form.refuse(error)
            status = error.status
        else:
            messages.success(request, _("The coupon budget of %(year)s is set.") % {"year": made.year})
            return go(request, "operator:coupon_budgets")
    form.mark()
    context = {
        "rows": coupon_budgets(),
        "form": form,
        "may_manage": request.actor.may(_MANAGE),
        "tab": "budgets",
    }
    return show(request, "catalog/operator/budgets", context, status=status)
