"""The input of the pages of environment templates."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import MEMORY, MINUTES, UnitField
from apps.scheduling.forms.base import MarkedForm
from apps.scheduling.models import EnvironmentTemplate
from apps.scheduling.services.environment_templates import TemplateDraft
from apps.scheduling.states import GpuKind, Software


class TemplateForm(MarkedForm):
    """A template as operators say it: cores and minutes, and not their thousandths and seconds."""

    mark = "template"
    name = forms.CharField(
        label=_("Name"), max_length=36, help_text=_("Digits, lower-case letters and hyphens.")
    )
    description = forms.CharField(
        label=_("Description"), max_length=500, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    software = forms.ChoiceField(
        label=_("Built-in image"), choices=Software.choices, initial=Software.JUPYTERLAB
    )
    image = forms.ChoiceField(
        label=_("Custom image"),
        required=False,
        help_text=_(
            "Instead of the built-in one: an image that the centre offers, which serves its pages on the socket"
            " that WEIR_WEB_SOCKET names."
        ),
    )
    gpu_kind = forms.ChoiceField(label=_("GPU type"), choices=GpuKind.choices, initial=GpuKind.SHARE)
    compute_percent = forms.IntegerField(
        label=_("Compute (%)"),
        min_value=1,
        max_value=100,
        initial=30,
        help_text=_("Of one card; a whole card is 100."),
    )
    memory_mib = UnitField(MEMORY, least=1, most=2**31 - 1, label=_("Accelerator memory"), initial=2048)
    vendor = forms.CharField(label=_("Vendor"), max_length=64, required=False, help_text=_("Empty: any."))
    model = forms.CharField(label=_("Model"), max_length=200, required=False, help_text=_("Empty: any."))
    cores = forms.DecimalField(
        label=_("Processor cores"),
        min_value=0,
        max_value=Decimal(10_000),
        decimal_places=3,
        required=False,
        help_text=_("Beside the card. Empty: nothing is said."),
    )
    host_memory_mib = UnitField(
        MEMORY,
        most=2**31 - 1,
        label=_("Main memory"),
        required=False,
        help_text=_("Beside the card. Empty: nothing is said."),
    )
    idle_minutes = UnitField(
        MINUTES,
        least=1,
        most=366 * 24 * 60,
        label=_("Ends when idle for"),
        required=False,
        help_text=_("Empty: it runs until somebody stops it."),
    )

    def __init__(self, *args: Any, images: Sequence[tuple[str, str]] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        field = self.fields["image"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("None: the built-in one")), *images]

    def note(self, text: str) -> None:
        """Say something beside the built-in images."""
        self.fields["software"].help_text = text

    def draft(self, given: dict[str, Any]) -> TemplateDraft:
        """What the cleaned values say."""
        said = dict(given)
        cores, minutes = said.pop("cores"), said.pop("idle_minutes")
        return TemplateDraft(
            **said | {"host_memory_mib": said["host_memory_mib"] or 0},
            host_cpu_milli=int((cores or 0) * 1000),
            idle_timeout_s=minutes * 60 if minutes else None,
        )


def template_values(row: EnvironmentTemplate) -> dict[str, Any]:
    """What the form shows of a template."""
    names = (
        "name",
        "description",
        "software",
        "image",
        "gpu_kind",
        "compute_percent",
        "memory_mib",
        "vendor",
        "model",
    )
    return {name: getattr(row, name) for name in names} | {
        "cores": Decimal(row.host_cpu_milli) / 1000 if row.host_cpu_milli else None,
        "host_memory_mib": row.host_memory_mib or None,
        "idle_minutes": row.idle_timeout_s // 60 if row.idle_timeout_s else None,
    }


class StartForm(SoundForm):
    name = forms.CharField(label=_("Name"), max_length=120, required=False)
    key = forms.CharField(max_length=64, required=False)
