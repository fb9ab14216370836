"""What every form of a page stands on."""

import shlex

from django import forms
from django.utils.translation import gettext as _

from apps.kernel.control_characters import control_fault


class SoundForm(forms.Form):
    """Refuses control characters in every text, named by field; only a text area keeps line ends and tabs."""

    def full_clean(self) -> None:
        # Here and not when it is made: a form may add fields of its own until it is read.
        for field in self.fields.values():
            check = _lines if isinstance(field.widget, forms.Textarea) else _line
            if isinstance(field, forms.CharField) and check not in field.validators:
                field.validators.append(check)
        super().full_clean()


def _line(text: object) -> None:
    _check(text, has_lines=False)


def _lines(text: object) -> None:
    _check(text, has_lines=True)


def _check(text: object, *, has_lines: bool) -> None:
    # A field such as that of an identifier has read its text already.
    fault = control_fault(text, has_lines=has_lines) if isinstance(text, str) else ""
    if fault:
        raise forms.ValidationError(fault, code="control_character")


def command_read(text: str) -> list[str]:
    """A command as in a shell; ValidationError where a quotation mark is not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise forms.ValidationError(_("A quotation mark is not closed.")) from error


def variables_read(text: str) -> dict[str, str]:
    """NAME=value, one a line; ValidationError for a line that is none."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, sign, value = line.partition("=")
        if not sign or not name.strip():
            raise forms.ValidationError(_("“%(line)s” is no NAME=value.") % {"line": line[:40]})
        found[name.strip()] = value.strip()
    return found
