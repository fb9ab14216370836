"""Whose an image is, and how far a version of it has come."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Owner(models.TextChoices):
    PERSON = "person", _("Person")
    ORGANIZATION = "organization", _("Organization")
    TENANT = "tenant", _("Tenant")
    CENTRE = "centre", _("Centre")


class VersionState(models.TextChoices):
    SAVING = "saving", pgettext_lazy("image", "Being saved")
    CHECKING = "checking", pgettext_lazy("image", "Checking")
    READY = "ready", pgettext_lazy("image", "Ready")
    REFUSED = "refused", pgettext_lazy("image", "Refused")


ON_THE_WAY = (VersionState.SAVING, VersionState.CHECKING)
