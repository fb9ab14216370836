"""Volumes, uploads into them that are under way, and what work leaves there."""

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import SharedForeignKey
from apps.storage.states import OutputState, Owner

NAME_MAX = 48
volume_name = RegexValidator(
    r"\A[a-z0-9][a-z0-9._-]{0,47}\Z",
    _("Small letters, digits, points, hyphens and underscores; at most 48, the first a letter or a digit."),
)


class Volume(models.Model):
    """A place for files of a person, an organization or the tenant, with a size that it may not outgrow.

    `used_bytes` follows what is uploaded and deleted here and is measured anew by the clock, because work writes too;
    `change_no` grows with each such step, so that a measurement taken meanwhile is not believed. `upload_bytes` is
    room kept for uploads under way. `is_asset`: it holds a version of an asset, by which alone its files are found. An
    organization that is deleted leaves its volumes to who manages storage. One that an order delivered names it: its
    size is the order's to change, and when the order ends its files stay to be read until `kept_until`. Without a
    `storage_class` it lies in the centre's own folder; where it lies never changes.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=NAME_MAX, validators=[volume_name])
    owner = models.CharField(_("owner"), max_length=12, choices=Owner)
    person = SharedForeignKey("identity.User", null=True, blank=True, verbose_name=_("person"))
    organization = models.ForeignKey(
        "orgs.Organization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    is_asset = models.BooleanField(default=False)
    storage_class = SharedForeignKey(
        "centre.StorageClass", null=True, blank=True, verbose_name=_("storage class")
    )
    order_uid = models.UUIDField(null=True, blank=True, unique=True)
    order_no = models.CharField(_("order"), max_length=32, blank=True)
    kept_until = models.DateTimeField(_("files kept until"), null=True, blank=True)
    size_mib = models.PositiveBigIntegerField(_("size (MiB)"))
    used_bytes = models.PositiveBigIntegerField(_("used"), default=0)
    upload_bytes = models.PositiveBigIntegerField(default=0)
    change_no = models.PositiveBigIntegerField(default=0)
    measured_at = models.DateTimeField(_("measured at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("volume")
        verbose_name_plural = _("volumes")
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "person", "organization", "name"],
                name="volume_name_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="volume_size", condition=Q(size_mib__gt=0)),
            models.CheckConstraint(
                name="volume_owner",
                condition=Q(owner=Owner.PERSON, person__isnull=False, organization=None)
                | Q(owner=Owner.ORGANIZATION, person=None)
                | Q(owner=Owner.TENANT, person=None, organization=None),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def size_bytes(self) -> int:
        return int(self.size_mib) * 2**20

    @property
    def is_ordered(self) -> bool:
        """Whether an order holds it: it is neither resized nor deleted but by forms about that order."""
        return self.order_uid is not None and self.kept_until is None

    @property
    def free_bytes(self) -> int:
        """What may still be uploaded: room for uploads under way is taken already."""
        return max(0, self.room_bytes)

    @property
    def room_bytes(self) -> int:
        """As `free_bytes`, and below 0 by what is held and on its way beyond the size."""
        return self.size_bytes - int(self.used_bytes) - int(self.upload_bytes)

    @property
    def used_percent(self) -> int:
        return min(100, round(100 * int(self.used_bytes) / self.size_bytes))


class AccessKey(models.Model):
    """What S3 clients sign with: its id is told with each request, its secret is not, so it is kept encrypted.

    It reaches the files that its person may open, in the role in which it was made, until it expires or is revoked;
    one that is read-only changes nothing.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    key_id = models.CharField(_("key id"), max_length=64, unique=True, editable=False)
    sealed = models.TextField(editable=False)
    name = models.CharField(_("name"), max_length=80)
    person = SharedForeignKey("identity.User", verbose_name=_("person"))
    role = models.CharField(max_length=64)
    is_read_only = models.BooleanField(_("read-only"), default=False)
    created_at = models.DateTimeField(_("made at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires at"))
    used_at = models.DateTimeField(_("last used"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        verbose_name = _("access key")
        verbose_name_plural = _("access keys")
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()


class Multipart(models.Model):
    """A file that comes in parts, by S3. `closed_at`: it was said which make it up, `chosen` by their uids in order;
    what is left is joining them and putting the whole in its place. `modified_at` is the time that its sender gives
    the file."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    volume = models.ForeignKey(Volume, on_delete=models.CASCADE, related_name="multiparts")
    path = models.CharField(_("path"), max_length=1024)
    sender = SharedForeignKey("identity.User", verbose_name=_("sender"))
    chosen = models.JSONField(default=list)
    modified_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    moved_at = models.DateTimeField(_("last piece at"), auto_now_add=True)

    class Meta:
        verbose_name = _("upload in parts")
        verbose_name_plural = _("uploads in parts")
        ordering = ["path", "created_at", "pk"]

    def __str__(self) -> str:
        return self.path


class Upload(models.Model):
    """A file on its way into a volume. `received_bytes` of it are safe on disk; once all are, it is put in its place
    and `finished_at` is set. `fingerprint` is the sender's own word for the file, by which he finds it again;
    `modified_ns` when it was last changed where it comes from, in nanoseconds since 1970. One that is not `resumed` is
    forgotten soon once it breaks off. A part of another is never placed itself: whole, it has the `digest` (MD5) of its
    bytes."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    volume = models.ForeignKey(Volume, on_delete=models.CASCADE, related_name="uploads")
    path = models.CharField(_("path"), max_length=1024)
    size_bytes = models.PositiveBigIntegerField(_("size"))
    received_bytes = models.PositiveBigIntegerField(_("received"), default=0)
    replaces = models.BooleanField(default=False)
    fingerprint = models.CharField(max_length=200, blank=True)
    resumed = models.BooleanField(default=True)
    multipart = models.ForeignKey(
        Multipart, on_delete=models.CASCADE, null=True, blank=True, related_name="parts"
    )
    part_no = models.PositiveIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=32, blank=True)
    modified_ns = models.PositiveBigIntegerField(null=True, blank=True)
    sender = SharedForeignKey("identity.User", verbose_name=_("sender"))
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    moved_at = models.DateTimeField(_("last piece at"), auto_now_add=True)

    class Meta:
        verbose_name = _("upload")
        verbose_name_plural = _("uploads")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="upload_received", condition=Q(received_bytes__lte=F("size_bytes"))),
        ]

    def __str__(self) -> str:
        return self.path


class WorkOutput(models.Model):
    """What a share of work that is over left in its folder of outputs: kept in a volume below `path`.

    `room_bytes` is room of the volume held for it until all is there; `left_out` counts what is no file of a name that
    a volume can have, such as links. `problem_code` says why it is not there (yet), `problem` the node's own sentence.
    """

    workload_uid = models.UUIDField(_("workload"))
    share = models.PositiveIntegerField(_("share"))
    volume = models.ForeignKey(Volume, on_delete=models.SET_NULL, null=True, related_name="outputs")
    path = models.CharField(_("path"), max_length=200)
    state = models.CharField(_("state"), max_length=8, choices=OutputState, default=OutputState.COMING)
    problem_code = models.CharField(max_length=16, blank=True)
    problem = models.CharField(max_length=500, blank=True)
    room_bytes = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(_("size"), default=0)
    files = models.PositiveIntegerField(_("files"), default=0)
    left_out = models.PositiveIntegerField(_("left out"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    settled_at = models.DateTimeField(_("settled at"), null=True, blank=True)

    class Meta:
        verbose_name = _("output")
        verbose_name_plural = _("outputs")
        ordering = ["-created_at", "share"]
        constraints = [
            models.UniqueConstraint(fields=["workload_uid", "share"], name="output_once"),
        ]

    def __str__(self) -> str:
        return self.path
