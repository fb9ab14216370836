"""Reads: business systems and their people."""

from uuid import UUID

from django.db.models import Q, QuerySet

from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.reach import Records
from apps.orgs.models import (
    TAKE_PART,
    BusinessSystem,
    BusinessSystemUser,
    ProgressReport,
)
from apps.orgs.permissions import OrgsPermission as P


def business_system_list(*, actor: Actor) -> QuerySet[BusinessSystem]:
    """The business systems the actor takes part in, and others as far as the data permission goes (PLAT-TEN-20)."""
    actor.require(P.VIEW)
    taking_part = BusinessSystemUser.objects.filter(user_id=actor.user_id, permission__codename=TAKE_PART)
    reached = actor.reaches(
        Records.SYSTEMS,
        own=Q(pk__in=taking_part.values("content_object_id")),
        organization="organization__uid",
        system="uid",
    )
    return BusinessSystem.objects.select_related("organization", "parent").filter(reached)


def business_systems_known(*, actor: Actor) -> QuerySet[BusinessSystem]:
    """Those of `business_system_list`; none for who may not see them: what a list of something else is narrowed by."""
    return business_system_list(actor=actor) if actor.may(P.VIEW) else BusinessSystem.objects.none()


def business_systems_of(*, actor: Actor, user_id: int) -> QuerySet[BusinessSystem]:
    """The business systems that somebody takes part in, of those the actor sees (PLAT-TEN-25)."""
    grants = BusinessSystemUser.objects.filter(user_id=user_id, permission__codename=TAKE_PART)
    return business_system_list(actor=actor).filter(pk__in=grants.values("content_object_id"))


def business_system_get(*, actor: Actor, uid: UUID) -> BusinessSystem:
    row = business_system_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def business_system_user_ids(business_system: BusinessSystem) -> list[int]:
    """Who takes part in a business system."""
    grants = business_system.user_grants.filter(permission__codename=TAKE_PART)
    return list(grants.order_by("user_id").values_list("user_id", flat=True))


def progress_list(*, actor: Actor, business_system: BusinessSystem) -> QuerySet[ProgressReport]:
    """What was reported on a business system that the actor sees, newest first."""
    actor.require(P.VIEW)
    return ProgressReport.objects.filter(business_system=business_system)


def progress_get_across(uid: UUID) -> ProgressReport:
    """One report of the tenant, for who has a task on it; NotFound where there is none."""
    row = ProgressReport.objects.select_related("business_system__organization").filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row
