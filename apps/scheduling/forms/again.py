"""What somebody asked for before, as the beginning of a form that asks for it once more."""

import shlex
from collections.abc import Callable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.kernel.forms import SoundForm
from apps.scheduling.models import Workload

# What the form has no field for, or only one in other words than are kept: the reader is told.
_LEFT_OUT: tuple[tuple[Callable[[Workload], Any], Any], ...] = (
    (lambda row: row.work.get("env"), _("variables")),
    (lambda row: row.folder, _("the folder sent along")),
    (lambda row: row.work.get("volumes"), _("volumes and assets")),
    (lambda row: row.work.get("image"), _("the container image")),
    (lambda row: row.outputs, _("the volume for its outputs")),
)
_AS_THEY_ARE = (
    "name", "kind", "purpose", "spec", "mig_profile", "shares", "shares_per_replica", "min_shares", "whole_cards",
    "distinct_devices", "single_node", "priority", "placing", "checkpoint_signal", "urgent", "preemptible",
    "oversubscribe", "requeue_on_loss", "wait_for_quota",
)  # fmt: skip


class AgainForm(SoundForm):
    again = forms.UUIDField(label=_("Run again"), required=False)


def asked_again(row: Workload) -> dict[str, Any]:
    """The values of the form that asks for what `row` was."""
    found = {name: getattr(row, name) for name in _AS_THEY_ARE if hasattr(row, name)}
    found |= {
        "command": shlex.join(str(part) for part in row.work.get("argv") or ()),
        "queue": row.queue.code,
        "secrets": ", ".join(row.secrets),
        "web": bool(row.work.get("web")),
        "requirements": "\n".join(row.work.get("packages", {}).get("requirements", ())),
    }
    if row.environment is not None:
        found["environment"] = str(row.environment.uid)
    elif not row.spec:
        found |= {"compute_percent": row.compute_percent, "memory_mib": row.memory_mib}
    if row.run_timeout_s:
        found["run_minutes"] = -(-row.run_timeout_s // 60)
    return found


def left_out(row: Workload) -> list[Any]:
    """What `row` had and the form does not take over, in words."""
    return [words for had, words in _LEFT_OUT if had(row)]
