"""What people read of versions that could not be made."""

from django.utils.translation import gettext as _

from apps.assets.models import AssetVersion


def problem_sentence(row: AssetVersion) -> str:
    """Why a version failed; "" where it has not."""
    sentences = {
        "source_gone": _("The volume was deleted before it was copied."),
        "storage_full": _("The centre's storage has no room for it."),
        "changed": _("The folder was changed while it was copied: publish it again."),
    }
    return sentences.get(row.problem_code, "")
