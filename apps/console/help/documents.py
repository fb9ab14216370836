"""The documents of `docs/` that are meant for people who use the portal: which there are, for whom, in which words."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.console.help.rendering import Rendered, rendered
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound


@dataclass(frozen=True, slots=True)
class Document:
    """One document, by the name of its file without `.md`; `without` are parts of it that are for developers alone."""

    slug: str
    title: str | Promise
    hint: str | Promise
    icon: str
    is_for_operators: bool = False
    without: tuple[str, ...] = ()


DOCUMENTS = (
    Document(
        "administrators-first-hour",
        _("The administrator's first hour"),
        _("From an empty centre to the first customer whose work has run."),
        "settings",
        is_for_operators=True,
    ),
    Document(
        "operating",
        _("Operating the centre"),
        _("Processes, settings, upgrades, backups, storage, networks, and what to watch."),
        "server-2",
        is_for_operators=True,
    ),
    Document(
        "engineers-first-hour",
        _("The engineer's first hour"),
        _("From a share of an accelerator to a batch of jobs, at a terminal."),
        "terminal-2",
    ),
    Document(
        "coming-from",
        _("Coming from Slurm, PBS, Kubernetes, SkyPilot"),
        _("The files and commands that you have, and what they become here."),
        "arrows-exchange",
    ),
    Document(
        "remote-accelerator",
        _("A remote accelerator for PyTorch"),
        _("Your script runs where you are; what it computes runs on a share of a card in the pool."),
        "cpu",
        without=("How it works", "Acceptance", "Figures", "On a card"),
    ),
    Document(
        "glossary",
        _("Glossary"),
        _("What each word of these pages means, in both languages."),
        "book",
        without=("How retired words are refused",),
    ),
)
NEWS = Document(
    "changelog",
    _("What is new"),
    _("What has changed with each version, and what to do before an upgrade."),
    "speakerphone",
)
CHINESE = "zh-hans"


@dataclass(frozen=True, slots=True)
class Shown:
    """A document as its reader gets it; `is_foreign`: in English, because nobody has written it in his language."""

    document: Document
    rendered: Rendered
    is_foreign: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A part of a document in which every word of a question stands."""

    document: Document
    heading: str
    anchor: str
    excerpt: str


def documents_for(actor: Actor) -> list[Document]:
    """What somebody is shown, in the order of reading."""
    is_operator = actor.kind == "operator"
    return [one for one in DOCUMENTS if is_operator or not one.is_for_operators]


def document_shown(actor: Actor, slug: str) -> Shown:
    """The document of that name, in the reader's language where it is written in it, else in English.

    Raises:
        NotFound: there is none of that name for him.
    """
    for document in documents_for(actor):
        if document.slug == slug:
            return _shown(document)
    raise NotFound()


def news_shown() -> Shown:
    """What is new, from the changes of each version."""
    return _shown(NEWS)


def search(actor: Actor, question: str, most: int = 30) -> list[Hit]:
    """The parts of his documents in which all words of the question stand, those with them in their heading first."""
    words = question.casefold().split()
    if not words:
        return []
    hits = [hit for document in documents_for(actor) for hit in _hits(document, words)]
    return sorted(hits, key=lambda hit: not all(word in hit.heading.casefold() for word in words))[:most]


def _hits(document: Document, words: list[str]) -> Iterator[Hit]:
    for part in _shown(document).rendered.parts:
        whole = f"{part.heading} {part.text}".casefold()
        if all(word in whole for word in words):
            yield Hit(document, part.heading, part.anchor, _excerpt(part.text, words))


def _excerpt(text: str, words: list[str], around: int = 110) -> str:
    """The text about the first of the words, cut where it is long."""
    place = min((found for word in words if (found := text.casefold().find(word)) >= 0), default=0)
    begin, end = max(0, place - around), place + around
    return f"{'…' if begin else ''}{text[begin:end].strip()}{'…' if end < len(text) else ''}"


def _shown(document: Document) -> Shown:
    language = (get_language() or "en").lower()
    own = settings.WEIR_DOCS / "zh" / f"{document.slug}.md"
    is_own = language.startswith("zh") and own.is_file()
    path = own if is_own else _english(document)
    return Shown(
        document,
        _kept(document, path, path.stat().st_mtime_ns, language),
        not is_own and language.startswith("zh"),
    )


def _english(document: Document) -> Path:
    docs: Path = settings.WEIR_DOCS
    return docs.parent / "CHANGELOG.md" if document is NEWS else docs / f"{document.slug}.md"


# Two languages of each; a changed file is read again.
@lru_cache(maxsize=4 * len(DOCUMENTS))
def _kept(document: Document, path: Path, changed_ns: int, language: str) -> Rendered:
    return rendered(
        path.read_text(encoding="utf-8"),
        pages=frozenset(one.slug for one in DOCUMENTS),
        without=document.without,
    )
