from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0017_number_index"),
        ("tenancy", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(
                condition=models.Q(("started_at__isnull", False)),
                fields=["started_at"],
                name="workload_started",
            ),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="workload_ended"
            ),
        ),
    ]
