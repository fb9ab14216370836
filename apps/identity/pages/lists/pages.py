"""A page of a list, sorted, narrowed and with the columns that its reader chose: all of it stands in the address."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db.models import QuerySet
from django.http import HttpResponseBase, QueryDict
from django.utils.functional import cached_property

from apps.identity.models import SavedView
from apps.identity.pages.access import ROWS_PER_PAGE, show
from apps.identity.pages.file_turns import one_at_a_time
from apps.identity.pages.keyset import KeysetPage
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.files import FORMS, Prepare, list_file, prepared
from apps.identity.pages.requests import PortalRequest
from apps.identity.selectors import saved_views

# Further than this a page does not count: "more than 10,000" is all that anybody wants to know.
COUNTED_MOST = 10_000
# From so many rows on it is worth a query more to put them in order by their keys.
MANY = 1000
# What a view that is kept does not say: where in the list somebody was.
_PASSING = ("page", "before", "export")


def show_list(
    request: PortalRequest,
    template: str,
    listing: PageList,
    rows: QuerySet[Any],
    context: dict[str, Any],
    *,
    per_page: int = ROWS_PER_PAGE,
    prepare: Prepare | None = None,
) -> HttpResponseBase:
    """The page of the list that was asked for, as `rows` of the template, or all its rows as a file (`?export=csv`).

    Args:
        rows: what meets the conditions of the address; `context["chosen"]` are these.
        prepare: gets the rows that are shown or written, some at a time, puts on them what is not in their table, and
            gives what stands for them where that is something else.
    """
    if is_export(request):
        return list_export(request, listing, rows, prepare=prepare)
    page = list_page(request, listing, rows, context.get("chosen", {}), per_page=per_page, prepare=prepare)
    return show(request, template, {**context, "rows": page})


def found_once(rows: QuerySet[Any]) -> QuerySet[Any]:
    """`rows`, looked for here and now where a condition of theirs has no index, as words in names: fewer than `MANY`
    are known by their keys from then on, so that counts and pages of them do not look again."""
    keys = list(rows.order_by().values_list("pk", flat=True)[:MANY])
    return rows.filter(pk__in=keys) if len(keys) < MANY else rows


def is_export(request: PortalRequest) -> bool:
    """Whether all rows are asked for as a file."""
    return request.GET.get("export") in FORMS


def list_export(
    request: PortalRequest, listing: PageList, rows: QuerySet[Any], *, prepare: Prepare | None = None
) -> HttpResponseBase:
    """All rows under the present conditions in their present order, with the columns that were chosen, as a file."""
    state = ListState(request, listing, {})
    columns = [
        column for column in listing.columns if not state.chosen_keys or column.key in state.chosen_keys
    ]
    name = (request.resolver_match.url_name if request.resolver_match else None) or "list"
    with one_at_a_time(request.actor):
        return list_file(
            name, request.GET["export"], columns, listing.ordered(rows, state.sort), prepare=prepare
        )


def list_page(
    request: PortalRequest,
    listing: PageList,
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
        page = KeysetPage(state.given.get("before", ""), rows, at=listing.keyset, most=per_page)
        page.state = state
    else:
        asked = state.given.get("page", "")
        page = ListPage(listing.ordered(rows, state.sort), asked, state, per_page=per_page)
    page.object_list = prepared(list(page), prepare)
    return page


def _asked(request: PortalRequest) -> QueryDict:
    """What the address says of the list. What a page fetches by itself, as the portal told it that something changed,
    is the list as it stands in the window."""
    if request.htmx and "Weir-Refresh" in request.headers:
        address = urlsplit(request.htmx.current_url_abs_path or "")
        if address.path == request.path:
            return QueryDict(address.query)
    return request.GET


class ListState:
    """How somebody has a list now: its sort, its columns, what it is narrowed by, and the views that he keeps."""

    def __init__(self, request: PortalRequest, listing: PageList, chosen: Mapping[str, Any]) -> None:
        self.listing = listing
        self.given = _asked(request)
        self.sort = listing.sort_of(self.given.get("sort", ""))
        self.is_narrowed = listing.is_narrowed(chosen)
        self.path = request.path
        self._request = request

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
        return self.listing.shown(self.given.get("columns", "")) or self.listing.shown(self._kept[0])

    def shows(self, key: str) -> bool:
        """Whether a column is shown."""
        return key in (self.chosen_keys or self.listing.usual_keys)

    @property
    def optional(self) -> Sequence[Column]:
        """The columns that can be left out."""
        return self.listing.columns[1:]

    @property
    def choices(self) -> list[tuple[Column, bool]]:
        """Each column that can be left out, and whether it is shown."""
        return [(column, self.shows(column.key)) for column in self.optional]

    @property
    def sortable(self) -> list[tuple[Column, str]]:
        """Each column that sorts, and the query that sorts by it: upwards, then downwards."""
        columns = () if self.listing.keyset else self.listing.columns
        return [(column, self.query_with(sort=self.turned(column.key))) for column in columns if column.sort]

    def turned(self, key: str) -> str:
        """The sort by a column that comes after the present one."""
        return f"-{key}" if self.sort == key else key

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
        return self._query({name: None for name in self.given if name not in kept})

    def query_with(self, **changes: str | None) -> str:
        """The query with other values, None for none, from the first page on."""
        return self._query(dict.fromkeys(_PASSING) | changes)

    def _query(self, changes: Mapping[str, str | None]) -> str:
        found = QueryDict(mutable=True)
        for name, values in self.given.lists():
            if name not in changes and (kept := [value for value in values if value]):
                found.setlist(name, kept)
        for name, value in changes.items():
            if value:
                found[name] = value
        return found.urlencode(safe=",")


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows there are, as far as anybody cares, and on how many pages."""

    count: int
    num_pages: int

    @property
    def most(self) -> int:
        """As many as are counted."""
        return COUNTED_MOST

    @property
    def is_more(self) -> bool:
        """Whether there are more rows than were counted."""
        return self.count > COUNTED_MOST


class ListPage:
    """One page of a list that is sorted by anything, the nearest one where `asked` names none.

    What lies behind the count is reached page by page.
    """

    def __init__(self, rows: QuerySet[Any], asked: str, state: ListState, *, per_page: int) -> None:
        # Of the rows themselves nothing is needed but that they are there.
        count = rows.order_by().values("pk")[: COUNTED_MOST + 1].count()
        self.paginator = Counted(count, max(1, -(-count // per_page)))
        self.state = state
        number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 1
        self.number = max(1, number if self.paginator.is_more else min(number, self.paginator.num_pages))
        found = self._found(rows, per_page)
        if not found and self.number > 1:
            self.number = self.paginator.num_pages
            found = self._found(rows, per_page)
        self.object_list = found[:per_page]
        self.has_next = len(found) > per_page

    def _found(self, rows: QuerySet[Any], per_page: int) -> list[Any]:
        self._before = (self.number - 1) * per_page
        few = slice(self._before, self._before + per_page + 1)
        if self.paginator.count < MANY:
            return list(rows[few])
        # What is put in order is keys alone: whole rows, with what they are joined to, are wide.
        keys = list(rows.values_list("pk", flat=True)[few])
        found = {row.pk: row for row in rows.order_by().filter(pk__in=keys)}
        return [found[key] for key in keys if key in found]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.object_list)

    def __len__(self) -> int:
        return len(self.object_list)

    @property
    def has_previous(self) -> bool:
        return self.number > 1

    @property
    def previous_page_number(self) -> int:
        return self.number - 1

    @property
    def next_page_number(self) -> int:
        return self.number + 1

    @property
    def start_index(self) -> int:
        """The place of its first row among all, from 1."""
        return self._before + 1

    @property
    def end_index(self) -> int:
        return self._before + len(self)
