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
    BUILDING = "building", pgettext_lazy("image", "Being built")
    SAVING = "saving", pgettext_lazy("image", "Being saved")
    CHECKING = "checking", pgettext_lazy("image", "Checking")
    READY = "ready", pgettext_lazy("image", "Ready")
    REFUSED = "refused", pgettext_lazy("image", "Refused")


class BuildState(models.TextChoices):
    """How far a build is. It waits until its work has room."""

    WAITING = "waiting", pgettext_lazy("build", "Waiting")
    BUILDING = "building", pgettext_lazy("build", "Building")
    SAVING = "saving", pgettext_lazy("build", "Saving")
    DONE = "done", pgettext_lazy("build", "Done")
    FAILED = "failed", pgettext_lazy("build", "Failed")
    CANCELLED = "cancelled", pgettext_lazy("build", "Cancelled")


ON_THE_WAY = (VersionState.BUILDING, VersionState.SAVING, VersionState.CHECKING)
