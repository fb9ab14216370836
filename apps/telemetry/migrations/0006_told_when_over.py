from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('telemetry', '0005_past_shares'),
    ]

    operations = [
        migrations.AddField(
            model_name='alarmdelivery',
            name='is_over',
            field=models.BooleanField(default=False, verbose_name='over'),
        ),
        migrations.RemoveConstraint(
            model_name='alarmdelivery',
            name='alarm_delivery_once',
        ),
        migrations.AddConstraint(
            model_name='alarmdelivery',
            constraint=models.UniqueConstraint(fields=('alarm', 'route', 'is_over'), name='alarm_delivery_once'),
        ),
    ]
