from django.urls import path

from apps.scheduling.api import hooks
from apps.scheduling.api.access import entitlements, secrets, service_keys, user_groups
from apps.scheduling.api.queues import explain, pools, queue_files, queues, reservations, what_ifs
from apps.scheduling.api.work import (
    arrays,
    bulk,
    environment_templates,
    folder_uploads,
    scaling,
    workload_control,
    workload_records,
    workloads,
)

urlpatterns = [
    path("quota", workload_records.QuotaView.as_view(), name="quota"),
    path("workloads", workloads.WorkloadsView.as_view(), name="workloads"),
    path("secrets", secrets.SecretsView.as_view(), name="secrets"),
    path("secrets/<uuid:uid>", secrets.SecretView.as_view(), name="secret"),
    path("arrays", arrays.ArraysView.as_view(), name="arrays"),
    path("arrays/<uuid:uid>", arrays.ArrayView.as_view(), name="array"),
    path("arrays/<uuid:uid>/stop", arrays.ArrayStopView.as_view(), name="array_stop"),
    path("workloads/across", workloads.WorkloadsAcrossView.as_view(), name="workloads_across"),
    path("workloads/bulk", bulk.WorkloadsBulkView.as_view(), name="workloads_bulk"),
    path("workloads/dry-run", explain.WorkloadDryRunView.as_view(), name="workload_dry_run"),
    path("workloads/<uuid:uid>/explain", explain.WorkloadExplainView.as_view(), name="workload_explain"),
    path("workloads/<uuid:uid>", workloads.WorkloadView.as_view(), name="workload"),
    path("workloads/<uuid:uid>/logs", workload_records.WorkloadLogsView.as_view(), name="workload_logs"),
    path(
        "workloads/<uuid:uid>/metrics",
        workload_records.WorkloadMetricsView.as_view(),
        name="workload_metrics",
    ),
    path("workloads/<uuid:uid>/usage", workload_records.WorkloadUsageView.as_view(), name="workload_usage"),
    path("workloads/<uuid:uid>/stop", workloads.WorkloadStopView.as_view(), name="workload_stop"),
    path("workloads/<uuid:uid>/scale", workload_control.WorkloadScaleView.as_view(), name="workload_scale"),
    path("workloads/<uuid:uid>/scaling-rules", scaling.WorkloadRulesView.as_view(), name="workload_rules"),
    path(
        "workloads/<uuid:uid>/scaling-rules/<uuid:rule>",
        scaling.WorkloadRuleView.as_view(),
        name="workload_rule",
    ),
    path(
        "workloads/<uuid:uid>/suspend",
        workload_control.WorkloadSuspendView.as_view(),
        name="workload_suspend",
    ),
    path(
        "workloads/<uuid:uid>/resume", workload_control.WorkloadResumeView.as_view(), name="workload_resume"
    ),
    path(
        "workloads/<uuid:uid>/requeue",
        workload_control.WorkloadRequeueView.as_view(),
        name="workload_requeue",
    ),
    path(
        "workloads/<uuid:uid>/extend", workload_control.WorkloadExtendView.as_view(), name="workload_extend"
    ),
    path("workloads/<uuid:uid>/resize", workloads.WorkloadResizeView.as_view(), name="workload_resize"),
    path("workloads/<uuid:uid>/migrate", workloads.WorkloadMigrateView.as_view(), name="workload_migrate"),
    path("workloads/<uuid:uid>/session", workloads.WorkloadSessionView.as_view(), name="workload_session"),
    path("workloads/<uuid:uid>/exec", workloads.WorkloadExecView.as_view(), name="workload_exec"),
    path("workloads/<uuid:uid>/port-forward", workloads.WorkloadPortView.as_view(), name="workload_port"),
    path("workloads/<uuid:uid>/service", service_keys.WorkloadServiceView.as_view(), name="workload_service"),
    path("workloads/<uuid:uid>/service-keys", service_keys.ServiceKeysView.as_view(), name="service_keys"),
    path(
        "workloads/<uuid:uid>/service-keys/<uuid:key>",
        service_keys.ServiceKeyView.as_view(),
        name="service_key",
    ),
    path("workloads/<uuid:uid>/web", workloads.WorkloadWebView.as_view(), name="workload_web"),
    path(
        "environment-templates", environment_templates.TemplatesView.as_view(), name="environment_templates"
    ),
    path(
        "environment-templates/<uuid:uid>",
        environment_templates.TemplateView.as_view(),
        name="environment_template",
    ),
    path(
        "environment-templates/<uuid:uid>/start",
        environment_templates.TemplateStartView.as_view(),
        name="environment_template_start",
    ),
    path("folder-uploads", folder_uploads.FolderUploadsView.as_view(), name="folder_uploads"),
    path(
        "folder-uploads/<uuid:uid>/pieces/<int:number>",
        folder_uploads.FolderPieceView.as_view(),
        name="folder_piece",
    ),
    path("folder-uploads/<uuid:uid>/finish", folder_uploads.FolderFinishView.as_view(), name="folder_finish"),
    path("environments", workloads.EnvironmentsView.as_view(), name="environments"),
    path("environments/<uuid:uid>", workloads.EnvironmentView.as_view(), name="environment"),
    path("queues", queues.QueuesView.as_view(), name="queues"),
    path("queue-tree", queues.QueueTreeView.as_view(), name="queue_tree"),
    path("queue-file", queue_files.QueueFileView.as_view(), name="queue_file"),
    path("queue-file/plan", queue_files.QueueFilePlanView.as_view(), name="queue_file_plan"),
    path("queues/<slug:code>/open", queue_files.QueueOpenView.as_view(), name="queue_open"),
    path("queues/<slug:code>/close", queue_files.QueueCloseView.as_view(), name="queue_close"),
    path("queues/<slug:code>", queues.QueueView.as_view(), name="queue"),
    path("reservations", reservations.ReservationsView.as_view(), name="reservations"),
    path("reservations/<uuid:uid>", reservations.ReservationView.as_view(), name="reservation"),
    path("hook-calls", hooks.HookCallsView.as_view(), name="hook_calls"),
    path("hook-calls/<uuid:uid>/retry", hooks.HookCallRetryView.as_view(), name="hook_call_retry"),
    path("queues/<slug:code>/scaling-rules", scaling.QueueRulesView.as_view(), name="queue_rules"),
    path("queues/<slug:code>/scaling-rules/<uuid:rule>", scaling.QueueRuleView.as_view(), name="queue_rule"),
    path("scheduling-policy", queues.SchedulingPolicyView.as_view(), name="scheduling_policy"),
    path("user-priorities", what_ifs.PrioritiesView.as_view(), name="user_priorities"),
    path("user-priorities/<str:username>", what_ifs.PriorityView.as_view(), name="user_priority"),
    path("user-groups", user_groups.UserGroupsView.as_view(), name="user_groups"),
    path("user-groups/<slug:code>", user_groups.UserGroupView.as_view(), name="user_group"),
    path("group-queues", entitlements.GroupQueuesView.as_view(), name="group_queues"),
    path("validity-rules", entitlements.ValidityRulesView.as_view(), name="validity_rules"),
    path(
        "validity-rules/remove", entitlements.ValidityRulesRemoveView.as_view(), name="validity_rules_remove"
    ),
    path("validity-rules/<int:pk>", entitlements.ValidityRuleView.as_view(), name="validity_rule"),
    path("default-spec", entitlements.DefaultSpecView.as_view(), name="default_spec"),
    path("special-specs", entitlements.SpecialSpecsView.as_view(), name="special_specs"),
    path("special-specs/<int:pk>", entitlements.SpecialSpecView.as_view(), name="special_spec"),
    path(
        "special-specs/<int:pk>/disable", entitlements.SpecialSpecSwitchView.as_view(), name="special_disable"
    ),
    path(
        "special-specs/<int:pk>/enable", entitlements.SpecialSpecEnableView.as_view(), name="special_enable"
    ),
    path("resource-tickets", entitlements.ResourceTicketsView.as_view(), name="resource_tickets"),
    path("resource-tickets/<uuid:uid>", entitlements.ResourceTicketView.as_view(), name="resource_ticket"),
    path(
        "resource-tickets/<uuid:uid>/withdraw",
        entitlements.ResourceTicketWithdrawView.as_view(),
        name="ticket_withdraw",
    ),
    path(
        "resource-tickets/<uuid:uid>/disable",
        entitlements.ResourceTicketDisableView.as_view(),
        name="ticket_disable",
    ),
    path(
        "resource-tickets/<uuid:uid>/enable",
        entitlements.ResourceTicketEnableView.as_view(),
        name="ticket_enable",
    ),
    path(
        "resource-tickets/<uuid:uid>/delete",
        entitlements.ResourceTicketDeleteView.as_view(),
        name="ticket_delete",
    ),
    path("limits", entitlements.LimitsView.as_view(), name="limits"),
    path(
        "user-limits/<slug:schema>/<str:username>", entitlements.UserLimitsView.as_view(), name="user_limits"
    ),
    path("start-estimates", what_ifs.CalibrationView.as_view(), name="start_estimates"),
    path("what-ifs", what_ifs.WhatIfsView.as_view(), name="what_ifs"),
    path("what-ifs/<uuid:uid>", what_ifs.WhatIfView.as_view(), name="what_if"),
    path("quotas/<slug:schema>/<slug:item>", pools.TenantQuotaItemView.as_view(), name="tenant_quota_item"),
    path("resource-groups/<slug:code>/figures", pools.PoolFiguresView.as_view(), name="pool_figures"),
    path("quotas/<slug:schema>", queues.TenantQuotaView.as_view(), name="tenant_quota"),
]
