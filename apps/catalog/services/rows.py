"""What making a row of the catalogue has in common: the rules of its fields, and a code of its own."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import slugify

from apps.kernel.errors import InvalidInput

_CODE_MOST = 40
# Words that stand where a code does in addresses of pages.
PAGES = frozenset({"new"})


def row_check(row: models.Model, *, is_unique: bool = True) -> None:
    """Field rules of a new or changed row as one InvalidInput naming each field; `is_unique`: twins too."""
    try:
        row.full_clean(validate_unique=is_unique, validate_constraints=is_unique)
    except ValidationError as error:
        fields = {name: " ".join(texts) for name, texts in error.message_dict.items()}
        raise InvalidInput(fields=fields) from None


def code_new(model: type[models.Model], name: str, *, otherwise: str) -> str:
    """A code that no row of `model` has yet, after a name in Latin letters, else after `otherwise`."""
    stem = slugify(name)[:_CODE_MOST].strip("-") or otherwise
    taken = set(model._default_manager.filter(code__startswith=stem).values_list("code", flat=True)) | PAGES
    if stem not in taken:
        return stem
    number = 2
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"
