"""How work and slices end, in the reader's words. Agents report a code and a sentence, and speak English only."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from apps.kernel.translatable import message, message_text
from apps.kernel.unit_text import mib_text, span_message

# By code: the sentence with what else is known (figures, or what was said), and the one without.
_SENTENCES = {
    "completed": ("", gettext_noop("The work has finished.")),
    "answered": ("", gettext_noop("It was carried out by a person.")),
    "run_timeout": (
        gettext_noop("Its run time of %(seconds)s is over."),
        gettext_noop("Its run time is over."),
    ),
    "idle_timeout": (
        gettext_noop("It was released: nothing used its device for %(idle)s."),
        gettext_noop("It was released: nothing used its device for too long."),
    ),
    "deadline": ("", gettext_noop("Its deadline has come: it was to have ended by then.")),
    "funds_used_up": (
        "",
        gettext_noop(
            "It was put aside: the money of the account is used up. Top it up, then resume the work by hand."
        ),
    ),
    "unfunded": ("", gettext_noop("It ended: it was put aside, and no money came for it.")),
    "commodity_retired": ("", gettext_noop("It ended: what it was ordered as is sold no more.")),
    "volume_funds_used_up": ("", gettext_noop("It ended: the money of the account is used up.")),
    "volume_ended": (
        gettext_noop("It was stopped: order %(said)s has ended, and with it the volume that it uses."),
        gettext_noop("It was stopped: the order of a volume that it uses has ended."),
    ),
    "dependency_failed": (
        gettext_noop("It never started: %(said)s has ended otherwise than it waited for."),
        gettext_noop("It never started: work has ended otherwise than it waited for."),
    ),
    "migrated": ("", gettext_noop("It has moved to another device.")),
    "preempted": ("", gettext_noop("It made room for other work.")),
    "memory_exceeded": (
        gettext_noop("It exceeded its memory limit of %(mib)s."),
        gettext_noop("It exceeded its memory limit."),
    ),
    "disk_exceeded": (
        gettext_noop("It was ended for what it kept on the node's disk: %(said)s"),
        gettext_noop("It kept more on the node's disk than it may."),
    ),
    "volume_exceeded": (
        gettext_noop(
            "It was ended for what it wrote into a volume: %(said)s. Delete files or have it enlarged."
        ),
        gettext_noop("A volume that it writes into holds more than it may."),
    ),
    "stopped": (gettext_noop("It was stopped: %(said)s"), gettext_noop("It was stopped.")),
    "packages_failed": (
        gettext_noop("It never started: %(said)s"),
        gettext_noop("It never started: its packages could not be installed."),
    ),
    "crashed": (gettext_noop("The work failed: %(said)s"), gettext_noop("The work failed.")),
    "refused": (
        gettext_noop("The node could not take it: %(said)s"),
        gettext_noop("The node could not take it."),
    ),
    "lost": (
        gettext_noop("It was lost: %(said)s"),
        gettext_noop("It was lost; only the time that was vouched for counts."),
    ),
}

_WAITED_FOR = {
    "after": gettext_noop("%(work)s has started"),
    "after_ok": gettext_noop("%(work)s has finished well"),
    "after_any": gettext_noop("%(work)s has ended"),
    "after_not_ok": gettext_noop("%(work)s has ended, and not well"),
}

PREEMPTION_SENTENCES = {
    "priority": gettext_noop("More important work needs its room: it is told to save and will be stopped."),
    "reclaim": gettext_noop("A queue takes its guarantee back: it is told to save and will be stopped."),
    "fair_share": gettext_noop(
        "Its tenant holds more than its part, and another takes its own back: it is told to save and will be stopped."
    ),
}
"""By `PreemptionCause`: what the owner of the work is told while it stops (ELA-815)."""

# What agents say in the same words each time; anything else they say is shown as it came.
_SAID = (
    gettext_noop("it was stopped before it started"),
    gettext_noop("stopped on its node"),
    gettext_noop("stopped as asked by the server"),
    gettext_noop("its shim ended unexpectedly; only the journaled time counts"),
    gettext_noop("it ran on this node before, and its records here are gone"),
    gettext_noop("waiting for slices that are ending on this device"),
    gettext_noop("the node's disk is nearly full, and it kept the most on it"),
)
_SAID_WITH = (
    (r"the work ended with exit code (?P<code>-?\d+)", gettext_noop("it ended with exit code %(code)s")),
    (r"disk limit of (?P<mib>\d+) MiB exceeded", gettext_noop("it kept more than %(mib)s MiB")),
    (
        r"(?P<path>/\S+) holds (?P<used>\d+) MiB and may hold (?P<size>\d+) MiB",
        gettext_noop("%(path)s holds %(used)s MiB, and its size is %(size)s MiB"),
    ),
    (r"the work was ended by (?P<signal>\w+)", gettext_noop("it was ended by %(signal)s")),
    (r"the work could not be started: (?P<cause>.+)", gettext_noop("it could not be started: %(cause)s")),
    (r"its shim could not start: (?P<cause>.+)", gettext_noop("its node could not start it: %(cause)s")),
    (
        r"the session's server did not start within (?P<seconds>\d+) s; look at its log",
        gettext_noop("the server of the session did not start within %(seconds)s; look at its log"),
    ),
    (
        r"the service failed (?P<times>\d+) times in a row, the last time: (?P<cause>.+)",
        gettext_noop("the service failed %(times)s times in a row, the last time: %(cause)s"),
    ),
    (
        r"its packages could not be installed: (?P<cause>.+)",
        gettext_noop("its packages could not be installed: %(cause)s"),
    ),
)
# All that a release says of why: the number of the form that asked for it.
_FORM_NO = re.compile(r"F\d{8}-\d+")


def end_sentence(
    code: str, text: str, *, seconds: int | None = None, idle_s: int | None = None, mib: int | None = None
) -> str:
    """Why it ended, in one sentence: `end_message` as the present reader reads it."""
    return message_text(end_message(code, text, seconds=seconds, idle_s=idle_s, mib=mib))


def end_message(
    code: str, text: str, *, seconds: int | None = None, idle_s: int | None = None, mib: int | None = None
) -> dict[str, Any] | str:
    """Why it ended, as a message to be kept: by its code (ELA-409), else what was said; "" where nothing was.

    Args:
        text: what was said where it ended; of a stop, the words of who asked for it.
        seconds: the run time it was given. idle_s: how long it might lie idle. mib: its memory limit.
    """
    if code in ("", "stopped") and _FORM_NO.fullmatch(text):
        return message(gettext_noop("Ended by termination form %(no)s."), {"no": text})
    said = _said(text)
    if code not in _SENTENCES:
        return said
    whole, short = _SENTENCES[code]
    figures = {
        "seconds": span_message(seconds) if seconds else None,
        "idle": span_message(idle_s) if idle_s else None,
        "mib": mib_text(mib) if mib else None,
        "said": said,
    }
    named = re.findall(r"%\((\w+)\)s", whole)
    is_known = whole and all(figures[name] for name in named)
    return message(whole, {name: figures[name] for name in named}) if is_known else message(short)


def dependency_sentence(reason: Mapping[str, Any]) -> str:
    """For which other work it waits, by name."""
    is_chinese = (get_language() or "").startswith("zh")
    parts = [
        _(_WAITED_FOR[kind]) % {"work": f"{name_zh if is_chinese else name_en} ({no})"}
        for kind, no, name_en, name_zh in reason["works"]
    ]
    if reason["more"]:
        parts.append(_("%(count)s more") % {"count": reason["more"]})
    return _("It waits until %(what)s.") % {"what": _(", ").join(parts)}


def _said(text: str) -> dict[str, Any] | str:
    """What was said, as a message where agents say it in the same words each time, else as it came."""
    for pattern, msgid in _SAID_WITH:
        match = re.fullmatch(pattern, text, re.DOTALL)
        if match:
            return message(msgid, {name: _part(name, each) for name, each in match.groupdict().items()})
    # Of a text without figures the catalogue knows whether there is a sentence.
    return message(text) if text and "%" not in text else text


def _part(name: str, text: str) -> dict[str, Any] | str:
    """A cause is a sentence of its own; a length of time is said in its units."""
    if name == "seconds":
        return span_message(int(text))
    return _said(text) if name == "cause" else text
