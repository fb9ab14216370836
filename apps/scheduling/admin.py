"""Scheduling on the operator pages: policy, queues, tenants' quotas, and what waits or runs."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from apps.catalog.selectors.commodities import commodity_all
from apps.identity.admin_base import Act, ActForm, OperatorAdmin, OperatorInline, column
from apps.kernel.actor import Actor
from apps.kernel.unit_fields import SECONDS, UnitField
from apps.scheduling.addresses import work_page
from apps.scheduling.admin_quota import QUOTA_ACTS, QUOTA_ADD
from apps.scheduling.models import (
    ORDERINGS,
    PLACINGS,
    Allocation,
    Queue,
    QuotaHold,
    SchedulingPolicy,
    TenantQuota,
    Workload,
)
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.workloads import workload_list_across, workload_reason
from apps.scheduling.services.queues.queue_settings import (
    direct_commodity_set,
    policy_set,
)
from apps.scheduling.states import AllocationState, WorkloadState
from apps.scheduling.text.direct_work import direct_said
from apps.scheduling.text.quota_items import item_amount

Given = Mapping[str, Any]
_BY_POLICY = ("", gettext_lazy("as the policy says"))

_YEAR_S = 366 * 86400


class PolicyForm(ActForm):
    placing = forms.ChoiceField(label=gettext_lazy("Resource scheduling"), choices=PLACINGS)
    ordering = forms.ChoiceField(label=gettext_lazy("Job scheduling"), choices=ORDERINGS)
    has_backfill = forms.BooleanField(
        label=gettext_lazy("Smaller work may pass a waiting head"), required=False, initial=True
    )
    patience_s = UnitField(
        SECONDS,
        most=_YEAR_S,
        label=gettext_lazy("A waiting head is passed for at most"),
        required=False,
        initial=3600,
        help_text=gettext_lazy("Then its queue waits behind it. Empty: it is passed for ever."),
    )
    aging_s = UnitField(
        SECONDS,
        least=1,
        most=_YEAR_S,
        label=gettext_lazy("Waiting that counts as one priority more"),
        required=False,
        help_text=gettext_lazy("Empty: waiting changes no priority."),
    )


class CommodityForm(ActForm):
    commodity = forms.ModelChoiceField(
        commodity_all(), label=gettext_lazy("Commodity"), required=False, empty_label=gettext_lazy("none")
    )


def _policy_set(actor: Actor, row: SchedulingPolicy | None, given: Given) -> str:
    policy_set(actor=actor, changes=given)
    return _("The scheduling policy is changed; the next cycle follows it.")


def _direct_commodity(actor: Actor, row: SchedulingPolicy, given: Given) -> str:
    direct_commodity_set(actor=actor, commodity=given["commodity"])
    return direct_said(given["commodity"])


@admin.register(Queue)
class QueueAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "code",
        "named",
        "shown_state",
        "priority",
        "waiting",
        "shown_ordering",
        "shown_placing",
        "resource_group",
        "max_compute_percent",
        "max_memory_mib",
    ]
    list_filter = ["state"]
    ordering = ["-priority", "code"]
    search_fields = ["code", "name_zh", "name_en"]
    add_page = (P.MANAGE, "scheduling_admin:queue_new")
    page = ("scheduling_admin:queue", "code")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Queue]:
        pending = Count("workloads", filter=Q(workloads__state=WorkloadState.PENDING))
        return super().get_queryset(request).annotate(waiting_count=pending)

    @column(description=gettext_lazy("name"))
    def named(self, row: Queue) -> str:
        return row.name_zh if (get_language() or "").startswith("zh") else row.name_en

    @column(description=gettext_lazy("job scheduling"))
    def shown_ordering(self, row: Queue) -> str:
        return row.get_ordering_display() if row.ordering else str(_BY_POLICY[1])

    @column(description=gettext_lazy("resource scheduling"))
    def shown_placing(self, row: Queue) -> str:
        return row.get_placing_display() if row.placing else str(_BY_POLICY[1])

    @column(description=gettext_lazy("waiting"))
    def waiting(self, row: Queue) -> int:
        return row.waiting_count

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Queue) -> tuple[str, str]:
        return row.state, row.get_state_display()


@admin.register(SchedulingPolicy)
class SchedulingPolicyAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "placing",
        "ordering",
        "has_backfill",
        "patience_s",
        "aging_s",
        "direct_commodity",
        "updated_at",
    ]
    list_select_related = ["direct_commodity"]
    list_display_links = ["placing"]
    add_act = Act(
        "add",
        gettext_lazy("Set the policy"),
        P.MANAGE,
        _policy_set,
        PolicyForm,
        hint=gettext_lazy("There is one policy; without it the defaults hold: Spread, first in, first out."),
    )
    row_acts = [
        Act(
            "change",
            gettext_lazy("Change"),
            P.MANAGE,
            _policy_set,
            PolicyForm,
            initial=lambda row: {name: getattr(row, name) for name in PolicyForm.base_fields},
        ),
        Act(
            "direct",
            gettext_lazy("Charge direct work"),
            P.MANAGE,
            _direct_commodity,
            CommodityForm,
            hint=gettext_lazy(
                "Work that no order stands behind is charged at this commodity's prices for compute and memory;"
                " without one it is refused; a price of 0 makes it free."
            ),
            initial=lambda row: {"commodity": row.direct_commodity_id},
        ),
    ]

    def has_add_permission(self, request: HttpRequest, obj: SchedulingPolicy | None = None) -> bool:
        return super().has_add_permission(request, obj) and not SchedulingPolicy.objects.exists()


@admin.register(TenantQuota)
class TenantQuotaAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["tenant", "item", "model", "shown_total", "shown_allocated", "updated_at"]
    list_filter = ["tenant", "item", "model"]
    list_select_related = ["tenant"]
    search_fields = ["tenant__name", "tenant__schema_name"]
    add_act = QUOTA_ADD
    row_acts = QUOTA_ACTS

    @column(description=gettext_lazy("total"), ordering="total")
    def shown_total(self, row: TenantQuota) -> str:
        return item_amount(row.item, row.total)

    @column(description=gettext_lazy("allocated"), ordering="allocated")
    def shown_allocated(self, row: TenantQuota) -> str:
        return item_amount(row.item, row.allocated)


@admin.register(QuotaHold)
class QuotaHoldAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["tenant", "organization", "item", "shown_amount", "state", "holder_uid", "created_at"]
    list_filter = ["state", "item", "tenant"]
    list_select_related = ["tenant", "organization"]
    search_fields = ["holder_uid", "organization__name"]
    ordering = ["-created_at"]

    @column(description=gettext_lazy("amount"), ordering="amount")
    def shown_amount(self, row: QuotaHold) -> str:
        return item_amount(row.item, row.amount)


class AllocationInline(OperatorInline):
    model = Allocation
    fields = ["device", "compute_percent", "memory_mib", "slice_uid", "state", "created_at", "released_at"]


@admin.register(Workload)
class WorkloadAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "no", "tenant", "named", "kind", "shown_state", "place", "why", "where", "share", "queue", "priority",
        "created_at",
    ]  # fmt: skip
    list_filter = ["state", "kind", "queue", "tenant"]
    search_fields = ["no", "name_zh", "name_en", "uid", "order_uid"]
    inlines = [AllocationInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workload]:
        return workload_list_across()

    def page_of(self, row: Model) -> str:
        return work_page(row) if isinstance(row, Workload) else ""

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Workload) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @column(description=gettext_lazy("name"))
    def named(self, row: Workload) -> str:
        return row.name

    @column(description=gettext_lazy("place"))
    def place(self, row: Workload) -> str:
        return str(row.position or "–")

    @column(description=gettext_lazy("share"))
    def share(self, row: Workload) -> str:
        if row.whole_cards:
            return f"{row.shares} × {_('whole card')}"
        return f"{row.shares} × {row.compute_percent} % · {row.memory_mib} MiB"

    @column(description=gettext_lazy("where"))
    def where(self, row: Workload) -> str:
        held = [part.device for part in row.allocations.all() if part.state == AllocationState.ACTIVE]
        return ", ".join(f"{device.node.name} #{device.index}" for device in held) or "–"

    @column(description=gettext_lazy("reason"))
    def why(self, row: Workload) -> str:
        # A sentence: squeezed into what the other columns leave it would stand a word a line.
        return format_html('<div style="min-width: 16rem">{}</div>', workload_reason(row) or "–")
