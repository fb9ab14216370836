from pathlib import Path

from django.conf import settings

from apps.audit import services
from apps.audit.chain_heads import head_keep
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def audit_seal() -> None:
    """Seal what can no longer change; about once a minute keep the head outside of the database."""
    services.audit_seal(actor=SYSTEM)
    head_keep(Path(settings.WEIR_AUDIT_HEADS))
