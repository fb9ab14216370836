"""What to do about an alarm: its subject's page, and the next steps by the alarm's rule."""

from collections.abc import Mapping

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.telemetry.models import Alarm

_PAGES = {
    "node": "fleet:node",
    "device": "fleet:device",
    "slice": "fleet:slice",
    "rollout": "rollouts:rollout",
    "center": "centers:center",
}
_LOG = _("The log of that node tells what came before.")
_STEPS: Mapping[str, tuple[str | Promise, ...]] = {
    "node-lost": (
        _("See whether the machine runs and reaches the portal; start its agent: it takes up its work."),
        _("Nothing new is placed there meanwhile, and seconds that nobody can vouch for are not billed."),
        _("If it does not come back, remove the node on its page: its work ends, its users may start anew."),
        _LOG,
    ),
    "node-silent": (
        _("Wait a moment: a node that stays silent counts as lost and raises an alarm of its own."),
        _LOG,
    ),
    "center-silent": (
        _(
            "Its page says what its last call came to: a credential that has expired, an address that does not answer."
        ),
        _("If it says nothing, see whether the portal's centre watcher runs (python -m portal.centers)."),
        _("Meanwhile no new work is sent there."),
    ),
    "node-clock": (_("Set the node's clock, best by NTP: until then the portal corrects its times."),),
    "node-doubled": (
        _("Two agents speak for one node: stop the one on the copied machine, or let it join anew."),
    ),
    "device-failed": (
        _("Disable the device on its page, so that nothing new is placed there, and move its slices away."),
        _("When it is mended, enable it again."),
        _LOG,
    ),
    "device-missing": (
        _("See whether the driver still knows the device, and restart the agent if it does."),
        _LOG,
    ),
    "device-degraded": (_("Disable the device on its page if it gets worse: what runs there runs on."), _LOG),
    "device-hot": (_("Check the cooling; move slices to other devices until it is cool again."),),
    "device-mismatch": (
        _("See whether the device was exchanged; if so, remove the node and let it join anew."),
    ),
    "order-untold": (_("It is tried again by itself; if it stays, read the log of the portal."),),
    "usage-refused": (
        _("The agent's journal is doubtful: compare it with the log before the bill is made."),
    ),
    "usage-doubted": (
        _("The agent's journal is doubtful: compare it with the log before the bill is made."),
    ),
    "backup-failed": (_("Free room in the folder of backups or mend its rights, then let one be written."),),
    "disk-used": (_("Free room on the portal's disk: when it is full, nothing can be recorded."),),
    "rollout-failed": (_("Open the roll-out: it has stopped there. Mend the node and go on, or roll back."),),
    "queue-wait": (_("Raise what the queue may use, or add devices; what waits says why on its own page."),),
}


def alarm_steps(alarm: Alarm) -> tuple[str | Promise, ...]:
    """The next steps, none where there is no more to say than the alarm itself."""
    return _STEPS.get(alarm.key.partition(":")[0], ())


def alarm_link(alarm: Alarm) -> str:
    """The page of the subject, or nothing."""
    view = _PAGES.get(alarm.subject_kind)
    return reverse(view, args=[alarm.subject_id]) if view and alarm.subject_id else ""


def alarm_subject(alarm: Alarm) -> str:
    """What the subject is called: by its name where the alarm knows it."""
    return str(alarm.params.get("name") or alarm.params.get("device") or alarm.subject_id)
