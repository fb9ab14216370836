"""Sizes of elastic work, the rules that scale it, and the hooks' outbox. The leader hears of what rules wish."""

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

FEED = """
CREATE TRIGGER tell_wanted AFTER UPDATE ON public.scheduling_workload FOR EACH ROW WHEN (
    OLD.wanted_shares IS DISTINCT FROM NEW.wanted_shares
) EXECUTE FUNCTION public.scheduling_tell('work');
"""
UNFEED = "DROP TRIGGER tell_wanted ON public.scheduling_workload;"


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0009_fair_share_preempts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="wanted_shares",
            field=models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="shares by its rules"),
        ),
        migrations.CreateModel(
            name="HookCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("hook", models.CharField(max_length=80, verbose_name="hook")),
                (
                    "kind",
                    models.CharField(
                        choices=[("started", "Started"), ("ended", "Ended"), ("preempted", "Preempted")],
                        max_length=16,
                        verbose_name="what happened",
                    ),
                ),
                ("schema", models.CharField(max_length=63, verbose_name="tenant")),
                ("workload_uid", models.UUIDField(verbose_name="workload")),
                ("at", models.DateTimeField(verbose_name="at")),
                ("params", models.JSONField(default=dict, verbose_name="figures")),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "Waiting"), ("done", "Done"), ("failed", "Failed")],
                        default="pending",
                        max_length=12,
                        verbose_name="state",
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0, verbose_name="tries")),
                ("error", models.CharField(blank=True, max_length=300, verbose_name="error")),
                (
                    "next_try_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="next try at"),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "hook call",
                "verbose_name_plural": "hook calls",
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")), fields=["next_try_at"], name="hook_call_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScalingRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "by",
                    models.CharField(
                        choices=[
                            ("queue_depth", "Queue depth"),
                            ("utilisation", "Utilisation"),
                            ("window", "Time window"),
                        ],
                        max_length=16,
                        verbose_name="by",
                    ),
                ),
                ("low", models.PositiveIntegerField(default=0, verbose_name="low")),
                ("high", models.PositiveIntegerField(default=0, verbose_name="high")),
                ("grows_when_high", models.BooleanField(default=True, verbose_name="grows when it is high")),
                ("step", models.PositiveSmallIntegerField(default=1, verbose_name="shares at a time")),
                ("shares", models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="shares")),
                ("windows", models.JSONField(blank=True, default=list, verbose_name="windows")),
                (
                    "cooldown_s",
                    models.PositiveIntegerField(default=300, verbose_name="between two changes at least (s)"),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="made at")),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="made by",
                    ),
                ),
                (
                    "queue",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scaling_rules",
                        to="scheduling.queue",
                        verbose_name="queue",
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scaling_rules",
                        to="scheduling.workload",
                        verbose_name="workload",
                    ),
                ),
            ],
            options={
                "verbose_name": "scaling rule",
                "verbose_name_plural": "scaling rules",
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("queue__isnull", True), ("workload__isnull", True), _connector="XOR"
                        ),
                        name="scaling_rule_of_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("by", "window"),
                            models.Q(("low__lt", models.F("high")), ("step__gte", 1)),
                            _connector="OR",
                        ),
                        name="scaling_rule_band",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("by", "window"), _negated=True),
                            models.Q(("shares__gte", 1), ("shares__isnull", False)),
                            _connector="OR",
                        ),
                        name="scaling_rule_window",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkloadSize",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("shares", models.PositiveSmallIntegerField(verbose_name="shares")),
                ("confirmed", models.PositiveSmallIntegerField(verbose_name="shares confirmed")),
                ("step", models.PositiveIntegerField(default=1, verbose_name="changes")),
                ("is_open", models.BooleanField(default=False, verbose_name="being told")),
                ("due_at", models.DateTimeField(blank=True, null=True, verbose_name="confirmed until")),
                ("wished_at", models.DateTimeField(blank=True, null=True, verbose_name="wish changed at")),
                (
                    "workload",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="size",
                        to="scheduling.workload",
                        verbose_name="workload",
                    ),
                ),
            ],
            options={
                "verbose_name": "size of elastic work",
                "verbose_name_plural": "sizes of elastic work",
                "indexes": [
                    models.Index(condition=models.Q(("is_open", True)), fields=["workload"], name="size_open")
                ],
            },
        ),
        migrations.RunSQL(FEED, UNFEED),
    ]
