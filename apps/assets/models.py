"""Assets, and their versions."""

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.assets.states import AssetKind, Reach, VersionState
from apps.kernel.planes import SharedForeignKey

NAME_MAX = 48
asset_name = RegexValidator(
    r"\A[a-z0-9][a-z0-9._-]{0,47}\Z",
    _("Small letters, digits, points, hyphens and underscores; at most 48, the first a letter or a digit."),
)


class Asset(models.Model):
    """A model, a dataset or an algorithm of somebody, by its name. `organization` is its owner's, as it was when he
    shared it with that."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(_("kind"), max_length=12, choices=AssetKind)
    name = models.CharField(_("name"), max_length=NAME_MAX, validators=[asset_name])
    introduction = models.TextField(_("introduction"), max_length=4000, blank=True)
    tags = models.JSONField(_("tags"), default=list, blank=True)
    owner = SharedForeignKey("identity.User", verbose_name=_("owner"))
    reach = models.CharField(_("shared with"), max_length=12, choices=Reach, default=Reach.PERSON)
    organization = models.ForeignKey(
        "orgs.Organization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("asset")
        verbose_name_plural = _("assets")
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "owner", "name"], name="asset_name_once"),
            models.CheckConstraint(
                name="asset_organization", condition=Q(organization=None) | Q(reach=Reach.ORGANIZATION)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AssetVersion(models.Model):
    """Files of an asset, in a volume of their own that nothing changes any more.

    `source_uid` and `source_path` say from where they are copied; `manifest` is of each file its path, its size and its
    SHA-256, `sha256` of all of them together. `moved_at`: when copying last got on.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    asset = models.ForeignKey(Asset, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(_("version"))
    note = models.CharField(_("note"), max_length=500, blank=True)
    state = models.CharField(_("state"), max_length=8, choices=VersionState, default=VersionState.COPYING)
    problem_code = models.CharField(max_length=16, blank=True)
    volume = models.OneToOneField("storage.Volume", on_delete=models.PROTECT, related_name="+")
    source_uid = models.UUIDField()
    source_path = models.CharField(_("path"), max_length=1024, blank=True)
    files = models.PositiveIntegerField(_("files"))
    size_bytes = models.PositiveBigIntegerField(_("size"))
    sha256 = models.CharField(_("checksum"), max_length=64, blank=True)
    manifest = models.JSONField(default=list)
    made_by = SharedForeignKey("identity.User", verbose_name=_("made by"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("version of an asset")
        verbose_name_plural = _("versions of assets")
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["asset", "number"], name="asset_version_once"),
            models.CheckConstraint(
                name="asset_version_summed", condition=~Q(state=VersionState.READY) | ~Q(sha256="")
            ),
        ]

    def __str__(self) -> str:
        return str(self.number)
