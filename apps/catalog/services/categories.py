"""The tree of categories: made, named, moved, ordered, disabled, deleted (PLAT-OPS-12, PLAT-SVC-3)."""

from django.db.models import Max, Q
from django.utils.translation import gettext as _

from apps.catalog.models import Category, Commodity, ProcessApp
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.services.rows import code_new, row_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service


@service(P.MANAGE)
def category_create(
    *, actor: Actor, name_zh: str, name_en: str, parent: Category | None = None, code: str = ""
) -> Category:
    """Make a class of services, the last of those beside it: of the first level, or of the second under `parent`.

    Without a `code` it gets one after its English name.
    """
    _parent_check(parent)
    row = Category(
        code=code or code_new(Category, name_en, otherwise="category"),
        name_zh=name_zh,
        name_en=name_en,
        parent=parent,
        position=_last(parent) + 1,
    )
    row_check(row)
    row.save()
    act_subject("category", row.code)
    return row


@service(P.MANAGE)
def category_change(
    *, actor: Actor, code: str, name_zh: str, name_en: str, parent: Category | None = None
) -> Category:
    """Rename it, and move it: under `parent`, or to the first level. What is in it goes along."""
    row = _locked(code)
    if parent != row.parent:
        _parent_check(parent)
        if parent is not None and (parent == row or row.children.exists()):
            reason = _("%(name)s has categories of its own: it stays on the first level.") % {"name": row}
            raise InvalidInput(reason, fields={"parent": reason}, cure=_("Move those first."))
        row.parent, row.position = parent, _last(parent) + 1
    row.name_zh, row.name_en = name_zh, name_en
    row_check(row)
    row.save()
    return row


@service(P.MANAGE)
def category_order(*, actor: Actor, code: str, is_up: bool) -> Category:
    """Let it change places with the one before it, or after it. The first and the last stay where they are."""
    row = _locked(code)
    rows = list(Category.objects.select_for_update(no_key=True).filter(parent=row.parent))
    at = rows.index(row)
    to = at - 1 if is_up else at + 1
    if 0 <= to < len(rows):
        rows[at], rows[to] = rows[to], rows[at]
    for position, each in enumerate(rows):
        each.position = position
    Category.objects.bulk_update(rows, ["position"])
    return rows[to] if 0 <= to < len(rows) else row


@service(P.MANAGE)
def category_enable(*, actor: Actor, code: str) -> Category:
    return _enabled(code, is_enabled=True)


@service(P.MANAGE)
def category_disable(*, actor: Actor, code: str) -> Category:
    """Take it out of the catalogue with all that is in it and below it. Orders that exist go on."""
    return _enabled(code, is_enabled=False)


@service(P.MANAGE)
def category_delete(*, actor: Actor, code: str) -> None:
    """Delete an empty one. Conflict names what is still in it."""
    row = _locked(code)
    counts = {
        _("categories"): row.children.count(),
        _("commodities"): Commodity.objects.filter(category=row).count(),
        _("process applications"): ProcessApp.objects.filter(category=row).count(),
    }
    held = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    if held:
        raise Conflict(
            _("%(name)s is not empty: %(held)s.") % {"name": row, "held": held},
            cure=_("Move them to another category, or disable this one."),
        )
    row.delete()


def _enabled(code: str, *, is_enabled: bool) -> Category:
    row = _locked(code)
    row.is_enabled = is_enabled
    row.save(update_fields=["is_enabled"])
    act_subject("category", row.code, is_enabled=is_enabled)
    return row


def _parent_check(parent: Category | None) -> None:
    if parent is not None and parent.parent_id is not None:
        reason = _("Categories have two levels: choose a parent of the first level.")
        raise InvalidInput(reason, fields={"parent": reason})


def _last(parent: Category | None) -> int:
    beside = Category.objects.filter(Q(parent=parent) if parent else Q(parent=None))
    return beside.aggregate(last=Max("position"))["last"] or 0


def _locked(code: str) -> Category:
    row = Category.objects.select_for_update(no_key=True, of=("self",)).filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such category."))
    act_subject("category", row.code)
    return row
