"""Templates of development environments, and starting one with one click (PLAT-AICFG-9 to 16)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.models import EnvironmentTemplate, Workload
from apps.scheduling.permissions import ResourcePermission, SchedulingPermission
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.states import GpuKind, Purpose, Software
from apps.scheduling.types import VSCODE_COMMAND, WorkloadRequest
from apps.tenancy.models import Tenant

# Of each software its command, as nodes understand it.
COMMANDS = {
    Software.JUPYTERLAB: ("python", "-m", "node_agent.web.jupyterlab"),
    Software.VSCODE: VSCODE_COMMAND,
}
# The node's driver that cuts a card into slices by the card's own means.
_MIG_DRIVER = "mig"


@dataclass(frozen=True, slots=True)
class TemplateDraft:
    """What a template says; the fields are those of `EnvironmentTemplate`."""

    name: str
    compute_percent: int
    memory_mib: int
    description: str = ""
    software: str = Software.JUPYTERLAB
    image: str = ""
    gpu_kind: str = GpuKind.SHARE
    vendor: str = ""
    model: str = ""
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    idle_timeout_s: int | None = None


@service(SchedulingPermission.MANAGE)
def environment_template_make(*, actor: Actor, draft: TemplateDraft) -> EnvironmentTemplate:
    """Offer one more template. InvalidInput names what is wrong, a name that is taken too."""
    return _saved(EnvironmentTemplate(**asdict(draft)))


@service(SchedulingPermission.MANAGE)
def environment_template_change(
    *, actor: Actor, template: EnvironmentTemplate, draft: TemplateDraft
) -> EnvironmentTemplate:
    """Say something else from now on; environments that were started keep their settings (PLAT-AICFG-15)."""
    row = _locked(template)
    for name, value in asdict(draft).items():
        setattr(row, name, value)
    return _saved(row)


@service(SchedulingPermission.MANAGE)
def environment_template_remove(*, actor: Actor, template: EnvironmentTemplate) -> None:
    """Offer it no more (PLAT-AICFG-16); what was started from it goes on."""
    row = _locked(template)
    act_subject("environment_template", row.uid, name=row.name)
    row.removed_at = timezone.now()
    row.save(update_fields=["removed_at", "updated_at"])


@service(ResourcePermission.OPERATE)
def environment_start(
    *,
    actor: Actor,
    tenant: Tenant,
    template: EnvironmentTemplate,
    name: str = "",
    client_key: str = "",
    volumes: Sequence[str] = (),
) -> Workload:
    """Start an environment as the template says, and let it be opened (PLAT-AICFG-9).

    It is direct work: it waits in the default queue, and is held to quota, limits and money like all other.
    """
    asked = replace(environment_request(template), client_key=client_key, volumes=tuple(volumes))
    if name:
        asked = replace(asked, name=name)
    return workload_request(actor=actor, tenant=tenant, asked=asked)


def environment_request(template: EnvironmentTemplate) -> WorkloadRequest:
    """The work that a template stands for."""
    is_whole = template.gpu_kind == GpuKind.WHOLE
    return WorkloadRequest(
        name=template.name,
        # An image runs what it says itself.
        argv=() if template.image else COMMANDS[Software(template.software)],
        image=template.image,
        web=True,
        whole_cards=is_whole,
        compute_percent=None if is_whole else template.compute_percent,
        memory_mib=template.memory_mib,
        vendor=template.vendor,
        model=template.model,
        driver=_MIG_DRIVER if template.gpu_kind == GpuKind.MIG else "",
        host_cpu_milli=template.host_cpu_milli,
        host_memory_mib=template.host_memory_mib,
        idle_timeout_s=template.idle_timeout_s,
        purpose=Purpose.DEVELOPMENT,
    )


def _locked(template: EnvironmentTemplate) -> EnvironmentTemplate:
    row = EnvironmentTemplate.objects.select_for_update().filter(pk=template.pk, removed_at=None).first()
    if row is None:
        raise NotFound()
    return row


def _saved(row: EnvironmentTemplate) -> EnvironmentTemplate:
    if row.gpu_kind == GpuKind.WHOLE:
        row.compute_percent = 100
    offered = dict(import_string(settings.WEIR_IMAGES_OFFERED)()) if row.image else {}
    if row.image and row.image not in offered:
        raise InvalidInput(
            fields={"image": _("Choose an image that the centre offers and that runs something.")}
        )
    row.image_name = offered.get(row.image, "")
    try:
        row.full_clean(validate_constraints=False)
    except ValidationError as error:
        fields = {name: " ".join(texts) for name, texts in error.message_dict.items()}
        raise InvalidInput(fields=fields) from None
    others = EnvironmentTemplate.objects.filter(name=row.name, removed_at=None).exclude(pk=row.pk)
    if others.exists():
        raise Conflict(
            _("There is a template %(name)s already.") % {"name": row.name}, cure=_("Choose another name.")
        )
    row.save()
    act_subject("environment_template", row.uid, name=row.name)
    return row
