"""What somebody asked for before, as the beginning of a form that asks for it once more."""

import shlex
from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from apps.kernel.actor import Actor
from apps.kernel.forms import SoundForm
from apps.scheduling.models import Workload

# What the form has no field for: the reader is told.
_LEFT_OUT: tuple[tuple[Callable[[Workload], Any], Any], ...] = (
    (lambda row: row.work.get("env"), _("variables")),
    (lambda row: row.folder, _("the folder sent along")),
)
_AS_THEY_ARE = (
    "name", "kind", "purpose", "spec", "mig_profile", "shares", "shares_per_replica", "min_shares", "whole_cards",
    "scratch_disk_mib", "distinct_devices", "single_node", "priority", "placing", "urgent", "preemptible",
    "oversubscribe", "requeue_on_loss", "wait_for_quota",
)  # fmt: skip


class AgainForm(SoundForm):
    again = forms.UUIDField(label=_("Run again"), required=False)


def asked_again(row: Workload, actor: Actor) -> dict[str, Any]:
    """The values of the form that asks for what `row` was, of images, volumes and assets those that the actor may still
    ask for."""
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
    if warning := row.work.get("warning"):
        found["signal"] = f"{warning['signal']}@{warning['before_s']}"
    found["checkpoint_signal"] = row.work.get("checkpoint", {}).get("signal", "")
    return found | _image_again(row, actor) | _mounts_again(row, actor)


def _image_again(row: Workload, actor: Actor) -> dict[str, Any]:
    ran_in = row.work.get("image")
    pick = import_string(settings.WEIR_IMAGE_AGAIN)(actor=actor, ran_in=ran_in) if ran_in else None
    return {"image": [pick] if pick else []}


def _mounts_again(row: Workload, actor: Actor) -> dict[str, Any]:
    mounts = row.work.get("volumes") or ()
    if not mounts and not row.outputs:
        return {}
    again = import_string(settings.WEIR_MOUNTS_AGAIN)
    return again(actor=actor, mounts=mounts, outputs=row.outputs)  # type: ignore[no-any-return]


def left_out(row: Workload, found: dict[str, Any]) -> list[Any]:
    """What `row` had and the form that begins with `found` does not take over, in words."""
    words = [text for had, text in _LEFT_OUT if had(row)]
    mounted = len(found.get("volumes", ())) + len(found.get("assets", ()))
    gone = (
        (mounted < len(row.work.get("volumes") or ()), _("volumes or assets that you may use no longer")),
        (row.work.get("image") and not found["image"], _("the container image, which you may use no longer")),
        (
            row.outputs and not found.get("outputs"),
            _("the volume for its outputs, which you may use no longer"),
        ),
    )
    return [*words, *(text for is_gone, text in gone if is_gone)]
