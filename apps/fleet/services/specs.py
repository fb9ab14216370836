"""Named shares: whoever names a spec gets exactly it (POOL-12.14)."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.fleet.mig_profiles import mig_profile_get
from apps.fleet.models import Spec
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.services.device_capacity import amounts_check
from apps.fleet.services.name_checks import code_check, name_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service


@service(P.MANAGE)
def spec_make(
    *,
    actor: Actor,
    code: str,
    name_en: str,
    compute_percent: int | None = None,
    memory_mib: int | None = None,
    name_zh: str = "",
    mig_profile: str = "",
) -> Spec:
    """Offer a share under a name: of any card, or a MIG instance by its profile, which decides share and memory. It
    never changes: another share is another spec. Conflict for a code in use, NoSuchMigProfile."""
    code_check(code)
    name_check(name_en, name_zh)
    if mig_profile:
        profile = mig_profile_get(mig_profile)
        mig_profile, compute_percent, memory_mib = profile.name, profile.compute_percent, profile.memory_mib
    if compute_percent is None or memory_mib is None:
        missing = {"compute_percent": compute_percent, "memory_mib": memory_mib}
        raise InvalidInput(
            _("Say share and memory, or a MIG profile."),
            fields={name: _("Fill this in.") for name, given in missing.items() if given is None},
        )
    amounts_check(compute_percent, memory_mib)
    act_subject("spec", code, compute_percent=compute_percent, memory_mib=memory_mib)
    row = Spec(
        code=code,
        name_en=name_en,
        name_zh=name_zh or name_en,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
        mig_profile=mig_profile,
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
