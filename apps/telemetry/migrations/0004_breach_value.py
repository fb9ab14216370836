from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0003_rules")]
    operations = [migrations.RemoveField(model_name="alarmbreach", name="value")]
