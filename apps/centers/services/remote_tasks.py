"""Work is asked for at a centre, and asked to end. The watcher of the centre sends it and follows it (`runner`).

Nothing here calls a centre but `remote_task_log`.
"""

from collections.abc import Collection
from contextlib import suppress

from django.db import IntegrityError, connection, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.centers.adapters.base import Ability, CenterError, JobMessage
from apps.centers.errors import CenterTakesNoWork
from apps.centers.events import RemoteTaskChanged
from apps.centers.models import Center, RemoteMessage, RemoteTask
from apps.centers.services.calls import log_asked, refusal_of
from apps.centers.services.messages import is_same, message_check, message_put, open_part
from apps.centers.services.sampling import center_adapter
from apps.centers.services.tenants import account_of, serving_lock
from apps.centers.states import OPEN_STATES, RemoteState, Wanted
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service

# What wakes the watchers: the centre's key.
CHANNEL = "weir_centers"
LOG_MOST = 1024 * 1024
LOG_FILE_MOST = 16 * LOG_MOST
"""Bytes of a log that are read at once, to be shown and as a file: no adapter gives more."""


@service(recorded=False)
def remote_task_request(
    *, actor: Actor, center: Center, key: str, message: JobMessage, owner: str, tenant: str = ""
) -> RemoteTask:
    """Have a job run once at a centre, under `key`: small letters, digits and dashes inside, at most 63.

    `tenant`: the code of the tenant whose work it is, which the centre has to serve; it runs under the tenant's account
    there. None: it is the portal's own, and runs under the centre's.

    The same key again answers the task that there is, whatever has become of it. `owner` is a text that comes back with
    each `RemoteTaskChanged`.

    Raises:
        InvalidInput: a field is wrong, by its name.
        CenterTakesNoWork: the centre is drained or not available.
        CenterServesNot: it does not serve the tenant.
        Conflict: the key was used for something else.
    """
    message_check(key, owner, message)
    if (found := RemoteTask.objects.filter(key=key).first()) is not None:
        return _same(found, center, message, owner)
    if tenant:
        serving_lock(center.pk, is_shared=True)
    now = Center.objects.filter(pk=center.pk).first()
    if now is None or not now.takes_work:
        raise CenterTakesNoWork(_("%(center)s takes no work now.") % {"center": center})
    account = account_of(now, tenant) if tenant else {}
    try:
        with transaction.atomic():
            row = RemoteTask.objects.create(
                center=now,
                key=key,
                owner=owner,
                account=account,
                state_at=timezone.now(),
                **open_part(message),
            )
    except IntegrityError:
        # Somebody else has asked for it meanwhile, or the centre is gone.
        found = RemoteTask.objects.filter(key=key).first()
        if found is None:
            raise
        return _same(found, center, message, owner)
    message_put(row, message)
    _hint(row)
    return row


@service(recorded=False)
def remote_task_stop(*, actor: Actor, remote_task: RemoteTask) -> RemoteTask:
    """Have it end: one that was not sent yet is stopped at once, one that was when its centre says so. What is over
    stays as it is. Raises NotFound."""
    row = remote_task_locked(remote_task.pk)
    if row is None:
        raise NotFound(_("There is no remote task %(key)s.") % {"key": remote_task.key})
    if row.is_over or row.desired == Wanted.STOP:
        return row
    row.desired = Wanted.STOP
    if row.state == RemoteState.NEW:
        state_set(row, RemoteState.STOPPED, actor=actor)
    else:
        row.revision += 1
        row.save(update_fields=["desired", "revision"])
        _hint(row)
    return row


@service(recorded=False)
def remote_tasks_forget(*, actor: Actor, keys: Collection[str]) -> None:
    """Whoever asked for these tasks wants to know of them no more: those that are over go. One of which the centre may
    still have something stays."""
    RemoteTask.objects.filter(key__in=list(keys), is_left=False).exclude(state__in=OPEN_STATES).delete()


def remote_task_log(remote_task: RemoteTask, offset: int, limit: int = LOG_MOST) -> bytes:
    """At most `limit` bytes, and 16 MiB, of what its job wrote, from byte `offset`; nothing where there is no more yet.

    Asks the centre: no transaction belongs around it. Raises NotFound where the centre tells no logs, CenterSaysNo,
    CenterSilent, CenterNonsense.
    """
    if not remote_task.native_id or limit <= 0:
        return b""
    adapter = None
    try:
        with translation.override("en"):
            adapter = center_adapter(remote_task.center, remote_task.account)
            if Ability.LOGS not in adapter.abilities:
                raise NotFound(_("%(center)s tells no logs.") % {"center": remote_task.center})
            return log_asked(adapter, remote_task.native_id, offset, min(limit, LOG_FILE_MOST))
    except CenterError as error:
        raise refusal_of(error) from error
    finally:
        if adapter is not None:
            # An outsider's adapter may raise anything.
            with suppress(Exception):
                adapter.close()


def remote_task_locked(pk: int) -> RemoteTask | None:
    """Its row, locked; its centre's is not. Internal to the app's services."""
    return RemoteTask.objects.select_for_update(of=("self",), no_key=True).filter(pk=pk).first()


def state_set(row: RemoteTask, state: RemoteState, *, actor: Actor) -> None:
    """Give a locked row another state, keep all that was set of it, and tell of it. Internal to the app's services."""
    before, row.state = row.state, state
    row.state_at = timezone.now()
    if state == RemoteState.RUNNING and row.running_at is None:
        row.running_at = row.state_at
    row.revision += 1
    row.save()
    if row.is_over:
        RemoteMessage.objects.filter(task=row).delete()
    emit(RemoteTaskChanged(key=row.key, owner=row.owner, before=before, after=state.value), actor=actor)


def _same(row: RemoteTask, center: Center, message: JobMessage, owner: str) -> RemoteTask:
    if row.center_id != center.pk or row.owner != owner or not is_same(row, message):
        raise Conflict(
            _("The key %(key)s was used for something else.") % {"key": row.key},
            cure=_("Send each piece of work under a key of its own."),
        )
    return row


def _hint(row: RemoteTask) -> None:
    """Comes when the transaction commits; one that is lost is made up for by the watch's next turn."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(row.center_id)])
