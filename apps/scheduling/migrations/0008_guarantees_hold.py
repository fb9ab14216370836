"""Guarantees are taken back unless an operator says otherwise; a policy that was saved before stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0007_after_stop")]

    operations = [
        migrations.AlterField(
            model_name="schedulingpolicy",
            name="has_reclaim",
            field=models.BooleanField(default=True, verbose_name="guarantees are taken back"),
        ),
    ]
