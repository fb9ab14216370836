"""A job's money while it runs: set aside before a replica is sent, topped up; and the job stopped when its account
gives no more.

One charge for each price at each centre, so that a bill has one line for it. Internal to the app's services, which hold
the job's lock; the order of locks is the job, then the tenant's account, then what is set aside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.billing.errors import AccountNotOpened, FundsTooLow
from apps.billing.services.funds import FundsState, funds_top_up
from apps.billing.services.job_charges import (
    job_charge_begin,
    job_charge_end,
    job_charge_size,
    job_holds_lock,
)
from apps.billing.types import CostLabels, JobPrice
from apps.centers.adapters.kinds import charges_itself
from apps.centers.models import SpecOffer
from apps.jointcloud.engine.reasons import Finding, Reason, reason
from apps.jointcloud.models import Job, Replica, Task
from apps.jointcloud.services.settling import job_lock
from apps.jointcloud.states import ENDED, OPEN
from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.notices.services import notice_send
from apps.scheduling.selectors.entitlements.quotas import quota_organizations
from apps.tenancy.states import TenantState

_SHORT = gettext_noop(
    "The job %(name)s is about to be stopped: the account gives no more money for it. It goes on until %(until)s; top"
    " the account up before then."
)
_STOPPED = gettext_noop("The job %(name)s is stopped: the money of the account is used up.")
_MINOR = 100


class FundsLacking(Exception):
    """The tenant's account does not give what is set aside before replicas are sent; `reason` says so."""

    def __init__(self, why: Reason) -> None:
        self.reason = why
        super().__init__(str(why.code))


def hourly_of(price_minor: int) -> Decimal:
    """What is said in the least unit of money, in CNY."""
    return Decimal(price_minor) / _MINOR


def charge_uid_of(job: Job, offer: SpecOffer) -> UUID | None:
    """What use of an offer's specification by a job is charged by at the price of now; None where the portal's own pool
    charges it."""
    if charges_itself(offer.center.kind):
        return None
    parts = (
        job.job_id,
        offer.spec.resource_spec_id,
        offer.center.ai_center_id,
        str(offer.price_there_minor),
    )
    return uuid5(NAMESPACE_URL, "weir:job:" + "/".join(parts))


def charges_begin(job: Job, placed: Iterable[tuple[Replica, SpecOffer]], *, actor: Actor) -> None:
    """Set aside what replicas cost that were just given to centres, inside that transaction. Raises FundsLacking."""
    offers = {row.charge_uid: (row.task, offer) for row, offer in placed if row.charge_uid is not None}
    if not offers:
        return
    open_ = Replica.objects.filter(task__job=job, state__in=OPEN, charge_uid__in=offers)
    counts = dict(open_.order_by().values_list("charge_uid").annotate(count=Count("pk")))
    for charge_uid, (task, offer) in sorted(offers.items(), key=lambda item: str(item[0])):
        assert charge_uid is not None
        try:
            job_charge_begin(
                actor=actor,
                tenant=job.tenant,
                charge_uid=charge_uid,
                price=_price(job, task, offer),
                labels=_labels(job),
                replicas=counts[charge_uid],
            )
        except FundsTooLow as error:
            raise FundsLacking(
                reason(
                    Finding.FUNDS_TOO_LOW, wanted=f"{error.wanted:.2f}", spendable=f"{error.spendable:.2f}"
                )
            ) from error
        except AccountNotOpened as error:
            raise FundsLacking(reason(Finding.NO_ACCOUNT)) from error


def _price(job: Job, task: Task, offer: SpecOffer) -> JobPrice:
    return JobPrice(
        job_id=job.job_id,
        network_spec=task.resourcespec,
        spec_name=offer.spec.resource_spec_name,
        supplier=offer.center.name,
        hourly=hourly_of(offer.price_there_minor),
    )


def _labels(job: Job) -> CostLabels:
    return CostLabels(
        business_system=str(job.labels.get("business_system", "")),
        organization=_organization(job),
        person=str(job.labels.get("person", "")),
        business_system_uid=job.business_system_uid,
        organization_uid=job.organization_uid,
        user_id=job.submitted_by_id,
        work=job.name,
    )


def _organization(job: Job) -> str:
    if job.organization_uid is None:
        return ""
    return quota_organizations(job.tenant).get(job.organization_uid, "")


def charges_follow(job: Job, *, actor: Actor) -> None:
    """Bring what is set aside for a locked job to what of it may still run, and close what is settled of one that has
    ended. Nothing is set aside anew here."""
    job_holds_lock(job.job_id)
    rows = Replica.objects.filter(task__job=job, charge_uid__isnull=False).order_by()
    counts = rows.values_list("charge_uid").annotate(
        running=Count("pk", filter=Q(state__in=OPEN)), unsettled=Count("pk", filter=Q(is_settled=False))
    )
    for charge_uid, running, unsettled in sorted(counts, key=lambda row: str(row[0])):
        assert charge_uid is not None
        if job.state in ENDED and not unsettled:
            job_charge_end(actor=actor, charge_uid=charge_uid)
        else:
            job_charge_size(actor=actor, charge_uid=charge_uid, replicas=running, is_settled=not unsettled)


@service(recorded=False)
def job_funds_follow(*, actor: Actor, job_id: str, charge_uid: UUID) -> bool:
    """Top up what is set aside for a job that runs; whether it is to be stopped, its account having given no more for
    as long as the grace. Who submitted it is told before. Again it changes nothing."""
    job = job_lock(job_id)
    if job is None:
        return False
    now = timezone.now()
    state = funds_top_up(
        actor=actor, workload_uid=charge_uid, unrated_share_s=_unrated_s(job, charge_uid, now), left_s=None
    )
    if job.state in ENDED or job.stop_asked_at is not None or state.stops_at is None:
        return False
    if state.stops_at <= now:
        _tell(job, _STOPPED, actor)
        return True
    if state.is_new:
        _tell(job, _SHORT, actor, until=_moment(state))
    return False


def _unrated_s(job: Job, charge_uid: UUID, now: datetime) -> float:
    """How many seconds its replicas have run that are not settled yet, all together."""
    rows = Replica.objects.filter(
        task__job=job, charge_uid=charge_uid, is_settled=False, seen_from__isnull=False
    )
    spans = rows.values_list("seen_from", "seen_until")
    return math.fsum(max(0.0, ((until or now) - since).total_seconds()) for since, until in spans if since)


def _moment(state: FundsState) -> str:
    assert state.stops_at is not None
    return timezone.localtime(state.stops_at).strftime("%Y-%m-%d %H:%M")


def _tell(job: Job, msgid: str, actor: Actor, **params: str) -> None:
    if job.submitted_by_id is None or job.tenant.state == TenantState.DELETED:
        return
    notice_send(
        actor=actor,
        user_ids=[job.submitted_by_id],
        msgid=msgid,
        params={"name": job.name, **params},
        link=f"/jobs/{job.job_id}/",
        tenant=job.tenant,
    )
