"""What codes and names of groups and specs may be. Internal to the app's services."""

import re

from django.utils.translation import gettext as _

from apps.kernel.control_characters import control_fault
from apps.kernel.errors import InvalidInput

_CODE = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")
NAME_MAX = 80


def code_check(code: str) -> None:
    """InvalidInput unless the code is a word for addresses and command lines."""
    if not _CODE.fullmatch(code):
        raise InvalidInput(fields={"code": _("Small letters, digits and dashes, at most 48.")})


def name_check(*names: str) -> None:
    """InvalidInput unless the first name says something, none is too long and none holds a control character."""
    for name in names:
        if fault := control_fault(name):
            raise InvalidInput(fields={"name_en": fault})
    wrong = not names[0].strip() or any(len(name) > NAME_MAX for name in names)
    if wrong:
        raise InvalidInput(fields={"name_en": _("1 to %(most)s characters.") % {"most": NAME_MAX}})
