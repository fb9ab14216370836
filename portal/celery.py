"""The Celery app. Beat fires provider tasks only; a sweep enqueues one task per tenant that has work."""

import os
import signal

from celery import Celery
from celery.signals import beat_init, task_prerun, worker_ready, worker_shutdown
from django.db import close_old_connections
from django.utils import timezone, translation

from portal.heartbeat import Heartbeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.prod")
# Django's checks belong to a deployment (`manage.py check`), not to each start of a worker or beat.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
app = Celery("weir")
# For every thread of every process: pages are served by threads, which would else ask a broker of Celery's own guess.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# One that is old or has failed is closed; one that died meanwhile is noticed (CONN_HEALTH_CHECKS).
task_prerun.connect(close_old_connections)


# --- the processes tell of themselves --------------------------------------------------------------------------
# A warm shutdown ends worker and beat in good order; their supervisor starts them again. Celery tells nobody that a
# beat ends: its scheduler (`portal.beat`) says good-bye.
heartbeats = {
    kind: Heartbeat(kind, lambda: os.kill(os.getpid(), signal.SIGTERM)) for kind in ("worker", "beat")
}
worker_ready.connect(lambda **_: heartbeats["worker"].start(), weak=False)
worker_shutdown.connect(lambda **_: heartbeats["worker"].end(), weak=False)
beat_init.connect(lambda **_: heartbeats["beat"].start(), weak=False)


def _as_the_centre(**_: object) -> None:
    """What a task writes for people it writes in the centre's language and by its clock."""
    # Models can be imported only when Django is ready: tasks run then.
    from apps.centre.selectors import centre_shown

    centre = centre_shown()
    translation.activate(centre.language)
    timezone.activate(centre.timezone)


task_prerun.connect(_as_the_centre)


def _every(seconds: float, task: str) -> dict[str, object]:
    # A tick that no worker has taken when the next one comes is worth nothing.
    return {"task": task, "schedule": seconds, "options": {"expires": seconds * 2}}


app.conf.beat_schedule = {
    "scheduling: estimate starts": _every(5, "apps.scheduling.tasks.start_estimates_make_due"),
    "scheduling: deadlines": _every(2, "apps.scheduling.tasks.deadlines_sweep"),
    "scheduling: changes of size": _every(2, "apps.scheduling.tasks.sizes_sweep"),
    "scheduling: work that waits for work": _every(2, "apps.scheduling.tasks.dependencies_sweep"),
    "scheduling: turns of arrays": _every(2, "apps.scheduling.tasks.arrays_sweep"),
    "scheduling: scaling rules": _every(5, "apps.scheduling.tasks.scaling_rules_follow"),
    "scheduling: hooks that are due": _every(5, "apps.scheduling.tasks.hooks_call"),
    "scheduling: forget past sizes and calls": _every(
        3600, "apps.scheduling.tasks.past_sizes_and_calls_forget"
    ),
    "scheduling: what-ifs nobody began": _every(60, "apps.scheduling.tasks.what_ifs_sweep"),
    "scheduling: fold what is counted": _every(60, "apps.scheduling.tasks.tallies_tidy"),
    "scheduling: forget old time lines": _every(3600, "apps.scheduling.tasks.decisions_forget"),
    "fleet: lost nodes": _every(2, "apps.fleet.tasks.nodes_check"),
    "centers: silent centres": _every(5, "apps.centers.tasks.centers_check"),
    "jointcloud: jobs and their replicas": _every(5, "apps.jointcloud.tasks.jobs_sweep"),
    "jointcloud: forget ended jobs": _every(3600, "apps.jointcloud.tasks.jobs_forget"),
    "jointcloud: money of jobs": _every(10, "apps.jointcloud.tasks.money_sweep"),
    "fleet: archives nobody knows": _every(3600, "apps.fleet.tasks.archives_tidy"),
    "billing: rate usage": _every(2, "apps.billing.tasks.usage_rate"),
    "billing: how far money goes": _every(10, "apps.billing.tasks.funds_watch"),
    "scheduling: money of what runs": _every(5, "apps.scheduling.tasks.funds_sweep"),
    "billing: bills of the month": _every(3600, "apps.billing.tasks.bill_month"),
    "orders: undelivered": _every(15, "apps.orders.tasks.orders_sweep"),
    "orders: meter volumes": _every(300, "apps.orders.tasks.volumes_meter"),
    "orders: compare the mirror": _every(24 * 3600, "apps.orders.tasks.cases_reconcile"),
    "images: archives on their way": _every(60, "apps.images.tasks.versions_sweep"),
    "images: builds": _every(5, "apps.images.tasks.builds_sweep"),
    "images: what the registry holds for nobody": _every(3600, "apps.images.tasks.registry_tidy"),
    "assets: go on with copies": _every(600, "apps.assets.tasks.assets_tidy"),
    "storage: measure and tidy": _every(600, "apps.storage.tasks.storage_tidy"),
    "console: files of deleted tenants": _every(600, "apps.console.tasks.deleted_files_sweep"),
    "catalog: expire coupons": _every(600, "apps.catalog.tasks.coupons_expire"),
    "audit: seal": _every(10, "apps.audit.tasks.audit_seal"),
    "console: look at the pool": _every(5, "apps.console.tasks.watch"),
    "telemetry: tell of alarms": _every(5, "apps.telemetry.tasks.deliveries_send"),
    "telemetry: forget old samples": _every(3600, "apps.telemetry.tasks.samples_prune"),
    "rollouts: carry on": _every(2, "apps.rollouts.tasks.rollouts_advance"),
    "rollouts: a backup": _every(600, "apps.rollouts.tasks.backup_due"),
    "rollouts: forget old processes": _every(3600, "apps.rollouts.tasks.processes_prune"),
    "conformance: runs nobody began": _every(30, "apps.conformance.tasks.runs_sweep"),
    "identity: links for new passwords": _every(60, "apps.identity.tasks.password_resets_send"),
    "orgs: invitations by mail": _every(60, "apps.orgs.tasks.invitation_mails_sweep"),
    "identity: forget old answers": _every(3600, "apps.identity.tasks.idempotent_calls_prune"),
}
