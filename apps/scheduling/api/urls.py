from django.urls import path

from apps.scheduling.api import bulk, desk, steering, views, work

urlpatterns = [
    path("resources", views.ResourcesView.as_view(), name="resources"),
    path("resources/<uuid:uid>", views.ResourceView.as_view(), name="resource"),
    path("resources/<uuid:uid>/logs", views.ResourceLogsView.as_view(), name="resource_logs"),
    path("resources/<uuid:uid>/usage", views.ResourceUsageView.as_view(), name="resource_usage"),
    path("quota", views.QuotaView.as_view(), name="quota"),
    path("workloads", work.WorkloadsView.as_view(), name="workloads"),
    path("workloads/across", work.WorkloadsAcrossView.as_view(), name="workloads_across"),
    path("workloads/bulk", bulk.WorkloadsBulkView.as_view(), name="workloads_bulk"),
    path("workloads/dry-run", steering.WorkloadDryRunView.as_view(), name="workload_dry_run"),
    path("workloads/<uuid:uid>/explain", steering.WorkloadExplainView.as_view(), name="workload_explain"),
    path("workloads/<uuid:uid>", work.WorkloadView.as_view(), name="workload"),
    path("workloads/<uuid:uid>/stop", work.WorkloadStopView.as_view(), name="workload_stop"),
    path("workloads/<uuid:uid>/scale", steering.WorkloadScaleView.as_view(), name="workload_scale"),
    path("workloads/<uuid:uid>/suspend", steering.WorkloadSuspendView.as_view(), name="workload_suspend"),
    path("workloads/<uuid:uid>/resume", steering.WorkloadResumeView.as_view(), name="workload_resume"),
    path("workloads/<uuid:uid>/requeue", steering.WorkloadRequeueView.as_view(), name="workload_requeue"),
    path("workloads/<uuid:uid>/resize", work.WorkloadResizeView.as_view(), name="workload_resize"),
    path("workloads/<uuid:uid>/migrate", work.WorkloadMigrateView.as_view(), name="workload_migrate"),
    path("workloads/<uuid:uid>/session", work.WorkloadSessionView.as_view(), name="workload_session"),
    path("environments", work.EnvironmentsView.as_view(), name="environments"),
    path("environments/<uuid:uid>", work.EnvironmentView.as_view(), name="environment"),
    path("queues", desk.QueuesView.as_view(), name="queues"),
    path("queue-tree", desk.QueueTreeView.as_view(), name="queue_tree"),
    path("queues/<slug:code>", desk.QueueView.as_view(), name="queue"),
    path("scheduling-policy", desk.SchedulingPolicyView.as_view(), name="scheduling_policy"),
    path("quotas/<slug:schema>", desk.TenantQuotaView.as_view(), name="tenant_quota"),
]
