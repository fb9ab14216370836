"""What is kept for good is not emptied at once either: row triggers do not see TRUNCATE."""

from django.db import migrations

TABLES = (
    "billing_ledgertransaction",
    "billing_ledgerleg",
    "billing_billline",
    "billing_billpayment",
    "billing_usagerefusal",
    "billing_chargeresize",
    "billing_usagerecord",
    "billing_rateditem",
    "billing_bill",
    "billing_charge",
)


def _trigger(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION billing_append_only();",
        f"DROP TRIGGER no_truncate ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("billing", "0002_guards")]

    operations = [_trigger(table) for table in TABLES]
