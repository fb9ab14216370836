"""Lines of the pool's log as sentences in the reader's language. They are kept as programs wrote them, in English."""

import re
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from apps.audit.text.acts import ACTS
from apps.scheduling.text.end_reasons import end_sentence

register = template.Library()
# `W-1: ` stands before what is about a workload.
_ABOUT = re.compile(r"(?P<no>[A-Z]+-[A-Z0-9-]+): (?P<rest>.*)", re.DOTALL)
_ACT = re.compile(r"(?P<act>[a-z_]+) [a-z_]+ (?P<subject>\S+)(?: \(.*\))? by (?P<actor>.+)", re.DOTALL)
_SENTENCES = tuple(
    (re.compile(pattern, re.DOTALL), sentence)
    for pattern, sentence in (
        (r"started", gettext_noop("started")),
        (r"submitted", gettext_noop("submitted")),
        (r"share (?P<share>\d+) placed on (?P<device>\S+)", gettext_noop("share %(share)s placed on %(device)s")),
        (r"ended \(\w+\): run time of (?P<s>\d+) s reached", gettext_noop("ended: its run time of %(s)s s is over")),
        (r"ended \((?P<why>\w+)\)(?:: .*)?", gettext_noop("ended (%(why)s)")),
        (r"slice (?P<uid>\S+): forgotten", gettext_noop("slice %(uid)s: nothing is left of it on its node")),
        (
            r"slice (?P<uid>\S+): starting \(generation \d+\)",
            gettext_noop("slice %(uid)s: starting"),
        ),
        (r"slice (?P<uid>\S+): running \(generation \d+\)", gettext_noop("slice %(uid)s: running")),
        (
            r"slice (?P<uid>\S+): exited, run time of (?P<s>\d+) s reached \(generation \d+\)",
            gettext_noop("slice %(uid)s: ended, its run time of %(s)s s is over"),
        ),
        (r"slice (?P<uid>\S+): exited(?:, .*)? \(generation \d+\)", gettext_noop("slice %(uid)s: ended")),
        (
            r"work folder (?P<name>\S+) is deleted: its work is over",
            gettext_noop("work folder %(name)s is deleted: its work is over"),
        ),
        (r"the server answers again", gettext_noop("the server answers again")),
        (
            r"the server cannot be reached: .*\(running work goes on; trying again, at the latest every (?P<s>\d+) s\)",
            gettext_noop("the server cannot be reached; running work goes on, tried again every %(s)s s at the latest"),
        ),
        (
            r"The join token is unknown, spent, expired or revoked\..*",
            gettext_noop("The join token is unknown, spent, expired or revoked. Ask an operator for a new one."),
        ),
        (r"joined (?P<server>\S+) as node \S+", gettext_noop("joined %(server)s")),
        (r"device (?P<uid>\S+) found", gettext_noop("device %(uid)s found")),
        (
            r"agent (?P<name>\S+) \(pid \d+\) serves (?P<server>\S+) from \S+",
            gettext_noop("agent %(name)s serves %(server)s"),
        ),
        (r"agent (?P<name>\S+) ends; its work goes on", gettext_noop("agent %(name)s ends; its work goes on")),
        (
            r"packages for work are installed from (?P<place>\S+), (?P<mib>\d+) MiB of them at the most",
            gettext_noop("packages for work are installed from %(place)s, %(mib)s MiB of them at the most"),
        ),
        (
            r"work with a container image runs by (?P<by>\S+), from images for (?P<machine>\S+)",
            gettext_noop("work with a container image runs by %(by)s, from images for %(machine)s"),
        ),
        (
            r"each work has a network of its own: it reaches neither this node's ports nor other work's",
            gettext_noop("each work has a network of its own: it reaches neither this node's ports nor other work's"),
        ),
        (
            r"work runs walled off: it sees its own files and processes only",
            gettext_noop("work runs walled off: it sees its own files and processes only"),
        ),
        (r"configuration (?P<number>\d+) is in force", gettext_noop("configuration %(number)s is in force")),
        (r"image (?P<name>\S+) is fetched from the portal", gettext_noop("image %(name)s is fetched from the portal")),
        (
            r"release (?P<version>\S+) is here; the agent gives way to it",
            gettext_noop("release %(version)s is here; the agent gives way to it"),
        ),
    )
)  # fmt: skip


@register.filter
def log_text(text: str) -> Any:
    """A line of the log in the reader's language; one that no sentence is known for stands as it was written."""
    if (get_language() or "").startswith("en"):
        return text
    about = _ABOUT.fullmatch(text)
    said = sentence_of(about["rest"] if about else text)
    if not said:
        return format_html('<span lang="en">{}</span>', text)
    return f"{about['no']}：{said}" if about else said


def sentence_of(text: str) -> str:
    """The sentence for a line that programs write; empty where none is known."""
    act = _ACT.fullmatch(text)
    if act and act["act"] in ACTS:
        given = {"act": _(ACTS[act["act"]]), "subject": act["subject"], "actor": act["actor"]}
        return _("%(act)s: %(subject)s, by %(actor)s") % given
    for pattern, sentence in _SENTENCES:
        if found := pattern.fullmatch(text):
            given = found.groupdict()
            if code := given.get("why"):
                given["why"] = end_sentence(code, "").rstrip("。.") or code
            return _(sentence) % given
    return ""
