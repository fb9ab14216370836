"""By a worker: archives taken into the registry, and what nobody has any more taken out of it."""

from uuid import UUID

from django.conf import settings

from apps.images.services import build_following, imports
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def version_take(uid: str) -> None:
    """Check one version's archive and put it into the registry. Coming twice changes nothing."""
    imports.version_take(actor=SYSTEM, uid=UUID(uid))


@provider_task
def versions_sweep() -> None:
    """Take up what was asked for and whose hint was lost, or whose worker died."""
    for uid in imports.versions_waiting():
        version_take.delay(str(uid))


@provider_task
def repositories_tidy(repositories: list[str]) -> None:
    """Take deleted versions out of these repositories."""
    imports.registry_tidy(repositories)


@provider_task
def registry_tidy() -> None:
    """Take what no version stands for any more out of the whole registry, where there is one."""
    if settings.WEIR_REGISTRY_URL:
        imports.registry_tidy()


@provider_task
def build_follow(version_uid: str) -> None:
    """Take a build as far as its work has come, and end its work where that is not needed any more."""
    build_following.build_follow(actor=SYSTEM, version_uid=UUID(version_uid))
    build_following.build_work_end(actor=SYSTEM, version_uid=UUID(version_uid))


@provider_task
def builds_sweep() -> None:
    """Look at all that is being built: a hint may have been lost, and some end without one."""
    for uid in build_following.builds_open():
        build_follow(str(uid))
