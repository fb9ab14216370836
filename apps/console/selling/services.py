"""Commodities as their page asks for them: made, and changed into a new version."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from apps.catalog.models import Commodity
from apps.catalog.permissions import CatalogPermission
from apps.catalog.selectors.commodities import category_get, commodity_any_get
from apps.catalog.selectors.processes import process_app_get
from apps.catalog.services.commodities import WHERE, commodity_change, commodity_create
from apps.catalog.services.components import components_ensure
from apps.catalog.states import CardUse, CommodityKind
from apps.catalog.types import ComponentRange
from apps.console.selling.types import CommodityDraft
from apps.fleet.mig_profiles import mig_profile_get
from apps.fleet.selectors import CardModel, card_models, group_list, spec_get, spec_list
from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.images.work import images_offered
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.service import service
from apps.scheduling.engine.model.types import WHOLE_CARD_PERCENT
from apps.scheduling.models import EnvironmentTemplate
from apps.scheduling.selectors.environment_templates import environment_template_list
from apps.scheduling.selectors.workloads import queue_list
from apps.scheduling.services.environment_templates import COMMANDS
from apps.scheduling.states import Software


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
