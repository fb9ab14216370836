from django.db import migrations, models

import apps.identity.models


class Migration(migrations.Migration):
    """Who is there already has read nothing of what is new; who comes later knows no older version."""

    dependencies = [("identity", "0004_functions_parted")]

    operations = [
        migrations.AddField(
            "user",
            "news_read",
            models.CharField(max_length=64, default="", db_default="", blank=True, editable=False),
        ),
        migrations.AddField(
            "user",
            "density",
            models.CharField(
                "density",
                max_length=12,
                choices=[("comfortable", "Comfortable"), ("compact", "Compact")],
                default="comfortable",
                db_default="comfortable",
                editable=False,
            ),
        ),
        migrations.AlterField(
            "user",
            "news_read",
            models.CharField(
                max_length=64,
                default=apps.identity.models.running_version,
                db_default="",
                blank=True,
                editable=False,
            ),
        ),
    ]
