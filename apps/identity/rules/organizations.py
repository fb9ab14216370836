"""What holds in every tree of organizations, a tenant's and the operators' own: names, attributes, order, no circle."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput

_NAME_MAX = 120
MOST_ATTRIBUTES, _ATTRIBUTE_NAME_MAX = 20, 40


@dataclass(frozen=True, slots=True)
class OrganizationRow:
    """An organization with its depth in the tree (0 at the top) and the head count of it and all below."""

    organization: Any
    depth: int
    head_count: int


def tree_of(rows: Iterable[Any], name: str = "") -> list[OrganizationRow]:
    """The whole tree in reading order; with a part of the name those that have it.

    Each row has a `parent_id`, and in `own` how many people are in it itself.
    """
    below: dict[int | None, list[Any]] = {}
    for row in rows:
        below.setdefault(row.parent_id, []).append(row)
    found: list[OrganizationRow] = []
    for top in below.get(None, []):
        _walk(top, 0, below, found)
    return [row for row in found if name.casefold() in row.organization.name.casefold()] if name else found


def _walk(row: Any, depth: int, below: dict[int | None, list[Any]], found: list[OrganizationRow]) -> int:
    place = len(found)
    found.append(OrganizationRow(row, depth, 0))
    heads = int(row.own) + sum(_walk(child, depth + 1, below, found) for child in below.get(row.pk, []))
    found[place] = OrganizationRow(row, depth, heads)
    return heads


def paths_of(tree: Iterable[OrganizationRow]) -> list[tuple[str, Any]]:
    """Each organization of a whole tree with its path from the top: `Upper / Lower`."""
    above: list[str] = []
    found = []
    for row in tree:
        above[row.depth :] = [row.organization.name]
        found.append((" / ".join(above), row.organization))
    return found


def ids_below(rows: QuerySet[Any], pk: int) -> set[int]:
    """The primary keys of one of these rows and of all below it."""
    children: dict[int | None, list[int]] = {}
    for row_pk, parent_id in rows.values_list("pk", "parent_id"):
        children.setdefault(parent_id, []).append(row_pk)
    found, waiting = set(), [pk]
    while waiting:
        row_pk = waiting.pop()
        found.add(row_pk)
        waiting.extend(child for child in children.get(row_pk, []) if child not in found)
    return found


def lower_first(rows: QuerySet[Any], pks: Iterable[int]) -> list[int]:
    """These primary keys, the lower in the tree before the upper."""
    above = dict(rows.values_list("pk", "parent_id"))
    return sorted(pks, key=lambda pk: _depth(pk, above), reverse=True)


def _depth(pk: int, above: Mapping[int, int | None]) -> int:
    depth, upper = 0, above.get(pk)
    while upper is not None:
        depth, upper = depth + 1, above[upper]
    return depth


def tree_lock(model: type[Model]) -> None:
    """One change of the tree at a time, to the end of the transaction: two moves that each are fine could close a
    circle together."""
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(model._meta.db_table)
        cursor.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")


def name_clean(text: str, field: str = "name", longest: int = _NAME_MAX) -> str:
    text = " ".join(text.split())
    if not 1 <= len(text) <= longest:
        reason = _("Give 1 to %(longest)s characters.") % {"longest": longest}
        raise InvalidInput(fields={field: reason})
    return text


def attributes_clean(given: Mapping[str, str]) -> dict[str, str]:
    """Names and values without spaces around them, at most MOST_ATTRIBUTES; InvalidInput for an empty or long name."""
    found = {name.strip(): value.strip() for name, value in given.items()}
    if len(found) > MOST_ATTRIBUTES or not all(
        1 <= len(name) <= _ATTRIBUTE_NAME_MAX and len(value) <= _NAME_MAX for name, value in found.items()
    ):
        reason = _(
            "Give at most %(most)s attributes, each with a name of 1 to %(longest)s characters and a short value."
        ) % {"most": MOST_ATTRIBUTES, "longest": _ATTRIBUTE_NAME_MAX}
        raise InvalidInput(reason, fields={"attributes": reason})
    return found


def sibling_check(rows: QuerySet[Any], name: str, parent: Any, own_pk: int | None) -> None:
    """InvalidInput where another of these rows has the name below the same parent."""
    twin = rows.filter(parent=parent, name__iexact=name).exclude(pk=own_pk).first()
    if twin is None:
        return
    if parent is None:
        reason = _("There is already an organization “%(name)s” at the top.") % {"name": twin.name}
    else:
        names = {"name": twin.name, "parent": parent.name}
        reason = _("There is already an organization “%(name)s” in “%(parent)s”.") % names
    raise InvalidInput(reason, fields={"name": reason}, cure=_("Choose another name, or another place."))


def place_check(rows: QuerySet[Any], pk: int, parent: Any) -> None:
    """InvalidInput for a place below itself."""
    if parent is not None and parent.pk in ids_below(rows, pk):
        reason = _("An organization cannot be moved below itself.")
        raise InvalidInput(reason, fields={"parent": reason})


def enabled_check(organization: Any) -> None:
    """InvalidInput for a disabled organization: it takes nobody new."""
    if not organization.is_enabled:
        reason = _("The organization %(name)s is disabled.") % {"name": organization.name}
        raise InvalidInput(reason, fields={"organization": reason})
