"""What people read of assets: the platforms that they lie on, and why a version could not be made."""

from django.utils.translation import gettext as _

from apps.assets.models import AssetVersion
from apps.assets.states import CENTRE
from apps.centre.selectors import centre_shown
from apps.centre.storage_classes import storage_class_list
from apps.kernel.translatable import localized


def platform_names() -> dict[str, str]:
    """By its code what each platform is called, in the reader's language: the centre itself, and each storage
    class beside it (PLAT-ASSET-8)."""
    classes = {row.code: localized(row.name_zh, row.name_en) for row in storage_class_list()}
    return {CENTRE: centre_shown().name or "Weir", **classes}


def problem_sentence(row: AssetVersion) -> str:
    """Why a version failed; "" where it has not."""
    sentences = {
        "source_gone": _("The volume was deleted before it was copied."),
        "storage_full": _("The centre's storage has no room for it."),
        "changed": _("The folder was changed while it was copied: publish it again."),
    }
    return sentences.get(row.problem_code, "")
