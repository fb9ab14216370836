"""Data that jobs read (table 6): what there is, at which centres a copy of it lies, and which task reads which."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.jointcloud.engine.types import MOST, MOST_COUNT
from apps.jointcloud.models.jobs import SHORT_BYTES, Task

DATA_ID_LENGTH = 32
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
DIGEST_PATTERN = r"^(sha256:[0-9a-f]{64})?$"
DIGEST_LENGTH = 71
ADDRESS_BYTES = 1024
_STEPS = r"(^|/)\.{1,2}(/|$)"
_COUNTS = ("succeeded", "interrupted", "failed", "current_downloads")


class DataAccess(models.TextChoices):
    """What work may do with a copy (table 6)."""

    READ = "r", _("read")
    WRITE = "rw", _("read and write")


def _name(field: str) -> models.CheckConstraint:
    return models.CheckConstraint(name=f"dataset_{field}", condition=Q(**{f"{field}__regex": NAME_PATTERN}))


class Dataset(models.Model):
    """Data of a name and a version: a tenant's, or without one the centre's for all tenants.

    `digest`: SHA-256 over the lines that `sha256sum` writes of its files, in the order of their paths; "" where nobody
    has said it. `files`: how many it has. `may_move`: it may be copied to other centres; data that may not is private.
    """

    data_id = models.CharField(_("number"), max_length=DATA_ID_LENGTH, unique=True)
    tenant = models.ForeignKey(
        "tenancy.Tenant", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    data_name = models.CharField(_("name"), max_length=SHORT_BYTES)
    data_version = models.CharField(_("version"), max_length=SHORT_BYTES)
    size_bytes = models.BigIntegerField(_("size (bytes)"))
    files = models.BigIntegerField(_("files"))
    digest = models.CharField(_("digest"), max_length=DIGEST_LENGTH, blank=True)
    may_move = models.BooleanField(_("may be copied to other centres"), default=False)
    created_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("entered by")
    )
    organization_uid = models.UUIDField(null=True, blank=True)
    business_system_uid = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(_("entered at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("dataset")
        verbose_name_plural = _("datasets")
        ordering = ["data_name", "data_version", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "data_name", "data_version"], name="dataset_once", nulls_distinct=False
            ),
            _name("data_name"),
            _name("data_version"),
            models.CheckConstraint(name="dataset_digest", condition=Q(digest__regex=DIGEST_PATTERN)),
            models.CheckConstraint(
                name="dataset_size", condition=Q(size_bytes__range=(0, MOST), files__range=(0, MOST_COUNT))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.data_name}:{self.data_version}"


class DatasetCopy(models.Model):
    """That a centre holds data, and where there: a path, or `s3://bucket/folder`.

    `digest`: of what lies there; a copy whose digest is another than its data's is none. The figures are those that the
    storage there tells (table 6): `rate_limit` in kB/s and `concurrency_limit`, None where there is no limit; how
    downloads of it have ended so far, how many there are now, and `mean_time_s`, how long one took.
    `network_topology`: where the centre is in the network, in its storage's words. `seen_at`: when somebody last said
    that it is there.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="copies")
    center = models.ForeignKey("centers.Center", on_delete=models.PROTECT, related_name="+")
    address = models.CharField(_("where it lies"), max_length=ADDRESS_BYTES)
    access = models.CharField(_("access"), max_length=2, choices=DataAccess, default=DataAccess.READ)
    digest = models.CharField(_("digest"), max_length=DIGEST_LENGTH, blank=True)
    rate_limit = models.PositiveIntegerField(_("rate limit (kB/s)"), null=True, blank=True)
    concurrency_limit = models.PositiveIntegerField(_("downloads at once"), null=True, blank=True)
    succeeded = models.PositiveIntegerField(_("downloads that succeeded"), default=0)
    interrupted = models.PositiveIntegerField(_("downloads that were interrupted"), default=0)
    failed = models.PositiveIntegerField(_("downloads that failed"), default=0)
    current_downloads = models.PositiveIntegerField(_("downloads now"), default=0)
    mean_time_s = models.PositiveIntegerField(_("mean time of a download (s)"), null=True, blank=True)
    network_topology = models.CharField(_("place in the network"), max_length=SHORT_BYTES, blank=True)
    seen_at = models.DateTimeField(_("last seen"))

    class Meta:
        verbose_name = _("copy of a dataset")
        verbose_name_plural = _("copies of datasets")
        ordering = ["dataset", "center__name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "center"], name="dataset_copy_once"),
            models.CheckConstraint(
                name="dataset_copy_address",
                condition=Q(address__regex=r"^(/|s3://)[^/]") & ~Q(address__regex=_STEPS),
            ),
            models.CheckConstraint(
                name="dataset_copy_access", condition=Q(access__in=list(DataAccess.values))
            ),
            models.CheckConstraint(name="dataset_copy_digest", condition=Q(digest__regex=DIGEST_PATTERN)),
            models.CheckConstraint(
                name="dataset_copy_figures",
                condition=Q(**{f"{name}__lte": MOST_COUNT for name in _COUNTS})
                & (Q(rate_limit=None) | Q(rate_limit__range=(1, MOST_COUNT)))
                & (Q(concurrency_limit=None) | Q(concurrency_limit__range=(1, MOST_COUNT)))
                & (Q(mean_time_s=None) | Q(mean_time_s__lte=MOST_COUNT)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dataset_id} @ {self.center_id}"

    @property
    def is_of_it(self) -> bool:
        """Whether what lies there is the data, as far as digests say."""
        return not (self.digest and self.dataset.digest) or self.digest == self.dataset.digest


class TaskData(models.Model):
    """That a task reads data: kept with its name and version, so that a job is read after the data has gone."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="data")
    number = models.PositiveSmallIntegerField()
    dataset = models.ForeignKey(Dataset, on_delete=models.SET_NULL, null=True, related_name="tasks")
    data_id = models.CharField(max_length=DATA_ID_LENGTH)
    data_name = models.CharField(_("name"), max_length=SHORT_BYTES)
    data_version = models.CharField(_("version"), max_length=SHORT_BYTES)

    class Meta:
        verbose_name = _("data of a task")
        verbose_name_plural = _("data of tasks")
        ordering = ["task", "number"]
        constraints = [
            models.UniqueConstraint(fields=["task", "number"], name="task_data_number_once"),
            models.UniqueConstraint(fields=["task", "data_id"], name="task_data_once"),
        ]

    def __str__(self) -> str:
        return f"{self.data_name}:{self.data_version}"
