"""Whose a volume is."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Owner(models.TextChoices):
    PERSON = "person", _("Person")
    ORGANIZATION = "organization", _("Organization")
    TENANT = "tenant", _("Tenant")
