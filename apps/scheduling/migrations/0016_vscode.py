from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduling', '0015_mig_profiles'),
    ]

    operations = [
        migrations.AlterField(
            model_name='environmenttemplate',
            name='software',
            field=models.CharField(choices=[('jupyterlab', 'JupyterLab'), ('vscode', 'VS Code in the browser')], default='jupyterlab', max_length=24, verbose_name='image'),
        ),
    ]
