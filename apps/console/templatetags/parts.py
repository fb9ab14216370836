"""What pages are put together from: tables, lists of fields, rows of badges.

A column of a table is written once, its head beside what stands in its cells:

    {% table order in rows data_test="orders" %}
      {% row data_test="order-row" data_no=order.no %}
      {% column _("Number") class="text-nowrap" %}{{ order.no }}{% endcolumn %}
      {% column _("Total") figures from="md" %}{{ order.total|money }}{% endcolumn %}
      {% column _("Actions") hidden %}<a class="btn" href="…">…</a>{% endcolumn %}
    {% none %}
      {% include "_empty.html" with icon="package" title=_("No orders") %}
    {% endtable %}

`figures` line up at the right; a `hidden` head is for screen readers alone; a column `from` a width (sm, md, lg, xl)
is left out of narrower windows; `class` and attributes (`data_test` is `data-test`) are the cell's. A head with markup
of its own stands before `{% cell %}`. Whether a column is there at all is asked around it (`{% if may_manage %}`), for
the head as for every row. A page of a longer list brings its pager along. A `plain` table stands in a card's body,
the others from edge to edge.

Rows of a list that says what it can do (`apps.identity.pages.lists`) have columns by their `key`, with the head that
stands there: it sorts, can be left out and is that of the file too. `filter` is the form that narrows the list, and
`target` the part of the page that is fetched again. With `acts` a row that says how it is known can be chosen:

    {% table alarm in rows filter="alarm-filter" target="#alarms" acts=acts %}
      {% row choose=alarm.uid choose_label=alarm.title %}
      {% column key="level" %}{% badge alarm.level alarm.get_level_display %}{% endcolumn %}
    {% none %}…{% endtable %}

    {% fields labels=4 %}{% field _("Node") data_test="node" %}{{ slice.node }}{% endfield %}{% endfields %}
    {% fields grid %}{% field _("Note") wide %}{{ order.note }}{% endfield %}{% endfields %}

The names of fields take 5 of 12 columns unless `labels` says otherwise (`labels="12 sm-3"`: from that width on); in a
grid they stand above the values, and a `wide` field has a row to itself.

    {% badges role in roles colour="blue" none=_("No role") %}{{ role|named }}{% endbadges %}
    {% badges %}{% badge node.state node.get_state_display %}{% endbadges %}
"""

from dataclasses import dataclass
from typing import Any

from django import template
from django.template import Context, Node, NodeList, TemplateSyntaxError
from django.template.base import Parser, Token
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.console.templatetags.syntax import Said, around, attributes, classes
from apps.console.templatetags.table_nodes import ColumnNode, RowNode, TableNode, markup

register = template.Library()
_COLUMNS = 12


@register.tag
def table(parser: Parser, token: Token) -> TableNode:
    """`{% table row in rows %}…{% none %}…{% endtable %}`: rows as a table, or what to say where there are none."""
    said = Said.of(parser, token, flags=("plain",))
    nodelist, nodelist_none = parser.parse(("none", "endtable")), NodeList()
    if parser.next_token().contents == "none":
        nodelist_none = _until(parser, "endtable")
    return TableNode(said, nodelist, nodelist_none)


@register.tag
def row(parser: Parser, token: Token) -> RowNode:
    """`{% row data_no=row.no %}`: attributes of the row."""
    return RowNode(Said.of(parser, token))


@register.tag
def column(parser: Parser, token: Token) -> ColumnNode:
    """`{% column _("Name") %}…{% endcolumn %}`: the head of a column and its cells."""
    said = Said.of(parser, token, flags=("figures", "hidden"))
    nodelist = parser.parse(("cell", "endcolumn"))
    has_markup = parser.next_token().contents == "cell"
    if has_markup + (said.text is not None) + ("key" in said.named) != 1:
        raise TemplateSyntaxError(
            "{% column %}: its head is a text beside it, stands before {% cell %}, or is that of a list's `key`"
        )
    if has_markup:
        return ColumnNode(said, nodelist, _until(parser, "endcolumn"))
    return ColumnNode(said, NodeList(), nodelist)


def _until(parser: Parser, end: str) -> NodeList:
    nodelist = parser.parse((end,))
    parser.delete_first_token()
    return nodelist


@dataclass(frozen=True)
class Shape:
    """How the fields of a list are laid out."""

    is_grid: bool
    label: str = ""
    value: str = ""


class FieldsNode(Node):
    def __init__(self, said: Said, nodelist: NodeList) -> None:
        self.said = said
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        values = self.said.values(context)
        labels = str(values.pop("labels", 5)).split()
        if "grid" in self.said.flags:
            shape = Shape(is_grid=True)
        else:
            shape = Shape(False, " ".join(map(_label, labels)), " ".join(map(_value, labels)))
        look = {"class": f"{'datagrid' if shape.is_grid else 'row'} {values.pop('class', 'mb-0')}"}
        with context.push(**{"parts:fields": shape}):
            pairs = markup(self.nodelist, context)
        return format_html("<dl{}>{}</dl>", attributes(look | values), pairs)


def _label(width: str) -> str:
    return f"col-{width}"


def _value(width: str) -> str:
    """The columns beside a label's; below a label that takes all of them, all."""
    place, _, count = width.rpartition("-")
    return f"col-{place and f'{place}-'}{_COLUMNS - int(count) or _COLUMNS}"


class FieldNode(Node):
    def __init__(self, said: Said, nodelist: NodeList) -> None:
        self.said = said
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        shape: Shape = around(context, "fields", "field")
        values = self.said.values(context)
        look = {
            "class": classes(
                "datagrid-content mb-0" if shape.is_grid else shape.value, values.pop("class", "")
            )
        }
        pair = format_html(
            '<dt class="{}">{}</dt><dd{}>{}</dd>',
            "datagrid-title" if shape.is_grid else shape.label,
            self.said.label(context),
            attributes(look | values),
            markup(self.nodelist, context),
        )
        if not shape.is_grid:
            return pair
        return format_html('<div class="{}">{}</div>', classes("datagrid-item", self._wide()), pair)

    def _wide(self) -> str:
        return "datagrid-wide" if "wide" in self.said.flags else ""


@register.tag
def fields(parser: Parser, token: Token) -> FieldsNode:
    """`{% fields %}…{% endfields %}`: names with what they stand for."""
    return FieldsNode(Said.of(parser, token, flags=("grid",)), _until(parser, "endfields"))


@register.tag("field")
def field_tag(parser: Parser, token: Token) -> FieldNode:
    """`{% field _("Name") %}…{% endfield %}`: one of them."""
    return FieldNode(Said.of(parser, token, flags=("wide",)), _until(parser, "endfield"))


class BadgesNode(Node):
    def __init__(self, said: Said, nodelist: NodeList) -> None:
        self.said = said
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        values = self.said.values(context)
        colour, none = values.pop("colour", "secondary"), values.pop("none", "")
        if self.said.loop is None:
            return self._row(markup(self.nodelist, context), values)
        texts = []
        for each in self.said.loop.source.resolve(context, ignore_failures=True) or ():
            with context.push(**self.said.loop.bound(each)):
                texts.append((colour, markup(self.nodelist, context)))
        if not texts:
            return format_html('<span class="text-secondary">{}</span>', none) if none else SafeString()
        return self._row(format_html_join(" ", '<span class="badge bg-{}-lt">{}</span>', texts), values)

    def _row(self, badges: SafeString, values: dict[str, Any]) -> SafeString:
        look = {"class": classes("badges-list", values.pop("class", ""))}
        return format_html("<span{}>{}</span>", attributes(look | values), badges)


@register.tag
def badges(parser: Parser, token: Token) -> BadgesNode:
    """`{% badges x in xs %}…{% endbadges %}`: a badge for each; without a loop, those that stand inside, in a row."""
    return BadgesNode(Said.of(parser, token), _until(parser, "endbadges"))
