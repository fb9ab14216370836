"""The pooling standard's words for what was called pack and balance."""

from django.db import migrations

WORDS = {"pack": "device_compact", "balance": "device_balanced"}


def rename(apps, schema_editor):
    policy = apps.get_model("scheduling", "SchedulingPolicy")
    for old, new in WORDS.items():
        policy.objects.filter(placing=old).update(placing=new)


def back(apps, schema_editor):
    policy = apps.get_model("scheduling", "SchedulingPolicy")
    for old, new in WORDS.items():
        policy.objects.filter(placing=new).update(placing=old)


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0002_the_pool")]

    operations = [migrations.RunPython(rename, back)]
