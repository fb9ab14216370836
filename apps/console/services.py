"""Writes that join several apps in one transaction."""

from collections.abc import Iterable, Mapping
from typing import IO, Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from apps.billing.services.ledger import account_open, credit_limit_set
from apps.catalog.models import Commodity
from apps.catalog.permissions import CatalogPermission
from apps.catalog.selectors.commodities import category_get, commodity_any_get
from apps.catalog.selectors.processes import process_app_get
from apps.catalog.services.commodities import WHERE, commodity_change, commodity_create
from apps.catalog.services.components import components_ensure
from apps.catalog.services.processes import process_template_import
from apps.catalog.states import CardUse, CommodityKind
from apps.catalog.types import ComponentRange
from apps.centre.models import Centre
from apps.centre.permissions import CentrePermission
from apps.centre.services import MailGiven, centre_open
from apps.centre.setup_token import setup_token_end
from apps.console.tenant_archive import tenant_archive
from apps.console.tenant_overview import tenant_lasting
from apps.console.types import (
    BusinessSystemGiven,
    CommodityDraft,
    FirstAdministrator,
    TenantBeginning,
    TenantOpened,
)
from apps.fleet.mig_profiles import mig_profile_get
from apps.fleet.selectors import CardModel, card_models, group_list, spec_get, spec_list
from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.users import user_create
from apps.images.work import images_offered
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.orgs.models import Organization
from apps.orgs.selectors.roles import roles_named
from apps.orgs.services.business_systems import business_system_create
from apps.orgs.services.invitations import invitation_make
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.people import person_make
from apps.scheduling.engine.model.types import WHOLE_CARD_PERCENT
from apps.scheduling.models import EnvironmentTemplate
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.environment_templates import environment_template_list
from apps.scheduling.selectors.workloads import queue_list
from apps.scheduling.services.environment_templates import COMMANDS
from apps.scheduling.services.queues.queue_settings import queue_ensure, queue_make
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.states import Software
from apps.tenancy.models import Tenant
from apps.tenancy.permissions import TenancyPermission
from apps.tenancy.services import tenant_close, tenant_provision
from workflows.registry import definition_list

_NOTHING_MORE = TenantBeginning()
# The built-in role that may give every other one.
ADMINISTRATOR = "tenant_system_administrator"
# Of one person alone: accounts, tenants and nodes by the first, prices, approvals and bills by the second.
FIRST_OPERATOR = ("system_administrator", "operations_manager")


@service(CentrePermission.MANAGE)
def centre_setup(
    *,
    actor: Actor,
    username: str,
    display_name: str,
    password: str,
    language: str,
    timezone: str,
    name: str = "",
    email: str = "",
    mail: MailGiven | None = None,
    roles: Iterable[str] = FIRST_OPERATOR,
) -> tuple[Centre, User]:
    """Open the centre with its first operator, who holds `roles`, a queue for work, and the shipped processes.

    All or nothing, and once: AlreadySetUp for who comes second, InvalidInput for what may not be. The setup token is
    worth nothing any more.
    """
    centre = centre_open(actor=actor, name=name, language=language, timezone=timezone, mail=mail)
    queue_ensure(actor=actor)
    for shipped in definition_list():
        process_template_import(
            actor=actor, key=shipped.key, xml=shipped.xml, name_zh=shipped.name_zh, name_en=shipped.name
        )
    user = user_create(
        actor=actor,
        username=username,
        display_name=display_name,
        password=password,
        email=email,
        is_operator=True,
    )
    for role in roles:
        operator_role_bind(actor=actor, user=user, role_code=role)
    act_subject("user", user.uid, username=user.username)
    transaction.on_commit(setup_token_end)
    return centre, user


@service(TenancyPermission.MANAGE)
def tenant_open(
    *,
    actor: Actor,
    schema: str,
    name: str,
    administrator: FirstAdministrator,
    timezone: str = "",
    beginning: TenantBeginning = _NOTHING_MORE,
) -> TenantOpened:
    """A tenant that can be put to use: with its first organization and administrator, and what it begins with.

    All or nothing; the administrator gives the others their accounts and roles (PLAT-TEN-8, PLAT-TEN-24). Forbidden
    where the actor may not make something that the tenant is to begin with.
    """
    tenant = tenant_provision(actor=actor, schema=schema, name=name, timezone=timezone)
    with in_tenant(schema):
        organization = organization_create(actor=actor, name=tenant.name)
        way_in = _administrator_make(actor, administrator, organization, tenant)
        if beginning.business_system is not None:
            _business_system_make(actor, beginning.business_system, organization)
    if beginning.quota:
        quotas_set(actor=actor, tenant=tenant, totals=beginning.quota)
    if beginning.has_account:
        account_open(actor=actor, tenant=tenant)
        if beginning.credit_limit:
            credit_limit_set(
                actor=actor,
                tenant=tenant,
                amount=beginning.credit_limit,
                reason=str(_("agreed when it was opened")),
            )
    elif beginning.credit_limit:
        raise InvalidInput(fields={"credit_limit": _("Credit needs an account: open one with it.")})
    if beginning.has_queue:
        title = tenant.name[:80]
        queue_make(actor=actor, code=schema, name_en=title, name_zh=title, changes={}, tenants=[tenant])
    act_subject("tenant", schema, administrator=administrator.username or administrator.display_name)
    return TenantOpened(tenant, tenant.get_primary_domain().domain, **way_in)


def _administrator_make(
    actor: Actor, given: FirstAdministrator, organization: Organization, tenant: Tenant
) -> dict[str, Any]:
    """How the first administrator comes in: by an account with a first password, or by an invitation, which is shown
    or mailed."""
    roles = roles_named([ADMINISTRATOR])
    if given.username:
        user, password = person_make(
            actor=actor,
            username=given.username,
            display_name=given.display_name,
            email=given.email,
            organization=organization,
            roles=roles,
        )
        return {"username": user.username, "password": password}
    invitation, secret = invitation_make(
        actor=actor,
        display_name=given.display_name,
        email=given.email,
        organization=organization,
        roles=roles,
        by_mail=given.mail_portal(tenant) if given.mail_portal else None,
    )
    mailed_to = "" if secret else invitation.email
    return {"secret": secret, "mailed_to": mailed_to, "expires_at": invitation.expires_at}


def _business_system_make(actor: Actor, given: BusinessSystemGiven, organization: Organization) -> None:
    try:
        business_system_create(actor=actor, name=given.name, number=given.number, organization=organization)
    except InvalidInput as error:
        # The tenant has a name, too: these are the business system's.
        fields = {f"business_system.{field}": text for field, text in error.fields.items()}
        raise InvalidInput(fields=fields) from error


@service(SchedulingPermission.MANAGE)
def quotas_set(*, actor: Actor, tenant: Tenant, totals: Mapping[str, int]) -> None:
    """Set the quota of several items together, all or none (PLAT-TEN-10); what is not named stays."""
    act_subject("tenant", tenant.schema_name)
    for item, total in sorted(totals.items()):
        quota_set(actor=actor, tenant=tenant, item=item, total=total)


@service(TenancyPermission.MANAGE)
def tenant_end(*, actor: Actor, tenant: Tenant) -> Tenant:
    """Close a suspended tenant for good, once nothing of it runs and its money is settled (PLAT-TEN-8).

    Raises:
        Conflict: something has not ended or is not paid; the text says what.
    """
    lasting = tenant_lasting(tenant)
    if lasting:
        raise Conflict(" ".join(lasting), cure=_("Settle what is named, then close it."))
    return tenant_close(actor=actor, tenant=tenant)


def tenant_archive_take(*, actor: Actor, tenant: Tenant) -> IO[bytes]:
    """All that is kept of a tenant as a ZIP archive; that it was taken is on record before it is."""
    tenant_archive_note(actor=actor, tenant=tenant)
    return tenant_archive(tenant)


@service(TenancyPermission.MANAGE)
def tenant_archive_note(*, actor: Actor, tenant: Tenant) -> None:
    act_subject("tenant", tenant.schema_name)


# --- commodities -------------------------------------------------------------------------------------------------


@service(CatalogPermission.MANAGE)
def commodity_put(
    *, actor: Actor, draft: CommodityDraft, commodity_uid: UUID | None = None, version: int = 0
) -> Commodity:
    """Make a commodity as the draft says, or change one that was read at `version`.

    InvalidInput names each thing that the centre does not have: a queue, a resource group, a card, a specification, an
    environment template. What the catalogue itself refuses, it refuses here too.
    """
    components_ensure(actor=actor)
    row = commodity_any_get(commodity_uid) if commodity_uid else None
    said = _commodity_fields(draft, row)
    ranges = _ranges_of(draft)
    if row is None:
        where = {name: said.pop(name) for name in WHERE}
        return commodity_create(
            actor=actor, number=draft.number, kind=draft.kind, components=ranges, where=where, **said
        )
    if row.kind != draft.kind:
        raise InvalidInput(_("The kind of a commodity stays: make another commodity."))
    return commodity_change(
        actor=actor, commodity_uid=row.uid, version=version, changes=said, components=ranges
    )


def _commodity_fields(draft: CommodityDraft, row: Commodity | None) -> dict[str, Any]:
    wrong: dict[str, object] = {}
    if draft.queue and not queue_list().filter(code=draft.queue).exists():
        wrong["queue"] = _("There is no queue %(code)s.") % {"code": draft.queue}
    if draft.resource_group and not group_list().filter(code=draft.resource_group).exists():
        wrong["resource_group"] = _("There is no resource group %(group)s.") % {"group": draft.resource_group}
    if draft.spec and not spec_list().filter(code=draft.spec, is_enabled=True).exists():
        wrong["spec"] = _("There is no resource specification %(code)s.") % {"code": draft.spec}
    if draft.model and _card_of(draft) is None:
        wrong["card"] = _("The centre has no card %(model)s.") % {"model": f"{draft.vendor} {draft.model}"}
    if draft.card_use == CardUse.WHOLE and not draft.model:
        wrong["card"] = _("Of a whole card the memory is the card's: choose the card.")
    if draft.card_use == CardUse.WHOLE and draft.spec:
        wrong["spec"] = _("A whole card is no specification: choose one of the two.")
    if draft.mig_profile and draft.card_use != CardUse.MIG:
        wrong["mig_profile"] = _("A MIG profile is a way to hold a card: choose a MIG slice.")
    if draft.mig_profile and draft.spec:
        wrong["spec"] = _("A MIG profile is no specification: choose one of the two.")
    template = environment_template_list().filter(name=draft.environment).first()
    if draft.kind == CommodityKind.ENVIRONMENT and template is None:
        wrong["environment"] = _("Choose an environment template.")
    images = dict(images_offered()) if draft.image else {}
    if draft.image and (draft.kind != CommodityKind.SERVICE or draft.image not in images):
        wrong["image"] = _("Choose an image that the centre offers and that runs something.")
    if wrong:
        raise InvalidInput(_("The commodity cannot be kept as it stands."), fields=wrong)
    kept = ("min_duration_s", "max_duration_s", "max_count")
    return {
        **draft.texts,
        **{name: getattr(draft, name) for name in (*WHERE, *kept) if name != "image_name"},
        "image_name": images.get(draft.image, ""),
        "category": category_get(draft.category),
        "process_app": process_app_get(draft.process_app),
        "termination_app": process_app_get(draft.termination_app),
        "work": _work_of(draft, template, row),
    }


def _work_of(
    draft: CommodityDraft, template: EnvironmentTemplate | None, row: Commodity | None
) -> dict[str, Any]:
    if template is not None:
        return {"argv": list(COMMANDS[Software(template.software)]), "env": {}, "web": True}
    if draft.kind == CommodityKind.SERVICE:
        return _service_work_of(draft)
    if draft.kind != CommodityKind.WORK or draft.is_own_program:
        return {}
    kept = {"web": True} if row is not None and row.work.get("web") else {}
    return {"argv": list(draft.argv), "env": dict(draft.env), **kept}


def _service_work_of(draft: CommodityDraft) -> dict[str, Any]:
    """What a service runs and how it is kept alive, as a node would take it."""
    if not draft.argv and not draft.image:
        reason = _("Say what runs: a command, or an image that runs something.")
        raise InvalidInput(fields={"argv": reason})
    work = {"argv": list(draft.argv), "env": dict(draft.env), "service": dict(draft.service or {})}
    # An image's own program is looked up when it is ordered.
    taken = work_check({**work, "argv": list(draft.argv) or ["image"], "kind": "program"}, None)
    assert taken.service is not None
    return {**work, "service": taken.service.model_dump(mode="json")}


def _ranges_of(draft: CommodityDraft) -> list[ComponentRange]:
    """How much may be ordered: of a specification, a MIG profile and a whole card exactly theirs."""
    fixed: tuple[int, int] | None = None
    card = _card_of(draft)
    if draft.spec:
        spec = spec_get(draft.spec)
        fixed = spec.compute_percent, spec.memory_mib
    elif draft.mig_profile:
        profile = mig_profile_get(draft.mig_profile, vendor=draft.vendor, model=draft.model)
        fixed = profile.compute_percent, profile.memory_mib
    elif draft.card_use == CardUse.WHOLE and card is not None:
        fixed = WHOLE_CARD_PERCENT, card.memory_mib
    if fixed is None:
        return list(draft.ranges)
    percent, mib = fixed
    others = [part for part in draft.ranges if part.component not in ("compute_share", "gpu_memory")]
    return [
        ComponentRange("compute_share", percent, percent, percent),
        ComponentRange("gpu_memory", mib, mib, mib),
        *others,
    ]


def _card_of(draft: CommodityDraft) -> CardModel | None:
    wanted = (draft.vendor, draft.model)
    return next((card for card in card_models() if (card.vendor, card.model) == wanted), None)
