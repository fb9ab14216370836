import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('centers', '0005_use_by_accounts'),
        ('tenancy', '0002_bill_parties'),
    ]

    operations = [
        migrations.CreateModel(
            name='CenterHolder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ai_center_id', models.CharField(max_length=63)),
                ('holder', models.CharField(max_length=63)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'account once held at a centre',
                'verbose_name_plural': 'accounts once held at centres',
                'constraints': [
                    models.UniqueConstraint(fields=('ai_center_id', 'holder'), name='center_holder_ever'),
                ],
            },
        ),
        # Who holds one now has held it.
        migrations.RunSQL(
            "INSERT INTO centers_centerholder (ai_center_id, holder, tenant_id)"
            " SELECT c.ai_center_id, t.holder, t.tenant_id FROM centers_centertenant t"
            " JOIN centers_center c ON c.id = t.center_id WHERE t.holder <> ''",
            migrations.RunSQL.noop,
        ),
    ]
