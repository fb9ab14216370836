"""Whose a volume is, and how far the outputs of work are."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Owner(models.TextChoices):
    PERSON = "person", _("Person")
    ORGANIZATION = "organization", _("Organization")
    TENANT = "tenant", _("Tenant")


class OutputState(models.TextChoices):
    """`coming`: on their way from their node, or waiting for room."""

    COMING = "coming", _("On their way")
    KEPT = "kept", _("Kept")
    LOST = "lost", _("Lost")
