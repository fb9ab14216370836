"""The specifications of the network, and which centre offers which (JC-6.1.2-1, JC-6.1.2-2)."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from apps.centers.adapters.base import Quantities
from apps.centers.errors import ResourceSpecInUse
from apps.centers.events import ResourceSpecChanged, ResourceSpecRemoved
from apps.centers.models import AMOUNT_COLUMNS, POWER_MOST_W, Center, ResourceSpec, SpecOffer
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import center_get, resource_spec_get
from apps.centers.services.checks import faults_raise, id_fault, number_fault, price_fault, text_fault
from apps.centers.states import ServiceType
from apps.centers.types import AMOUNTS, quantities_read
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service


@service(P.MANAGE)
def resource_spec_make(
    *,
    actor: Actor,
    resource_spec_id: str,
    resource_spec_name: str,
    resource_quantity: Mapping[str, Any],
    service_types: Iterable[str] = (ServiceType.BATCH,),
    price_minor: int = 0,
) -> ResourceSpec:
    """A specification that no centre offers yet. Raises InvalidInput by field, Conflict for a code in use.

    Args:
        resource_quantity: as table 3 writes it: {"cpu": "4", "memory": "16Gi", "gpu": "1"}.
        service_types: codes of `ServiceType`.
        price_minor: of an hour, in the least unit of money.
    """
    types = _types_read(service_types)
    faults_raise(
        {
            "resource_spec_id": id_fault(resource_spec_id),
            "resource_spec_name": text_fault(resource_spec_name),
            "price": price_fault(price_minor),
        }
    )
    row = ResourceSpec(
        resource_spec_id=resource_spec_id,
        resource_spec_name=resource_spec_name,
        service_type=types,
        price_minor=price_minor,
    )
    _amounts_set(row, quantities_read(resource_quantity))
    act_subject("resource_spec", resource_spec_id, **row.resource_quantity)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Conflict(
            _("There is a network specification %(code)s already.") % {"code": resource_spec_id}
        ) from error
    return row


@service(P.MANAGE)
def resource_spec_change(
    *,
    actor: Actor,
    resource_spec_id: str,
    resource_spec_name: str | None = None,
    resource_quantity: Mapping[str, Any] | None = None,
    service_types: Iterable[str] | None = None,
    price_minor: int | None = None,
) -> ResourceSpec:
    """Change what is given of a specification; None leaves it. Work that was sent keeps the price it was sent at.

    Raises NotFound, InvalidInput, and ResourceSpecInUse where its amounts change while a centre offers it or work holds
    it: what was measured there was measured of other amounts.
    """
    row = _locked(resource_spec_id)
    if resource_spec_name is not None:
        faults_raise({"resource_spec_name": text_fault(resource_spec_name)})
        row.resource_spec_name = resource_spec_name
    if service_types is not None:
        row.service_type = _types_read(service_types)
    if price_minor is not None:
        faults_raise({"price": price_fault(price_minor)})
        row.price_minor = price_minor
    if resource_quantity is not None:
        amounts = quantities_read(resource_quantity)
        if amounts != row.quantities:
            _unoffered_check(row)
            _amounts_set(row, amounts)
            emit(ResourceSpecChanged(resource_spec_id=resource_spec_id), actor=actor)
    act_subject("resource_spec", resource_spec_id, price=row.price_minor, **row.resource_quantity)
    row.save()
    return row


@service(P.MANAGE)
def resource_spec_remove(*, actor: Actor, resource_spec_id: str) -> None:
    """End a specification. Raises NotFound, ResourceSpecInUse while a centre offers it or work holds it."""
    row = _locked(resource_spec_id)
    _unoffered_check(row)
    emit(ResourceSpecRemoved(resource_spec_id=resource_spec_id), actor=actor)
    try:
        row.delete()
    except ProtectedError as error:
        raise ResourceSpecInUse(_("There is work of %(spec)s.") % {"spec": row}) from error


@service(P.MANAGE)
def offer_set(
    *,
    actor: Actor,
    resource_spec_id: str,
    ai_center_id: str,
    price_minor: int | None = None,
    cost_minor: int | None = None,
    performance: float | None = None,
    idle_power_w: float | None = None,
    running_power_w: float | None = None,
) -> SpecOffer:
    """Let a centre offer a specification, or change how it does: what is None is not known, and the price then the
    specification's own. `cost_minor`: what the centre gets for an hour. Raises NotFound, InvalidInput."""
    figures = {
        "performance": performance,
        "idle_power_w": idle_power_w,
        "running_power_w": running_power_w,
    }
    faults_raise(
        {"price": price_fault(price_minor), "cost": price_fault(cost_minor)}
        | {name: number_fault(value, 0, POWER_MOST_W) for name, value in figures.items()}
    )
    spec = _locked(resource_spec_id)
    center = _center_held(ai_center_id)
    act_subject("resource_spec", resource_spec_id, center=ai_center_id, price=price_minor, cost=cost_minor)
    row, _is_new = SpecOffer.objects.update_or_create(
        spec=spec, center=center, defaults={"price_minor": price_minor, "cost_minor": cost_minor, **figures}
    )
    return row


@service(P.MANAGE)
def offer_remove(*, actor: Actor, resource_spec_id: str, ai_center_id: str) -> None:
    """A centre offers a specification no more; work that is there goes on. Raises NotFound."""
    spec = _locked(resource_spec_id)
    act_subject("resource_spec", resource_spec_id, center=ai_center_id)
    gone, _by_model = SpecOffer.objects.filter(spec=spec, center__ai_center_id=ai_center_id).delete()
    if not gone:
        raise NotFound(
            _("%(center)s does not offer %(spec)s.")
            % {"center": ai_center_id[:64], "spec": spec.resource_spec_name}
        )


def _types_read(given: Iterable[str]) -> str:
    wanted = set(given)
    unknown = sorted(wanted - set(ServiceType.values))
    text = ""
    if not wanted:
        text = _("Choose one at least.")
    elif unknown:
        text = _("There is no job type %(name)s.") % {"name": unknown[0][:32]}
    faults_raise({"service_type": text})
    return ",".join(code for code in ServiceType.values if code in wanted)


def _amounts_set(row: ResourceSpec, amounts: Quantities) -> None:
    for name, column in zip(AMOUNTS, AMOUNT_COLUMNS, strict=True):
        setattr(row, column, getattr(amounts, name))


def _unoffered_check(row: ResourceSpec) -> None:
    names = [offer.center.name for offer in row.offers.select_related("center")[:5]]
    if names:
        raise ResourceSpecInUse(
            _("%(spec)s is offered by %(centers)s.") % {"spec": row, "centers": ", ".join(names)}
        )


def _locked(resource_spec_id: str) -> ResourceSpec:
    act_subject("resource_spec", resource_spec_id)
    return resource_spec_get(resource_spec_id, rows=ResourceSpec.objects.select_for_update())


def _center_held(ai_center_id: str) -> Center:
    """Locked against removal alone: its samples go on being kept."""
    return center_get(ai_center_id, rows=Center.objects.select_for_update(no_key=True))
