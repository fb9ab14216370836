"""A page of a list, sorted, narrowed and with the columns that its reader chose: all of it stands in the address."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpResponseBase, QueryDict
from django.utils.functional import cached_property

from apps.identity.models import SavedView
from apps.identity.pages.access import ROWS_PER_PAGE, show
from apps.identity.pages.keyset import KeysetPage
from apps.identity.pages.lists.declared import Column, Listing
from apps.identity.pages.lists.files import FORMS, list_file
from apps.identity.pages.requests import PortalRequest
from apps.identity.selectors import saved_views

# Further than this a page does not count: "more than 10,000" is all that anybody wants to know.
COUNTED_MOST = 10_000
# What is about how the list is shown, and does not narrow it.
_SHOWING = ("sort", "columns", "page", "before", "export")
# What a view that is kept does not say: where in the list somebody was.
_PASSING = ("page", "before", "export")

Prepare = Callable[[Sequence[Any]], object]


def show_list(
    request: PortalRequest,
    template: str,
    listing: Listing,
    rows: QuerySet[Any],
    context: dict[str, Any],
    *,
    per_page: int = ROWS_PER_PAGE,
    prepare: Prepare | None = None,
) -> HttpResponseBase:
    """The page of the list that was asked for, as `rows` of the template, or all its rows as a file (`?export=csv`).

    Args:
        rows: what meets the conditions of the address; `context["chosen"]` are these.
        prepare: gets the rows that are shown or written, some at a time, and puts on them what is not in their table.
    """
    if request.GET.get("export") in FORMS:
        return list_export(request, listing, rows, prepare=prepare)
    page = list_page(request, listing, rows, context.get("chosen", {}), per_page=per_page, prepare=prepare)
    return show(request, template, {**context, "rows": page})


def list_export(
    request: PortalRequest, listing: Listing, rows: QuerySet[Any], *, prepare: Prepare | None = None
) -> HttpResponseBase:
    """All rows under the present conditions in their present order, with the columns that were chosen, as a file."""
    state = ListState(request, listing, {})
    columns = [
        column for column in listing.columns if not state.chosen_keys or column.key in state.chosen_keys
    ]
    name = (request.resolver_match.url_name if request.resolver_match else None) or "list"
    return list_file(name, request.GET["export"], columns, listing.ordered(rows, state.sort), prepare=prepare)


def list_page(
    request: PortalRequest,
    listing: Listing,
    rows: QuerySet[Any],
    chosen: Mapping[str, Any],
    *,
    per_page: int = ROWS_PER_PAGE,
    prepare: Prepare | None = None,
) -> "ListPage | KeysetPage":
    """The page of `rows` that the address names; see `show_list`."""
    state = ListState(request, listing, chosen)
    page: ListPage | KeysetPage
    if listing.keyset:
        page = KeysetPage(request, rows, at=listing.keyset, most=per_page)
    else:
        page = ListPaginator(listing.ordered(rows, state.sort), per_page).get_page(request.GET.get("page"))
    page.state = state
    if prepare is not None:
        prepare(list(page))
    return page


class ListState:
    """How somebody has a list now: its sort, its columns, what it is narrowed by, and the views that he keeps."""

    def __init__(self, request: PortalRequest, listing: Listing, chosen: Mapping[str, Any]) -> None:
        self.listing = listing
        self.sort = listing.sort_of(request.GET.get("sort", ""))
        self.is_narrowed = any(
            value for name, value in chosen.items() if name not in (*listing.places, *_SHOWING)
        )
        self.path = request.path
        self._request = request
        self._given = request.GET

    @cached_property
    def page_name(self) -> str:
        """What the page is called among the addresses: by it a person's views are kept."""
        match = self._request.resolver_match
        return match.view_name if match else ""

    @cached_property
    def _kept(self) -> tuple[str, list[SavedView]]:
        """The columns that the reader last chose, and his views of this page in this tenant."""
        actor = self._request.actor
        rows = saved_views(actor, self.page_name) if actor.user_id else []
        named = [row for row in rows if row.name and row.schema == actor.tenant]
        return next((row.query for row in rows if not row.name), ""), named

    @property
    def views(self) -> list[SavedView]:
        return self._kept[1]

    @cached_property
    def chosen_keys(self) -> frozenset[str]:
        """The columns that the address names, else those that the reader chose; none where he never did."""
        return self.listing.shown(self._given.get("columns", "")) or self.listing.shown(self._kept[0])

    def shows(self, key: str) -> bool:
        """Whether a column is shown."""
        return key in (self.chosen_keys or self.listing.usual)

    @property
    def optional(self) -> Sequence[Column]:
        """The columns that can be left out."""
        return self.listing.columns[1:]

    @property
    def choices(self) -> list[tuple[Column, bool]]:
        """Each column that can be left out, and whether it is shown."""
        return [(column, self.shows(column.key)) for column in self.optional]

    @property
    def here(self) -> str:
        """The address of the list as it stands, on its present page."""
        return f"{self.path}?{self._query({})}"

    @property
    def without_columns(self) -> str:
        """The address of the list where the columns that its reader chose hold, and none that a link named."""
        return f"{self.path}?{self.query_with(columns=None)}"

    @property
    def view_query(self) -> str:
        """The query by which anybody sees the list as it stands: filters, order, columns."""
        keys = [column.key for column in self.listing.columns if column.key in self.chosen_keys]
        return self.query_with(columns=",".join(keys))

    @property
    def cleared(self) -> str:
        """The query of the same list without what narrows it."""
        kept = {"sort", "columns", *self.listing.places}
        return self._query({name: None for name in self._given if name not in kept})

    def query_with(self, **changes: str | None) -> str:
        """The query with other values, None for none, from the first page on."""
        return self._query(dict.fromkeys(_PASSING) | changes)

    def _query(self, changes: Mapping[str, str | None]) -> str:
        found = QueryDict(mutable=True)
        for name, values in self._given.lists():
            if name not in changes and (kept := [value for value in values if value]):
                found.setlist(name, kept)
        for name, value in changes.items():
            if value:
                found[name] = value
        return found.urlencode(safe=",")


class ListPaginator(Paginator):
    """Pages of rows that are counted as far as anybody cares; behind that one goes on page by page."""

    def __init__(self, rows: QuerySet[Any], per_page: int) -> None:
        super().__init__(rows, per_page)

    @cached_property
    def count(self) -> int:
        return self.object_list.order_by()[: COUNTED_MOST + 1].count()

    most = COUNTED_MOST

    @property
    def is_more(self) -> bool:
        """Whether there are more rows than were counted."""
        return self.count > COUNTED_MOST

    def validate_number(self, number: Any) -> int:
        """The page as a whole number of one or more, however far: what is behind the count is not known."""
        if self.is_more and str(number).isdecimal() and 0 < int(number) < 2**31:
            return int(number)
        return super().validate_number(number)

    def page(self, number: Any) -> "ListPage":
        number = self.validate_number(number)
        begin = (number - 1) * self.per_page
        found = list(self.object_list[begin : begin + self.per_page + 1])
        return ListPage(found[: self.per_page], number, self, follows=len(found) > self.per_page)


class ListPage(Page):
    """One page, with the state of its list."""

    state: ListState

    def __init__(self, rows: list[Any], number: int, paginator: ListPaginator, *, follows: bool) -> None:
        super().__init__(rows, number, paginator)
        self._follows = follows

    def has_next(self) -> bool:
        return self._follows

    def next_page_number(self) -> int:
        return self.number + 1

    def end_index(self) -> int:
        return self.start_index() + len(self) - 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self.object_list)
