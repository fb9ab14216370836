"""How the fields of the scheduling forms look, and how tests find them."""

from typing import Any

from django import forms

from apps.kernel.forms import SoundForm


class MarkedForm(SoundForm):
    """A form whose fields look like the portal's, and are found by tests by `<mark>-<name>`."""

    mark = "form"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"{self.mark}-%s", **kwargs)
        self.fields.update(self.more_fields())
        for name, field in self.fields.items():
            kind = "form-select" if isinstance(field.widget, forms.Select) else "form-control"
            if isinstance(field.widget, forms.CheckboxInput | forms.CheckboxSelectMultiple):
                kind = "form-check-input"
            field.widget.attrs |= {"class": kind, "data-test": f"{self.mark}-{name}"}

    def more_fields(self) -> dict[str, forms.Field]:
        """Fields beside those that the class declares."""
        return {}
