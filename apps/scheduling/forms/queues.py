"""The input of the operators' scheduling pages."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.catalog.selectors.commodities import commodity_all
from apps.fleet.models import ResourceGroup
from apps.kernel.unit_fields import MEMORY, SECONDS, UnitField
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.forms.week_grid import WeekField
from apps.scheduling.models import ORDERINGS, PLACINGS, Queue, UserGroup
from apps.scheduling.models.oversubscription import MOST_JOBS
from apps.scheduling.selectors.forecasts.what_if import MOST_DAYS
from apps.scheduling.selectors.workloads import queue_list
from apps.scheduling.services.queues.checks import MAX_WEIGHT
from apps.scheduling.states import MOST_QUEUE_PRIORITY, Oversubscribe
from apps.scheduling.types import MOST_MOVES, MOST_RESERVED_STARTS
from apps.tenancy.selectors import tenant_list

BY_POLICY = ("", _("as the policy says"))
AS_IS = ("", _("as it is"))
_MOST = 2**31 - 1
_PRIORITY = 1000
UNLIMITED, LIMITED = "unlimited", "limited"


def _amount(label: Any, *, least: int = 0, hint: Any = "", required: bool = False) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=least, max_value=_MOST, required=required, help_text=hint
    )


def _seconds(label: Any, *, least: int = 0, hint: Any = "", required: bool = True) -> UnitField:
    return UnitField(SECONDS, least=least, most=366 * 86400, label=label, required=required, help_text=hint)


def _memory(label: Any) -> UnitField:
    return UnitField(MEMORY, most=_MOST, label=label, required=False)


def _as_is(label: Any) -> forms.TypedChoiceField:
    """Yes, no, or what it is now."""
    choices = [AS_IS, ("1", _("yes")), ("0", _("no"))]
    return forms.TypedChoiceField(
        label=label, choices=choices, required=False, coerce=lambda value: value == "1", empty_value=None
    )


class QueueForm(MarkedForm):
    """A queue as it is to be; what is left empty has no bound, or follows the policy."""

    mark = "queue"
    name_en = forms.CharField(label=_("Name in English"), max_length=80)
    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=80)
    state = forms.ChoiceField(
        label=_("State"),
        choices=Queue.STATES,
        help_text=_(
            "UP: takes and starts work. DOWN: only takes it. DRAIN: only starts what waits. INACTIVE: neither."
        ),
    )
    parent = forms.ModelChoiceField(
        Queue.objects.none(), label=_("Part of queue"), required=False, empty_label=_("none: at the top")
    )
    priority = forms.IntegerField(
        label=_("Priority"),
        min_value=-MOST_QUEUE_PRIORITY,
        max_value=MOST_QUEUE_PRIORITY,
        help_text=_("Higher queues are served first: this outranks the priority of work."),
    )
    weight = forms.IntegerField(
        label=_("Weight"),
        min_value=1,
        max_value=MAX_WEIGHT,
        help_text=_("Spare room is divided among its siblings in proportion."),
    )
    ordering = forms.ChoiceField(label=_("Job scheduling"), choices=[BY_POLICY, *ORDERINGS], required=False)
    placing = forms.ChoiceField(
        label=_("Resource scheduling"), choices=[BY_POLICY, *PLACINGS], required=False
    )
    resource_group = forms.ChoiceField(label=_("Resource group"), required=False)
    max_compute_percent = _amount(_("Most compute (%)"))
    borrow_compute_percent = _amount(_("May borrow compute (%)"))
    guaranteed_compute_percent = _amount(_("Guaranteed compute (%)"))
    lend_compute_percent = _amount(_("Lends compute (%)"))
    max_memory_mib = _memory(_("Most accelerator memory"))
    borrow_memory_mib = _memory(_("May borrow accelerator memory"))
    guaranteed_memory_mib = _memory(_("Guaranteed accelerator memory"))
    lend_memory_mib = _memory(_("Lends accelerator memory"))
    preempts = forms.BooleanField(label=_("Its work may preempt work of lower priority"), required=False)
    reclaims = forms.BooleanField(label=_("It takes its guarantee back from who borrowed it"), required=False)
    is_default = forms.BooleanField(
        label=_("Default queue"),
        required=False,
        help_text=_("Work that names no queue waits here; it is taken from the queue that was it."),
    )
    time_limit = forms.ChoiceField(
        label=_("Maximum time"), choices=[(UNLIMITED, "UNLIMITED"), (LIMITED, "LIMITED")]
    )
    max_run_s = _seconds(
        _("Work runs at most"),
        least=1,
        required=False,
        hint=_("What asks for longer is refused; what asks for no time is ended then."),
    )
    oversubscribe = forms.ChoiceField(
        label=_("Oversubscribe mode"),
        choices=Oversubscribe.choices,
        help_text=_(
            "YES: work shares a device where all on it asked for that. NO: it has its devices alone. EXCLUSIVE: it "
            "has its nodes alone. FORCE: it shares its devices, whatever it asked for."
        ),
    )
    max_jobs = forms.IntegerField(
        label=_("Maximum oversubscription (selectable job count)"),
        min_value=1,
        max_value=MOST_JOBS,
        required=False,
        help_text=_("So much work on one device at most; empty: as much as it has percent and memory for."),
    )
    tenants = forms.ModelMultipleChoiceField(
        tenant_list(),
        label=_("Admitted tenants"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: all tenants are admitted."),
    )
    user_groups = forms.ModelMultipleChoiceField(
        UserGroup.objects.all(),
        label=_("User groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: every user of the admitted tenants may submit."),
    )
    windows = WeekField(label=_("Hours in which work starts"), required=False, nothing=_("at all times"))

    def __init__(self, *args: Any, queue: Queue | None = None, **kwargs: Any) -> None:
        super().__init__(*args, initial=_initial(queue) if queue else _NEW, **kwargs)
        others = queue_list().exclude(pk=queue.pk) if queue else queue_list()
        self.fields["parent"].queryset = others
        groups = [(group.code, str(group)) for group in ResourceGroup.objects.all()]
        self.fields["resource_group"].choices = [("", _("any device of no group")), *groups]
        for name in ("tenants", "user_groups"):
            self.fields[name].widget.attrs["class"] = "form-check-input"
        # It is given up by giving it to another one.
        self.fields["is_default"].disabled = queue is not None and queue.is_default

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        for name in _NOTHING:
            if found.get(name, 0) is None:
                found[name] = 0
        self._limit(found)
        return found

    def _limit(self, found: dict[str, Any]) -> None:
        """A length belongs to LIMITED, a number of jobs to YES and FORCE (PLAT-CLU-52, PLAT-CLU-60)."""
        if found.pop("time_limit", UNLIMITED) == UNLIMITED:
            found["max_run_s"] = None
        elif found.get("max_run_s") is None and "max_run_s" not in self.errors:
            self.add_error("max_run_s", _("Say for how long."))
        if found.get("oversubscribe") in (Oversubscribe.NO, Oversubscribe.EXCLUSIVE):
            found["max_jobs"] = None

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The form in groups, in the order of the page: those that are rare are folded, and are open where they say
        anything that a new queue does not."""
        return [
            {
                "code": code,
                "title": title,
                "fields": [self[name] for name in names if name in self.fields],
                "is_rare": code not in _ALWAYS_OPEN,
                "is_open": any(self._says_something(name) for name in names if name in self.fields),
            }
            for code, (title, names) in _PARTS.items()
        ]

    def _says_something(self, name: str) -> bool:
        value, usual = self[name].value(), _NEW.get(name)
        return (value or None) != (usual or None)


_ALWAYS_OPEN = frozenset({"what", "bounds"})
_PARTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "what": (
        _("What it is"),
        ("code", "name_en", "name_zh", "state", "parent", "resource_group", "is_default"),
    ),
    "bounds": (
        _("How much"),
        (
            "max_compute_percent",
            "max_memory_mib",
            "guaranteed_compute_percent",
            "guaranteed_memory_mib",
        ),
    ),
    "lending": (
        _("Borrowing, lending and preemption"),
        (
            "borrow_compute_percent",
            "borrow_memory_mib",
            "lend_compute_percent",
            "lend_memory_mib",
            "preempts",
            "reclaims",
        ),
    ),
    "order": (_("Serving order"), ("ordering", "placing", "priority", "weight")),
    "sharing": (
        _("How long, and with whom on a device"),
        ("time_limit", "max_run_s", "oversubscribe", "max_jobs"),
    ),
    "who": (_("Who and when"), ("tenants", "user_groups", "windows")),
}


class NewQueueForm(QueueForm):
    code = forms.SlugField(label=_("Code"), max_length=48, help_text=_("Letters, digits and hyphens."))
    field_order = ["code"]


_NOTHING = tuple(
    f"{bound}_{item}" for bound in ("guaranteed", "borrow") for item in ("compute_percent", "memory_mib")
)
_NEW = {
    "state": "up",
    "priority": 0,
    "weight": 1,
    "preempts": True,
    "reclaims": True,
    "time_limit": UNLIMITED,
    "oversubscribe": Oversubscribe.FORCE,
    **dict.fromkeys(_NOTHING, 0),
}


_OF_OTHERS = frozenset({"tenants", "windows", "user_groups", "time_limit"})


def _initial(queue: Queue) -> dict[str, Any]:
    named = {name: getattr(queue, name) for name in QueueForm.base_fields if name not in _OF_OTHERS}
    spans = queue.windows.values_list("weekday", "from_minute", "to_minute")
    return named | {
        "tenants": list(queue.admitted.values_list("tenant", flat=True)),
        "user_groups": list(queue.user_groups.values_list("pk", flat=True)),
        "time_limit": UNLIMITED if queue.max_run_s is None else LIMITED,
        "windows": list(spans),
    }


class DirectForm(MarkedForm):
    """What work that no order stands behind is charged as."""

    mark = "direct"
    commodity = forms.ModelChoiceField(
        commodity_all(),
        label=_("Commodity"),
        required=False,
        empty_label=_("none: it is refused"),
        help_text=_(
            "Work that no order stands behind is charged at this commodity's prices for compute and memory;"
            " without one it is refused; a price of 0 makes it free."
        ),
    )


class PolicyForm(MarkedForm):
    """The global policy (PLAT-AICFG-18)."""

    mark = "policy"
    ordering = forms.ChoiceField(label=_("Job scheduling"), choices=ORDERINGS)
    placing = forms.ChoiceField(label=_("Resource scheduling"), choices=PLACINGS)
    has_backfill = forms.BooleanField(label=_("Smaller work may pass a waiting head"), required=False)
    patience_s = _seconds(
        _("A waiting head is passed for at most"), required=False, hint=_("Empty: it is passed for ever.")
    )
    reserved_starts = forms.IntegerField(
        label=_("Starts reserved in each queue"),
        min_value=0,
        max_value=MOST_RESERVED_STARTS,
        help_text=_(
            "So much work at the head of a queue is promised a start that later work does not delay."
        ),
    )
    aging_s = _seconds(
        _("Waiting that counts as one priority more"),
        least=1,
        required=False,
        hint=_("Empty: waiting changes no priority."),
    )
    half_life_s = _seconds(
        _("Past use counts half after"),
        least=60,
        required=False,
        hint=_("For fair share. Empty: only what is held now counts."),
    )
    ahead_s = _seconds(
        _("A card in use counts as past use of"),
        hint=_("For fair share: who holds more now comes later."),
    )
    has_preemption = forms.BooleanField(label=_("More important work preempts"), required=False)
    has_reclaim = forms.BooleanField(
        label=_("Guarantees are taken back from who borrowed them"),
        required=False,
        help_text=_("Also from work that is not preemptible, which is the last to be stopped."),
    )
    grace_s = _seconds(_("Notice before work is stopped"))
    min_run_s = _seconds(_("Work runs at least before it is preempted"))
    max_preemptions = forms.IntegerField(
        label=_("Preempted at most (times)"),
        min_value=0,
        max_value=1000,
        help_text=_("Then it is left alone, but for the guarantee of another queue."),
    )
    fair_share_preempts = forms.BooleanField(
        label=_("Work of queues with fair share preempts"),
        required=False,
        help_text=_("Where more important work preempts at all."),
    )
    grows_elastic = forms.BooleanField(label=_("Elastic work grows into spare room"), required=False)
    hysteresis_s = _seconds(_("Between two scalings at least"))
    consolidates = forms.BooleanField(label=_("Sessions are moved to free whole cards"), required=False)
    max_moves = forms.IntegerField(label=_("Moves in one pass at most"), min_value=0, max_value=MOST_MOVES)
    max_open_per_user = _amount(_("Open work per user at most"), least=1, required=True)
    max_open_per_tenant = _amount(_("Open work per tenant at most"), least=1, required=True)


class PriorityForm(MarkedForm):
    """What priority a user's work has, and how high they may ask (PLAT-AICFG-25)."""

    mark = "priority"
    priority = forms.IntegerField(label=_("Priority"), min_value=-_PRIORITY, max_value=_PRIORITY)
    most_priority = forms.IntegerField(label=_("Highest priority"), min_value=-_PRIORITY, max_value=_PRIORITY)
    may_urgent = forms.BooleanField(label=_("Urgent task"), required=False)


class WhatIfForm(MarkedForm):
    """Settings to try: what is left empty stays as it is."""

    mark = "what-if"
    name = forms.CharField(label=_("Name"), max_length=80)
    days = forms.IntegerField(label=_("Last days"), min_value=1, max_value=MOST_DAYS, initial=7)
    ordering = forms.ChoiceField(label=_("Job scheduling"), choices=[AS_IS, *ORDERINGS], required=False)
    placing = forms.ChoiceField(label=_("Resource scheduling"), choices=[AS_IS, *PLACINGS], required=False)
    has_backfill = _as_is(_("Smaller work may pass a waiting head"))
    has_preemption = _as_is(_("More important work preempts"))
    has_reclaim = _as_is(_("Guarantees are taken back from who borrowed them"))
    aging_s = _seconds(_("Waiting that counts as one priority more"), least=1, required=False)
    half_life_s = _seconds(_("Past use counts half after"), least=60, required=False)
    queue = forms.ModelChoiceField(
        Queue.objects.none(),
        label=_("Queue"),
        required=False,
        empty_label=_("no queue changes"),
        to_field_name="code",
    )
    max_compute_percent = _amount(_("Most compute (%)"))
    guaranteed_compute_percent = _amount(_("Guaranteed compute (%)"))
    weight = forms.IntegerField(label=_("Weight"), min_value=1, max_value=MAX_WEIGHT, required=False)
    tenant = forms.ModelChoiceField(
        tenant_list(),
        label=_("Tenant"),
        required=False,
        empty_label=_("no quota changes"),
        to_field_name="schema_name",
    )
    compute_percent = _amount(_("Quota of compute (%)"))
    gpu_memory_mib = _memory(_("Quota of accelerator memory"))

    POLICY = (
        "ordering",
        "placing",
        "has_backfill",
        "has_preemption",
        "has_reclaim",
        "aging_s",
        "half_life_s",
    )
    QUEUE = ("max_compute_percent", "guaranteed_compute_percent", "weight")
    QUOTA = ("compute_percent", "gpu_memory_mib")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["queue"].queryset = queue_list()

    def asked(self, given: dict[str, Any]) -> dict[str, Any]:
        """What `what_if_ask` takes."""
        changes = {"policy": _said(given, self.POLICY)}
        if given["queue"]:
            changes["queues"] = {given["queue"].code: _said(given, self.QUEUE)}
        if given["tenant"]:
            changes["quotas"] = {given["tenant"].schema_name: _said(given, self.QUOTA)}
        return {"name": given["name"], "days": given["days"], "changes": changes}


def _said(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if given[name] not in (None, "")}
