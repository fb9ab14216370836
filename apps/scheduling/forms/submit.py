import re
import shlex
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.kernel.pick_list import PickWidget
from apps.kernel.unit_fields import MEMORY, MINUTES, UnitField
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.models import PLACINGS
from apps.scheduling.services.workloads.submission.checks import SIGNALS
from apps.scheduling.states import Purpose, WorkKind, WorkloadState
from apps.scheduling.types import WorkloadRequest
from node_agent.protocol.metric_bounds import NAME_CHARACTERS
from weir_wire.asks import Ask
from weir_wire.workload_request import asks

_YEAR_MIN = 366 * 24 * 60


class ResourcesForm(SoundForm):
    """What is listed of the tenant's work: each alone and all together."""

    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *WorkloadState.choices]
    )
    queue = forms.CharField(label=_("Queue"), max_length=48, required=False)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("All")), *WorkKind.choices])
    search = forms.CharField(label=_("Keyword"), max_length=120, required=False)
    mine = forms.BooleanField(label=_("Only mine"), required=False)
    array = forms.CharField(label=_("Array"), max_length=40, required=False)


class LogForm(SoundForm):
    offset = forms.IntegerField(label=_("From byte"), min_value=0, max_value=2**40, required=False)
    share = forms.IntegerField(label=_("Share"), min_value=0, max_value=99_999, required=False)
    attempt = forms.IntegerField(label=_("Attempt"), min_value=1, max_value=99_999, required=False)


class MetricsForm(SoundForm):
    name = forms.CharField(label=_("Metric"), max_length=NAME_CHARACTERS, required=False)


class StopForm(SoundForm):
    reason = forms.CharField(label=_("Reason"), max_length=200, required=False)


class ResizeForm(SoundForm):
    compute_percent = forms.IntegerField(label=_("Compute share (%)"), min_value=1, max_value=100)
    memory_mib = UnitField(MEMORY, least=1, most=2**31 - 1, label=_("Accelerator memory"))


class ExtendForm(SoundForm):
    """How much longer it may run, in minutes."""

    more_minutes = UnitField(MINUTES, least=1, most=_YEAR_MIN, label=_("Longer by"))


class MigrateForm(SoundForm):
    node = forms.CharField(label=_("Node"), max_length=200, required=False)
    share = forms.IntegerField(label=_("Share"), min_value=0, max_value=511, required=False)


class EnvironmentForm(SoundForm):
    """A specification, or compute and memory."""

    name = forms.CharField(label=_("Name"), max_length=80)
    spec = forms.CharField(label=_("Specification"), max_length=48, required=False)
    compute_percent = forms.IntegerField(
        label=_("Compute share (%)"), min_value=1, max_value=100, required=False
    )
    memory_mib = UnitField(MEMORY, least=1, most=2**31 - 1, label=_("Accelerator memory"), required=False)
    shares = forms.IntegerField(label=_("Shares"), min_value=1, max_value=512)
    is_fixed = forms.BooleanField(label=_("Fixed"), required=False)


class ReasonForm(SoundForm):
    reason = forms.CharField(label=_("Reason"), max_length=200, required=False)


class ScaleForm(SoundForm):
    shares = forms.IntegerField(label=_("Shares"), min_value=1, max_value=512)


Choices = list[tuple[str, str]]


class NamesField(forms.CharField):
    """Names with commas or spaces between them, as a tuple."""

    def clean(self, value: Any) -> tuple[str, ...]:
        return tuple(name for name in re.split(r"[,\s]+", super().clean(value)) if name)


def _field_of(ask: Ask) -> forms.Field:
    """A plain field as it is declared, in the reader's language."""
    said: dict[str, Any] = {
        "label": _(ask.label),
        "required": False,
        "help_text": _(ask.hint) if ask.hint else "",
    }
    if ask.kind == "flag":
        return forms.BooleanField(**said)
    if ask.kind == "text":
        return forms.CharField(max_length=ask.most, **said)
    if ask.kind == "lines":
        area = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})
        return forms.CharField(max_length=ask.most, widget=area, **said)
    if ask.kind == "names":
        return NamesField(max_length=ask.most * 16, **said)
    if ask.kind == "instant":
        return forms.DateTimeField(widget=forms.DateTimeInput(attrs={"type": "datetime-local"}), **said)
    if ask.kind != "count" or ask.offered is None:
        raise TypeError(f"The form of a workload has no plain field for {ask.kind}.")
    least, most = ask.offered
    if ask.unit == "memory":
        return UnitField(MEMORY, least=least, most=most, initial=ask.shown, **said)
    return forms.IntegerField(min_value=least, max_value=most, initial=ask.shown, **said)


def fields_of(declared: type[Any] = WorkloadRequest) -> dict[str, forms.Field]:
    """The fields that have a label where they are declared."""
    return {name: _field_of(ask) for name, ask in asks(declared).items() if ask.label}


# Fields that name rows which are there already: where the page finds them, and how many are meant (0: any number).
_CHOSEN = {
    "image": ("images:picks", 1),
    "volumes": ("files:picks", 0),
    "outputs": ("files:output_picks", 1),
    "assets": ("assets:picks", 0),
    "secrets": ("workloads:secret_picks", 0),
    **dict.fromkeys(("after_ok", "after_any", "after", "after_not_ok"), ("workloads:work_picks", 0)),
}


class SubmitForm(MarkedForm):
    """Work as a member asks for it; what is left empty is the queue's, the policy's or nobody's to say."""

    mark = "submit"
    name = forms.CharField(label=_("Name"), max_length=120)
    kind = forms.ChoiceField(label=_("Kind"), choices=WorkKind.choices, initial=WorkKind.PROGRAM)
    command = forms.CharField(
        label=_("Command"),
        required=False,
        max_length=32_768,
        widget=forms.Textarea(
            attrs={"rows": 2, "placeholder": "python train.py --epochs 3", "spellcheck": "false"}
        ),
        help_text=_("As in a shell, without pipes or variables. A session needs none."),
    )
    environment = forms.ChoiceField(
        label=_("Environment"),
        required=False,
        help_text=_("Its amounts are taken instead of those below."),
    )
    spec = forms.ChoiceField(label=_("Specification"), required=False)
    mig_profile = forms.ChoiceField(
        label=_("MIG profile"), required=False, help_text=_("It says how much, instead of those below.")
    )
    queue = forms.ChoiceField(label=_("Queue"))
    business_system = forms.ChoiceField(
        label=_("Business system"), required=False, help_text=_("That it is for, and its cost is told under.")
    )
    purpose = forms.ChoiceField(
        label=_("Purpose"), required=False, choices=[("", _("by its kind")), *Purpose.choices]
    )
    placing = forms.ChoiceField(
        label=_("Resource scheduling"), required=False, choices=[("", _("as the policy says")), *PLACINGS]
    )
    run_minutes = UnitField(
        MINUTES,
        least=1,
        most=_YEAR_MIN,
        label=_("Runs at most"),
        required=False,
        help_text=_("Who says so starts sooner: others can be told when it ends."),
    )
    checkpoint_signal = forms.ChoiceField(
        label=_("Saves itself on"),
        required=False,
        choices=[("", _("nothing")), *((name, f"SIG{name}") for name in SIGNALS)],
        help_text=_("Sent before it is stopped to go on later."),
    )

    def __init__(
        self,
        *args: Any,
        queues: Choices,
        specs: Choices,
        mig_profiles: Choices | None = None,
        environments: Choices,
        systems: Choices | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        offered = {
            "queue": queues,
            "spec": [("", _("amounts of its own")), *specs],
            "mig_profile": [("", _("none")), *(mig_profiles or [])],
            "environment": [("", _("none")), *environments],
            "business_system": [("", _("your default")), *(systems or [])],
        }
        for name, choices in offered.items():
            self.fields[name].choices = choices
        if not mig_profiles:
            # Where no card is in MIG mode the page does not speak of it.
            del self.fields["mig_profile"]

    def more_fields(self) -> dict[str, forms.Field]:
        """What is declared once for all ways to ask for work; rows that are there already are chosen by name."""
        fields = fields_of()
        for name, (view, most) in _CHOSEN.items():
            fields[name].widget = PickWidget(view, most=most)
        return fields

    def clean_command(self) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(self.cleaned_data["command"]))
        except ValueError as error:
            raise forms.ValidationError(_("A quotation mark is not closed.")) from error

    def asked(self, given: dict[str, Any]) -> WorkloadRequest:
        """What the cleaned values ask for."""
        # A number that is left empty is as it is declared.
        counts = {name for name, ask in asks(WorkloadRequest).items() if ask.kind == "count"}
        wanted = {name: value for name, value in given.items() if value is not None or name not in counts}
        minutes, argv = wanted.pop("run_minutes"), wanted.pop("command")
        is_given = bool(wanted["spec"] or wanted["environment"] or wanted.get("mig_profile"))
        if is_given or wanted["whole_cards"]:
            wanted["compute_percent"] = None
        if is_given:
            wanted["memory_mib"] = None
        return WorkloadRequest(**wanted, argv=argv, run_timeout_s=minutes * 60 if minutes else None)


SubmitForm.base_fields.update(fields_of())
