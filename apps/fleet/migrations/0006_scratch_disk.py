"""A slice says what of its node's disk is kept for it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0005_metric_series")]

    operations = [
        migrations.AddField(
            model_name="slice",
            name="scratch_disk_mib",
            field=models.PositiveIntegerField(default=0, verbose_name="scratch disk (MiB)"),
        )
    ]
