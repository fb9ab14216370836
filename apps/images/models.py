"""Container images and their versions."""

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.images.states import BuildState, Owner, VersionState
from apps.kernel.planes import TenantOwned

NAME_MAX = TAG_MAX = 48
image_name = RegexValidator(
    r"\A[a-z0-9][a-z0-9._-]{0,47}\Z",
    _("Small letters, digits, points, hyphens and underscores; at most 48, the first a letter or a digit."),
)
image_tag = RegexValidator(
    r"\A[A-Za-z0-9_][A-Za-z0-9._-]{0,47}\Z",
    _("Letters, digits, points, hyphens and underscores; at most 48, the first no point and no hyphen."),
)


class Image(models.Model):
    """A container image that work can run in: of a person, an organization or a tenant, or of the centre for all.

    An organization that is dissolved leaves its images to who manages those of the tenant.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    tenant = models.ForeignKey(
        "tenancy.Tenant", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    name = models.CharField(_("name"), max_length=NAME_MAX, validators=[image_name])
    introduction = models.TextField(_("introduction"), max_length=4000, blank=True)
    owner = models.CharField(_("owner"), max_length=12, choices=Owner)
    person = models.ForeignKey(
        "identity.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    organization = models.ForeignKey(
        "scheduling.QuotaOrganization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("container image")
        verbose_name_plural = _("container images")
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "owner", "person", "organization", "name"],
                name="image_name_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="image_owner",
                condition=Q(owner=Owner.CENTRE, tenant=None, person=None, organization=None)
                | Q(owner=Owner.TENANT, tenant__isnull=False, person=None, organization=None)
                | Q(owner=Owner.ORGANIZATION, tenant__isnull=False, person=None)
                | Q(owner=Owner.PERSON, tenant__isnull=False, person__isnull=False, organization=None),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ImageVersion(models.Model):
    """One image under a tag, known by its digest. It is made from `source`: the path of an archive in `volume_uid`, or
    the number of the work `workload_uid`, which ran in `base` and was saved: then `left_out` is how many things it had
    that no image holds, and `settings` how the image is to run where that is not as `base` does (the `config` of OCI).
    While `state` is building, its work carries out a Containerfile (`ImageBuild`); while it is saving, its node is
    asked for it; while it is checking, it is here to be looked at; once ready, the registry has it in `repository`.

    `size_bytes` is what it takes in the registry (of an archive on its way the archive's size), `unpacked_bytes` what a
    node needs for it. `layers` are the files that it is made of, as digest and size. `taken_at` is when a worker last
    took it up, `is_taken` whether that one still has it, `tries` how often one came to no end.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="versions")
    tag = models.CharField(_("tag"), max_length=TAG_MAX, validators=[image_tag])
    state = models.CharField(_("state"), max_length=10, choices=VersionState, default=VersionState.CHECKING)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    repository = models.CharField(max_length=120, blank=True)
    digest = models.CharField(_("digest"), max_length=71, blank=True)
    architecture = models.CharField(_("architecture"), max_length=32, blank=True)
    size_bytes = models.PositiveBigIntegerField(_("size"), default=0)
    unpacked_bytes = models.PositiveBigIntegerField(_("unpacked"), default=0)
    entry_point = models.JSONField(_("entry point"), default=list, blank=True)
    layers = models.JSONField(_("files"), default=list, blank=True)
    volume_uid = models.UUIDField(null=True, blank=True)
    workload_uid = models.UUIDField(_("workload"), null=True, blank=True, db_index=True)
    base = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    left_out = models.PositiveBigIntegerField(default=0)
    settings = models.JSONField(null=True, blank=True, editable=False)
    source = models.CharField(_("made from"), max_length=1024, blank=True)
    made_by = models.ForeignKey(
        "identity.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    taken_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_taken = models.BooleanField(default=False, editable=False)
    tries = models.PositiveSmallIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = _("image version")
        verbose_name_plural = _("image versions")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["image", "tag"], name="image_tag_once"),
            models.CheckConstraint(
                name="image_version_ready",
                condition=~Q(state=VersionState.READY) | (~Q(digest="") & ~Q(repository="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.image.name}:{self.tag}"

    @property
    def command_text(self) -> str:
        """What runs where work names no program of its own."""
        return " ".join(self.entry_point)


class ImageBuild(TenantOwned):
    """A Containerfile that the work `workload_uid` carries out, for the version `version_uid`; it is kept when that is
    deleted. `name`: image and tag, as they were when it was asked for. `base` is the name of the image that it begins
    with. Of its `steps` the first `steps_before` are in an image of before, and are not run again; `key` is what all of
    them make, by which a later build finds it ("": none can). `args` are the values given to its ARGs.
    `failed_line` is the line whose step failed, and `output` the last that was printed then."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    version_uid = models.UUIDField(_("version"), unique=True)
    workload_uid = models.UUIDField(_("workload"), unique=True)
    workload_no = models.CharField(_("workload"), max_length=20)
    name = models.CharField(_("image"), max_length=NAME_MAX + TAG_MAX + 1)
    made_by = models.ForeignKey("identity.User", on_delete=models.PROTECT, related_name="+")
    containerfile = models.TextField(_("Containerfile"))
    args = models.JSONField(default=dict, blank=True)
    base = models.CharField(_("begins with"), max_length=NAME_MAX + TAG_MAX + 1)
    steps = models.PositiveIntegerField(_("steps"))
    steps_before = models.PositiveIntegerField(default=0)
    key = models.CharField(max_length=64, blank=True, db_index=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=BuildState, default=BuildState.BUILDING)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    failed_line = models.PositiveIntegerField(_("line"), null=True, blank=True)
    output = models.TextField(_("output"), blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("image build")
        verbose_name_plural = _("image builds")
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["version_uid"], name="image_build_open", condition=Q(ended_at=None)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def shown_label(self) -> str:
        """How far it is, for people; of one that a selector has found."""
        return str(BuildState(getattr(self, "shown_state", self.state)).label)
