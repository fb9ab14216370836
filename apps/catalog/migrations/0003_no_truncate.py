"""What is kept for good is not emptied at once either: row triggers do not see TRUNCATE."""

from django.db import migrations

TABLES = ("catalog_priceversion", "catalog_priceline", "catalog_processtemplate", "catalog_couponredemption")


def _trigger(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION catalog_append_only();",
        f"DROP TRIGGER no_truncate ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_guards")]

    operations = [_trigger(table) for table in TABLES]
