"""The parts of pages: a table says each column once, fields keep their names, badges stand in a row."""

from types import SimpleNamespace

import pytest
from django.core.paginator import Paginator
from django.template import Context, Engine, TemplateSyntaxError
from django.test import RequestFactory
from django.utils import translation


@pytest.fixture(autouse=True)
def _english():
    with translation.override("en"):
        yield


def shown(text: str, **values: object) -> str:
    """A template of these tags, as one line without the blanks between tags."""
    template = Engine.get_default().from_string("{% load i18n parts weir %}" + text)
    context = Context(values)
    # Without the processors of a whole page, which ask the database what the centre is called.
    context.request = RequestFactory().get("/orders/")
    page = template.render(context)
    return " ".join(page.split()).replace("> <", "><")


TABLE = """{% table order in rows class="table-sm" data_test="orders" %}
  {% row data_test="order-row" data_no=order.no %}{% if order.is_late %}{% row class="table-active" %}{% endif %}
  {% column _("Number") class="text-nowrap" title=order.note %}
    <a href="/{{ order.no }}/">{{ order.no }}</a>
  {% endcolumn %}
  {% column _("Total") figures from="md" %}{{ order.total }}{% endcolumn %}
  {% if may_manage %}{% column _("Actions") hidden %}{{ order.act }}{% endcolumn %}{% endif %}
{% none %}
  Nothing here.
{% endtable %}"""


def order(no: int, **values: object) -> SimpleNamespace:
    return SimpleNamespace(**{"no": no, "note": None, "total": "", "act": "", "is_late": False} | values)


def test_a_column_is_written_once_and_shown_in_the_head_and_in_every_row():
    page = shown(TABLE, rows=[order(0), order(7, total="<3", note="soon", is_late=True)])
    assert page == (
        '<div class="table-responsive"><table class="table table-vcenter card-table table-sm" data-test="orders">'
        '<thead><tr><th>Number</th><th class="figure-cell d-none d-md-table-cell">Total</th></tr></thead>'
        '<tbody><tr data-test="order-row" data-no="0"><td class="text-nowrap"><a href="/0/">0</a></td>'
        '<td class="figure-cell d-none d-md-table-cell"></td></tr>'
        '<tr data-test="order-row" data-no="7" class="table-active"><td class="text-nowrap" title="soon">'
        '<a href="/7/">7</a></td><td class="figure-cell d-none d-md-table-cell">&lt;3</td></tr></tbody></table></div>'
    )


def test_a_column_that_is_asked_for_around_it_is_in_the_head_or_not_as_in_the_rows():
    page = shown(TABLE, rows=[order(1, act="go")], may_manage=True)
    assert '<th><span class="visually-hidden">Actions</span></th></tr></thead>' in page
    assert "<td>go</td></tr>" in page


def test_what_a_column_says_of_its_cells_is_asked_of_rows_alone():
    text = shown(
        "{% table row in rows %}{% column 'No' data_even=row|divisibleby:2 %}{{ row }}{% endcolumn %}"
        "{% endtable %}",
        rows=[1, 2],
    )
    assert '<td data-even="True">2</td>' in text
    assert "<th>No</th>" in text


@pytest.mark.parametrize("rows", [[], None, Paginator([], 2).get_page(1)])
def test_where_there_are_no_rows_there_is_no_head_but_what_to_do(rows):
    assert shown(TABLE, rows=rows) == "Nothing here."


def test_a_page_of_a_list_brings_its_pager_and_a_list_none():
    rows = [order(1), order(2), order(3)]
    page = shown(TABLE, rows=Paginator(rows, 2).get_page(1))
    assert "1 to 2 of 3" in page
    assert 'href="?page=2"' in page
    assert "pagination" not in shown(TABLE, rows=rows)


def test_rows_of_pairs_heads_with_markup_and_plain_tables():
    text = """{% table name, place in rows plain %}
      {% column %}<b>{{ all }}</b>{% cell %}{{ name }}{% endcolumn %}
      {% column _("Place") %}{{ place }}{% endcolumn %}
    {% endtable %}"""
    page = shown(text, rows=[("a", 1)], all="All")
    assert '<table class="table table-vcenter"><thead><tr><th><b>All</b></th><th>Place</th></tr>' in page
    assert "<tr><td>a</td><td>1</td></tr>" in page


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{% table rows %}{% endtable %}", "write `{% table row in rows %}`"),
        ("{% table row in %}{% endtable %}", "as in `row in rows`"),
        ("{% table row in rows %}<p>lost</p>{% endtable %}", "stands in no {% column %}"),
        ("{% table row in rows %}{% column %}x{% endcolumn %}{% endtable %}", "its head is a text beside it"),
        (
            "{% table row in rows %}{% column 'A' from='sd' %}x{% endcolumn %}{% endtable %}",
            "none of sm, md, lg, xl",
        ),
        ("{% table row in rows %}{% column 'A' right %}x{% endcolumn %}{% endtable %}", "right is too much"),
        ("{% table row in rows %}{% column 'A' %}x{% endcolumn %}", "Unclosed tag"),
        ("{% column 'A' %}x{% endcolumn %}", "stands outside of {% table %}"),
        ("{% row data_no=1 %}", "stands outside of {% table %}"),
        ("{% field 'A' %}x{% endfield %}", "stands outside of {% fields %}"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_write(text, fault):
    with pytest.raises(TemplateSyntaxError) as refusal:
        shown(text)
    assert fault in str(refusal.value)


def test_fields_stand_beside_their_names():
    text = """{% fields class="small mb-3" data_test="facts" %}
      {% field _("Node") class="text-break" data_test="node" %} {{ node }} {% endfield %}
    {% endfields %}"""
    assert shown(text, node="n<1") == (
        '<dl class="row small mb-3" data-test="facts"><dt class="col-5">Node</dt>'
        '<dd class="col-7 text-break" data-test="node">n&lt;1</dd></dl>'
    )


@pytest.mark.parametrize(
    ("labels", "label", "value"),
    [("4", "col-4", "col-8"), ("12 sm-3", "col-12 col-sm-3", "col-12 col-sm-9")],
)
def test_the_names_of_fields_are_as_wide_as_is_said(labels, label, value):
    text = f'{{% fields labels="{labels}" %}}{{% field "A" %}}1{{% endfield %}}{{% endfields %}}'
    assert shown(text) == f'<dl class="row mb-0"><dt class="{label}">A</dt><dd class="{value}">1</dd></dl>'


def test_fields_in_a_grid_stand_below_their_names_and_a_wide_one_has_a_row():
    text = '{% fields grid %}{% field "A" %}1{% endfield %}{% field "B" wide %}2{% endfield %}{% endfields %}'
    assert shown(text) == (
        '<dl class="datagrid mb-0"><div class="datagrid-item"><dt class="datagrid-title">A</dt>'
        '<dd class="datagrid-content mb-0">1</dd></div><div class="datagrid-item datagrid-wide">'
        '<dt class="datagrid-title">B</dt><dd class="datagrid-content mb-0">2</dd></div></dl>'
    )


def test_a_badge_for_each_or_what_there_is_instead():
    text = '{% badges role in roles colour="blue" none=_("No role") %}{{ role }}{% endbadges %}'
    assert shown(text, roles=["<a>", "b"]) == (
        '<span class="badges-list"><span class="badge bg-blue-lt">&lt;a&gt;</span>'
        '<span class="badge bg-blue-lt">b</span></span>'
    )
    assert shown(text, roles=[]) == '<span class="text-secondary">No role</span>'
    assert shown("{% badges role in roles %}{{ role }}{% endbadges %}") == ""


def test_badges_of_states_stand_in_a_row():
    assert shown('{% badges class="ms-auto" %}{% badge "active" _("Enabled") %}{% endbadges %}') == (
        '<span class="badges-list ms-auto"><span class="badge bg-green-lt" data-test="state" data-state="active">'
        "Enabled</span></span>"
    )
