"""Scheduling on the operator pages: policy, queues, tenants' quotas, and what waits or runs."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from unfold.decorators import display

from apps.catalog.selectors.commodities import commodity_all
from apps.fleet.models import ResourceGroup
from apps.identity.admin_base import Act, ActForm, OperatorAdmin, OperatorInline
from apps.kernel.actor import Actor
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
from apps.scheduling.selectors.workloads import node_ready_names, workload_list_across, workload_reason
from apps.scheduling.services.queues.queue_settings import (
    direct_commodity_set,
    policy_set,
    queue_change,
    queue_make,
)
from apps.scheduling.services.workloads.session_moves import workload_migrate
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.states import MOST_QUEUE_PRIORITY, OPEN_STATES, AllocationState, WorkKind, WorkloadState
from apps.scheduling.text.quota_items import item_amount
from apps.tenancy.selectors import tenant_list

Given = Mapping[str, Any]
_BY_POLICY = ("", gettext_lazy("as the policy says"))


class QueueAddForm(ActForm):
    code = forms.SlugField(label=gettext_lazy("Code"), max_length=48)
    name_zh = forms.CharField(label=gettext_lazy("Name in Chinese"), max_length=80)
    name_en = forms.CharField(label=gettext_lazy("Name in English"), max_length=80)


class QueueForm(ActForm):
    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        choices=Queue.STATES,
        help_text=gettext_lazy(
            "UP: takes and starts work. DOWN: only takes it. DRAIN: only starts what waits. INACTIVE: neither."
        ),
    )
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        initial=0,
        min_value=-MOST_QUEUE_PRIORITY,
        max_value=MOST_QUEUE_PRIORITY,
        help_text=gettext_lazy("Higher queues are served first: this outranks the priority of work."),
    )
    ordering = forms.ChoiceField(
        label=gettext_lazy("Job scheduling"), choices=[_BY_POLICY, *ORDERINGS], required=False
    )
    placing = forms.ChoiceField(
        label=gettext_lazy("Resource scheduling"), choices=[_BY_POLICY, *PLACINGS], required=False
    )
    resource_group = forms.ChoiceField(label=gettext_lazy("Resource group"), required=False)
    tenants = forms.ModelMultipleChoiceField(
        tenant_list(),
        label=gettext_lazy("Admitted tenants"),
        required=False,
        help_text=gettext_lazy("None chosen: all tenants are admitted."),
    )
    max_compute_percent = forms.IntegerField(
        label=gettext_lazy("Most compute (%)"), min_value=0, required=False
    )
    max_memory_mib = forms.IntegerField(
        label=gettext_lazy("Most accelerator memory (MiB)"), min_value=0, required=False
    )

    def prepare(self) -> None:
        groups = [(group.code, str(group)) for group in ResourceGroup.objects.all()]
        self.fields["resource_group"].choices = [("", gettext_lazy("any device of no group")), *groups]


class PolicyForm(ActForm):
    placing = forms.ChoiceField(label=gettext_lazy("Resource scheduling"), choices=PLACINGS)
    ordering = forms.ChoiceField(label=gettext_lazy("Job scheduling"), choices=ORDERINGS)
    has_backfill = forms.BooleanField(
        label=gettext_lazy("Smaller work may pass a waiting head"), required=False, initial=True
    )
    patience_s = forms.IntegerField(
        label=gettext_lazy("A waiting head is passed for at most (s)"),
        min_value=0,
        required=False,
        initial=3600,
        help_text=gettext_lazy("Then its queue waits behind it. Empty: it is passed for ever."),
    )
    aging_s = forms.IntegerField(
        label=gettext_lazy("One priority more for each (s) of waiting"),
        min_value=1,
        required=False,
        help_text=gettext_lazy("Empty: waiting changes no priority."),
    )


class StopForm(ActForm):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


class MigrateForm(ActForm):
    node = forms.ChoiceField(label=gettext_lazy("Node"), required=False)

    def prepare(self) -> None:
        names = [(name, name) for name in node_ready_names()]
        self.fields["node"].choices = [("", gettext_lazy("the best one")), *names]


class CommodityForm(ActForm):
    commodity = forms.ModelChoiceField(
        commodity_all(), label=gettext_lazy("Commodity"), required=False, empty_label=gettext_lazy("none")
    )


def _queue_add(actor: Actor, row: None, given: Given) -> str:
    return _("Queue %(code)s is there.") % {"code": queue_make(actor=actor, **given, changes={})}


def _queue_change(actor: Actor, row: Queue, given: Given) -> str:
    changes = {name: value for name, value in given.items() if name != "tenants"}
    queue_change(actor=actor, queue=row, changes=changes, tenants=list(given["tenants"]))
    return _("Queue %(code)s is changed; the next cycle follows it.") % {"code": row}


def _policy_set(actor: Actor, row: SchedulingPolicy | None, given: Given) -> str:
    policy_set(actor=actor, changes=given)
    return _("The scheduling policy is changed; the next cycle follows it.")


def _direct_commodity(actor: Actor, row: SchedulingPolicy, given: Given) -> str:
    direct_commodity_set(actor=actor, commodity=given["commodity"])
    if given["commodity"] is None:
        return _("Direct work has no price from now on: it is refused.")
    return _("Direct work is charged as %(commodity)s from now on.") % {"commodity": given["commodity"].name}


def _workload_migrate(actor: Actor, row: Workload, given: Given) -> str:
    workload_migrate(actor=actor, tenant=row.tenant, workload_uid=row.uid, node=given["node"])
    return _("%(no)s is moving; its work goes on.") % {"no": row.no}


def _workload_stop(actor: Actor, row: Workload, given: Given) -> str:
    workload_stop(actor=actor, tenant=row.tenant, workload_uid=row.uid, reason=given["reason"])
    return _("%(no)s is being stopped.") % {"no": row.no}


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
    add_act = Act("add", gettext_lazy("Make a queue"), P.MANAGE, _queue_add, QueueAddForm)
    row_acts = [
        Act(
            "change",
            gettext_lazy("Change"),
            P.MANAGE,
            _queue_change,
            QueueForm,
            icon="edit",
            initial=lambda row: {
                **{name: getattr(row, name, None) for name in QueueForm.base_fields},
                "tenants": row.admitted.values_list("tenant", flat=True),
            },
        )
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Queue]:
        pending = Count("workloads", filter=Q(workloads__state=WorkloadState.PENDING))
        return super().get_queryset(request).annotate(waiting_count=pending)

    @display(description=gettext_lazy("name"))
    def named(self, row: Queue) -> str:
        return row.name_zh if (get_language() or "").startswith("zh") else row.name_en

    @display(description=gettext_lazy("job scheduling"))
    def shown_ordering(self, row: Queue) -> str:
        return row.get_ordering_display() if row.ordering else str(_BY_POLICY[1])

    @display(description=gettext_lazy("resource scheduling"))
    def shown_placing(self, row: Queue) -> str:
        return row.get_placing_display() if row.placing else str(_BY_POLICY[1])

    @display(description=gettext_lazy("waiting"))
    def waiting(self, row: Queue) -> int:
        return row.waiting_count

    @display(
        description=gettext_lazy("state"),
        label={"up": "success", "down": "danger", "drain": "warning", "inactive": "info"},
    )
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
            icon="edit",
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
            icon="sell",
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

    @admin.display(description=gettext_lazy("total"), ordering="total")
    def shown_total(self, row: TenantQuota) -> str:
        return item_amount(row.item, row.total)

    @admin.display(description=gettext_lazy("allocated"), ordering="allocated")
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

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
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
    row_acts = [
        Act(
            "stop",
            gettext_lazy("Stop"),
            "resources.operate",
            _workload_stop,
            StopForm,
            hint=gettext_lazy("At once while it waits, else its slices stop and the end follows."),
            icon="stop_circle",
            is_danger=True,
            applies=lambda row: row.state in OPEN_STATES,
        ),
        Act(
            "migrate",
            gettext_lazy("Move to another device"),
            "resources.operate",
            _workload_migrate,
            MigrateForm,
            hint=gettext_lazy(
                "Its script goes on computing; both devices hold the share until it has moved."
            ),
            icon="move_down",
            applies=lambda row: row.kind == WorkKind.SESSION and row.state == WorkloadState.RUNNING,
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workload]:
        return workload_list_across()

    @display(
        description=gettext_lazy("state"),
        label={
            "pending": "warning", "placed": "info", "running": "success", "finished": "info", "stopping": "warning",
            "failed": "danger", "lost": "danger", "suspended": "info",
        },
    )  # fmt: skip
    def shown_state(self, row: Workload) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @display(description=gettext_lazy("name"))
    def named(self, row: Workload) -> str:
        return row.name

    @display(description=gettext_lazy("place"))
    def place(self, row: Workload) -> str:
        return str(row.position or "–")

    @display(description=gettext_lazy("share"))
    def share(self, row: Workload) -> str:
        if row.whole_cards:
            return f"{row.shares} × {_('whole card')}"
        return f"{row.shares} × {row.compute_percent} % · {row.memory_mib} MiB"

    @display(description=gettext_lazy("where"))
    def where(self, row: Workload) -> str:
        held = [part.device for part in row.allocations.all() if part.state == AllocationState.ACTIVE]
        return ", ".join(f"{device.node.name} #{device.index}" for device in held) or "–"

    @display(description=gettext_lazy("reason"))
    def why(self, row: Workload) -> str:
        # A sentence: squeezed into what the other columns leave it would stand a word a line.
        return format_html('<div style="min-width: 16rem">{}</div>', workload_reason(row) or "–")
