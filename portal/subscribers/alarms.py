"""What becomes an alarm, what ends one, and who is told."""

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.billing.events import UsageRefused
from apps.console.alarms.subjects import subject_is_known
from apps.fleet import events as fleet
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.notices.services import notice_send
from apps.rollouts.events import BackupFailed, BackupMade, RolloutDone, RolloutFailed
from apps.rollouts.types import BACKUP_FAILED, ROLLOUT_FAILED
from apps.telemetry.alarm_metrics import DEVICE_MISMATCH, NODE_LOST, USAGE_REFUSED
from apps.telemetry.events import AlarmNotified, RuleNarrowed
from apps.telemetry.selectors import alarm_list
from apps.telemetry.services.alarms import alarm_raise, alarm_resolve

NODE_DOUBLED = gettext_noop(
    "A second agent speaks with the credential of node %(name)s and is refused: stop one of the two."
)
# What is one's own trouble to notice; the rest is heard from agents.
_PLATFORM = frozenset({"order", "rollout", "backup"})


def raised(
    actor: Actor,
    name: str,
    subject_kind: str,
    subject_id: object,
    level: str,
    msgid: str,
    params: Mapping[str, object],
    *,
    is_rule: bool = False,
    key: str = "",
) -> None:
    """Raise the alarm `name` about a subject. `is_rule`: operators switch and grade it by the rule of that name;
    `key` names the trouble where it is not the subject's."""
    alarm_raise(
        actor=actor,
        key=key or f"{name}:{subject_id}",
        rule=name if is_rule else "",
        level=level,
        msgid=msgid,
        params=params,
        source="platform" if subject_kind in _PLATFORM else "agent",
        subject_kind=subject_kind,
        subject_id=str(subject_id),
    )


# --- nodes and their cards ---------------------------------------------------------------------------------------


def node_lost(event: fleet.NodeLost, actor: Actor) -> None:
    raised(
        actor, "node-lost", "node", event.node_uid, "critical", NODE_LOST, {"name": event.name}, is_rule=True
    )


def node_answered_for(event: fleet.NodeReturned | fleet.NodeRemoved, actor: Actor) -> None:
    """It is back, or nobody waits for it any more."""
    alarm_resolve(actor=actor, key=f"node-lost:{event.node_uid}")


def node_gone(event: fleet.NodeRemoved, actor: Actor) -> None:
    """Nobody can do anything about it, or its cards, any more."""
    alarm_resolve(actor=actor, key=f"node-doubled:{event.node_uid}")
    for uid in event.device_uids:
        alarm_resolve(actor=actor, key=f"device-memory:{uid}")


def node_doubled(event: fleet.NodeDoubled, actor: Actor) -> None:
    if event.is_over:
        alarm_resolve(actor=actor, key=f"node-doubled:{event.node_uid}")
    else:
        raised(actor, "node-doubled", "node", event.node_uid, "critical", NODE_DOUBLED, {"name": event.name})


def device_mismatch(event: fleet.DeviceMismatch, actor: Actor) -> None:
    params = {"device": event.device_uid, "node": event.node, "old": event.old_mib, "new": event.new_mib}
    raised(
        actor, "device-mismatch", "device", event.device_uid, "major", DEVICE_MISMATCH, params,
        is_rule=True, key=f"device-memory:{event.device_uid}",
    )  # fmt: skip


def device_settled(event: fleet.DeviceAccepted | fleet.DeviceLeft, actor: Actor) -> None:
    """Its memory is as it says, or it is of no interest any more."""
    alarm_resolve(actor=actor, key=f"device-memory:{event.device_uid}")


# --- usage -------------------------------------------------------------------------------------------------------


def usage_refused(event: UsageRefused, actor: Actor) -> None:
    params = {"slice": event.slice_uid, "seq": event.seq, "reason": event.reason_code}
    raised(actor, "usage-refused", "slice", event.slice_uid, "major", USAGE_REFUSED, params, is_rule=True)


def usage_doubted(event: fleet.UsageDoubted, actor: Actor) -> None:
    params = {"slice": event.slice_uid, "seq": event.seq, "reason": event.reason}
    raised(actor, "usage-doubted", "slice", event.slice_uid, "major", USAGE_REFUSED, params, is_rule=True)


# --- roll-outs and backups ---------------------------------------------------------------------------------------


def rollout_failed(event: RolloutFailed, actor: Actor) -> None:
    params = {"target": event.target, "what": event.what, "reason": event.why}
    raised(actor, "rollout-failed", "rollout", event.rollout_uid, "major", ROLLOUT_FAILED, params)


def rollout_done(event: RolloutDone, actor: Actor) -> None:
    """What failed before has been done since."""
    for alarm in alarm_list(state="open").filter(key__startswith="rollout-failed:"):
        alarm_resolve(actor=actor, key=alarm.key)


def backup_failed(event: BackupFailed, actor: Actor) -> None:
    params = {"host": event.host, "reason": event.reason}
    raised(actor, "backup-failed", "backup", event.host, "major", BACKUP_FAILED, params, key="backup-failed")


def backup_made(event: BackupMade, actor: Actor) -> None:
    alarm_resolve(actor=actor, key="backup-failed")


# --- told --------------------------------------------------------------------------------------------------------


def alarm_notify(event: AlarmNotified, actor: Actor) -> None:
    notice_send(actor=actor, user_ids=event.user_ids, msgid=event.msgid, params=event.params, link=event.link)


def rule_narrowed(event: RuleNarrowed, actor: Actor) -> None:
    """A rule that watches nothing there is would be silent for ever: refused, with what it may name."""
    if not subject_is_known(event.kind, event.subject):
        raise InvalidInput(
            fields={
                "subject": _("There is nothing called %(subject)s that this metric is measured on.")
                % {"subject": event.subject}
            },
            cure=_("Choose one of the list, or leave it empty to watch them all."),
        )
