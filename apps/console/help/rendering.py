"""Markdown as a part of a page: headings that can be linked to, tables that scroll, code that can be copied.

HTML inside a document is shown as it is written and never becomes part of the page.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

# A column of the glossary that is for those who change the code.
_HIDDEN_COLUMN = "Retired"
_DOCUMENT = re.compile(r"(?:\./)?([a-z0-9-]+)\.md(#.*)?$")
# `#`, or `page.md#part` of another document of ours: all that a link inside the help may be.
_OUTSIDE = re.compile(r"https?://")


@dataclass(frozen=True, slots=True)
class Heading:
    """A line of the contents: its depth (2 is a part, 3 a part of a part), its words and its place."""

    depth: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under one heading, as plain text to search in."""

    heading: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A document ready to be shown: its first heading apart, since the page's own heading says it."""

    title: str
    body: SafeString
    contents: tuple[Heading, ...]
    parts: tuple[Part, ...]


def rendered(text: str, *, pages: frozenset[str], without: Sequence[str] = ()) -> Rendered:
    """Render Markdown for the reader's language.

    Args:
        text: the document.
        pages: the documents that the help shows: links to others lose their target and keep their words.
        without: headings of parts that are left out.
    """
    parser = MarkdownIt("js-default", {"html": False, "linkify": False}, renderer_cls=_Renderer)
    tokens = _without(parser.parse(text), without)
    title = _take_title(tokens)
    _number_headings(tokens)
    _hide_column(tokens)
    for token in tokens:
        _lead_links(token.children or (), pages)
    body = parser.renderer.render(tokens, parser.options, {})
    contents = tuple(_contents(tokens))
    return Rendered(title, mark_safe(body), contents, tuple(_parts(tokens, title)))


class _Renderer(RendererHTML):
    """The portal's own markup for tables and for code."""

    _blocks = 0

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<div class="table-responsive"><table class="table table-sm">'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>"

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        language, _space, more = tokens[idx].info.strip().partition(" ")
        return self._block(tokens[idx].content, _caption(language, more.strip()))

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._block(tokens[idx].content, "")

    def _block(self, text: str, caption: str) -> str:
        self._blocks += 1
        return format_html(
            '<figure class="code-block">{}<button class="btn btn-sm" type="button" data-copy="#code-{}"'
            ' data-copied="{}">{}</button><pre tabindex="0" id="code-{}"><code>{}</code></pre></figure>',
            format_html("<figcaption>{}</figcaption>", caption) if caption else "",
            self._blocks,
            _("Copied"),
            _("Copy"),
            self._blocks,
            text,
        )


def _caption(language: str, more: str) -> str:
    """What stands over a block of code: the file that it is, or the page that is filled in so."""
    if more.startswith("file="):
        return more.removeprefix("file=")
    return _("On the page %(address)s") % {"address": more} if language == "page" else ""


def _without(tokens: list[Token], headings: Sequence[str]) -> list[Token]:
    """The document but for the parts under these headings, down to the next heading of their depth."""
    kept: list[Token] = []
    until = ""
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            if until and token.tag <= until:
                until = ""
            if tokens[place + 1].content in headings:
                until = token.tag
        if not until:
            kept.append(token)
    return kept


def _take_title(tokens: list[Token]) -> str:
    if not tokens or tokens[0].tag != "h1":
        return ""
    title = _plain(tokens[1])
    del tokens[:3]
    return title


def _number_headings(tokens: list[Token]) -> None:
    """Give each heading its anchor, by the rules of the forges: what links to a part there does so here."""
    seen: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        slug = re.sub(r"[^\w\- ]", "", _plain(tokens[place + 1]).lower()).strip().replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        token.attrSet("id", f"{slug}-{count}" if count else slug)


def _hide_column(tokens: list[Token]) -> None:
    """Leave the cells out that stand under a hidden heading."""
    hidden, column, inside = -1, -1, False
    doomed = set()
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            hidden = -1
        elif token.type == "tr_open":
            column = -1
        elif token.type in ("th_open", "td_open"):
            column += 1
            if token.type == "th_open" and tokens[place + 1].content == _HIDDEN_COLUMN:
                hidden = column
            inside = column == hidden
        if inside:
            doomed.add(place)
        if token.type in ("th_close", "td_close"):
            inside = False
    tokens[:] = [token for place, token in enumerate(tokens) if place not in doomed]


def _lead_links(children: Iterable[Token], pages: frozenset[str]) -> None:
    """Documents link to each other's files: their pages are meant. What the help does not show is no link."""
    is_dead = False
    for token in children:
        if token.type == "link_close" and is_dead:
            token.type, token.tag, is_dead = "text", "", False
        if token.type != "link_open":
            continue
        target = str(token.attrGet("href") or "")
        found = _DOCUMENT.fullmatch(target)
        if found and found[1] in pages:
            token.attrSet("href", f"../{found[1]}/{found[2] or ''}")
        elif _OUTSIDE.match(target):
            token.attrSet("rel", "noopener noreferrer")
            token.attrSet("target", "_blank")
        elif not target.startswith("#"):
            token.type, token.tag, is_dead = "text", "", True


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _contents(tokens: Sequence[Token]) -> Iterable[Heading]:
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            yield Heading(int(token.tag[1:]), _plain(tokens[place + 1]), str(token.attrGet("id")))


def _parts(tokens: Sequence[Token], title: str) -> Iterable[Part]:
    heading, anchor, words = title, "", list[str]()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            yield Part(heading, anchor, _squeezed(words))
            heading, anchor, words = _plain(tokens[place + 1]), str(token.attrGet("id")), []
        elif token.type == "inline" and tokens[place - 1].type != "heading_open":
            words.append(" ".join(child.content or " " for child in token.children or ()))
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
    yield Part(heading, anchor, _squeezed(words))


def _squeezed(words: Iterable[str]) -> str:
    return " ".join(" ".join(words).split())
