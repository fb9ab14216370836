"""What was published or redeemed is never rewritten: the database itself refuses."""

from django.db import migrations

TABLES = ("catalog_priceversion", "catalog_priceline", "catalog_processtemplate", "catalog_couponredemption")

FUNCTION = """
CREATE FUNCTION catalog_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""


def _trigger(table: str) -> str:
    return (
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION catalog_append_only();"
    )


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION catalog_append_only CASCADE;"),
        *[migrations.RunSQL(_trigger(table), f"DROP TRIGGER append_only ON {table};") for table in TABLES],
    ]
