"""What jobs over several centres make of what happens at those."""

from apps.centers.events import CenterRemoved, RemoteTaskAccounted, RemoteTaskChanged, ResourceSpecRemoved
from apps.jointcloud import tasks
from apps.jointcloud.services.data import center_removed_check
from apps.jointcloud.services.following import spec_removed_check
from apps.jointcloud.services.remote import OWNER
from apps.kernel.actor import Actor


def remote_task_changed(event: RemoteTaskChanged) -> None:
    """The job whose replica it is looks at it."""
    if event.owner.startswith(OWNER):
        tasks.job_follow.delay(event.owner.removeprefix(OWNER))


def remote_task_accounted(event: RemoteTaskAccounted) -> None:
    """The attempt that it is is settled."""
    if event.owner.startswith(OWNER):
        tasks.attempt_settle.delay(event.key)


def spec_removed(event: ResourceSpecRemoved, actor: Actor) -> None:
    """A specification that work asks for stays."""
    spec_removed_check(event.resource_spec_id)


def center_removed(event: CenterRemoved, actor: Actor) -> None:
    """A centre at which data lies stays."""
    center_removed_check(event.ai_center_id)
