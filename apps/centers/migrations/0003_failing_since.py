from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('centers', '0002_remote_tasks'),
    ]

    operations = [
        migrations.AddField(
            model_name='center',
            name='failing_since',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
