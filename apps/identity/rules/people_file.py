"""People as a table: which columns a file has, what its rows say, and what became of each.

A tenant's people and the operators' own are read and written the same way; who takes a row is each side's own service.
A preview is the import itself, undone: what it says of a row is what the import would say.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django import forms
from django.conf import settings
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.identity.models import User
from apps.kernel.errors import Conflict, InvalidInput, WeirError
from apps.kernel.spreadsheet import CSV_TYPE, ROWS_MAX, Line, csv_pieces, table_read
from apps.kernel.translatable import localized
from apps.kernel.workbook import XLSX_TYPE, xlsx_pieces

_ROLE_MARK = ";"
_TITLES = {
    "username": gettext_lazy("Login account"),
    "display_name": pgettext_lazy("person", "Name"),
    "email": gettext_lazy("E-mail"),
    "organization": gettext_lazy("Organization"),
    "roles": gettext_lazy("Roles"),
    # Written, and not looked at when it is read.
    "state": gettext_lazy("State"),
}
_EMAIL = forms.EmailField(required=False)


class Change(StrEnum):
    """What becomes of a row."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A row of the file. An empty text says nothing about what is there already."""

    number: int
    username: str = ""
    display_name: str = ""
    email: str = ""
    organization: str = ""
    roles: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row, in the reader's words; `fault` why it is refused.

    `secret` is shown once: the end of an invitation's link, or a first password.
    """

    row: PersonRow
    change: Change
    changes: tuple[str, ...] = ()
    fault: str = ""
    cure: str = ""
    secret: str = ""


# --- writing ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PeopleFile:
    """A file to download."""

    name: str
    content: bytes
    content_type: str


def people_file(
    name: str,
    form: str,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, str]] = (),
    lists: Iterable[tuple[str, Iterable[str]]] = (),
) -> PeopleFile:
    """The people as a file of this form; with no rows a template to begin with.

    Args:
        lists: what may stand in a column, each by its title, as sheets of their own in a workbook.
    """
    table = [[str(_TITLES[name]) for name in columns], *([row[name] for name in columns] for row in rows)]
    if form == "xlsx":
        more = ((title, [[title], *([text] for text in texts)]) for title, texts in lists)
        return PeopleFile(f"{name}.xlsx", b"".join(xlsx_pieces([(_("People"), table), *more])), XLSX_TYPE)
    if form != "csv":
        raise InvalidInput(fields={"format": _("One of %(forms)s.") % {"forms": "csv, xlsx"}})
    return PeopleFile(f"{name}.csv", b"".join(csv_pieces(table)), CSV_TYPE)


# A role of either side, with `code`, `name_zh` and `name_en`; an organization, with its `name`.
R = TypeVar("R", bound=Any)


class RoleNames(Generic[R]):
    """The roles of one side by what a file may call them: the code, or the name in either language."""

    def __init__(self, roles: Iterable[R]) -> None:
        self._named: dict[str, list[R]] = {}
        for role in roles:
            for text in {role.code.casefold(), role.name_en.casefold(), role.name_zh.casefold()}:
                self._named.setdefault(text, []).append(role)

    def text(self, roles: Iterable[R]) -> str:
        """The roles in the reader's language; one whose name is not its own, or would be read as two, by its code."""
        return "; ".join(self._title(role) for role in roles)

    def _title(self, role: R) -> str:
        title = localized(role.name_zh, role.name_en)
        return role.code if _ROLE_MARK in title or len(self._named[title.casefold()]) > 1 else title

    def find(self, texts: Iterable[str]) -> list[R]:
        """The roles that a cell names; InvalidInput for a name that none has, or several."""
        roles = []
        for text in texts:
            found = self._named.get(text.casefold(), [])
            if len(found) != 1:
                raise InvalidInput(
                    _("Several roles are called %(name)s.") % {"name": text[:80]}
                    if found
                    else _("There is no role %(code)s.") % {"code": text[:80]},
                    cure=_("The workbook to begin with lists the roles."),
                )
            roles.append(found[0])
        return roles


# --- reading ---------------------------------------------------------------------------------------------------


def people_read(data: bytes, columns: Sequence[str], rows_max: int = ROWS_MAX) -> list[PersonRow]:
    """The rows of a file with these columns, under their names in any language of the portal, in any order.

    Raises:
        TooLarge: the file, or its number of rows.
        InvalidInput: it is no table, has no rows, lacks the name's column or has one that is not known.
    """
    lines = table_read(data, rows_max)
    if not lines:
        raise InvalidInput(_("The file is empty."), cure=_("Begin with the template."))
    places = _places(lines[0], columns)
    rows = [_row(line, places) for line in lines[1:]]
    if not rows:
        raise InvalidInput(
            _("The file has no rows below its first one."), cure=_("Add a row for each person.")
        )
    return _once(rows)


def _places(head: Line, columns: Sequence[str]) -> dict[str, int]:
    """The place of each column that the file has."""
    known = {name.casefold(): name for name in (*columns, "state")}
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            known |= {str(_TITLES[name]).casefold(): name for name in (*columns, "state")}
    places: dict[str, int] = {}
    for place, text in enumerate(head.cells):
        name = known.get(text.rstrip("*").strip().casefold(), "")
        if not text:
            continue
        if not name or name in places:
            raise InvalidInput(
                _("The column %(title)s is not known, or there twice.") % {"title": text[:60]},
                fields={"file": _("Known: %(titles)s.") % {"titles": ", ".join(_titles(columns))}},
                cure=_("Begin with the template, and keep its first row."),
            )
        places[name] = place
    if "display_name" not in places:
        raise InvalidInput(
            _("The first row lacks the column %(title)s.") % {"title": _TITLES["display_name"]},
            fields={"file": _("Known: %(titles)s.") % {"titles": ", ".join(_titles(columns))}},
            cure=_("Begin with the template, and keep its first row."),
        )
    return places


def _titles(columns: Sequence[str]) -> list[str]:
    return [str(_TITLES[name]) for name in columns]


def _row(line: Line, places: Mapping[str, int]) -> PersonRow:
    cells = {name: line.cells[place] if place < len(line.cells) else "" for name, place in places.items()}
    cells.pop("state", None)
    # People who write Chinese have the wide one under their fingers.
    roles = tuple(part.strip() for part in cells.pop("roles", "").replace("；", _ROLE_MARK).split(_ROLE_MARK))
    names = {name: " ".join(text.split()) for name, text in cells.items()}
    return PersonRow(
        number=line.number,
        roles=tuple(dict.fromkeys(part for part in roles if part)),
        fault=line.fault or _fault(names),
        **names,
    )


def _fault(names: Mapping[str, str]) -> str:
    for name, most in (("username", 64), ("display_name", 120)):
        if len(names.get(name, "")) > most:
            return _("%(title)s: at most %(most)s characters.") % {"title": _TITLES[name], "most": most}
    try:
        _EMAIL.clean(names.get("email", ""))
    except forms.ValidationError as error:
        return _("%(title)s: %(reason)s") % {"title": _TITLES["email"], "reason": " ".join(error.messages)}
    return ""


def _once(rows: Iterable[PersonRow]) -> list[PersonRow]:
    """A person stands in a file once: by account, and by e-mail where there is no account."""
    seen: dict[tuple[str, str], int] = {}
    kept = []
    for row in rows:
        key = ("username", row.username.lower()) if row.username else ("email", row.email.lower())
        first = seen.setdefault(key, row.number) if key[1] else row.number
        if first != row.number and not row.fault:
            fields = {name: getattr(row, name) for name in PersonRow.__slots__}
            row = PersonRow(
                **fields | {"fault": _("The same person as in row %(number)s.") % {"number": first}}
            )
        kept.append(row)
    return kept


class OrganizationNames(Generic[R]):
    """The organizations of one side, by their path from the top, or by a name that only one has."""

    def __init__(self, paths: Iterable[tuple[str, R]]) -> None:
        self._by_path: dict[str, R] = {}
        self._by_name: dict[str, list[R]] = {}
        for path, organization in paths:
            self._by_path[path.casefold()] = organization
            self._by_name.setdefault(organization.name.casefold(), []).append(organization)

    def find(self, text: str) -> R:
        """The organization that a cell names; InvalidInput for a name that none has, or several."""
        found = self._by_path.get(text.casefold())
        named = [found] if found else self._by_name.get(text.casefold(), [])
        if len(named) != 1:
            raise InvalidInput(
                _("Several organizations are called %(name)s.") % {"name": text[:120]}
                if named
                else _("There is no organization %(name)s.") % {"name": text[:120]},
                cure=_("Write its path from the top: Upper / Lower."),
            )
        return named[0]


class PeopleKnown:
    """People who are there already, as the rows of a file mean them."""

    def __init__(self, users: Iterable[User]) -> None:
        self._by_account: dict[str, User] = {}
        self._by_email: dict[str, list[User]] = {}
        self._rows: dict[int, int] = {}
        for user in users:
            self._by_account[user.username.lower()] = user
            self._by_email.setdefault(user.email.lower(), []).append(user)

    def meant(self, row: PersonRow) -> User | None:
        """Whom a row means, by the account, else by the e-mail; None for nobody who is there.

        Raises InvalidInput where it has neither, where several have the e-mail, and for somebody whom a row before it
        means.
        """
        user = self._found(row)
        if user is not None and self._rows.setdefault(user.pk, row.number) != row.number:
            raise InvalidInput(_("The same person as in row %(number)s.") % {"number": self._rows[user.pk]})
        return user

    def _found(self, row: PersonRow) -> User | None:
        if row.username:
            return self._by_account.get(row.username.lower())
        if not row.email:
            raise InvalidInput(
                _("Neither login account nor e-mail: the person cannot be recognised."),
                cure=_("Fill in one of them."),
            )
        found = self._by_email.get(row.email.lower(), [])
        if len(found) > 1:
            raise InvalidInput(
                _("Several people here have this e-mail."), cure=_("Fill in the login account too.")
            )
        return found[0] if found else None


def change_text(name: str, before: str, after: str) -> list[str]:
    """What a change of this column is, for people; nothing where there is none."""
    if before == after:
        return []
    words = {"what": _TITLES[name], "before": before or "–", "after": after or "–"}
    return [_("%(what)s: %(before)s → %(after)s") % words]


# --- taking ----------------------------------------------------------------------------------------------------


def people_take(rows: Iterable[PersonRow], take: Callable[[PersonRow], Outcome]) -> list[Outcome]:
    """What becomes of each row when `take` is done to it, a refused one undone. Inside a transaction."""
    return [_taken(row, take) for row in rows]


def _taken(row: PersonRow, take: Callable[[PersonRow], Outcome]) -> Outcome:
    if row.fault:
        return Outcome(row, Change.REFUSED, fault=row.fault)
    try:
        with transaction.atomic():
            return take(row)
    except WeirError as error:
        return Outcome(row, Change.REFUSED, fault=_cause(error), cure=str(error.cure))


def _cause(error: WeirError) -> str:
    """Why a row is refused: by column where the error says so, unless it says the same twice."""
    message = str(error.message)
    reasons = [
        _("%(title)s: %(reason)s") % {"title": _TITLES.get(name, name), "reason": text}
        for name, text in error.fields.items()
        if str(text) != message and name != "permission"
    ]
    return " ".join(reasons) or message


def people_tried(rows: Iterable[PersonRow], take: Callable[[PersonRow], Outcome]) -> list[Outcome]:
    """What would become of each row; nothing of it stays."""
    with transaction.atomic():
        outcomes = people_take(rows, take)
        transaction.set_rollback(True)
    return outcomes


def people_taken(
    rows: Iterable[PersonRow], take: Callable[[PersonRow], Outcome], seen: str = ""
) -> list[Outcome]:
    """What has become of each row: all of them, or none. Inside a service.

    Args:
        seen: `outcomes_digest` of the preview that was confirmed; "" where there was none.

    Raises:
        InvalidInput: rows are refused; each is named with its cause.
        Conflict: something else would be done than what was seen.
    """
    outcomes = people_take(rows, take)
    refused = [outcome for outcome in outcomes if outcome.change == Change.REFUSED]
    if refused:
        raise InvalidInput(
            _("%(count)s of the rows cannot be taken: nothing was written.") % {"count": len(refused)},
            fields={_("Row %(number)s") % {"number": one.row.number}: one.fault for one in refused},
            cure=_("Correct these rows in the file and send it again."),
        )
    if seen and seen != outcomes_digest(outcomes):
        raise Conflict(
            _("The people have changed since the preview: nothing was written."),
            cure=_("Send the file again and look at what it does now."),
        )
    return outcomes


def outcomes_digest(outcomes: Iterable[Outcome]) -> str:
    """What a preview showed, as one text to compare by."""
    shown = [(one.row.number, one.change, one.changes) for one in outcomes]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def outcomes_count(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many rows are of each change."""
    counts = dict.fromkeys((change.value for change in Change), 0)
    for one in outcomes:
        counts[one.change] += 1
    return counts
