from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('fleet', '0002_pool'),
    ]

    operations = [
        migrations.AddField(
            model_name='slice',
            name='surplus_percent',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='slice',
            name='surplus_mib',
            field=models.PositiveBigIntegerField(default=0),
        ),
    ]
