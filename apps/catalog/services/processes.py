"""Process templates, and process applications that tie them to forms and categories (PLAT-CFG-11 to -22)."""

import hashlib
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.catalog.models import Category, Commodity, FormTemplate, ProcessApp, ProcessTemplate
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.ids import uid_of
from apps.catalog.services.deciders import decidable_check
from apps.catalog.services.rows import code_new, row_check
from apps.catalog.states import PROCESS_APP, ProcessAppState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from workflows.engine import check

_XML_MAX_BYTES = 512 * 1024


@service(P.MANAGE)
def process_template_import(
    *, actor: Actor, key: str, xml: bytes | str, name_zh: str = "", name_en: str = ""
) -> ProcessTemplate:
    """Keep a BPMN file as a version of process `key`; the same file again is the same version (PLAT-CFG-21).

    A file with code in it, or with anything the engine does not run, is refused naming the element.
    """
    data = xml.encode() if isinstance(xml, str) else xml
    if len(data) > _XML_MAX_BYTES:
        reason = _("The file is larger than %(limit)s KiB.") % {"limit": _XML_MAX_BYTES // 1024}
        raise InvalidInput(reason, fields={"xml": reason})
    problems = check(data)
    if problems:
        fields = {problem.element_id or "xml": str(problem) for problem in problems}
        raise InvalidInput(
            _("The process is refused: %(problem)s") % {"problem": problems[0]},
            fields=fields,
            cure=_("Correct the elements named, and import it again."),
        )
    text = _text(data)
    version = hashlib.sha256(data).hexdigest()
    act_subject("process_template", key, version=version)
    row = ProcessTemplate(key=key, version=version, xml=text, name_zh=name_zh or key, name_en=name_en or key)
    row_check(row, is_unique=False)
    ProcessTemplate.objects.bulk_create([row], ignore_conflicts=True)
    return ProcessTemplate.objects.get(key=key, version=version)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        reason = _("The file is not written in UTF-8.")
        raise InvalidInput(reason, fields={"xml": reason}, cure=_("Save it as UTF-8.")) from None


@service(P.MANAGE)
def process_app_create(
    *,
    actor: Actor,
    name_zh: str,
    name_en: str,
    category: Category,
    form_template: FormTemplate,
    process_template: ProcessTemplate,
    code: str = "",
) -> ProcessApp:
    """Tie a form to a process, as a draft (PLAT-CFG-13). Without a `code` it gets one after its English name."""
    row = ProcessApp(
        code=code or code_new(ProcessApp, name_en, otherwise="process"),
        name_zh=name_zh,
        name_en=name_en,
        category=category,
        form_template=form_template,
        process_template=process_template,
    )
    row_check(row)
    row.save()
    act_subject("process_app", row.uid, code=row.code)
    return row


@service(P.MANAGE)
def process_app_rebind(
    *,
    actor: Actor,
    process_app_uid: UUID | str,
    process_template: ProcessTemplate,
    form_template: FormTemplate | None = None,
) -> ProcessApp:
    """Give it another process or version, and another form: new forms follow them, running ones keep theirs
    (PLAT-CFG-22)."""
    row = _locked(process_app_uid)
    _unpublished_check(row)
    row.process_template = process_template
    row.form_template = form_template or row.form_template
    row.save(update_fields=["process_template", "form_template", "updated_at"])
    act_subject("process_app", row.uid, version=process_template.version)
    return row


@service(P.MANAGE)
def process_app_delete(*, actor: Actor, process_app_uid: UUID | str) -> None:
    """Delete one that no commodity goes by (PLAT-CFG-14)."""
    row = _locked(process_app_uid)
    _unpublished_check(row)
    users = Commodity.objects.filter(Q(process_app=row) | Q(termination_app=row))
    if users.exists():
        raise Conflict(
            _("%(name)s is gone by: %(commodities)s.")
            % {"name": row, "commodities": ", ".join(map(str, users))},
            cure=_("Let those go by another process first."),
        )
    act_subject("process_app", row.uid, code=row.code)
    row.delete()


def _unpublished_check(row: ProcessApp) -> None:
    if row.state == ProcessAppState.PUBLISHED:
        raise Conflict(_("It is published."), cure=_("Unpublish it, change it, and publish it again."))


@service(P.MANAGE)
def process_app_publish(*, actor: Actor, process_app_uid: UUID | str) -> ProcessApp:
    """Let it be applied by. Raises Undecidable for a step of its process that nobody can decide."""
    decidable_check(_locked(process_app_uid))
    return _moved(process_app_uid, ProcessAppState.PUBLISHED, actor)


@service(P.MANAGE)
def process_app_unpublish(*, actor: Actor, process_app_uid: UUID | str) -> ProcessApp:
    """Commodities bound to it cannot be applied for until it is published again (PLAT-CFG-14)."""
    return _moved(process_app_uid, ProcessAppState.UNPUBLISHED, actor)


def _moved(uid: UUID | str, to: str, actor: Actor) -> ProcessApp:
    row = _locked(uid)
    act_subject("process_app", row.uid, code=row.code)
    PROCESS_APP.move(row, to, actor=actor)
    return row


def _locked(uid: UUID | str) -> ProcessApp:
    row = ProcessApp.objects.select_for_update(no_key=True).filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such process application."))
    return row
