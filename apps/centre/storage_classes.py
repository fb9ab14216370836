"""Storage classes: which there are, and by what they are opened."""

from django.db.models import QuerySet

from apps.centre.models import StorageClass
from apps.kernel.errors import NotFound
from apps.kernel.sealing import unseal

SECRET_PURPOSE = b"storage class:"


def storage_class_list() -> QuerySet[StorageClass]:
    """All of them, by their codes."""
    return StorageClass.objects.order_by("code")


def storage_classes_open() -> list[StorageClass]:
    """Those that take new volumes."""
    return list(StorageClass.objects.filter(is_enabled=True))


def storage_class_get(code: str) -> StorageClass:
    """The class of a code. Raises NotFound."""
    row = StorageClass.objects.filter(code=code).first()
    if row is None:
        raise NotFound()
    return row


def storage_class_of(pk: int) -> StorageClass:
    """The class that a volume names."""
    return StorageClass.objects.get(pk=pk)


def storage_class_default() -> StorageClass | None:
    """Where volumes lie of which nobody says more; None: in the centre's own folder."""
    return StorageClass.objects.filter(is_default=True, is_enabled=True).first()


def storage_secret(row: StorageClass) -> str:
    """The secret of its access key; "" where the portal's key does not open it."""
    return unseal(row.secret_sealed, SECRET_PURPOSE) if row.secret_sealed else ""
