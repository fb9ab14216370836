from apps.audit import services
from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def audit_seal() -> None:
    services.audit_seal(actor=SYSTEM)
