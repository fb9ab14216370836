"""Keep every act, and seal what can no longer change."""

from django.db import connection
from django.utils import timezone

from apps.audit.hash_chain import chain_digest
from apps.audit.models import Record, Seal
from apps.audit.permissions import AuditPermission as P
from apps.audit.selectors import sealed_records
from apps.kernel.actor import Act, Actor
from apps.kernel.bulk import insert_many
from apps.kernel.service import service

_LOCK = 0x5EA1


def act_record(act: Act) -> None:
    """Keep an act in the transaction that did it: no act without its record, no record without its act."""
    actor = act.actor
    record = Record(
        name=act.name[:80],
        actor_kind=actor.kind,
        actor_name=actor.name[:120],
        user_id=actor.user_id,
        role=actor.role[:64],
        schema=actor.tenant,
        request_id=actor.request_id[:64],
        subject_kind=act.subject_kind[:40],
        subject_id=act.subject_id[:64],
        detail=act.detail,
        at=timezone.now(),
    )
    insert_many([record], keyed=False)


@service(P.SEAL, recorded=False)
def audit_seal(*, actor: Actor) -> Seal | None:
    """Add one link over every record whose transaction, and all older ones, have ended.

    None when there is nothing new or another sealer is at work.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return None
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        until_txid = cursor.fetchone()[0]
    last = Seal.objects.order_by("-until_txid").first()
    previous, from_txid = (last.digest, last.until_txid) if last else ("", 0)
    if not Record.objects.filter(txid__gte=from_txid, txid__lt=until_txid).exists():
        return None
    digest, count = chain_digest(previous, until_txid, sealed_records(from_txid, until_txid))
    return Seal.objects.create(until_txid=until_txid, count=count, previous=previous, digest=digest)
