"""What stopping work becomes stands in columns; before it stood in keys of `reason`."""

from django.db import migrations, models

MOVE = """
UPDATE scheduling_workload SET
    after_stop = CASE
        WHEN reason ? 'suspend' THEN 'suspend'
        WHEN reason ? 'preempted' THEN 'preempt'
        WHEN reason -> 'requeue' = 'true' THEN 'requeue'
        WHEN reason -> 'failed' = 'true' THEN 'fail'
        WHEN reason ? 'failed' THEN 'finish'
        ELSE 'stop'
    END,
    preempted_by = CASE WHEN reason ? 'preempted' THEN (reason ->> 'for')::uuid END,
    preemption_cause = COALESCE(reason ->> 'preempted', '')
WHERE state = 'stopping';
UPDATE scheduling_workload SET reason = jsonb_build_object('text', reason -> 'text')
WHERE state IN ('stopping', 'suspended') AND reason ? 'text';
"""
BACK = """
UPDATE scheduling_workload SET reason = reason || CASE after_stop
    WHEN 'suspend' THEN '{"failed": false, "suspend": true}'::jsonb
    WHEN 'preempt' THEN jsonb_build_object(
        'failed', false, 'requeue', true, 'preempted', preemption_cause, 'for', preempted_by)
    WHEN 'requeue' THEN '{"failed": false, "requeue": true}'::jsonb
    WHEN 'fail' THEN '{"failed": true, "requeue": false}'::jsonb
    WHEN 'finish' THEN '{"failed": false, "requeue": false}'::jsonb
    ELSE '{}'::jsonb
END
WHERE state = 'stopping';
"""
AFTER = [
    ("stop", "Ends as it was asked to"),
    ("finish", "Ends: a part of it has ended"),
    ("fail", "Fails: a part of it has failed"),
    ("suspend", "Is put aside"),
    ("requeue", "Waits again"),
    ("preempt", "Waits again: it makes room for other work"),
]
CAUSES = [
    ("priority", "Higher priority"),
    ("reclaim", "Guarantee of the other queue"),
    ("fair_share", "Fair share of the other tenant"),
]
STOPS = models.Q(state="stopping")
PREEMPTED = models.Q(after_stop="preempt")


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0006_work_folders")]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="after_stop",
            field=models.CharField(
                blank=True, choices=AFTER, default="", max_length=8, verbose_name="becomes after its stop"
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="workload",
            name="preempted_by",
            field=models.UUIDField(blank=True, null=True, verbose_name="makes room for"),
        ),
        migrations.AddField(
            model_name="workload",
            name="preemption_cause",
            field=models.CharField(
                blank=True, choices=CAUSES, default="", max_length=12, verbose_name="makes room because of"
            ),
            preserve_default=False,
        ),
        migrations.RunSQL(MOVE, BACK),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.CheckConstraint(
                name="workload_after_stop",
                condition=(STOPS & models.Q(after_stop__in=[code for code, _ in AFTER]))
                | (~STOPS & models.Q(after_stop="")),
            ),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.CheckConstraint(
                name="workload_preempted_by",
                condition=(
                    models.Q(after_stop="preempt", preempted_by__isnull=False)
                    & models.Q(preemption_cause__in=[code for code, _ in CAUSES])
                )
                | (~PREEMPTED & models.Q(preempted_by=None, preemption_cause="")),
            ),
        ),
    ]
