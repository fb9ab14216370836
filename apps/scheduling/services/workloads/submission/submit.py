"""Work that somebody submits directly, with no order behind it: amounts, quota and charge in one transaction."""

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.billing.services.charges import charge_close
from apps.billing.services.charges_many import charges_open
from apps.billing.types import CostLabels
from apps.catalog.models import Commodity
from apps.catalog.selectors.prices import price_lines, price_version_get
from apps.fleet.mig_profiles import MIG_DRIVER, mig_profile_get
from apps.fleet.selectors import device_memory_most, spec_get
from apps.fleet.services.folder_uploads import upload_use
from apps.fleet.services.secrets import secrets_find
from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.identity.selectors import user_names
from apps.kernel.actor import Actor, act_subject
from apps.kernel.bulk import insert_many
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.events import emit
from apps.kernel.prepared_queries import Param, PreparedValues, pipeline
from apps.kernel.service import service
from apps.scheduling.errors import DirectWorkUnpriced
from apps.scheduling.locks import submissions_lock
from apps.scheduling.models import Environment, QuotaOrganization, Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.usage.model_usage import model_named
from apps.scheduling.selectors.workloads import environment_find, policy_get
from apps.scheduling.services.decisions import decisions_put, submitted
from apps.scheduling.services.quota.batch import quotas_hold
from apps.scheduling.services.quota.quotas import quota_release
from apps.scheduling.services.workloads.admission import (
    admission_check,
    priority_of,
    purpose_of,
    reservation_of,
)
from apps.scheduling.services.workloads.submission import checks
from apps.scheduling.services.workloads.submission.dependencies import (
    NOTHING,
    WAITING_CODE,
    Waits,
    dependencies_put,
    waits_read,
)
from apps.scheduling.services.workloads.submission.packages import requirements_read
from apps.scheduling.services.workloads.submission.replicas import replicas_read, whole_check
from apps.scheduling.states import AfterWork, DecisionKind
from apps.scheduling.types import (
    COMPUTE_COMPONENT,
    CPU_COMPONENT,
    HOST_MEMORY_COMPONENT,
    MEMORY_COMPONENT,
    Amounts,
    WorkImage,
    WorkloadRequest,
    program_of,
)
from apps.tenancy.models import Tenant
from node_agent.protocol.fields import HOST_DRIVER
from weir_wire.workload_request import asks

# What direct work asks for of its node is named by these.
_OF_NODE = {CPU_COMPONENT: gettext_lazy("CPU"), HOST_MEMORY_COMPONENT: gettext_lazy("Main memory")}


@service(P.OPERATE)
def workload_request(*, actor: Actor, tenant: Tenant, asked: WorkloadRequest) -> Workload:
    """Put a program or a session in a queue. Whatever could never run is refused at once, by name.

    A fixed environment decides the amounts, else a specification does, else the request (POOL-12.1, POOL-12.14).
    The tenant's quota is held in the workload's name until it ends (POOL-12.6); it is charged by the policy's
    direct commodity, and funds are set aside for it. Raises DirectWorkUnpriced, FundsTooLow.
    """
    if asked.client_key:
        submissions_lock(tenant)
        own = Workload.plain.filter(tenant=tenant, submitted_by_id=actor.user_id)
        known = own.filter(client_key=asked.client_key).first()
        if known:
            return known
    waits = waits_read(actor, tenant, asked)
    row, amounts = workload_draft(actor, tenant, asked, waits)
    act_subject("workload", row.uid, no=row.no, name=row.name_en, group=row.resource_group)
    with pipeline():
        take_in(actor, tenant, [row], amounts, waits)
        emit(submitted(row), actor=actor)
    return row


def take_in(actor: Actor, tenant: Tenant, rows: Sequence[Workload], amounts: Amounts, waits: Waits) -> None:
    """Save alike new work with its quota, its charge, what it waits for and the begin of its time line; internal to the
    app's services."""
    # Read before anything is written: in a pipe what is read waits for all that was sent before.
    first = rows[0]
    of_node = replace(amounts, host_cpu_milli=first.host_cpu_milli, host_memory_mib=first.host_memory_mib)
    quote = quote_of(of_node)
    if not rows[0].waits_for_quota:
        wanted = {row.uid: amounts.quota() for row in rows}
        quotas_hold(
            actor=actor,
            tenant=tenant,
            wanted=wanted,
            organization=rows[0].organization_id,
            model=model_named(rows[0]),
        )
    insert_many(rows)
    if waits.on:
        dependencies_put(rows, waits)
    if rows[0].folder:
        uids = [row.uid for row in rows]
        upload_use(actor=actor, tenant=tenant, sha256=rows[0].folder, workload_uids=uids)
    decisions_put(actor=actor, lines=[(row.pk, DecisionKind.SUBMITTED, "", {}) for row in rows])
    charges_open(
        actor=actor,
        tenant=tenant,
        workloads=[(row.uid, row.no) for row in rows],
        quote=quote,
        labels=_cost_labels(rows[0]),
        run_s=rows[0].run_timeout_s,
        most=_most(rows[0]),
    )


def _most(row: Workload) -> dict[str, int]:
    """What its shares may turn out to have: whole cards are charged with all their memory, whichever they get."""
    return {MEMORY_COMPONENT: device_memory_most()} if row.whole_cards else {}


_NAME = PreparedValues(lambda: QuotaOrganization.plain.filter(uid=Param("uid")), "name")


def _cost_labels(row: Workload) -> CostLabels:
    named = _NAME.first(uid=row.organization_id) if row.organization_id else None
    return CostLabels(
        person=str(row.labels["person"]),
        business_system=str(row.labels.get("business_system", "")),
        business_system_uid=row.business_system_uid,
        organization=named[0] if named else "",
        organization_uid=row.organization_id,
        user_id=row.submitted_by_id,
        work="" if row.order_uid else row.name_en,
    )


def workload_draft(
    actor: Actor, tenant: Tenant, asked: WorkloadRequest, waits: Waits = NOTHING
) -> tuple[Workload, Amounts]:
    """The workload as it would be submitted, not saved, and its amounts; every refusal but that of the quota."""
    if asked.array:
        raise InvalidInput(
            fields={"array": _("An array is submitted in a call of its own.")},
            cure=_("Submit it by itself: one call makes all of its tasks."),
        )
    asked = mig_read(replicas_read(asked))
    checks.asked_check(asked, timezone.now())
    checks.folder_check(actor, tenant, asked)
    environment = environment_find(tenant, asked.environment) if asked.environment else None
    amounts = replace(amounts_of(asked, environment), scratch_disk_mib=asked.scratch_disk_mib)
    if amounts.is_on_host:
        asked = replace(asked, driver=HOST_DRIVER)
    checks.amounts_check(amounts)
    checks.elastic_check(asked.min_shares, amounts.shares)
    whole_check("shares", amounts.shares, asked.shares_per_replica)
    row = _row(actor, tenant, asked, environment, amounts)
    if waits.on:
        row.waits_for_work, row.reason_code, row.reason = True, WAITING_CODE, waits.reason
    admission_check(actor, row)
    checks.group_check(row)
    checks.hopeless_check(row)
    return row, amounts


def amounts_of(asked: WorkloadRequest, environment: Environment | None) -> Amounts:
    """What the work really gets, whatever else the request says.

    What asks for nothing of a device, and for a processor, runs on a node's host alone.
    """
    if environment is not None and environment.is_fixed:
        return Amounts(
            environment.shares, environment.compute_percent, environment.memory_mib, environment.spec
        )
    shares = asked.shares if asked.shares is not None else environment.shares if environment else 1
    code = asked.spec or (environment.spec if environment else "")
    if code:
        spec = spec_get(code)
        return Amounts(shares, spec.compute_percent, spec.memory_mib, code)
    percent, mib = asked.compute_percent, asked.memory_mib
    if environment is not None:
        percent = environment.compute_percent if percent is None else percent
        mib = environment.memory_mib if mib is None else mib
    if asked.whole_cards:
        percent, mib = 100, 1 if mib is None else mib
    if percent is None or mib is None:
        raise InvalidInput(
            _("Say how much of a device it needs."),
            cure=_("Give compute and memory, a specification or an environment."),
            fields={"compute_percent": _("1 to 100"), "memory_mib": _("at least 1")},
        )
    on_host = Amounts(
        shares, percent, mib, host_cpu_milli=asked.host_cpu_milli, host_memory_mib=asked.host_memory_mib
    )
    return on_host if on_host.is_on_host else Amounts(shares, percent, mib)


def mig_read(asked: WorkloadRequest) -> WorkloadRequest:
    """The request with the share and memory of the MIG profile that it names, or that its specification is of.

    InvalidInput where it says otherwise how much it needs; NoSuchMigProfile.
    """
    named = asked.mig_profile or (spec_get(asked.spec).mig_profile if asked.spec else "")
    if not named:
        return asked
    profile = mig_profile_get(named, vendor=asked.vendor, model=asked.model)
    if not asked.mig_profile:
        return replace(asked, mig_profile=profile.name, driver=MIG_DRIVER)
    others = ("compute_percent", "memory_mib", "spec", "environment", "whole_cards")
    wrong = {name: _("The MIG profile says how much it needs.") for name in others if getattr(asked, name)}
    if asked.driver not in ("", MIG_DRIVER):
        wrong["driver"] = _("A MIG profile is cut by the card itself.")
    if wrong:
        raise InvalidInput(fields=wrong)
    return replace(
        asked,
        mig_profile=profile.name,
        driver=MIG_DRIVER,
        compute_percent=profile.compute_percent,
        memory_mib=profile.memory_mib,
    )


# What a row keeps otherwise than as it was asked for: another's key, an amount that something else decides, a default
# that is looked up.
_READ = frozenset(
    {
        "name", "environment", "spec", "queue", "priority", "shares", "purpose", "any_models", "reservation",
        "compute_percent", "memory_mib", "local_node", "replicas", "min_replicas", "wait_for_quota", "run_timeout_s",
        "vendor", "model", "node", "device", "argv", "env", "checkpoint_signal", "checkpoint_command", "web",
        "serve", "health", "array", "business_system", "signal", "secrets", "volumes", "assets", "outputs", "image",
        "requirements", *AfterWork.values,
    }
)  # fmt: skip
_COPIED = tuple(name for name in asks() if name not in _READ)


def _row(
    actor: Actor, tenant: Tenant, asked: WorkloadRequest, environment: Environment | None, amounts: Amounts
) -> Workload:
    queue = checks.queue_open(asked.queue, tenant, actor.user_id if actor.kind == "user" else None)
    run_timeout_s = checks.run_time_of(queue, asked.run_timeout_s)
    checks.times_check(replace(asked, run_timeout_s=run_timeout_s), timezone.now())
    checks.warning_time_check(asked, run_timeout_s)
    mounts, storage = import_string(settings.WEIR_VOLUME_MOUNTS)(
        actor=actor, volumes=asked.volumes, assets=asked.assets
    )
    image: WorkImage | None = import_string(settings.WEIR_WORK_IMAGE)(actor=actor, asked=asked.image)
    if image is not None and not asked.argv:
        asked = replace(asked, argv=image.entry_point)
    if asked.kind == "program" and not (asked.argv and asked.argv[0]):
        reason = _("Say what is to run: a command, or an image that has one.")
        raise InvalidInput(reason, fields={"argv": reason}, inputs={"argv": "command"})
    work = asked.work | ({"volumes": mounts} if mounts else {})
    if image is not None:
        # Files that travelled lie in the work's own folder.
        work["image"] = image.told | ({"in_home": True} if asked.folder else {})
    if asked.requirements:
        named = requirements_read(asked.requirements)
        work["packages"] = {"owner": tenant.schema_name, "requirements": list(named)}
    pins = checks.pins_read(asked) | ({"storage": storage} if storage else {})
    pins |= {"containers": image.architecture} if image else {}
    pins |= {"packages": "yes"} if asked.requirements else {}
    pins |= {"program": program} if image is None and (program := program_of(asked.argv)) else {}
    work_check({**work, "kind": asked.kind, "idle_timeout_s": asked.idle_timeout_s}, run_timeout_s)
    system = import_string(settings.WEIR_WORK_SYSTEM)(actor=actor, asked=asked.business_system)
    row = Workload(
        **{name: getattr(asked, name) for name in _COPIED},
        tenant=tenant,
        submitted_by_id=actor.user_id,
        organization_id=actor.organization,
        business_system_uid=system[0] if system else None,
        environment=environment,
        spec=amounts.spec,
        name_en=asked.name,
        name_zh=asked.name,
        queue=queue,
        priority=priority_of(actor, asked.priority),
        shares=amounts.shares,
        purpose=asked.purpose or purpose_of(asked.kind),
        any_models=list(asked.any_models),
        reservation=reservation_of(tenant, asked.reservation),
        compute_percent=amounts.compute_percent,
        memory_mib=amounts.memory_mib,
        local_node=checks.node_read(asked.local_node, "local_node").uid if asked.local_node else "",
        waits_for_quota=asked.wait_for_quota,
        pins=pins,
        work=work,
        outputs=import_string(settings.WEIR_OUTPUT_VOLUME)(actor=actor, name=asked.outputs),
        secrets=secrets_find(tenant, actor, asked.secrets) if asked.secrets else {},
        run_timeout_s=run_timeout_s,
        labels={"person": _person(actor)} | ({"business_system": system[1]} if system else {}),
    )
    row.no = f"W-{row.uid.hex[:10].upper()}"
    return row


def _person(actor: Actor) -> str:
    """Who asked, as orders name their applicants too: by name, not by account."""
    return (user_names({actor.user_id}).get(actor.user_id) if actor.user_id else None) or actor.name


# --- what it costs -----------------------------------------------------------------------------------------------


def quote_of(amounts: Amounts) -> dict[str, object]:
    """What direct work of these amounts is charged as."""
    commodity = policy_get().direct_commodity
    if commodity is None:
        raise DirectWorkUnpriced()
    return _quote(commodity, amounts)


def _quote(commodity: Commodity, amounts: Amounts) -> dict[str, object]:
    """The prices in force now, for what a share has of a device and of its node; of the node's disk where that is
    priced. What has no price is not given for nothing: DirectWorkUnpriced."""
    version = price_version_get(commodity=commodity, at=timezone.now())
    if version is None:
        raise Conflict(
            _("%(commodity)s has no price for this yet.") % {"commodity": commodity.name},
            cure=_("Ask the operator to publish a price."),
        )
    lines = price_lines(version.pk)
    held = {code: amount for code, amount in amounts.components().items() if amount}
    priced = {code: held[code] for code in lines if code in held}
    if not amounts.is_on_host and not priced.keys() & {COMPUTE_COMPONENT, MEMORY_COMPONENT}:
        raise DirectWorkUnpriced(
            _(
                "%(commodity)s prices neither compute nor memory: work without an order cannot be charged as it."
            )
            % {"commodity": commodity.name}
        )
    if lacking := [str(name) for code, name in _OF_NODE.items() if code in held and code not in priced]:
        raise DirectWorkUnpriced(
            _("%(commodity)s has no price for what this work asks for of its node: %(parts)s.")
            % {"commodity": commodity.name, "parts": ", ".join(lacking)},
            cure=_(
                "An operator has %(commodity)s sell it too, with a price (0 makes it free), or charges direct work"
                " by another commodity. Or ask for none of it."
            )
            % {"commodity": commodity.name},
        )
    return {
        "price_version": str(version.uid),
        "amounts": priced,
        "count": amounts.shares,
        "commodity_number": commodity.number,
        "commodity_name_zh": commodity.name_zh,
        "commodity_name_en": commodity.name_en,
        "supplier": commodity.supplier,
    }


def direct_ended(row: Workload, actor: Actor) -> None:
    """Direct work has ended: its quota is given back, its charge closed to the second."""
    quota_release(actor=actor, tenant=row.tenant, holder_uid=row.uid)
    if row.ended_at:
        charge_close(actor=actor, workload_uid=row.uid, at=row.ended_at)


@service()
def group_refusal_record(*, actor: Actor, tenant: Tenant, group: str, name: str) -> None:
    """Record that a client asked for a resource group without authority (POOL-12.13): the refusal itself leaves
    nothing behind."""
    act_subject("resource_group", group, refused="not_authorised_for_group", workload=name)
