"""Builds followed: saved when their steps are done, failed where one has, and their work ended with them."""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.fleet.selectors import log_end_read, metric_series_list
from apps.fleet.services.container_saves import container_save_ask
from apps.images.containerfile.script import DONE, FAILED
from apps.images.events import VersionMoved
from apps.images.models import ImageBuild, ImageVersion
from apps.images.services.images import version_refuse
from apps.images.states import BuildState, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workload_find, workload_reason
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.states import WorkloadState

OUTPUT_CHARACTERS = 2000
# What work wrote last may be on its way when it has ended.
_LAST_WORDS = timedelta(seconds=20)
_AT_ONCE = 200
_ENDED = {VersionState.READY: BuildState.DONE, VersionState.REFUSED: BuildState.FAILED}


def build_moved(actor: Actor, workload_uid: UUID) -> None:
    """Work has written figures, or has ended: if it builds an image, that is looked at after this transaction."""
    build = ImageBuild.plain.filter(workload_uid=workload_uid, ended_at=None).first()
    if build is not None:
        emit(VersionMoved(str(build.version_uid)), actor=actor)


def builds_open() -> list[UUID]:
    """The versions that are being built, and those whose work still runs."""
    rows = ImageBuild.plain.filter(ended_at=None).order_by("pk")
    return list(rows.values_list("version_uid", flat=True)[:_AT_ONCE])


@service(recorded=False)
def build_follow(*, actor: Actor, version_uid: UUID) -> None:
    """Take a build as far as its work has come. Coming twice changes nothing."""
    builds = ImageBuild.plain.select_for_update(no_key=True, of=("self",)).select_related("tenant", "made_by")
    build = builds.filter(version_uid=version_uid, ended_at=None).first()
    if build is None:
        return
    versions = ImageVersion.objects.select_for_update(of=("self",)).select_related("image__tenant", "base")
    version = versions.filter(uid=version_uid).first()
    work = workload_find(build.workload_uid)
    if version is not None and version.state == VersionState.BUILDING:
        with override(build.made_by.language or settings.LANGUAGE_CODE):
            _building(actor, build, version, work)
    if build.state != BuildState.CANCELLED:
        build.state = _state_of(version)
        if build.state == BuildState.FAILED and version is not None:
            build.problem = version.problem
    is_over = build.state in (BuildState.DONE, BuildState.FAILED, BuildState.CANCELLED)
    if is_over and (work is None or work.is_final):
        build.ended_at = timezone.now()
    build.save()


def _state_of(version: ImageVersion | None) -> BuildState:
    if version is None:
        return BuildState.CANCELLED
    waiting = BuildState.BUILDING if version.state == VersionState.BUILDING else BuildState.SAVING
    return _ENDED.get(VersionState(version.state), waiting)


def _building(actor: Actor, build: ImageBuild, version: ImageVersion, work: Workload | None) -> None:
    if work is not None and not work.is_final:
        if _figure(build, DONE) is not None:
            _save(actor, build, version)
        return
    failed = _figure(build, FAILED)
    if failed is None and work is not None and _may_say_more(work):
        return
    build.output = log_end_read(workload_uid=build.workload_uid, characters=OUTPUT_CHARACTERS)
    if failed is not None:
        build.failed_line = max(1, min(int(failed), 2**31 - 1))
        problem = _("Line %(line)s failed.") % {"line": build.failed_line}
    else:
        said = workload_reason(work) if work is not None else ""
        problem = _("Its work %(no)s has ended before all steps were done. %(why)s") % {
            "no": build.workload_no,
            "why": said,
        }
    version_refuse(actor, version, problem.strip())


def _may_say_more(work: Workload) -> bool:
    if work.state != WorkloadState.FAILED or work.ended_at is None:
        return False
    return timezone.now() - work.ended_at < _LAST_WORDS


def _figure(build: ImageBuild, name: str) -> float | None:
    for series in metric_series_list(workload_uids=[build.workload_uid], name=name):
        if series.name == name and series.values:
            return float(series.values[-1])
    return None


def _save(actor: Actor, build: ImageBuild, version: ImageVersion) -> None:
    """Its node is asked for what the steps have changed."""
    limit_bytes = int(settings.WEIR_IMAGE_LIMIT_MIB) * 2**20
    left_bytes = limit_bytes - (version.base.unpacked_bytes if version.base is not None else 0)
    try:
        with transaction.atomic():
            container_save_ask(
                actor=actor,
                tenant=build.tenant,
                uid=version.uid,
                workload_uid=build.workload_uid,
                limit_bytes=max(left_bytes, 0),
            )
    except Conflict:
        # It ends just now, or is being saved by hand: it is looked at again.
        return
    version.state = VersionState.SAVING
    version.save(update_fields=["state"])


def build_work_end(*, actor: Actor, version_uid: UUID) -> None:
    """End the work of a build that is not needed any more: its layer is here, or never will be."""
    build = ImageBuild.plain.select_related("tenant").filter(version_uid=version_uid, ended_at=None).first()
    if build is None:
        return
    rows = ImageVersion.objects.filter(uid=version_uid)
    if rows.filter(state__in=(VersionState.BUILDING, VersionState.SAVING)).exists():
        return
    work = workload_find(build.workload_uid)
    if work is not None and work.state != WorkloadState.STOPPING and not work.is_final:
        reason = _("The build is over.")
        workload_stop(actor=actor, tenant=build.tenant, workload_uid=build.workload_uid, reason=reason)
