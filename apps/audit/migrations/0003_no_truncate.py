"""What is kept for good is not emptied at once either: row triggers do not see TRUNCATE."""

from django.db import migrations

TABLES = ("audit_record", "audit_seal")


def _trigger(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();",
        f"DROP TRIGGER no_truncate ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_append_only")]

    operations = [_trigger(table) for table in TABLES]
