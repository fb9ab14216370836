"""Every upward edge of the product, on one page. What is done at each end stands in `portal/subscribers/`, by area.

`within(Event, handler)`: in the same transaction. `after(Event, handler)`: a hint after commit; beside each stands
the sweep (named in the comment) that finds what a lost hint left behind.
"""

from apps.approvals.events import ProcessFinished, TaskDecided
from apps.assets import tasks as asset_tasks
from apps.assets.events import AssetVersionAsked
from apps.audit.services import act_record
from apps.billing.events import (
    BalanceChanged,
    BillConfirmed,
    BillMade,
    BillPaid,
    FundsFell,
    UsageRated,
    UsageRefused,
)
from apps.cases.events import CaseChanged
from apps.centers.events import (
    CenterRemoved,
    CenterStatusChanged,
    RemoteTaskAccounted,
    RemoteTaskChanged,
    ResourceSpecRemoved,
)
from apps.centre.events import CentreOpened
from apps.conformance import tasks as conformance_tasks
from apps.conformance.events import RunAsked
from apps.console import tasks as console_tasks
from apps.fleet import events as fleet
from apps.identity import tasks as identity_tasks
from apps.identity.events import MembershipEnded, PasswordResetAsked, TokensEnded
from apps.images import tasks as image_tasks
from apps.images.events import VersionAsked, VersionMoved, VersionsGone
from apps.jointcloud import tasks as jointcloud_tasks
from apps.jointcloud.events import ReplicasWait
from apps.kernel.wiring import after, recorder, within
from apps.orders import tasks as order_tasks
from apps.orders.events import OrderMade
from apps.orgs import tasks as orgs_tasks
from apps.orgs.events import InvitationMailAsked, ProgressReported, ProgressWithdrawn, RoleDeleted
from apps.rollouts.events import BackupFailed, BackupMade, RolloutDone, RolloutFailed, RolloutMoved
from apps.scheduling import tasks as scheduling_tasks
from apps.scheduling.events import (
    ArrayFreed,
    HookDue,
    HookSettled,
    QueueChanged,
    ReservationChanged,
    ResourceTicketAsked,
    ResourceTicketWithdrawn,
    WhatIfAsked,
    WhatIfEnded,
    WorkloadAwaited,
    WorkloadChanged,
    WorkloadEnded,
    WorkloadPreempted,
    WorkloadsChanged,
    WorkloadSized,
    WorkloadsSubmitted,
    WorkloadStarted,
)
from apps.storage import tasks as storage_tasks
from apps.storage.events import OrderedVolumeEnded, OutputsChanged, VolumeChanged
from apps.telemetry import tasks as telemetry_tasks
from apps.telemetry.events import (
    AlarmAcknowledged,
    AlarmFired,
    AlarmNotified,
    AlarmResolved,
    RuleNarrowed,
    RulesChanged,
)
from apps.tenancy.events import SchemaMigrated, TenantDataDeleted, TenantProvisioned
from portal import activity_log
from portal.celery import app as celery
from portal.subscribers import (
    alarms,
    funds,
    hooks,
    images,
    jobs,
    limits,
    orders,
    outputs,
    pages,
    progress,
    slices,
    tenants,
)

# Whoever emits, a command or a request, sends its hints to the configured broker.
celery.finalize()

recorder(act_record)

# --- centre, tenancy, identity → roles and quota -----------------------------------------------------------------

within(CentreOpened, tenants.new_centre)
within(SchemaMigrated, tenants.schema_migrated)
within(TenantProvisioned, tenants.new_tenant)
within(TenantDataDeleted, tenants.data_deleted)
# Sweep: deleted_files_sweep, every ten minutes.
after(TenantDataDeleted, lambda event: console_tasks.deleted_files_sweep.delay())
within(MembershipEnded, tenants.membership_ended)
within(TokensEnded, tenants.tokens_ended)
# Sweep: password_resets_send, every minute.
after(PasswordResetAsked, lambda event: identity_tasks.password_resets_send.delay())
within(RoleDeleted, tenants.role_deleted)
# Sweep: invitation_mails_sweep, every minute.
after(InvitationMailAsked, lambda event: orgs_tasks.invitation_mails_send.delay(event.schema))

# --- approvals, scheduling, storage → orders ---------------------------------------------------------------------

within(TaskDecided, orders.form_in_approval)
within(ProcessFinished, orders.form_is_decided)
within(WorkloadStarted, orders.work_started)
within(WorkloadEnded, orders.work_ended)
within(OrderedVolumeEnded, orders.volume_ended)
# Sweep: orders_sweep.
after(OrderMade, lambda event: order_tasks.order_deliver.delay(event.schema, str(event.order_uid)))

# --- a user's limit: scheduling → approvals → scheduling; fleet → scheduling -----------------------------------------

within(ResourceTicketAsked, limits.ticket_asked)
within(ResourceTicketWithdrawn, limits.ticket_withdrawn)
within(ProcessFinished, limits.ticket_is_decided)
within(fleet.GroupMade, limits.group_made)
within(fleet.GroupRemoved, limits.group_removed)

# --- how far a business system is: orgs → approvals → orgs ----------------------------------------------------------

within(ProgressReported, progress.progress_reported)
within(ProgressWithdrawn, progress.progress_withdrawn)
within(ProcessFinished, progress.progress_is_decided)

# --- scheduling → billing ----------------------------------------------------------------------------------------

within(WorkloadPreempted, orders.work_preempted)
# What the scheduler has to know it hears from the database itself: see migration scheduling.0002.

# --- billing → the tenant's people ---------------------------------------------------------------------------------

within(FundsFell, funds.level_fell)

# --- jobs → the site's own hooks: register them here, a line each (see apps/scheduling/hooks.py) -------------------

within(WorkloadStarted, hooks.started)
within(WorkloadEnded, hooks.ended)
within(WorkloadPreempted, hooks.preempted)
# Sweep: hooks_call, every few seconds.
after(HookDue, lambda event: scheduling_tasks.hooks_call.delay())

# --- fleet → scheduling, billing, telemetry ----------------------------------------------------------------------

within(fleet.SliceStarted, slices.started)
within(fleet.SliceEnded, slices.ended)
within(fleet.SliceSaved, slices.saved)
within(fleet.FolderMoved, slices.folder_moved)
within(fleet.SliceShrunk, slices.shrunk)
within(fleet.SliceMoveBegun, slices.move_begun)
within(fleet.SliceMoved, slices.moved)
within(fleet.SliceMoveFailed, slices.move_failed)
within(fleet.UsageObserved, slices.used)
within(fleet.SliceMeasured, slices.measured)
within(fleet.SliceResized, slices.resized)
within(fleet.ServiceObserved, slices.served)
# Sweep: sizes_sweep, every few seconds.
after(fleet.SliceSized, lambda event: scheduling_tasks.size_follow.delay(event.workload_uid))
# Sweep: arrays_sweep, every few seconds.
after(ArrayFreed, lambda event: scheduling_tasks.array_follow.delay(event.array_pk))
# Sweep: dependencies_sweep, every few seconds.
after(WorkloadAwaited, lambda event: scheduling_tasks.dependencies_follow.delay(str(event.workload_uid)))
after(WorkloadSized, lambda event: scheduling_tasks.size_follow.delay(str(event.workload_uid)))

# --- scheduling, fleet → storage: what work leaves ----------------------------------------------------------------

within(WorkloadEnded, outputs.work_ended)
# Sweep: storage_tidy, every ten minutes.
after(
    fleet.OutputsSettled,
    lambda event: storage_tasks.outputs_follow.delay(event.schema, event.workload_uid),
)

# --- assets → a worker ---------------------------------------------------------------------------------------------

# Sweep: assets_tidy, every ten minutes.
after(AssetVersionAsked, lambda event: asset_tasks.version_copy.delay(event.schema, event.uid))

# --- storage → a worker --------------------------------------------------------------------------------------------

# Sweep: storage_tidy, every ten minutes.
after(TenantProvisioned, lambda event: storage_tasks.own_folder_mark.delay())

# Sweep: storage_tidy, every ten minutes.
after(VolumeChanged, lambda event: storage_tasks.volume_follow.delay(event.schema, event.uid))

# Sweep: storage_tidy, every ten minutes.
after(
    OrderedVolumeEnded,
    lambda event: storage_tasks.ended_volume_follow.delay(event.schema, str(event.volume_uid)),
)

# --- images → a worker ---------------------------------------------------------------------------------------------

within(fleet.ContainerSaveSettled, images.container_settled)
# Sweep: versions_sweep, every minute.
after(VersionAsked, lambda event: image_tasks.version_take.delay(event.uid))
within(fleet.MetricsGrew, images.work_wrote)
within(WorkloadEnded, images.work_ended)
# Sweep: builds_sweep, every few seconds.
after(VersionMoved, lambda event: image_tasks.build_follow.delay(event.uid))
# Sweep: registry_tidy, every hour.
after(VersionsGone, lambda event: image_tasks.repositories_tidy.delay(list(event.repositories)))

# --- centres of the network → jobs over them ------------------------------------------------------------------------

within(CenterRemoved, jobs.center_removed)
within(ResourceSpecRemoved, jobs.spec_removed)
# Sweep of these: jobs_sweep, every few seconds.
after(RemoteTaskChanged, jobs.remote_task_changed)
# Sweep: money_sweep, every few seconds.
after(RemoteTaskAccounted, jobs.remote_task_accounted)
after(ReplicasWait, lambda event: jointcloud_tasks.jobs_place.delay())
after(CenterStatusChanged, lambda event: jointcloud_tasks.jobs_sweep.delay())

# --- alarms ------------------------------------------------------------------------------------------------------

within(fleet.NodeLost, alarms.node_lost)
within(fleet.NodeReturned, alarms.node_answered_for)
within(fleet.NodeRemoved, alarms.node_answered_for)
within(fleet.NodeRemoved, alarms.node_gone)
within(fleet.NodeDoubled, alarms.node_doubled)
within(fleet.DeviceMismatch, alarms.device_mismatch)
within(fleet.DeviceAccepted, alarms.device_settled)
within(fleet.DeviceLeft, alarms.device_settled)
within(fleet.UsageDoubted, alarms.usage_doubted)
within(UsageRefused, alarms.usage_refused)
within(RolloutFailed, alarms.rollout_failed)
within(RolloutDone, alarms.rollout_done)
within(BackupFailed, alarms.backup_failed)
within(BackupMade, alarms.backup_made)
within(AlarmNotified, alarms.alarm_notify)
# Sweep: deliveries_send.
after(AlarmFired, lambda event: telemetry_tasks.deliveries_send.delay())
after(AlarmResolved, lambda event: telemetry_tasks.deliveries_send.delay())
# Sweep: watch, every few seconds.
within(RuleNarrowed, alarms.rule_narrowed)
after(RulesChanged, lambda event: console_tasks.watch.delay())

# --- open pages --------------------------------------------------------------------------------------------------

within(WorkloadChanged, pages.workload)
within(OutputsChanged, pages.workload)
within(WorkloadsChanged, pages.workloads)
within(WorkloadsSubmitted, pages.submitted)
within(QueueChanged, pages.topic("pool"))
within(WhatIfEnded, pages.topic("what-ifs"))
within(ReservationChanged, pages.topic("reservations"))
within(HookSettled, pages.topic("hooks"))
within(fleet.LogGrew, pages.log_grew)
within(fleet.MetricsGrew, pages.metrics_grew)
within(CaseChanged, pages.case)
for kind in (UsageRated, BillMade, BillConfirmed, BillPaid, BalanceChanged):
    within(kind, pages.money)
for kind in (AlarmFired, AlarmAcknowledged, AlarmResolved):
    within(kind, pages.topic("alarms"))
within(RolloutMoved, pages.topic("components"))

# --- the pool's log ----------------------------------------------------------------------------------------------

recorder(activity_log.act_keep)
for kind in activity_log.LINES:
    within(kind, activity_log.keep)

# --- acceptance test asked for → a worker ------------------------------------------------------------------------

# Sweep: runs_sweep.
after(RunAsked, lambda event: conformance_tasks.run_carry_out.delay(event.run_uid))

# --- what-if asked for → a worker --------------------------------------------------------------------------------

# Sweep: what_ifs_sweep.
after(WhatIfAsked, lambda event: scheduling_tasks.what_if_run.delay(str(event.uid)))
