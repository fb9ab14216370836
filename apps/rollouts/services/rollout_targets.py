"""What a step does to its target, and whether that has worked: nodes and the server. Internal to the services."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from apps.fleet.models import Node, Slice
from apps.fleet.services.nodes.membership import node_want
from apps.fleet.states import NodeState, SliceState
from apps.kernel.actor import Actor
from apps.kernel.errors import WeirError
from apps.kernel.translatable import literal, message
from apps.rollouts.models import Release, Rollout, RolloutStep, ServerProcess
from apps.rollouts.selectors import PROCESS_LOST_AFTER_S
from apps.rollouts.services.server_processes import RESTART_MAX_S, server_restart_request
from apps.rollouts.states import ProcessKind, ProcessState, StepState, TargetKind
from apps.telemetry.models import Alarm
from apps.telemetry.states import AlarmState
from node_agent.protocol.releases import BUILTIN_PATH, RELEASES_PATH

# How long a node may take to hear what is desired of it: what it says of an earlier one is not held against this one.
_HEARING_S = 8
_NOTHING = "0" * 64
# A server that no centre is joined to need not have what watches centres.
_NEEDED = set(ProcessKind.values) - {ProcessKind.CENTERS}
Verdict = dict[str, Any] | None


def step_begin(step: RolloutStep, rollout: Rollout, *, actor: Actor) -> None:
    """Tell the target what is wanted of it; what it had before is kept in the step. A target that is gone fails."""
    step.state, step.started_at = StepState.UPGRADING, timezone.now()
    if step.kind == TargetKind.SERVER:
        step.generation = server_restart_request(actor=actor)
    else:
        try:
            with transaction.atomic():
                _node_begin(step, rollout, actor)
        except WeirError as error:
            step.state, step.before, step.why = StepState.FAILED, {}, literal(str(error.message))
    step.save()


def _node_begin(step: RolloutStep, rollout: Rollout, actor: Actor) -> None:
    node = Node.objects.get(uid=step.node_uid)
    step.from_version = node.agent_version
    step.before = {
        "release": node.wanted_release or _installed(node.agent_version),
        "config": {k: v for k, v in (node.wanted_config or {}).items() if k != "generation"},
        "problem": node.info.get("release_problem", ""),
    }
    running = Slice.plain.filter(node=node, state__in=[SliceState.STARTING, SliceState.RUNNING])
    step.slices = [str(uid) for uid in running.values_list("uid", flat=True)]
    if rollout.release is not None:
        step.to_version = rollout.release.version
        node_want(actor=actor, node_uid=node.uid, release=desired_release(rollout.release))
    else:
        step.to_version = node.agent_version
        step.generation = _configure(node.uid, rollout.config, actor)


def _configure(node_uid: str, config: dict[str, Any], actor: Actor) -> int:
    node = node_want(actor=actor, node_uid=node_uid, config=config)
    return int((node.wanted_config or {}).get("generation", 0))


def desired_release(release: Release) -> dict[str, str]:
    """A release as agents are told of it."""
    return {
        "version": release.version,
        "path": f"{RELEASES_PATH}{release.version}",
        "sha256": release.sha256,
        "signature": release.signature,
    }


def _installed(version: str) -> dict[str, str]:
    """Desires what was installed on the node before any release came: nothing is fetched for it."""
    return {"version": version, "path": BUILTIN_PATH, "sha256": _NOTHING, "signature": _NOTHING * 2}


def step_judge(step: RolloutStep, rollout: Rollout, *, now: datetime) -> Verdict:
    """Why the step has failed, {} if it has not, None where it is not decided yet (the health gate)."""
    assert step.started_at is not None
    verdict = _server_judge(step, now) if step.kind == TargetKind.SERVER else _node_judge(step, rollout, now)
    if verdict is None and now - step.started_at > timedelta(seconds=gate_s(step, rollout)):
        return message(_("It was not healthy within %(gate)s s."), {"gate": gate_s(step, rollout)})
    return verdict


def gate_s(step: RolloutStep, rollout: Rollout) -> int:
    """How long the step may take: the server's processes go one after another, each has the time of a target."""
    if step.kind == TargetKind.NODE:
        return rollout.gate_s
    return rollout.gate_s * max(1, ServerProcess.objects.exclude(state=ProcessState.STOPPED).count())


def _server_judge(step: RolloutStep, now: datetime) -> Verdict:
    alive = Q(seen_at__gt=now - timedelta(seconds=PROCESS_LOST_AFTER_S)) & ~Q(state=ProcessState.STOPPED)
    leaving = Q(state=ProcessState.RESTARTING)
    behind = ServerProcess.objects.filter(alive | leaving, generation__lt=step.generation)
    gone = behind.filter(leaving, restart_at__lt=now - timedelta(seconds=RESTART_MAX_S)).first()
    if gone is not None:
        return message(_("%(process)s did not come back."), {"process": str(gone)})
    there = set(
        ServerProcess.objects.filter(alive, state=ProcessState.RUNNING).values_list("kind", flat=True)
    )
    return {} if not behind.exists() and there >= _NEEDED else None


def _node_judge(step: RolloutStep, rollout: Rollout, now: datetime) -> Verdict:
    node = Node.objects.exclude(state=NodeState.REMOVED).filter(uid=step.node_uid).first()
    if node is None:
        return message(_("The node was removed."))
    problem = node.info.get("release_problem" if rollout.release else "config_problem", "")
    assert step.started_at is not None
    is_heard = node.last_seen_at > step.started_at + timedelta(seconds=_HEARING_S)
    if problem and (is_heard or problem != step.before.get("problem")):
        return literal(problem)
    harm = _harm(step, node)
    if harm:
        return harm
    has_arrived = (
        node.agent_version == step.to_version
        if rollout.release
        else node.info.get("config_generation", 0) >= step.generation
    )
    is_there = node.state in (NodeState.READY, NodeState.DRAINED) and node.last_seen_at > step.started_at
    return {} if has_arrived and is_there else None


def _harm(step: RolloutStep, node: Node) -> dict[str, Any]:
    """What went wrong on the node since the step began: work that ran, or a new alarm. That it does not answer
    while it restarts is no harm: it has to answer in time anyway."""
    broken = Slice.plain.filter(uid__in=step.slices, state__in=[SliceState.FAILED, SliceState.LOST]).first()
    if broken is not None:
        return message(
            _("Work that ran on it has ended: %(reason)s"), {"reason": broken.reason or broken.state}
        )
    subjects = [node.uid, *node.devices.values_list("uid", flat=True)]
    alarm = (
        Alarm.objects.exclude(state=AlarmState.RESOLVED)
        .filter(subject_id__in=subjects, fired_at__gte=step.started_at)
        .exclude(key__startswith="node-lost:")
        .first()
    )
    return (
        message(_("A new alarm: %(title)s"), {"title": message(alarm.msgid, alarm.params)}) if alarm else {}
    )


def step_undo(step: RolloutStep, rollout: Rollout, *, actor: Actor) -> None:
    """Tell the target to be as it was. A server that restarted stays: its code is what is installed there."""
    step.started_at = timezone.now()
    is_there = Node.objects.exclude(state=NodeState.REMOVED).filter(uid=step.node_uid).exists()
    if step.before and is_there:
        step.state = StepState.ROLLING_BACK
        if rollout.release is not None:
            node_want(actor=actor, node_uid=step.node_uid, release=step.before["release"])
        else:
            step.generation = _configure(step.node_uid, step.before["config"], actor)
    else:
        if step.state != StepState.FAILED:
            step.state = StepState.DONE if step.kind == TargetKind.SERVER else StepState.SKIPPED
        step.finished_at = timezone.now()
    step.save()


def step_is_back(step: RolloutStep, rollout: Rollout, *, now: datetime) -> bool:
    """Whether the target is as it was, or has had its time and does not answer: then it will be when it does."""
    node = Node.objects.filter(uid=step.node_uid).first()
    assert step.started_at is not None
    if node is None or now - step.started_at > timedelta(seconds=2 * rollout.gate_s):
        return True
    if rollout.release is not None:
        return node.agent_version == step.from_version and node.last_seen_at > step.started_at
    return node.info.get("config_generation", 0) >= step.generation
