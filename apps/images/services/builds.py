"""Images built from a Containerfile: read whole before anything runs, carried out by work of the tenant in the image
that it begins with, and saved as running work is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from apps.images.containerfile.plan import Plan, base_of, plan_make
from apps.images.containerfile.reading import Trouble
from apps.images.containerfile.script import CONTEXT, script_of
from apps.images.errors import ContainerfileRefused
from apps.images.models import ImageBuild, ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.registry import registry
from apps.images.selectors import build_get, image_config, version_find, versions_opened
from apps.images.services.drafts import draft_check, draft_make, layers_bound_check
from apps.images.services.images import version_refuse
from apps.images.states import BuildState, Owner, VersionState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.kernel.service import service
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant

RUN_TIMEOUT_S = 3600
_ARG_BYTES = 8192
_TROUBLES = 10


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """An image to be built. `folder` is the digest of a sent folder, `volume` and `path` a folder in a volume: one of
    them has the files to copy. `args` are values for ARGs. The amounts are those of its work, as for any; without
    `run_timeout_s` it has an hour. `is_fresh`: steps are run that an image of before has."""

    name: str
    containerfile: str
    tag: str = "latest"
    introduction: str = ""
    owner: str = Owner.PERSON
    organization: UUID | None = None
    folder: str = ""
    volume: str = ""
    path: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    compute_percent: int = 10
    memory_mib: int = 512
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    queue: str = ""
    business_system: str = ""
    run_timeout_s: int | None = None
    is_fresh: bool = False


@service(P.USE)
def image_build(*, actor: Actor, tenant: Tenant, asked: BuildRequest) -> ImageBuild:
    """Build a version of an image. Its work waits for room as all work does, is metered and charged, and runs each step
    in the image that the Containerfile begins with; the build says how that went.

    Raises:
        ContainerfileRefused: lines of it are not taken; nothing was run.
        InvalidInput: there is no such image to begin with, folder or volume.
        Conflict: the image has a version of that tag.
        QuotaExceeded: the tenant, or an organization, has no quota left for image or work.
        NoRegistry: this centre keeps no images.
    """
    registry()
    draft_check(asked.name, asked.tag, asked.introduction)
    plan, base = _planned(actor, asked)
    keys = plan.keys(base.digest, asked.folder)
    below, done = (base, 0) if asked.is_fresh else _before(actor, base, keys)
    row = draft_make(
        actor=actor,
        tenant=tenant,
        name=asked.name,
        tag=asked.tag,
        introduction=asked.introduction,
        owner=asked.owner,
        organization=asked.organization,
        facts={
            "uid": uuid4(),
            "state": VersionState.BUILDING,
            "architecture": below.architecture,
            "size_bytes": below.size_bytes,
            "entry_point": plan.entry_point,
            "base": below,
            "settings": plan.config,
        },
    )
    work = workload_request(actor=actor, tenant=tenant, asked=_work(asked, plan, below, done))
    row.workload_uid, row.source = work.uid, work.no
    row.save(update_fields=["workload_uid", "source"])
    is_found_again = (plan.config.get("User") or "") == (image_config(base).get("User") or "")
    return ImageBuild.plain.create(
        tenant=tenant,
        version_uid=row.uid,
        workload_uid=work.uid,
        workload_no=work.no,
        name=str(row),
        made_by_id=_person(actor),
        containerfile=asked.containerfile,
        args=dict(asked.args),
        base=str(base),
        steps=len(plan.steps),
        steps_before=done,
        key=keys[-1] if is_found_again else "",
    )


def _person(actor: Actor) -> int:
    if actor.user_id is None:
        raise Forbidden(_("Images are built by people."))
    return actor.user_id


def _planned(actor: Actor, asked: BuildRequest) -> tuple[Plan, ImageVersion]:
    """What is to be done, and the image that it begins with. Raises ContainerfileRefused, InvalidInput."""
    if asked.folder and asked.volume:
        raise InvalidInput(
            fields={"volume": _("The files come from a folder or from a volume, not from both.")}
        )
    if any("\0" in word for pair in asked.args.items() for word in pair):
        raise InvalidInput(fields={"args": _("This is no text.")})
    if sum(len(f"{name}{value}".encode()) for name, value in asked.args.items()) > _ARG_BYTES:
        raise InvalidInput(fields={"args": _("At most %(most)s characters.") % {"most": _ARG_BYTES}})
    name, troubles = base_of(asked.containerfile, asked.args)
    _refuse(troubles)
    base = version_find(actor, name, field="containerfile")
    layers_bound_check(base)
    plan, troubles = plan_make(asked.containerfile, image_config(base), asked.args)
    _refuse(troubles)
    if plan.has_context and not (asked.folder or asked.volume):
        first = next(step for step in plan.steps if step.kind == "copy")
        cure = _("Choose a volume with the files, or send a folder: weir image build.")
        _refuse([Trouble(first.line, _("There are no files to copy."), cure)])
    return plan, base


def _refuse(troubles: list[Trouble]) -> None:
    if troubles:
        said = "\n".join(map(str, troubles[:_TROUBLES]))
        raise ContainerfileRefused(said, fields={"containerfile": said})


def _before(actor: Actor, base: ImageVersion, keys: list[str]) -> tuple[ImageVersion, int]:
    """The image that has most of the steps already, of those that the actor may run, and how many it has."""
    done = {key: number for number, key in enumerate(keys) if number and key}
    builds = ImageBuild.plain.filter(key__in=done, state=BuildState.DONE)
    found = {row["version_uid"]: done[row["key"]] for row in builds.values("key", "version_uid")}
    rows = versions_opened(actor).filter(uid__in=found).order_by("-pk")
    best = max(rows, key=lambda row: found[row.uid], default=None)
    if best is None:
        return base, 0
    try:
        layers_bound_check(best)
    except Conflict:
        return base, 0
    return best, found[best.uid]


def _work(asked: BuildRequest, plan: Plan, below: ImageVersion, done: int) -> WorkloadRequest:
    place = "/".join((CONTEXT, asked.path.strip("/"))) if asked.volume else ""
    if ".." in asked.path.split("/"):
        raise InvalidInput(fields={"path": _("A folder within the volume.")})
    script = script_of(plan, done=done, context=place)
    amounts = (
        "compute_percent",
        "memory_mib",
        "host_cpu_milli",
        "host_memory_mib",
        "queue",
        "business_system",
    )
    figures: dict[str, Any] = {name: getattr(asked, name) for name in amounts}
    return WorkloadRequest(
        name=_("Build %(image)s") % {"image": f"{asked.name}:{asked.tag}"},
        argv=("/bin/sh", "-c", script),
        image=str(below.uid),
        folder=asked.folder,
        volumes=(f"{asked.volume}:{CONTEXT}:ro",) if asked.volume else (),
        run_timeout_s=asked.run_timeout_s or RUN_TIMEOUT_S,
        requeue_on_loss=False,
        **figures,
    )


@service(P.USE)
def build_cancel(*, actor: Actor, tenant: Tenant, uid: UUID) -> ImageBuild:
    """End a build: its work stops, and there is no version of it. Raises NotFound, Forbidden for somebody else's,
    Conflict for one that is over."""
    build = build_get(actor=actor, tenant=tenant, uid=uid)
    act_subject("image_build", build.uid, name=build.name)
    rows = ImageVersion.objects.select_for_update(of=("self",)).select_related("image__tenant")
    row = rows.filter(uid=build.version_uid, state__in=(VersionState.BUILDING, VersionState.SAVING)).first()
    if row is None:
        raise Conflict(_("This build is over."), cure=_("Delete the version, if it is not wanted."))
    own = ImageBuild.plain.select_for_update(no_key=True).get(pk=build.pk)
    own.state = BuildState.CANCELLED
    own.problem = _("%(person)s has cancelled it.") % {"person": actor.name}
    own.save(update_fields=["state", "problem"])
    version_refuse(actor, row, own.problem)
    build.state, build.problem = own.state, own.problem
    return build
