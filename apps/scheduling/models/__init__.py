"""The tables of scheduling, whichever module defines them."""

from apps.scheduling.models.decisions import Decision, NominatedRoom, PastUse, StartEstimate, Tally, WhatIf
from apps.scheduling.models.dependencies import WorkloadArray, WorkloadDependency
from apps.scheduling.models.elastic import ScalingRule, WorkloadSize
from apps.scheduling.models.entitlements import (
    DefaultSpec,
    QueueWindow,
    Reservation,
    ResourceTicket,
    SpecialSpec,
    UserPriority,
    ValidityPeriod,
    ValidityRule,
    ValidityUser,
)
from apps.scheduling.models.environment_templates import EnvironmentTemplate
from apps.scheduling.models.hooks import HookCall
from apps.scheduling.models.queue import ORDERINGS, PLACINGS, Queue, QueueTenant
from apps.scheduling.models.quota import OrganizationQuota, QuotaHold, QuotaOrganization, TenantQuota
from apps.scheduling.models.service_keys import ServiceKey
from apps.scheduling.models.tenant_shares import TenantShare
from apps.scheduling.models.user_groups import UserGroup
from apps.scheduling.models.workload import Allocation, Environment, SchedulingPolicy, Workload

__all__ = [
    "ORDERINGS", "PLACINGS", "Allocation", "Decision", "DefaultSpec", "Environment", "EnvironmentTemplate",
    "HookCall", "NominatedRoom", "OrganizationQuota", "PastUse", "Queue", "QueueTenant", "QueueWindow", "QuotaHold",
    "QuotaOrganization", "Reservation", "ResourceTicket", "ScalingRule", "SchedulingPolicy", "ServiceKey",
    "SpecialSpec", "StartEstimate", "Tally", "TenantQuota", "TenantShare", "UserGroup", "UserPriority",
    "ValidityPeriod", "ValidityRule", "ValidityUser", "WhatIf", "Workload", "WorkloadArray", "WorkloadDependency",
    "WorkloadSize",
]  # fmt: skip
