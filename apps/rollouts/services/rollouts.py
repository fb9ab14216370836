"""Roll-outs: started, paused, cancelled, sent back by people; carried on by the clock (POOL-12.20, 12.22)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override
from pydantic import ValidationError

from apps.fleet.models import Node
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.states import NodeState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.kernel.translatable import message
from apps.rollouts.errors import NodeUnreachable, ReleaseUnsound, TargetBusy
from apps.rollouts.events import RolloutDone, RolloutFailed, RolloutMoved
from apps.rollouts.models import Release, Rollout, RolloutStep
from apps.rollouts.selectors import release_get
from apps.rollouts.services.rollout_targets import step_begin, step_is_back, step_judge, step_undo
from apps.rollouts.states import OPEN, ROLLOUT, RolloutState, StepState, TargetKind
from node_agent.protocol.sync import AgentConfig

GATE_MAX_S = 3600
TARGETS_MAX = 2000


@service(P.MANAGE)
def rollout_start(
    *,
    actor: Actor,
    release: str = "",
    config: Mapping[str, Any] | None = None,
    nodes: Sequence[str] = (),
    with_server: bool = False,
    batch: int = 1,
    gate_s: int = 60,
) -> Rollout:
    """Begin to bring a release or a configuration to nodes, `batch` targets at a time, the server first.

    Each target has `gate_s` seconds to be healthy with it; one that is not sends the whole roll-out back.
    Raises InvalidInput, NotFound, NodeUnreachable, TargetBusy; then nothing has changed.
    """
    wanted = _config_checked(config) if config is not None else {}
    _input_check(release, config, nodes, with_server, batch, gate_s)
    rollout = Rollout(
        release=release_get(release) if release else None,
        config=wanted,
        batch=batch,
        gate_s=gate_s,
        created_by=actor.name,
    )
    act_subject("rollout", rollout.uid, release=release, nodes=len(nodes), with_server=with_server)
    if rollout.release is not None and rollout.release.key.revoked_at is not None:
        raise ReleaseUnsound(
            _("The key that release %(version)s is signed with was revoked.") % {"version": release}
        )
    rollout.save()
    _steps_make(rollout, _targets(nodes), with_server)
    return rollout


def _input_check(
    release: str, config: object, nodes: Sequence[str], with_server: bool, batch: int, gate_s: int
) -> None:
    if bool(release) == (config is not None) and (nodes or release):
        raise InvalidInput(_("Name a release or a configuration, one of the two."))
    if config is not None and with_server:
        raise InvalidInput(_("A configuration is for nodes: the server's settings are in its environment."))
    if not (nodes or with_server):
        raise InvalidInput(fields={"nodes": _("Choose at least one target.")})
    if len(nodes) > TARGETS_MAX or len(set(nodes)) != len(nodes):
        raise InvalidInput(fields={"nodes": _("Each node once, at most 2000.")})
    if not 1 <= batch <= TARGETS_MAX:
        raise InvalidInput(fields={"batch": _("1 to 2000.")})
    if not 1 <= gate_s <= GATE_MAX_S:
        raise InvalidInput(fields={"gate_s": _("1 to 3600 seconds.")})


def _config_checked(config: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = AgentConfig.model_validate({**config, "generation": 1})
    except ValidationError as error:
        problems = {f"config.{'.'.join(map(str, p['loc']))}": p["msg"] for p in error.errors()}
        raise InvalidInput(fields=problems) from error
    return found.model_dump(mode="json", exclude={"generation"}, exclude_none=True)


def _targets(uids: Sequence[str]) -> list[Node]:
    rows = Node.objects.exclude(state=NodeState.REMOVED).filter(uid__in=uids)
    found = {node.uid: node for node in rows}
    unknown = [uid for uid in uids if uid not in found]
    if unknown:
        raise NotFound(_("There is no node %(uid)s.") % {"uid": unknown[0]})
    lost = [node.name for node in found.values() if node.state == NodeState.LOST]
    if lost:
        raise NodeUnreachable(_("Node %(name)s does not answer.") % {"name": lost[0]})
    return [found[uid] for uid in uids]


def _steps_make(rollout: Rollout, nodes: Sequence[Node], with_server: bool) -> None:
    server = [RolloutStep(rollout=rollout, kind=TargetKind.SERVER, name="server")] if with_server else []
    steps = server + [
        RolloutStep(
            rollout=rollout,
            kind=TargetKind.NODE,
            node_uid=node.uid,
            name=node.name,
            from_version=node.agent_version,
            to_version=rollout.release.version if rollout.release else node.agent_version,
        )
        for node in nodes
    ]
    for position, step in enumerate(steps):
        step.batch_no = position // rollout.batch + 1
    _apart(lambda: RolloutStep.objects.bulk_create(steps))


def _apart(write: Any) -> None:
    try:
        with transaction.atomic():
            write()
    except IntegrityError as error:
        raise TargetBusy() from error


@service(P.MANAGE)
def rollout_pause(*, actor: Actor, uid: UUID | str) -> Rollout:
    """Begin no further batch; what is under way is carried to its end."""
    return _moved(_locked(uid), RolloutState.PAUSED, actor)


@service(P.MANAGE)
def rollout_resume(*, actor: Actor, uid: UUID | str) -> Rollout:
    """Go on with the next batch."""
    return _moved(_locked(uid), RolloutState.RUNNING, actor)


@service(P.MANAGE)
def rollout_cancel(*, actor: Actor, uid: UUID | str) -> Rollout:
    """Stop here: targets that have it keep it, those that wait are left as they are."""
    rollout = _locked(uid)
    ROLLOUT.move(rollout, RolloutState.CANCELLED, actor=actor, finished_at=timezone.now())
    _close(rollout)
    _moved_emit(rollout, actor)
    return rollout


@service(P.MANAGE)
def rollout_roll_back(*, actor: Actor, uid: UUID | str) -> Rollout:
    """Give every target back what it had before."""
    rollout = _locked(uid)
    _send_back(rollout, message(gettext_noop("An operator sent it back.")), actor)
    return rollout


def _moved(rollout: Rollout, state: RolloutState, actor: Actor) -> Rollout:
    ROLLOUT.move(rollout, state, actor=actor)
    _moved_emit(rollout, actor)
    return rollout


def _locked(uid: UUID | str) -> Rollout:
    act_subject("rollout", uid)
    rollout = Rollout.objects.select_for_update(no_key=True).filter(uid=uid).first()
    if rollout is None:
        raise NotFound(_("There is no such roll-out."))
    _release_light(rollout)
    return rollout


def _release_light(rollout: Rollout) -> None:
    """The release without its content."""
    if rollout.release_id is not None:
        rollout.release = Release.objects.defer("content").get(pk=rollout.release_id)


# --- carried on by the clock -------------------------------------------------------------------------------------


@service(recorded=False)
def rollouts_advance(*, actor: Actor) -> int:
    """Carry every open roll-out on by what its targets tell now; how many were looked at."""
    rows = Rollout.objects.filter(state__in=OPEN).order_by("pk")
    rollouts = list(rows.select_for_update(no_key=True, skip_locked=True))
    # What others say is kept as they say it, in one language; our own sentences are read in the reader's.
    with override("en"):
        for rollout in rollouts:
            _release_light(rollout)
            _advance(rollout, actor)
    return len(rollouts)


def _advance(rollout: Rollout, actor: Actor) -> None:
    now = timezone.now()
    if rollout.state == RolloutState.ROLLING_BACK:
        _follow_back(rollout, now, actor)
        return
    failed = _judge(rollout, now)
    if failed is not None:
        _fail(rollout, failed, actor)
    elif rollout.state == RolloutState.RUNNING:
        _next(rollout, actor)


def _judge(rollout: Rollout, now: datetime) -> RolloutStep | None:
    """Settle what is under way; the step that failed, if one did."""
    failed = None
    for step in rollout.steps.filter(state=StepState.UPGRADING):
        why = step_judge(step, rollout, now=now)
        if why is None:
            continue
        step.state, step.finished_at = StepState.FAILED if why else StepState.DONE, now
        step.why = why
        step.save()
        failed = step if why else failed
    return failed


def _next(rollout: Rollout, actor: Actor) -> None:
    if rollout.steps.filter(state=StepState.UPGRADING).exists():
        return
    waiting = rollout.steps.filter(state=StepState.WAITING)
    first = waiting.order_by("batch_no").first()
    if first is None:
        ROLLOUT.move(rollout, RolloutState.DONE, actor=actor, finished_at=timezone.now())
        _close(rollout)
        emit(RolloutDone(rollout_uid=str(rollout.uid)), actor=actor)
    else:
        steps = list(waiting.filter(batch_no=first.batch_no))
        for step in steps:
            step_begin(step, rollout, actor=actor)
        failed = [step for step in steps if step.state == StepState.FAILED]
        if failed:
            _fail(rollout, failed[0], actor)
    _moved_emit(rollout, actor)


def _fail(rollout: Rollout, step: RolloutStep, actor: Actor) -> None:
    emit(
        RolloutFailed(
            rollout_uid=str(rollout.uid),
            target=step.name,
            what=rollout.release.version if rollout.release else "",
            why=step.why,
        ),
        actor=actor,
    )
    _send_back(rollout, message("%(target)s: %(why)s", {"target": step.name, "why": step.why}), actor)


def _send_back(rollout: Rollout, why: dict[str, Any], actor: Actor) -> None:
    ROLLOUT.move(rollout, RolloutState.ROLLING_BACK, actor=actor, why=why, finished_at=None)
    rollout.steps.filter(state=StepState.WAITING).update(state=StepState.SKIPPED)
    _apart(lambda: rollout.steps.update(is_open=True))
    for step in rollout.steps.filter(state__in=[StepState.UPGRADING, StepState.DONE, StepState.FAILED]):
        step_undo(step, rollout, actor=actor)
    _moved_emit(rollout, actor)


def _follow_back(rollout: Rollout, now: datetime, actor: Actor) -> None:
    for step in rollout.steps.filter(state=StepState.ROLLING_BACK):
        if step_is_back(step, rollout, now=now):
            step.state, step.finished_at = StepState.ROLLED_BACK, now
            step.save()
            _moved_emit(rollout, actor)
    if not rollout.steps.filter(state=StepState.ROLLING_BACK).exists():
        ROLLOUT.move(rollout, RolloutState.ROLLED_BACK, actor=actor, finished_at=now)
        _close(rollout)
        _moved_emit(rollout, actor)


def _close(rollout: Rollout) -> None:
    rollout.steps.filter(state=StepState.WAITING).update(state=StepState.SKIPPED)
    rollout.steps.update(is_open=False)


def _moved_emit(rollout: Rollout, actor: Actor) -> None:
    emit(RolloutMoved(rollout_uid=str(rollout.uid), state=rollout.state), actor=actor)
