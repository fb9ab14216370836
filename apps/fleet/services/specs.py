"""Named shares: whoever names a spec gets exactly it (POOL-12.14)."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.fleet.models import Spec
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.services.device_capacity import amounts_check
from apps.fleet.services.name_checks import code_check, name_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.service import service


@service(P.MANAGE)
def spec_make(
    *, actor: Actor, code: str, name_en: str, compute_percent: int, memory_mib: int, name_zh: str = ""
) -> Spec:
    """Offer a share under a name. It never changes: another share is another spec. Conflict for a code in use."""
    code_check(code)
    name_check(name_en, name_zh)
    amounts_check(compute_percent, memory_mib)
    act_subject("spec", code, compute_percent=compute_percent, memory_mib=memory_mib)
    row = Spec(
        code=code,
        name_en=name_en,
        name_zh=name_zh or name_en,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
    )
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Conflict(_("There is a resource specification %(code)s already.") % {"code": code}) from error
    return row


@service(P.MANAGE)
def spec_disable(*, actor: Actor, code: str) -> Spec:
    """Offer it no more; what runs by it goes on."""
    return _set(code, is_enabled=False)


@service(P.MANAGE)
def spec_enable(*, actor: Actor, code: str) -> Spec:
    """Offer it again."""
    return _set(code, is_enabled=True)


def _set(code: str, *, is_enabled: bool) -> Spec:
    act_subject("spec", code)
    if not Spec.objects.filter(code=code).update(is_enabled=is_enabled):
        raise NotFound(_("There is no resource specification %(code)s.") % {"code": code})
    return Spec.objects.get(code=code)
