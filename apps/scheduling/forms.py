import shlex
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.scheduling.fields import MarkedForm
from apps.scheduling.models import PLACINGS
from apps.scheduling.services.checks import SIGNALS
from apps.scheduling.states import Purpose, WorkKind, WorkloadState
from apps.scheduling.types import Asked


class ResourcesForm(forms.Form):
    """What is listed of the tenant's work: each alone and all together."""

    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[("", _("All")), *WorkloadState.choices]
    )
    queue = forms.CharField(label=_("Queue"), max_length=48, required=False)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("All")), *WorkKind.choices])
    search = forms.CharField(label=_("Keyword"), max_length=120, required=False)
    mine = forms.BooleanField(label=_("Only mine"), required=False)


class LogForm(forms.Form):
    offset = forms.IntegerField(label=_("From byte"), min_value=0, max_value=2**40)


class StopForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=200, required=False)


class ResizeForm(forms.Form):
    compute_percent = forms.IntegerField(label=_("Compute share (%)"), min_value=1, max_value=100)
    memory_mib = forms.IntegerField(label=_("Accelerator memory (MiB)"), min_value=1, max_value=2**31 - 1)


class MigrateForm(forms.Form):
    node = forms.CharField(label=_("Node"), max_length=200, required=False)
    share = forms.IntegerField(label=_("Share"), min_value=0, max_value=511, required=False)


class EnvironmentForm(forms.Form):
    """A specification, or compute and memory."""

    name = forms.CharField(label=_("Name"), max_length=80)
    spec = forms.CharField(label=_("Specification"), max_length=48, required=False)
    compute_percent = forms.IntegerField(
        label=_("Compute share (%)"), min_value=1, max_value=100, required=False
    )
    memory_mib = forms.IntegerField(
        label=_("Accelerator memory (MiB)"), min_value=1, max_value=2**31 - 1, required=False
    )
    shares = forms.IntegerField(label=_("Shares"), min_value=1, max_value=512)
    is_fixed = forms.BooleanField(label=_("Fixed"), required=False)


class ReasonForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=200, required=False)


class ScaleForm(forms.Form):
    shares = forms.IntegerField(label=_("Shares"), min_value=1, max_value=512)


Choices = list[tuple[str, str]]
_AMOUNT = {"min_value": 1, "max_value": 2**31 - 1, "required": False}


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
    compute_percent = forms.IntegerField(
        label=_("Compute (%)"), min_value=1, max_value=100, required=False, initial=30
    )
    memory_mib = forms.IntegerField(label=_("Memory (MiB)"), initial=1024, **_AMOUNT)
    shares = forms.IntegerField(
        label=_("Shares"), min_value=1, max_value=512, initial=1, help_text=_("All start together, or none.")
    )
    min_shares = forms.IntegerField(
        label=_("Shares at least"),
        min_value=1,
        max_value=512,
        required=False,
        help_text=_("Elastic: starts with so many and grows while there is room."),
    )
    shares_per_replica = forms.IntegerField(
        label=_("Shares of a replica"),
        min_value=1,
        max_value=512,
        required=False,
        initial=1,
        help_text=_("So many lie on one node together: 16 shares with 8 of a replica are 2 replicas."),
    )
    whole_cards = forms.BooleanField(label=_("Whole cards"), required=False)
    distinct_devices = forms.BooleanField(label=_("Each share on its own device"), required=False)
    single_node = forms.BooleanField(label=_("All on one node"), required=False)
    queue = forms.ChoiceField(label=_("Queue"))
    priority = forms.IntegerField(
        label=_("Priority"), min_value=-1000, max_value=1000, required=False, help_text=_("Empty: your own.")
    )
    purpose = forms.ChoiceField(
        label=_("Purpose"), required=False, choices=[("", _("by its kind")), *Purpose.choices]
    )
    placing = forms.ChoiceField(
        label=_("Resource scheduling"), required=False, choices=[("", _("as the policy says")), *PLACINGS]
    )
    run_minutes = forms.IntegerField(
        label=_("Runs at most (min)"),
        min_value=1,
        max_value=366 * 24 * 60,
        required=False,
        help_text=_("Who says so starts sooner: others can be told when it ends."),
    )
    earliest_start_at = forms.DateTimeField(
        label=_("Starts at the earliest"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    deadline_at = forms.DateTimeField(
        label=_("Deadline"), required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    checkpoint_signal = forms.ChoiceField(
        label=_("Saves itself on"),
        required=False,
        choices=[("", _("nothing")), *((name, f"SIG{name}") for name in SIGNALS)],
        help_text=_("Sent before it is stopped to go on later."),
    )
    preemptible = forms.BooleanField(label=_("May be stopped for more important work"), required=False)
    urgent = forms.BooleanField(label=_("Urgent task"), required=False)
    oversubscribe = forms.BooleanField(
        label=_("Shares its devices, where its queue leaves that to it"), required=False
    )
    requeue_on_loss = forms.BooleanField(label=_("Queued again when its node is lost"), required=False)
    wait_for_quota = forms.BooleanField(label=_("Waits where the quota is used up"), required=False)

    def __init__(
        self, *args: Any, queues: Choices, specs: Choices, environments: Choices, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["queue"].choices = queues
        self.fields["spec"].choices = [("", _("amounts of its own")), *specs]
        self.fields["environment"].choices = [("", _("none")), *environments]

    def clean_command(self) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(self.cleaned_data["command"]))
        except ValueError as error:
            raise forms.ValidationError(_("A quotation mark is not closed.")) from error

    def asked(self, given: dict[str, Any]) -> Asked:
        """What the cleaned values ask for."""
        wanted = dict(given)
        minutes, argv = wanted.pop("run_minutes"), wanted.pop("command")
        wanted["shares_per_replica"] = wanted["shares_per_replica"] or 1
        is_given = bool(wanted["spec"] or wanted["environment"])
        if is_given or wanted["whole_cards"]:
            wanted["compute_percent"] = None
        if is_given:
            wanted["memory_mib"] = None
        return Asked(**wanted, argv=argv, run_timeout_s=minutes * 60 if minutes else None)
