"""Running work saved as a version of an image: what its program has changed over its image becomes one layer more."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.utils.translation import gettext as _

from apps.fleet.models import ContainerSave
from apps.fleet.services.container_saves import (
    container_layer_open,
    container_save_ask,
    container_save_drop,
    container_save_get,
)
from apps.images.archives import layer_check
from apps.images.errors import ImageRefused, NotInImage
from apps.images.events import VersionAsked, VersionMoved
from apps.images.models import ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.registry import Registry, manifest_facts, manifest_grown, registry
from apps.images.room import room_check
from apps.images.services.drafts import draft_check, draft_make, layers_bound_check
from apps.images.services.images import version_refuse
from apps.images.states import Owner, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, Forbidden, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.models import Workload
from apps.scheduling.selectors.executions import may_execute
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.states import WorkloadState
from apps.tenancy.models import Tenant

_BLOCK = 2**20


@service(P.USE)
def image_save(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    name: str,
    tag: str = "latest",
    introduction: str = "",
    owner: str = Owner.PERSON,
    organization: UUID | None = None,
) -> ImageVersion:
    """Save the actor's own running work as a version of an image: its image, and over it what was changed there.

    Its node reads the changes while the work holds still, a minute at most, and sends them; the version says how that
    went. Volumes, the work's own folder and temporary files are none of an image.

    Raises:
        NotFound: there is no such work.
        Forbidden: somebody else submitted it.
        NotInImage: it runs in no container image.
        Conflict: it does not run, is being saved already, or the image has a version of that tag.
        QuotaExceeded: the tenant, or an organization, has no quota of storage left for it.
        NoRegistry: this centre keeps no images.
    """
    registry()
    draft_check(name, tag, introduction)
    work = save_check(actor, tenant, workload_uid)
    base = _base(work)
    row = draft_make(
        actor=actor,
        tenant=tenant,
        name=name,
        tag=tag,
        introduction=introduction,
        owner=owner,
        organization=organization,
        facts={
            "uid": uuid4(),
            "state": VersionState.SAVING,
            "architecture": base.architecture,
            "size_bytes": base.size_bytes,
            "entry_point": base.entry_point,
            "base": base,
            "workload_uid": work.uid,
            "source": work.no,
        },
    )
    left_bytes = int(settings.WEIR_IMAGE_LIMIT_MIB) * 2**20 - base.unpacked_bytes
    container_save_ask(
        actor=actor, tenant=tenant, uid=row.uid, workload_uid=work.uid, limit_bytes=max(left_bytes, 0)
    )
    return row


def save_check(actor: Actor, tenant: Tenant, workload_uid: UUID) -> Workload:
    """The work, if the actor may save it now. Raises what `image_save` raises for work that cannot be saved."""
    work = workload_get(tenant, workload_uid, actor=actor)
    if not may_execute(actor, work):
        raise Forbidden(
            _("%(no)s is for who submitted it to save.") % {"no": work.no}, cure=_("Save work of your own.")
        )
    if not work.work.get("image"):
        raise NotInImage(_("%(no)s runs in no container image: there is none to save.") % {"no": work.no})
    if work.state != WorkloadState.RUNNING:
        raise Conflict(
            _("%(no)s does not run now.") % {"no": work.no},
            cure=_("What is changed over an image goes when the work stops: save it while it runs."),
        )
    return work


def _base(work: Workload) -> ImageVersion:
    """The version that work runs in. Raises Conflict where nothing can go upon that."""
    version = work.work["image"]["version"]
    base = ImageVersion.objects.filter(uid=version, state=VersionState.READY).first()
    if base is None:
        raise Conflict(
            _("The image that %(no)s runs in is not kept here any more.") % {"no": work.no},
            cure=_("Start it from one that is."),
        )
    layers_bound_check(base)
    return base


@service(recorded=False)
def container_settled(*, actor: Actor, uid: UUID) -> None:
    """What a container changed is here, and a worker is to look at it; or never will be, and the version says why."""
    rows = ImageVersion.objects.select_for_update(of=("self",)).select_related("image__tenant")
    row = rows.filter(uid=uid, state=VersionState.SAVING).first()
    save = container_save_get(uid)
    if row is None or save is None:
        container_save_drop(actor=actor, uid=uid)
        return
    if save.given_up:
        version_refuse(actor, row, _why(save))
        return
    row.state, row.left_out = VersionState.CHECKING, save.left_out
    row.save(update_fields=["state", "left_out"])
    emit(VersionAsked(str(uid)), actor=actor)
    if row.settings is not None:
        emit(VersionMoved(str(uid)), actor=actor)


def _why(save: ContainerSave) -> str:
    if save.given_up == "lost":
        return _("Its node was lost before it had sent what was changed.")
    if save.given_up == "silent":
        return _("Its node did not send what was changed. Ask an operator: the node's log says why.")
    return _("Its node could not save it: %(problem)s.") % {"problem": save.problem.rstrip(".")}


# --- by a worker -------------------------------------------------------------------------------------------------


def layer_take(row: ImageVersion, repository: str) -> dict[str, Any]:
    """Check the layer of a version that is being saved, and only then store the image that it makes; what the version
    is from then on. Raises ImageRefused, Busy."""
    save, base = container_save_get(row.uid), row.base
    if save is None or save.sent_at is None:
        raise ImageRefused(_("What was changed is gone from the portal."), cure=_("Save it again."))
    if base is None or base.state != VersionState.READY:
        raise ImageRefused(_("The image that it was made upon was deleted meanwhile."), cure="")
    limit_bytes = int(settings.WEIR_IMAGE_LIMIT_MIB) * 2**20 - base.unpacked_bytes
    with _copied(save) as path:
        with path.open("rb") as file:
            unpacked, diff_id = layer_check(file, limit_bytes=limit_bytes)
        held = registry()
        manifest = _stored(held, base, repository, path, save, diff_id, row)
        digest = held.manifest_put(repository, row.uid.hex, manifest)
    size, layers = manifest_facts(manifest)
    return {
        "repository": repository,
        "digest": digest,
        "size_bytes": size,
        "unpacked_bytes": base.unpacked_bytes + unpacked,
        "layers": layers,
    }


def _stored(
    held: Registry,
    base: ImageVersion,
    repository: str,
    layer: Path,
    save: ContainerSave,
    diff_id: str,
    row: ImageVersion,
) -> bytes:
    """All files of the image are in its repository; its manifest."""
    below = held.manifest(base.repository, base.digest)
    _size, (_config, *layers) = manifest_facts(below)
    for one in layers:
        held.blob_mount(repository, one["digest"], base.repository, one["size_bytes"])
    told = held.config(base.repository, below)
    if row.settings is not None:
        told["config"] = row.settings
    made_by = "weir image save" if row.settings is None else "weir image build"
    made_at = datetime.now(UTC).isoformat()
    told["created"] = made_at
    told["rootfs"]["diff_ids"].append(diff_id)
    told.setdefault("history", []).append({"created": made_at, "created_by": f"{made_by} {row.source}"})
    text = json.dumps(told).encode()
    named = f"sha256:{hashlib.sha256(text).hexdigest()}"
    held.blob_put(repository, named, iter((text,)), len(text))
    with layer.open("rb") as file:
        held.blob_put(repository, f"sha256:{save.sha256}", _blocks(file), save.size_bytes)
    return manifest_grown(below, (named, len(text)), (f"sha256:{save.sha256}", save.size_bytes))


@contextmanager
def _copied(save: ContainerSave) -> Iterator[Path]:
    """The layer in one file of ours, as long as the block runs, and as its node has sent it."""
    folder = Path(settings.WEIR_IMAGES_DIR)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    room_check(folder, save.size_bytes)
    digest, passed = hashlib.sha256(), 0
    try:
        with container_layer_open(save) as pieces, tempfile.NamedTemporaryFile(dir=folder) as copy:
            for block in _blocks(pieces):
                room_check(folder, len(block))
                copy.write(block)
                digest.update(block)
                passed += len(block)
            copy.flush()
            if (passed, digest.hexdigest()) != (save.size_bytes, save.sha256):
                raise ImageRefused(_("What came is not what was sent."), cure=_("Save it again."))
            yield Path(copy.name)
    except NotFound as error:
        raise ImageRefused(
            _("What was changed is gone from the portal."), cure=_("Save it again.")
        ) from error


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block
