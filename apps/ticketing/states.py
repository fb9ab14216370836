"""What a category of tickets is made of, in words."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Builtin(models.TextChoices):
    """The categories that every centre has (PLAT-CFG-28)."""

    SERVICE = "service", _("Service catalogue")
    SYSTEM = "system", _("System ticket")
    OPERATIONS = "om", _("O&M ticket")


class Side(models.TextChoices):
    """Whose people do the work."""

    OPERATOR = "operator", _("Operators")
    TENANT = "tenant", _("The tenant's people")


class ReceiverKind(models.TextChoices):
    ROLE = "role", _("Role")
    USER = "user", _("User")
    ORGANIZATION = "organization", _("Organization")
    POST = "post", _("Post")


class FieldKind(models.TextChoices):
    TEXT = "text", _("Short text")
    LONG = "long", _("Long text")
    NUMBER = "number", _("Number")
    CHOICE = "choice", _("Choice")
    DATE = "date", _("Date")


class FieldState(models.TextChoices):
    """What may be done with a field at a step (PLAT-CFG-26)."""

    READ_WRITE = "read_write", _("Read and write")
    READ_ONLY = "read_only", _("Read only")
    HIDDEN = "hidden", _("Hidden")
