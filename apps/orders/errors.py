"""Refusals of applications that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import InvalidInput


class AttachmentRefused(InvalidInput):
    """The file is too large, of a kind that is not taken, or not what its name says."""

    code = "attachment_refused"
    default_cure = _("Send a PDF, PNG, JPEG, text, Markdown, CSV, DOCX, XLSX, ZIP, Python or notebook file.")
