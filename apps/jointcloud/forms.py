"""The shape of what the pages about the choice of centres are sent."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as now
from django.utils.translation import gettext_lazy as _

from apps.centers.forms import MarkedForm
from apps.centers.models import GRADE_MOST, Center, ResourceSpec
from apps.centers.states import ServiceType
from apps.jointcloud.engine.model import MODELS
from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.engine.types import MOST, MOST_COUNT, MOST_REPLICAS, ONE, Settings, Weights
from apps.jointcloud.models import Job
from apps.jointcloud.models.settings import FAILURES_MOST, SECONDS_MOST
from apps.jointcloud.services.checks import MOST_REPLICAS as MOST_JOB_REPLICAS
from apps.jointcloud.services.checks import MOST_RETRIES, PRIORITY_MOST
from apps.jointcloud.states import WorkState
from apps.jointcloud.text import MODEL_NAMES, policy_name
from apps.jointcloud.types import JobRequest, TaskRequest
from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import SECONDS, UnitField
from apps.tenancy.models import Tenant

WEIGHT_PREFIX = "weight_"
_GB = 10**9
_MINUTE = "%Y-%m-%dT%H:%M"
_FIGURES = ("stale_s", "cool_off_failures", "cool_off_s", "usual_duration_s", "model")


class WeighedForm(MarkedForm):
    """A form with a weight for each policy."""

    def __init__(self, *args: Any, settings: Settings, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        permille = dict(settings.weights)
        for policy in POLICIES:
            name = f"{WEIGHT_PREFIX}{policy}"
            field = forms.DecimalField(
                label=policy_name(policy),
                min_value=0,
                max_value=1,
                decimal_places=3,
                required=False,
                initial=Decimal(permille.get(policy, 0)) / ONE,
            )
            field.widget.attrs["step"] = "0.001"
            self.fields[name] = field
            self.dress(name, field)

    @property
    def weight_fields(self) -> list[forms.BoundField]:
        """Those of the weights."""
        return [self[name] for name in self.fields if name.startswith(WEIGHT_PREFIX)]

    @property
    def plain_fields(self) -> list[forms.BoundField]:
        """All others that are seen."""
        hidden = {field.name for field in self.hidden_fields()}
        return [
            self[name] for name in self.fields if not name.startswith(WEIGHT_PREFIX) and name not in hidden
        ]


def weights_given(given: Mapping[str, Any]) -> dict[str, str] | None:
    """Of what was sent, the weights as parts of 1 by policy; what is left empty is 0, and None where all are."""
    sent = {policy: given.get(f"{WEIGHT_PREFIX}{policy}") for policy in POLICIES}
    if all(part is None for part in sent.values()):
        return None
    return {policy: str(part or 0) for policy, part in sent.items()}


def data_given(text: str) -> tuple[str, ...]:
    """The data that is named in a field, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


class TryForm(WeighedForm):
    """A task that is tried; what is left empty does not matter to it."""

    mark = "try"
    resource_spec_id = forms.ChoiceField(label=_("Network specification"))
    replicas = forms.IntegerField(label=_("Replicas"), min_value=1, max_value=MOST_REPLICAS, initial=1)
    job_type = forms.ChoiceField(
        label=_("Job type"), choices=[("", _("Any")), *ServiceType.choices], required=False
    )
    security_grade = forms.IntegerField(
        label=_("Security grade at least"), min_value=0, max_value=GRADE_MOST, required=False
    )
    duration_s = UnitField(SECONDS, least=1, most=MOST_COUNT, label=_("Runs for"), required=False)
    deadline = forms.DateTimeField(
        label=_("Has to have ended by"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTE),
    )
    image_id = forms.CharField(label=_("ID of its image"), max_length=63, required=False)
    data = forms.CharField(  # type: ignore[assignment]
        label=_("Data that it reads"),
        max_length=2100,
        required=False,
        help_text=_("By name, or name:version; several with commas."),
    )
    center_ids = forms.MultipleChoiceField(
        label=_("Only in these centres"), required=False, widget=forms.CheckboxSelectMultiple
    )
    split = forms.ChoiceField(
        label=_("Where no centre takes all replicas"),
        choices=[("", _("it waits")), ("yes", _("several centres take them"))],
        required=False,
    )

    def __init__(
        self,
        *args: Any,
        specs: Iterable[ResourceSpec],
        centers: Iterable[Center],
        tenants: Iterable[Tenant] | None = None,
        **kwargs: Any,
    ) -> None:
        """`tenants`: of whom the job may be, for operators; None: it is of the tenant who tries."""
        super().__init__(*args, **kwargs)
        if tenants is not None:
            whose = [("", _("nobody in particular")), *((row.schema_name, row.name) for row in tenants)]
            whose_field = forms.ChoiceField(
                label=_("Of the tenant"),
                choices=whose,
                required=False,
                help_text=_("Only a centre that serves it is a candidate."),
            )
            self.fields["tenant"] = whose_field
            self.dress("tenant", whose_field)
        offered = [(row.resource_spec_id, row.resource_spec_name) for row in specs]
        self.has_specs = bool(offered)
        for name, choices in (
            ("resource_spec_id", offered),
            ("center_ids", [(row.ai_center_id, row.name) for row in centers]),
        ):
            offering = self.fields[name]
            assert isinstance(offering, forms.ChoiceField)
            offering.choices = choices

    def task(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of what was sent, the task."""
        names = ("resource_spec_id", "replicas", "duration_s", "deadline", "image_id", "center_ids")
        return {name: given[name] for name in names} | {
            "data": data_given(given["data"]),
            "security_grade": given["security_grade"] or 0,
            "may_split": bool(given["split"]),
        }


class SettingsForm(WeighedForm):
    """How centres are chosen. `number`: the version that was shown."""

    mark = "placement"
    number = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    model = forms.ChoiceField(label=_("Evaluation model"))
    stale_s = UnitField(
        SECONDS,
        least=1,
        most=SECONDS_MOST,
        label=_("Figures of a centre count for"),
        help_text=_("One that was not heard of for longer gets no work."),
    )
    cool_off_failures = forms.IntegerField(
        label=_("Failed dispatches before a rest"), min_value=1, max_value=FAILURES_MOST
    )
    cool_off_s = UnitField(
        SECONDS, least=0, most=SECONDS_MOST, label=_("Rest after so many failures"), required=False
    )
    move_gb = forms.DecimalField(
        label=_("Largest data that moves (GB)"),
        min_value=0,
        max_value=MOST // _GB,
        max_digits=16,
        decimal_places=9,
        help_text=_("Work goes to larger data instead."),
    )
    usual_duration_s = UnitField(
        SECONDS, least=1, most=MOST_COUNT, label=_("Work runs for, where nothing is said")
    )

    def __init__(self, *args: Any, settings: Settings, number: int = 0, **kwargs: Any) -> None:
        initial = {name: getattr(settings, name) for name in _FIGURES}
        kwargs["initial"] = initial | {"number": number, "move_gb": _plain(settings.move_bytes)}
        super().__init__(*args, settings=settings, **kwargs)
        model = self.fields["model"]
        assert isinstance(model, forms.ChoiceField)
        model.choices = [(name, MODEL_NAMES.get(name, name)) for name in MODELS]

    def changes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of what was sent, all settings."""
        figures = {name: given[name] for name in _FIGURES} | {"cool_off_s": given["cool_off_s"] or 0}
        return figures | {"move_bytes": int(given["move_gb"] * _GB), "weights": weights_given(given) or {}}


def _plain(size_bytes: int) -> str:
    """In GB, without zeros at its end."""
    return f"{Decimal(size_bytes) / _GB:f}"


class JobsForm(SoundForm):
    search = forms.CharField(required=False, max_length=63)
    state = forms.ChoiceField(choices=[("", ""), *WorkState.choices], required=False)


class OwnWeightsForm(WeighedForm):
    """A form with weights of a job's own: all empty are those in force, which stand in the empty fields."""

    def __init__(self, *args: Any, settings: Settings, weights: Weights | None = None, **kwargs: Any) -> None:
        super().__init__(*args, settings=settings, **kwargs)
        own = dict(weights or ())
        for policy in POLICIES:
            field = self.fields[f"{WEIGHT_PREFIX}{policy}"]
            field.widget.attrs["placeholder"] = f"{field.initial:f}"
            field.initial = None if weights is None else Decimal(own.get(policy, 0)) / ONE


class Group(NamedTuple):
    """Fields of a form that stand together, folded until they are wanted."""

    mark: str
    title: str | Promise
    fields: list[forms.BoundField]
    is_open: bool


# What is rarely said of a job, folded: by what it is called, and which fields those are.
_GROUPS: tuple[tuple[str, str | Promise, tuple[str, ...]], ...] = (
    ("where", _("Where it may run, and until when"), ("center_ids", "security_grade", "deadline_at")),
    ("how", _("In which order, and what happens when it fails"), ("job_type", "priority", "retries", "gang")),
)
# What a service calls the fields of a task, and what this form does.
_TASK_INPUTS = {
    "name": "name",
    "resourcespec": "spec",
    "replicas": "replicas",
    "command": "command",
    "data": "data",
}
_JOB_INPUTS = {"centers": "center_ids", "min_security_grade": "security_grade", "deadline_at": "deadline_at"}
_OF_TASK = re.compile(r"tasks\[([0-9]{1,4})\]\.(\w+)")


class JobForm(OwnWeightsForm):
    """A job of `count` tasks, one after the other; a task's fields begin with its number."""

    mark = "job"
    name = forms.CharField(label=_("Name"), max_length=127)
    desc = forms.CharField(label=_("Description"), max_length=127, required=False)
    center_ids = forms.MultipleChoiceField(
        label=_("Only in these centres"), required=False, widget=forms.CheckboxSelectMultiple
    )
    security_grade = forms.IntegerField(
        label=_("Security grade at least"), min_value=0, max_value=GRADE_MOST, required=False
    )
    deadline_at = forms.DateTimeField(
        label=_("Has to have ended by"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTE),
    )
    job_type = forms.ChoiceField(label=_("Job type"), choices=ServiceType.choices, initial=ServiceType.BATCH)
    priority = forms.IntegerField(
        label=_("Priority"),
        min_value=-PRIORITY_MOST,
        max_value=0,
        required=False,
        help_text=_("From -9 to 0: the higher one finds its centre first."),
    )
    retries = forms.IntegerField(
        label=_("When it fails, try again at most"),
        min_value=2,
        max_value=MOST_RETRIES,
        required=False,
        help_text=_("Times, at least 2; empty: never."),
    )
    gang = forms.ChoiceField(
        label=_("Where only some tasks find a centre"),
        choices=[("", _("they start alone")), ("yes", _("all wait for each other"))],
        required=False,
    )

    def __init__(
        self, *args: Any, count: int, specs: Iterable[ResourceSpec], centers: Iterable[Center], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.count = count
        chosen = self.fields["center_ids"]
        assert isinstance(chosen, forms.ChoiceField)
        chosen.choices = [(row.ai_center_id, row.name) for row in centers]
        choices = [(row.resource_spec_id, row.resource_spec_name) for row in specs]
        self.has_specs = bool(choices)
        for number in range(count):
            for name, field in self._task_fields_made(number, choices).items():
                told = now("Task %(number)s: %(field)s") % {"number": number + 1, "field": field.label}
                field.told_label = told  # type: ignore[attr-defined]
                self.fields[f"task{number}_{name}"] = field
                self.dress(f"task{number}_{name}", field)

    @staticmethod
    def _task_fields_made(number: int, choices: list[tuple[str, str]]) -> dict[str, forms.Field]:
        return {
            "name": forms.CharField(label=_("Name"), max_length=63, initial=f"task{number + 1}"),
            "spec": forms.ChoiceField(label=_("Network specification"), choices=choices),
            "replicas": forms.IntegerField(
                label=_("Replicas"), min_value=1, max_value=MOST_JOB_REPLICAS, initial=1
            ),
            "command": forms.CharField(
                label=_("Start command"), widget=forms.Textarea(attrs={"rows": 3}), strip=False
            ),
            "data": forms.CharField(
                label=_("Data that it reads"),
                max_length=2100,
                required=False,
                help_text=_("By name, or name:version; several with commas."),
            ),
        }

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """What is said of every job."""
        return [self[name] for name in ("name", "desc")]

    @property
    def groups(self) -> list[Group]:
        """What is rarely said."""
        found = [self._group(mark, title, names) for mark, title, names in _GROUPS]
        weights = [name for name in self.fields if name.startswith(WEIGHT_PREFIX)]
        return [*found, self._group("weights", _("Weights of the policies, where they are its own"), weights)]

    def _group(self, mark: str, title: str | Promise, names: Sequence[str]) -> Group:
        said = {name: self.initial.get(name) for name in names}
        usual = ("", "0", "None", "[]")
        is_open = any(
            str(value) not in usual and value != self.fields[name].initial for name, value in said.items()
        )
        return Group(mark, title, [self[name] for name in names], is_open)

    @property
    def task_fields(self) -> list[list[forms.BoundField]]:
        """Those of each task."""
        names = ("name", "spec", "replicas", "data", "command")
        return [[self[f"task{number}_{name}"] for name in names] for number in range(self.count)]

    def inputs_of(self, fields: Iterable[str]) -> dict[str, str]:
        """By what a service calls a field of a job: the name of the field of this form."""
        found = {"tasks": "task0_name", "weights": f"{WEIGHT_PREFIX}{next(iter(POLICIES))}"}
        for name in fields:
            if match := _OF_TASK.fullmatch(name):
                number, field = match.groups()
                told = _TASK_INPUTS.get(field)
                found[name] = f"task{number}_{told}" if told else _JOB_INPUTS.get(field, "name")
        return found

    def asked(self, given: Mapping[str, Any]) -> JobRequest:
        """The job that was asked for."""
        tasks = tuple(
            TaskRequest(
                name=given[f"task{number}_name"],
                command=given[f"task{number}_command"].replace("\r\n", "\n"),
                resourcespec=given[f"task{number}_spec"],
                replicas=given[f"task{number}_replicas"],
                centers=tuple(given["center_ids"]),
                min_security_grade=given["security_grade"] or 0,
                deadline_at=given["deadline_at"],
                data=data_given(given[f"task{number}_data"]),
            )
            for number in range(self.count)
        )
        return JobRequest(
            name=given["name"],
            desc=given["desc"],
            tasks=tasks,
            job_type=given["job_type"],
            priority=given["priority"] or 0,
            is_gang=bool(given["gang"]),
            weights=weights_given(given),
            retries=given["retries"],
        )


class JobChangeForm(OwnWeightsForm):
    """What changes of a job that has not ended. `revision`: the one that was shown."""

    mark = "job"
    revision = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    name = forms.CharField(label=_("Name"), max_length=127)
    desc = forms.CharField(label=_("Description"), max_length=127, required=False)
    priority = forms.IntegerField(label=_("Priority"), min_value=-PRIORITY_MOST)
    deadline_at = forms.DateTimeField(
        label=_("Has to have ended by"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTE),
        help_text=_("All its tasks."),
    )

    def __init__(self, *args: Any, job: Job, deadlines: Iterable[datetime | None], **kwargs: Any) -> None:
        common = set(deadlines)
        deadline_at = common.pop() if len(common) == 1 else None
        self._shown = {name: getattr(job, name) for name in ("name", "desc", "priority")} | {
            "deadline_at": deadline_at and deadline_at.replace(second=0, microsecond=0)
        }
        kwargs["initial"] = self._shown | {"revision": job.revision}
        weights = None if job.weights is None else tuple((name, part) for name, part in job.weights)
        super().__init__(*args, weights=weights, **kwargs)
        priority = self.fields["priority"]
        assert isinstance(priority, forms.IntegerField)
        priority.widget.attrs |= {"min": -PRIORITY_MOST, "max": PRIORITY_MOST}
        self._weights = dict(weights or ())
        self.has_weights = weights is not None

    def changes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of what was sent, what is other than what was shown."""
        changed = {name: given[name] for name, shown in self._shown.items() if given[name] != shown}
        weights = weights_given(given)
        sent = (
            None if weights is None else {name: round(Decimal(part) * ONE) for name, part in weights.items()}
        )
        shown = {policy: self._weights.get(policy, 0) for policy in POLICIES} if self.has_weights else None
        return changed if sent == shown else changed | {"weights": weights}
