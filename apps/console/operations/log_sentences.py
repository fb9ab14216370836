"""Lines of the pool's log as sentences in the reader's language. They are kept as programs wrote them, in English and
with codes: `portal/activity_log.py`, agents, and what the server's parts warn of."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator, capfirst
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from apps.audit.text.acts import ACTS
from apps.console.operations.log_patterns import AS_WRITTEN, OTHERWISE, SLICE_STATES, written_pattern
from apps.fleet.selectors import device_names, nodes_named
from apps.kernel.translatable import localized
from apps.scheduling.text.end_reasons import end_sentence
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.models import LogEntry

SHOWN_MOST = 200
# `W-1: ` stands before what is about a workload, a module's name before what the server's parts say.
_ABOUT = re.compile(r"(?P<no>[A-Z]+-[A-Z0-9-]+): (?P<rest>.*)", re.DOTALL)
_MODULE = re.compile(r"(?:apps|portal)\.[\w.]+: (?P<rest>.*)", re.DOTALL)
_ACT = re.compile(
    r"(?P<act>[a-z_]+) (?P<kind>[a-z_]+) (?P<subject>\S+)(?: \((?P<told>.*)\))? by (?P<actor>.+)", re.DOTALL
)
_ALARM = re.compile(r"alarm (?P<what>raised|ended): (?P<title>.+)", re.DOTALL)
_ALARM_SENTENCES = {
    "raised": gettext_noop("alarm raised: %(title)s"),
    "ended": gettext_noop("alarm ended: %(title)s"),
}
_ENDED = re.compile(r"(ended|failed) \((?P<code>\w+)\)(?:: (?P<error>.*))?", re.DOTALL)
_ENDED_SENTENCES = {"ended": gettext_noop("ended. %(why)s"), "failed": gettext_noop("failed. %(why)s")}
_SLICE = re.compile(r"slice \S+: (?P<state>[a-z]+)(?:, (?P<error>.*))? \(generation \d+\)", re.DOTALL)
_RUN_TIME = re.compile(r"run time of (?P<s>\d+) s reached")
# Of these there is one alone: its key says nothing.
_ONLY_ONE = frozenset({"scheduling_policy"})
_UID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[\w-]+-[0-9a-f-]{20,}\b"
)
_LONG = re.compile(r"\b(?P<kept>[0-9a-f]{8})(?:[0-9a-f]{24,}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
# What was said by something that speaks English only.
_SAID = ("error", "problem")


def names_put(rows: Iterable[LogEntry]) -> list[LogEntry]:
    """The rows with `names` on each: what the identifiers in their texts are called, by two queries for all."""
    found = list(rows)
    names = names_of(row.text for row in found)
    for row in found:
        row.names = names  # type: ignore[attr-defined]
    return found


def names_of(texts: Iterable[str]) -> dict[str, str]:
    """What devices and nodes whose identifiers stand in the texts are called."""
    uids = {uid for text in texts for uid in _UID.findall(text)}
    if not uids:
        return {}
    known = [uid for uid in map(_uuid, uids) if uid is not None]
    return device_names(uids) | {str(node.uid): node.name for node in nodes_named(known)}


def line_read(text: str, names: Mapping[str, str] | None = None, tenant: str = "") -> SafeString:
    """A line as its reader reads it; one that no sentence is known for stands as it was written, and is marked as
    English for who reads another language.

    Args:
        names: what identifiers in it are called (`names_of`); one that nobody knows is shown by its beginning.
        tenant: whose work it is about, beside its number: several tenants may have one of that number.
    """
    about = _ABOUT.fullmatch(text)
    rest = about["rest"] if about else text
    said = _sentence(rest, names or {}, is_about=about is not None)
    if not said:
        return _english(_short(text, names or {}))
    if about:
        no = f"{about['no']} ({tenant})" if tenant else about["no"]
        return _filled(_("%(no)s: %(said)s"), {"no": no, "said": said})
    return mark_safe(capfirst(said)) if _is_english_read() else said


def has_sentence(text: str) -> bool:
    """Whether a line is read as a sentence, and not as it was written."""
    about = _ABOUT.fullmatch(text)
    return bool(_sentence(about["rest"] if about else text, {}, is_about=about is not None))


def _sentence(text: str, names: Mapping[str, str], *, is_about: bool) -> SafeString:
    module = _MODULE.fullmatch(text)
    text = module["rest"] if module else text
    for read in (_act, _alarm, _end, _slice):
        if found := read(text, names, is_about):
            return found
    return _by(_PATTERNS, text, names)


def _act(text: str, names: Mapping[str, str], is_about: bool) -> SafeString:
    act = _ACT.fullmatch(text)
    if not act or act["act"] not in ACTS:
        return mark_safe("")
    name = "" if is_about or act["kind"] in _ONLY_ONE else _subject(act, names)
    given = {"act": _(ACTS[act["act"]]), "subject": name, "actor": _short(act["actor"], names)}
    whole = _("%(act)s: %(subject)s, by %(actor)s") if name else _("%(act)s, by %(actor)s")
    return _filled(whole, given)


def _subject(act: re.Match[str], names: Mapping[str, str]) -> str:
    """What the act was done to: by its name where the line tells it."""
    told = dict(part.split("=", 1) for part in (act["told"] or "").split(", ") if "=" in part)
    named = localized(told.get("name_zh", ""), told.get("name_en", "")) or told.get("name", "")
    return named or _short(names.get(act["subject"], act["subject"]), names)


def _alarm(text: str, names: Mapping[str, str], _is_about: bool) -> SafeString:
    alarm = _ALARM.fullmatch(text)
    if not alarm:
        return mark_safe("")
    title = _by(_ALARM_TITLES, alarm["title"], names) or _english(alarm["title"])
    return _filled(_(_ALARM_SENTENCES[alarm["what"]]), {"title": title})


def _end(text: str, names: Mapping[str, str], _is_about: bool) -> SafeString:
    """How work ended, by its code."""
    found = _ENDED.fullmatch(text)
    if not found:
        return mark_safe("")
    return _filled(_(_ENDED_SENTENCES[found[1]]), {"why": _reason(found["code"], found["error"], names)})


def _slice(text: str, names: Mapping[str, str], is_about: bool) -> SafeString:
    """What became of a slice. It is called by its work, which stands before it, and not by its identifier."""
    found = _SLICE.fullmatch(text)
    if not found or found["state"] not in SLICE_STATES:
        return mark_safe("")
    own, any_ = SLICE_STATES[found["state"]]
    said = _(own if is_about else any_)
    if not found["error"]:
        return conditional_escape(said)
    return _filled(_("%(said)s %(why)s"), {"said": said, "why": _reason("", found["error"], names)})


def _reason(code: str, text: str | None, names: Mapping[str, str]) -> SafeString:
    timed = _RUN_TIME.fullmatch(text or "")
    if timed:
        return conditional_escape(end_sentence("run_timeout", "", seconds=int(timed["s"])))
    said = end_sentence(code, text or "")
    if not said or (said == text and not _is_sentence(text)):
        return _english(_short(text or code, names))
    # What an agent said in other words stands within our sentence.
    return conditional_escape(_short(said, names))


def _is_sentence(text: str) -> bool:
    """Whether the catalogue has it."""
    return "%" not in text and _(text) != text


def _by(patterns: Sequence[tuple[re.Pattern[str], str]], text: str, names: Mapping[str, str]) -> SafeString:
    for pattern, sentence in patterns:
        if found := pattern.fullmatch(text):
            return _filled(
                _(sentence), {name: _value(name, value, names) for name, value in found.groupdict().items()}
            )
    return mark_safe("")


def _value(name: str, value: str | None, names: Mapping[str, str]) -> str:
    if name.startswith(_SAID) and value:
        return _reason("", value, names)
    return _short(value or "", names)


def _filled(sentence: str, given: Mapping[str, Any]) -> SafeString:
    """A sentence with its values, of which markup is none but our own."""
    shown = {name: conditional_escape(value) for name, value in given.items()}
    return mark_safe(conditional_escape(sentence) % shown)


def _english(text: str) -> SafeString:
    """Words that stand as they were written; a page in another language says that they are English."""
    cut = Truncator(text).chars(SHOWN_MOST)
    if _is_english_read():
        return conditional_escape(cut)
    return format_html('<span lang="en">{}</span>', cut)


def _is_english_read() -> bool:
    return (get_language() or "").startswith("en")


def _short(text: str, names: Mapping[str, str]) -> str:
    """Identifiers by what they are called, else by their beginning."""
    named = _UID.sub(lambda found: names.get(found[0], found[0]), text)
    return Truncator(_LONG.sub(r"\g<kept>…", named)).chars(SHOWN_MOST)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


_PATTERNS = tuple(
    [(written_pattern(sentence), sentence) for sentence in AS_WRITTEN]
    + [(written_pattern(written), sentence) for written, sentence in OTHERWISE]
)
_ALARM_TITLES = tuple((written_pattern(metric.title), metric.title) for metric in METRICS.values())
