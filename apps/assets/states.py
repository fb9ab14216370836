"""What assets are, whom they are shared with, and how far a version is."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

# The platform of what lies in the portal's own folder; others are storage classes, none of which has it for its code.
CENTRE = "~centre"


class AssetKind(models.TextChoices):
    MODEL = "model", pgettext_lazy("asset", "Model")
    DATASET = "dataset", _("Dataset")
    ALGORITHM = "algorithm", _("Algorithm")


class Reach(models.TextChoices):
    """Whom it is shared with."""

    PERSON = "person", pgettext_lazy("asset", "Nobody")
    ORGANIZATION = "organization", _("Organization")
    TENANT = "tenant", _("Tenant")


class VersionState(models.TextChoices):
    COPYING = "copying", _("Being copied")
    READY = "ready", _("Ready")
    FAILED = "failed", _("Failed")
