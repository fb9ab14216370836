from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0007_mig_profiles'),
    ]

    operations = [
        migrations.AddField(
            model_name='slice',
            name='host_cpu_used_milli',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='processor used (thousandths of a core)'),
        ),
        migrations.AddField(
            model_name='slice',
            name='host_memory_used_mib',
            field=models.PositiveBigIntegerField(blank=True, null=True, verbose_name='main memory used (MiB)'),
        ),
        migrations.AddField(
            model_name='slice',
            name='host_enforced_by',
            field=models.CharField(blank=True, max_length=64, verbose_name='processor and main memory enforced by'),
        ),
    ]
