"""Reads: the templates of development environments, and the environments of a person."""

from uuid import UUID

from django.db.models import QuerySet

from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.scheduling.models import EnvironmentTemplate, Workload
from apps.scheduling.selectors.workloads import workload_list
from apps.scheduling.states import FINAL_STATES
from apps.tenancy.models import Tenant


def environment_template_list() -> QuerySet[EnvironmentTemplate]:
    """The templates on offer, by name."""
    return EnvironmentTemplate.objects.filter(removed_at=None)


def environment_template_get(uid: UUID) -> EnvironmentTemplate:
    """A template on offer; NotFound for none, and for one that was removed."""
    row = environment_template_list().filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def own_environment_list(tenant: Tenant, actor: Actor) -> QuerySet[Workload]:
    """The actor's own work that serves web pages and is not over, newest first."""
    rows = workload_list(tenant, actor=actor).filter(submitted_by=actor.user_id, work__web=True)
    return rows.exclude(state__in=FINAL_STATES)
