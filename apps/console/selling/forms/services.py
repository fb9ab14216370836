"""The input of the pages of commodities that is of services alone: where they listen, and how they are kept alive."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext, gettext_lazy

from apps.images.work import images_offered
from apps.kernel.forms import SoundForm
from node_agent.protocol.services import HEALTH_PATH, PORT_LEAST, PORT_MOST, START_MOST_S, ServiceSpec

_SECOND, _MINUTE = (1, gettext_lazy("seconds")), (60, gettext_lazy("minutes"))
RESTARTS = (
    ("always", gettext_lazy("Always, however it ended")),
    ("failure", gettext_lazy("When it failed")),
    ("never", gettext_lazy("Never: with its program the service ends")),
)
SERVICE = (
    "image", "port", "health_path", "interval", "timeout", "failures", "start", "start_unit", "restart", "max_restarts",
)  # fmt: skip


def _image_choices() -> list[tuple[str, Any]]:
    return [("", gettext_lazy("None: what its node has installed")), *images_offered()]


class ServiceFields(SoundForm):
    """How a service is reached and kept alive."""

    image = forms.ChoiceField(
        label=gettext_lazy("Container image"),
        choices=_image_choices,
        required=False,
        help_text=gettext_lazy("It runs what the image says, unless a command stands here."),
    )
    port = forms.IntegerField(
        label=gettext_lazy("Port"),
        min_value=PORT_LEAST,
        max_value=PORT_MOST,
        required=False,
        help_text=gettext_lazy(
            "Where its program listens. Empty: its node chooses a free one; $PORT in the command stands for it."
        ),
    )
    health_path = forms.CharField(
        label=gettext_lazy("Health path"),
        max_length=200,
        validators=[
            RegexValidator(HEALTH_PATH, gettext_lazy("A path begins with / and has no spaces: /healthz"))
        ],
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "none"}),
        help_text=gettext_lazy("Asked for by GET; 200 to 399 is healthy."),
    )
    interval = forms.IntegerField(label=gettext_lazy("Asked every"), min_value=1, max_value=300)
    timeout = forms.IntegerField(label=gettext_lazy("Answers within"), min_value=1, max_value=60)
    failures = forms.IntegerField(
        label=gettext_lazy("Unhealthy after so many failed checks"), min_value=1, max_value=20
    )
    start = forms.IntegerField(
        label=gettext_lazy("Time to become healthy"), min_value=1, max_value=START_MOST_S
    )
    start_unit = forms.TypedChoiceField(label=gettext_lazy("Unit"), choices=(_SECOND, _MINUTE), coerce=int)
    restart = forms.ChoiceField(label=gettext_lazy("Started again"), choices=RESTARTS)
    max_restarts = forms.IntegerField(
        label=gettext_lazy("Restarts in a row at most"),
        min_value=0,
        max_value=100,
        help_text=gettext_lazy("After them the service has failed, and its order ends."),
    )

    def clean_start_unit(self) -> int:
        """Refuses a start of more than an hour, whichever unit it was said in."""
        unit: int = self.cleaned_data["start_unit"]
        if self.cleaned_data.get("start", 0) * unit > START_MOST_S:
            raise forms.ValidationError(gettext("At most an hour."))
        return unit


def service_said(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the cleaned values say of a service, in the words of its node."""
    return {
        "port": given["port"],
        "health_path": given["health_path"],
        "interval_s": given["interval"],
        "timeout_s": given["timeout"],
        "failures": given["failures"],
        "start_s": given["start"] * given["start_unit"],
        "restart": given["restart"],
        "max_restarts": given["max_restarts"],
    }


def service_initial(said: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the form shows of a service, or of a new one."""
    wanted = ServiceSpec.model_validate(said or {})
    unit = 60 if wanted.start_s % 60 == 0 else 1
    return {
        "port": wanted.port,
        "health_path": wanted.health_path,
        "interval": wanted.interval_s,
        "timeout": wanted.timeout_s,
        "failures": wanted.failures,
        "start": wanted.start_s // unit,
        "start_unit": unit,
        "restart": wanted.restart,
        "max_restarts": wanted.max_restarts,
    }
