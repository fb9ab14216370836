"""The operators' pages: components, releases, roll-outs with their progress (POOL-12.20, 12.22)."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.fleet.permissions import FleetPermission as P
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput, NotFound
from apps.rollouts.forms import LEVELS, ReleaseForm, StartForm
from apps.rollouts.models import Rollout
from apps.rollouts.selectors import (
    component_list,
    release_key_list,
    release_list,
    rollout_get,
    rollout_list,
)
from apps.rollouts.services.releases import release_add
from apps.rollouts.services.rollouts import (
    rollout_cancel,
    rollout_pause,
    rollout_resume,
    rollout_roll_back,
    rollout_start,
)
from apps.rollouts.states import ProcessKind, RolloutState, StepState
from apps.rollouts.types import Component

TOPICS = ["components"]
_SHOWN = 5
_SIGNATURE_BYTES = 4096


@operator_page(P.VIEW)
def components(request: PortalRequest) -> HttpResponse:
    """Every part of the pool; where a roll-out to some of them begins."""
    found = component_list()
    parts = [part for part in found if not part.node_uid]
    context = {
        "servers": [(part, kind_label(part.component), state_label(part)) for part in parts],
        "nodes": list(_by_node(part for part in found if part.node_uid)),
        "releases": release_list()[:50],
        "levels": LEVELS,
        "open": [_progress(row) for row in rollout_list().filter(finished_at=None)[:_SHOWN]],
        "live": TOPICS,
    }
    return show(request, "rollouts/components", context)


def _by_node(parts: Iterable[Component]) -> Iterable[dict[str, Any]]:
    for _uid, group in groupby(parts, key=lambda part: part.node_uid):
        listed = list(group)
        agent = listed[0]
        yield {
            "agent": agent,
            "others": [(kind_label(part.component), part.version) for part in listed[1:]],
            "state": state_label(agent),
            "config": config_words(agent.config),
        }


def config_words(config: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A configuration as people call its values."""
    names = {
        "meter_s": _("Measured every"),
        "log_level": _("Log level"),
        "log_limit_mib": _("Output kept"),
        "labels": _("Labels"),
    }
    return [
        (names.get(key, key), dict(LEVELS).get(value, value) if key == "log_level" else _plain(value))
        for key, value in config.items()
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "–"
    return int(value) if isinstance(value, float) and value.is_integer() else value


def kind_label(component: str) -> str:
    """What a part is called."""
    names = {
        "database": _("Database"),
        "queue": _("Message queue"),
        "agent": _("Node agent"),
        "session_server": _("Session server"),
        "torch": "PyTorch",
        "vscode": "VS Code",
        "command": _("Command"),
        "fleet": _("Fleet"),
        "portal": _("Portal"),
        "scheduling": _("Scheduling"),
    }
    return names.get(component) or dict(ProcessKind.choices).get(component, component)


def state_label(part: Component) -> str:
    """The state in the reader's words."""
    words = {
        "running": _("Running"),
        "restarting": _("Restarting"),
        "stopped": _("Stopped"),
        "lost": _("Lost"),
        "ready": _("Ready"),
        "drained": _("Drained"),
    }
    return words.get(part.state, part.state)


@require_POST
@operator_page(P.MANAGE)
def start(request: PortalRequest) -> HttpResponse:
    """Begin a roll-out to the targets that were ticked."""
    form = StartForm(request.POST)
    given = cleaned(form)
    what = given["what"]
    if what == "release" and not given["release"]:
        raise InvalidInput(fields={_("Release"): _("Choose one, or add one first.")})
    if what == "config" and not form.config:
        raise InvalidInput(fields={_("Configuration"): _("Give at least one value.")})
    row = rollout_start(
        actor=request.actor,
        release=given["release"] if what == "release" else "",
        config=form.config if what == "config" else None,
        nodes=request.POST.getlist("nodes") if what != "restart" else [],
        with_server=given["server"] or what == "restart",
        batch=given["batch"],
        gate_s=given["gate_s"],
    )
    return go(request, "rollouts:rollout", row.uid)


@operator_page(P.VIEW, changes=P.MANAGE)
def releases(request: PortalRequest) -> HttpResponse:
    """The releases; a new one comes in signed."""
    if request.method == "POST":
        return _release_add(request)
    context = {"rows": paged(request, release_list()), "keys": release_key_list()[:20]}
    return show(request, "rollouts/releases", context)


def _release_add(request: PortalRequest) -> HttpResponse:
    request.actor.require(P.MANAGE)
    given = cleaned(ReleaseForm(request.POST, request.FILES))
    signature = given["signature"].read(_SIGNATURE_BYTES).decode("ascii", errors="replace").strip()
    row = release_add(
        actor=request.actor, content=given["file"].read(), signature=signature, notes=given["notes"]
    )
    messages.success(request, _("Release %(version)s added.") % {"version": row.version})
    return go(request, "rollouts:releases")


@operator_page(P.VIEW)
def rollouts(request: PortalRequest) -> HttpResponse:
    """The roll-outs, newest first."""
    rows = paged(request, rollout_list())
    for row in rows:
        row.progress = _progress(row)
    return show(request, "rollouts/rollouts", {"rows": rows, "live": TOPICS})


@operator_page(P.VIEW)
def rollout(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One roll-out, target by target, as it goes."""
    row = rollout_get(uid)
    batches = [
        (number, list(steps)) for number, steps in groupby(row.steps.all(), key=lambda step: step.batch_no)
    ]
    words = config_words(row.config)
    context = {**_progress(row), "config": words, "batches": batches, "acts": _acts(row), "live": TOPICS}
    return show(request, "rollouts/rollout", context)


_SETTLED = (StepState.DONE, StepState.FAILED, StepState.ROLLED_BACK, StepState.SKIPPED)


def _progress(row: Rollout) -> dict[str, Any]:
    steps = list(row.steps.all())
    return {
        "row": row,
        "step_count": len(steps),
        "settled": sum(step.state in _SETTLED for step in steps),
        "done": sum(step.state == StepState.DONE for step in steps),
    }


def _acts(row: Rollout) -> list[tuple[str, str, str]]:
    """What can be done to it now: the act, its name, its look."""
    back = ("roll_back", _("Roll back"), "outline-danger")
    cancel = ("cancel", _("Stop here"), "outline-secondary")
    return {
        RolloutState.RUNNING: [("pause", _("Pause"), "primary"), cancel, back],
        RolloutState.PAUSED: [("resume", _("Go on"), "primary"), cancel, back],
        RolloutState.DONE: [back],
        RolloutState.CANCELLED: [back],
    }.get(RolloutState(row.state), [])


_SERVICES = {
    "pause": rollout_pause,
    "resume": rollout_resume,
    "cancel": rollout_cancel,
    "roll_back": rollout_roll_back,
}


@require_POST
@operator_page(P.MANAGE)
def act(request: PortalRequest, uid: UUID, act: str) -> HttpResponse:
    """Pause it, go on, stop, or send it back."""
    if act not in _SERVICES:
        raise NotFound()
    _SERVICES[act](actor=request.actor, uid=uid)
    return go(request, "rollouts:rollout", uid)
