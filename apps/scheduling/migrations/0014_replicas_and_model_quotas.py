from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0013_tenant_shares")]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="shares_per_replica",
            field=models.PositiveSmallIntegerField(default=1, verbose_name="shares of a replica"),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.CheckConstraint(
                condition=Q(shares_per_replica__gte=1, shares_per_replica__lte=F("shares")),
                name="workload_replicas",
            ),
        ),
        migrations.AlterModelOptions(
            name="tenantquota",
            options={
                "base_manager_name": "plain",
                "default_manager_name": "plain",
                "ordering": ["tenant", "item", "model"],
                "verbose_name": "tenant quota",
                "verbose_name_plural": "tenant quotas",
            },
        ),
        migrations.RemoveConstraint(model_name="tenantquota", name="tenant_quota_once"),
        migrations.AddField(
            model_name="tenantquota",
            name="model",
            field=models.CharField(blank=True, max_length=200, verbose_name="accelerator model", default=""),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="tenantquota",
            constraint=models.UniqueConstraint(fields=("tenant", "item", "model"), name="tenant_quota_once"),
        ),
    ]
