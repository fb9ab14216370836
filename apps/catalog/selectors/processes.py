"""Reads: processes, the applications that tie them to forms, and who can decide their steps."""

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.catalog.models import (
    FormTemplate,
    ProcessApp,
    ProcessTemplate,
)
from apps.catalog.selectors.ids import Id, uid_of
from apps.catalog.states import ProcessAppState
from apps.identity.selectors import operators_who_may, usernames_enabled
from apps.kernel.errors import NotFound
from workflows.engine import Definition, Node, load

# Permission of the approvals, which stand above.
_DECIDE = "approvals.decide"


def process_definition(template: ProcessTemplate) -> Definition:
    """The loaded process of a template."""
    # The catalogue's keys may hold hyphens, the engine's only underscores.
    return load(template.xml.encode(), key=template.key.lower().replace("-", "_"))


def steps_undecidable(template: ProcessTemplate) -> list[Node]:
    """The steps of a process that are the centre's, and that nobody of it can decide now.

    Whom a tenant has for its own steps is looked at when it applies.
    """
    return [node for node in process_definition(template).nodes if not _is_decidable(node)]


def _is_decidable(node: Node) -> bool:
    accounts = [one.value for one in node.candidates if one.kind == "user"]
    roles = operator_roles_asked(node)
    if len(accounts) + len(roles) < len(node.candidates):
        return True
    return bool(operators_who_may(_DECIDE, roles=roles) or usernames_enabled(accounts))


def operator_roles_asked(node: Node) -> list[str]:
    """The codes of the operators' roles that may decide a step."""
    return [one.value for one in node.candidates if (one.kind, one.side) == ("role", "operator")]


def process_apps_published() -> QuerySet[ProcessApp]:
    """Those that can be applied by."""
    return ProcessApp.objects.filter(state=ProcessAppState.PUBLISHED).select_related("process_template")


def form_template_list() -> QuerySet[FormTemplate]:
    return FormTemplate.objects.all()


def form_template_get(code: str) -> FormTemplate:
    row = FormTemplate.objects.filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such form template."))
    return row


def process_app_list() -> QuerySet[ProcessApp]:
    """Every process application, with its three parts (PLAT-CFG-11)."""
    return ProcessApp.objects.select_related("category", "form_template", "process_template")


def process_app_get(uid: Id) -> ProcessApp:
    row = process_app_list().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such process application."))
    return row


def process_template_list() -> QuerySet[ProcessTemplate]:
    """Every version, newest first, without the file itself."""
    return ProcessTemplate.objects.defer("xml")


def process_template_get(uid: Id) -> ProcessTemplate:
    row = process_template_list().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such process."))
    return row
