from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0002_pool'),
    ]

    operations = [
        migrations.AddField(
            model_name='slice',
            name='held_percent',
            field=models.PositiveSmallIntegerField(null=True, verbose_name='compute held (%)'),
        ),
        migrations.AddField(
            model_name='slice',
            name='held_mib',
            field=models.PositiveBigIntegerField(null=True, verbose_name='memory held (MiB)'),
        ),
        migrations.RunSQL(
            "UPDATE fleet_slice SET held_percent = compute_percent, held_mib = memory_mib",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='slice',
            name='held_percent',
            field=models.PositiveSmallIntegerField(verbose_name='compute held (%)'),
        ),
        migrations.AlterField(
            model_name='slice',
            name='held_mib',
            field=models.PositiveBigIntegerField(verbose_name='memory held (MiB)'),
        ),
        migrations.AddConstraint(
            model_name='slice',
            constraint=models.CheckConstraint(condition=models.Q(('held_mib__gte', models.F('memory_mib')), ('held_percent__gte', models.F('compute_percent'))), name='slice_held'),
        ),
    ]
