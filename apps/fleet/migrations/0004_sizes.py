"""What the shares of elastic work are told of its size, and what they confirm."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0003_shrinking"),
    ]

    operations = [
        migrations.CreateModel(
            name="GangSize",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("workload_uid", models.UUIDField(unique=True, verbose_name="workload")),
                ("places", models.JSONField(default=dict, verbose_name="places")),
            ],
            options={
                "verbose_name": "size of a gang",
                "verbose_name_plural": "sizes of gangs",
            },
        ),
        migrations.AddField(
            model_name="slice",
            name="size_step",
            field=models.PositiveBigIntegerField(default=0),
        ),
    ]
