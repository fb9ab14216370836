from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.audit.hash_chain import chain_digest
from apps.audit.models import Record, Seal
from apps.kernel.errors import NotFound


def record_list(
    *,
    search: str = "",
    schema: str = "",
    subject_kind: str = "",
    subject_id: str = "",
    from_at: datetime | None = None,
    until_at: datetime | None = None,
    names: Collection[str] = (),
) -> QuerySet[Record]:
    """Acts of all tenants, newest first; for callers who hold audit.view on the provider plane (PLAT-LOG).

    `search` is a part of an act's or an actor's name, or the identifier of a subject or a request; acts in `names` are
    found as well.
    """
    rows = Record.objects.all()
    if search:
        parts = Q(name__icontains=search) | Q(actor_name__icontains=search) | Q(name__in=names)
        rows = rows.filter(parts | Q(subject_id=search) | Q(request_id=search))
    exact = {"schema": schema, "subject_kind": subject_kind, "subject_id": subject_id}
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if from_at:
        rows = rows.filter(at__gte=from_at)
    return rows.filter(at__lt=until_at) if until_at else rows


def record_get(uid: UUID) -> Record:
    """One act of the log; NotFound."""
    row = Record.objects.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What checking the chain found: seals and records looked at, and the first seal that does not hold."""

    seals: int
    records: int
    broken_seal: int | None
    reason: str


def chain_verify() -> ChainReport:
    """Compute every seal again from the records; stop at the first that differs."""
    previous, from_txid, seals, records = "", 0, 0, 0
    for seal in Seal.objects.order_by("until_txid").iterator():
        digest, count = chain_digest(previous, seal.until_txid, sealed_records(from_txid, seal.until_txid))
        seals, records = seals + 1, records + count
        if seal.previous != previous:
            return ChainReport(seals, records, seal.pk, "its predecessor is missing or was changed")
        if (digest, count) != (seal.digest, seal.count):
            return ChainReport(
                seals, records, seal.pk, f"{count} records found, {seal.count} sealed, or one differs"
            )
        previous, from_txid = seal.digest, seal.until_txid
    return ChainReport(seals, records, None, "")


def sealed_records(from_txid: int, until_txid: int) -> Iterator[Record]:
    """Records of the transactions in [from_txid, until_txid), in the order the chain hashes them."""
    rows = Record.objects.filter(txid__gte=from_txid, txid__lt=until_txid).order_by("txid", "pk")
    return rows.iterator(chunk_size=2000)
