"""Views of lists that a person keeps for himself."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.identity.models import SavedView
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service

# Of one list in one tenant: a menu of more is none.
VIEWS_MAX = 30


@service(recorded=False, own=True)
def saved_view_keep(*, actor: Actor, page: str, name: str, query: str) -> SavedView:
    """Keep a list as it stands, an address's query, under a name; what had that name before is replaced.

    Raises:
        InvalidInput: the name says nothing.
        Conflict: there are `VIEWS_MAX` of this list.
    """
    assert actor.user_id is not None, "a view is somebody's"
    name = _said(name)
    mine = SavedView.objects.filter(user_id=actor.user_id, page=page, schema=actor.tenant)
    if not mine.filter(name=name).exists() and mine.exclude(name="").count() >= VIEWS_MAX:
        raise Conflict(
            _("You keep %(most)s views of this list.") % {"most": VIEWS_MAX}, cure=_("Delete one first.")
        )
    row, _is_new = SavedView.objects.update_or_create(
        user_id=actor.user_id, page=page, schema=actor.tenant, name=name, defaults={"query": query}
    )
    return row


@service(recorded=False, own=True)
def saved_view_rename(*, actor: Actor, view: SavedView, name: str) -> SavedView:
    """Call a view otherwise.

    Raises:
        InvalidInput: the name says nothing.
        Conflict: another view of the same list has it.
    """
    view.name = _said(name)
    try:
        with transaction.atomic():
            view.save(update_fields=["name"])
    except IntegrityError as error:
        raise Conflict(
            _("Another view of this list is called %(name)s.") % {"name": view.name},
            cure=_("Choose another name."),
        ) from error
    return view


@service(recorded=False, own=True)
def saved_view_delete(*, actor: Actor, view: SavedView) -> None:
    """Keep a view no longer; whoever has its address still sees the list so."""
    view.delete()


@service(recorded=False, own=True)
def columns_choose(*, actor: Actor, page: str, columns: list[str]) -> None:
    """Show these columns of a list from now on, in every tenant; with none chosen, the usual ones."""
    assert actor.user_id is not None, "a choice is somebody's"
    mine = SavedView.objects.filter(user_id=actor.user_id, page=page, schema="", name="")
    if not columns:
        mine.delete()
        return
    SavedView.objects.update_or_create(
        user_id=actor.user_id, page=page, schema="", name="", defaults={"query": ",".join(columns)}
    )


def _said(name: str) -> str:
    if not name.strip():
        raise InvalidInput(fields={"name": _("Give it a name.")})
    return name.strip()
