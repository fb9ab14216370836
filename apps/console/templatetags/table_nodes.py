"""Tables of pages: what `{% table %}`, `{% row %}` and `{% column %}` of `parts` write.

A table of a list that says what it can do (`apps.identity.pages.lists`) gets a bar above it, heads that sort, the
columns that its reader chose, boxes to choose rows by, and words of its own where a filter leaves nothing.
"""

from dataclasses import dataclass, field
from typing import Any

from django.template import Context, Engine, Node, NodeList, TemplateSyntaxError
from django.template.base import TextNode
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from apps.console.templatetags.syntax import Said, around, attributes, classes
from apps.identity.pages.keyset import KeysetPage
from apps.identity.pages.lists.pages import ListPage, ListState

WIDTHS = ("sm", "md", "lg", "xl")
# By the direction that a column is sorted in, "" for none.
SORT_ICONS = {"": "selector", "ascending": "chevron-up", "descending": "chevron-down"}
_ACTS_FORM = "list-acts"


def markup(nodelist: NodeList, context: Context) -> SafeString:
    """What the template itself says there; its variables were escaped when they were written."""
    return mark_safe(nodelist.render(context).strip())


@dataclass
class Line:
    """The line of a table that is being written: its head, or one of its rows."""

    is_head: bool
    state: ListState | None
    target: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    # Of a row that can be chosen: by what it is known, and what people call it.
    choice: Any = None
    choice_label: Any = ""


class TableNode(Node):
    child_nodelists = ("nodelist", "nodelist_none")

    def __init__(self, said: Said, nodelist: NodeList, nodelist_none: NodeList) -> None:
        if said.loop is None or said.text:
            raise TemplateSyntaxError("{% table %}: write `{% table row in rows %}`")
        for node in nodelist:
            if isinstance(node, TextNode) and node.s.strip():
                raise TemplateSyntaxError(
                    f"{{% table %}}: {node.s.strip()[:40]!r} stands in no {{% column %}}"
                )
        self.said = said
        self.loop = said.loop
        self.nodelist = nodelist
        self.nodelist_none = nodelist_none

    def render(self, context: Context) -> SafeString:
        found = self.loop.source.resolve(context, ignore_failures=True)
        state = found.state if isinstance(found, ListPage | KeysetPage) else None
        rows = list(found or ())
        values = self.said.values(context)
        acts = values.pop("acts", None) or ()
        links = {"list": state, "filter": values.pop("filter", ""), "target": values.pop("target", "")}
        if not rows:
            with context.push(**links):
                return self._nothing(context, state)
        lines = [Line(is_head=True, state=state, target=links["target"])]
        lines += [Line(is_head=False, state=state) for _row in rows]
        cells = [self._cells(context, line, row) for line, row in zip(lines, [None, *rows], strict=True)]
        # Where no row can be chosen there is nothing to do with several.
        acts = acts if any(line.choice for line in lines) else ()
        head, *written = [
            _written(line, text, has_box=bool(acts)) for line, text in zip(lines, cells, strict=True)
        ]
        shown = {
            **links,
            "head": head,
            "lines": written,
            "look": classes(
                "table table-vcenter",
                "" if "plain" in self.said.flags else "card-table",
                values.pop("class", ""),
            ),
            "attributes": attributes(values),
            "rows": found if hasattr(found, "paginator") else None,
            "keyset": found if isinstance(found, KeysetPage) else None,
            "acts": acts,
        }
        with context.push(**shown):
            return Engine.get_default().get_template("_table.html").render(context)

    def _nothing(self, context: Context, state: ListState | None) -> SafeString:
        if state is None:
            return self.nodelist_none.render(context)
        with context.push(nothing_yet="" if state.is_narrowed else self.nodelist_none.render(context)):
            return Engine.get_default().get_template("_list_nothing.html").render(context)

    def _cells(self, context: Context, line: Line, row: Any) -> SafeString:
        variables = {} if line.is_head else self.loop.bound(row)
        with context.push(**variables, **{"parts:table": line}):
            return markup(self.nodelist, context)


def _written(line: Line, cells: SafeString, *, has_box: bool) -> SafeString:
    box = _box(line) if has_box else SafeString()
    return format_html("<tr{}>{}{}</tr>", attributes(line.attributes), box, cells)


def _box(line: Line) -> SafeString:
    """The cell of the box that chooses a row; in the head the one that chooses all of them."""
    look = "form-check-input m-0"
    if line.is_head:
        return format_html(
            '<th class="w-1"><input class="{}" type="checkbox" data-check-all="chosen" aria-label="{}"></th>',
            look,
            _("Choose all rows of this page"),
        )
    if not line.choice:
        return mark_safe('<td class="w-1"></td>')
    return format_html(
        '<td class="w-1"><input class="{}" type="checkbox" name="chosen" value="{}" form="{}" aria-label="{}" '
        'data-test="choose"></td>',
        look,
        line.choice,
        _ACTS_FORM,
        _("Choose %(row)s") % {"row": line.choice_label},
    )


class RowNode(Node):
    def __init__(self, said: Said) -> None:
        self.said = said

    def render(self, context: Context) -> SafeString:
        line: Line = around(context, "table", "row")
        if not line.is_head:
            values = self.said.values(context)
            line.choice = values.pop("choose", line.choice)
            line.choice_label = values.pop("choose_label", line.choice_label)
            line.attributes |= values
        return SafeString()


class ColumnNode(Node):
    child_nodelists = ("nodelist_head", "nodelist")

    def __init__(self, said: Said, nodelist_head: NodeList, nodelist: NodeList) -> None:
        width = said.named.get("from")
        if width and width.var not in WIDTHS:
            raise TemplateSyntaxError(f"{{% column %}}: from={width.token} is none of {', '.join(WIDTHS)}")
        self.said = said
        self.figures = "figure-cell" if "figures" in said.flags else ""
        self.width = f"d-none d-{width.var}-table-cell" if width else ""
        self.nodelist_head = nodelist_head
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        line: Line = around(context, "table", "column")
        named = self.said.named.get("key")
        key, state = str(named.resolve(context)) if named else "", line.state
        if key and state and not state.shows(key):
            return SafeString()
        # What somebody chose he sees in a narrow window too.
        width = "" if key and state and state.chosen_keys else self.width
        look = classes(self.figures, width)
        if line.is_head:
            sort = attributes({"aria-sort": _direction(state, key) if state else None})
            return format_html(
                "<th{}{}>{}</th>", attributes({"class": look}), sort, self._head(context, line, key)
            )
        # Of a row alone: in the head there is none to ask.
        values = self.said.values(context) | {"from": None, "key": None}
        cell = {"class": classes(look, values.pop("class", ""))}
        return format_html("<td{}>{}</td>", attributes(cell | values), markup(self.nodelist, context))

    def _head(self, context: Context, line: Line, key: str) -> Any:
        label = self.said.label(context) or markup(self.nodelist_head, context)
        if key and line.state:
            column = line.state.listing.by_key.get(key)
            if column is None:
                raise TemplateSyntaxError(f"{{% column %}}: the list has no column {key}")
            label = column.label
            if column.sort and not line.state.listing.keyset:
                return _sort_link(line, key, label)
        return (
            format_html('<span class="visually-hidden">{}</span>', label)
            if "hidden" in self.said.flags
            else label
        )


def _direction(state: ListState, key: str) -> str | None:
    if not key or state.sort.removeprefix("-") != key:
        return None
    return "descending" if state.sort.startswith("-") else "ascending"


def _sort_link(line: Line, key: str, label: Any) -> SafeString:
    """The head of a column that sorts: upwards, then downwards."""
    assert line.state is not None, "a head that sorts is of a list that says what it can do"
    direction = _direction(line.state, key)
    href = "?" + line.state.query_with(sort=line.state.turned(key))
    icon = SORT_ICONS[direction or ""]
    live = {"hx_get": href, "hx_target": line.target, "hx_push_url": "true"} if line.target else {}
    named = {"id": f"sort-{key}", "class": "sort-link", "href": href, "data_test": f"sort-{key}"}
    return format_html(
        '<a{}>{}<i class="ti ti-{}" aria-hidden="true"></i></a>', attributes(named | live), label, icon
    )
