"""What every form of a page stands on."""

from django import forms

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
