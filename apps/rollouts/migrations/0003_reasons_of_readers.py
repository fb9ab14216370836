from django.db import migrations, models


def keep(apps, schema_editor):
    """What was written in one language stays as it was written."""
    for name in ("Rollout", "RolloutStep"):
        for row in apps.get_model("rollouts", name).objects.exclude(reason=""):
            row.why = {"msgid": "%(text)s", "params": {"text": row.reason}}
            row.save(update_fields=["why"])


class Migration(migrations.Migration):

    dependencies = [
        ('rollouts', '0002_backups'),
    ]

    operations = [
        migrations.AddField(
            model_name='rollout',
            name='why',
            field=models.JSONField(blank=True, default=dict, verbose_name='reason'),
        ),
        migrations.AddField(
            model_name='rolloutstep',
            name='why',
            field=models.JSONField(blank=True, default=dict, verbose_name='reason'),
        ),
        migrations.RunPython(keep, migrations.RunPython.noop),
        migrations.RemoveField(
            model_name='rollout',
            name='reason',
        ),
        migrations.RemoveField(
            model_name='rolloutstep',
            name='reason',
        ),
    ]
