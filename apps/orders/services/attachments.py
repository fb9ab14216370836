"""Files that go with a form (PLAT-APPLY-5)."""

from uuid import UUID

from django.core.files.base import File
from django.db import transaction
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.attached_files import file_keep
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.service import service
from apps.orders.models import ApplicationForm, Attachment
from apps.orders.permissions import OrdersPermission as P
from apps.orders.services.drafts import form_lock
from apps.orders.states import FINISHED


@service(P.APPLY)
def attachment_add(*, actor: Actor, form_uid: UUID, file: File, name: str) -> Attachment:
    """Add a file to the actor's own form, at any stage before it is finished. Raises what `file_keep` raises."""
    form = form_lock(actor, form_uid)
    _unfinished_check(form)
    row = Attachment(form=form)
    row.uploader_id = actor.user_id
    file_keep(row, file, name, present=form.attachments.count())
    act_subject("form", form.uid, no=form.no, file=row.name, sha256=row.sha256)
    return row


def _unfinished_check(form: ApplicationForm) -> None:
    if form.state in FINISHED:
        raise Conflict(_("%(no)s is finished: its files stay as they are.") % {"no": form.no})


@service(P.APPLY)
def attachment_remove(*, actor: Actor, attachment_uid: UUID) -> None:
    """Take a file off the actor's own draft. What was submitted stays with the process."""
    row = Attachment.objects.select_related("form").filter(uid=attachment_uid).first()
    if row is None:
        raise NotFound()
    form = form_lock(actor, row.form.uid)
    if not form.is_draft:
        raise Conflict(_("%(no)s is submitted: its files stay with it.") % {"no": form.no})
    storage, path = row.file.storage, row.file.name
    row.delete()
    transaction.on_commit(lambda: storage.delete(path))
