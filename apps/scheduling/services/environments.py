"""Initialised environments of a tenant: amounts under a name (POOL-12.1)."""

from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.fleet.selectors import spec_get
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.models import Environment
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.services.workloads.submission.checks import amounts_check
from apps.scheduling.types import Amounts
from apps.tenancy.models import Tenant


@service(P.OPERATE)
def environment_make(
    *,
    actor: Actor,
    tenant: Tenant,
    name: str,
    is_fixed: bool = True,
    spec: str = "",
    compute_percent: int | None = None,
    memory_mib: int | None = None,
    shares: int = 1,
) -> Environment:
    """Make an environment of a specification's amounts, or of those given."""
    if spec:
        found = spec_get(spec)
        compute_percent, memory_mib = found.compute_percent, found.memory_mib
    if compute_percent is None or memory_mib is None:
        raise InvalidInput(
            _("An environment has a specification, or compute and memory."),
            fields={"compute_percent": _("1 to 100"), "memory_mib": _("at least 1")},
        )
    amounts_check(Amounts(shares, compute_percent, memory_mib))
    try:
        with transaction.atomic():
            row = Environment.plain.create(
                tenant=tenant,
                name=name,
                is_fixed=is_fixed,
                spec=spec,
                compute_percent=compute_percent,
                memory_mib=memory_mib,
                shares=shares,
                made_by_id=actor.user_id,
            )
    except IntegrityError as error:
        raise Conflict(
            _("There is an environment %(name)s already.") % {"name": name}, cure=_("Choose another name.")
        ) from error
    act_subject("environment", row.uid, name=name)
    return row


@service(P.OPERATE)
def environment_retire(*, actor: Actor, tenant: Tenant, environment_uid: UUID) -> None:
    """Take an environment out of use; what runs in it keeps its amounts. Retiring twice changes nothing."""
    row = Environment.plain.filter(tenant=tenant, uid=environment_uid).first()
    if row is None:
        raise NotFound()
    act_subject("environment", row.uid, name=row.name)
    Environment.plain.filter(pk=row.pk).update(is_retired=True)
