"""The money's own guards, in the database: zero sums, balances that cover, facts that stay.

Zero sum is checked when the transaction commits, so that legs may be written one by one. A fact row may be given
what its trigger names (say, that it was rated), once; everything else about it is for good.
"""

from django.db import migrations

ZERO_SUM = """
CREATE FUNCTION billing_zero_sum() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    total numeric;
BEGIN
    SELECT sum(amount) INTO total FROM billing_ledgerleg WHERE transaction_id = NEW.transaction_id;
    IF total <> 0 THEN
        RAISE EXCEPTION 'ledger transaction % does not sum to zero: %', NEW.transaction_id, total
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_zero_sum';
    END IF;
    IF EXISTS (SELECT 1 FROM billing_ledgeraccount WHERE id = NEW.account_id AND kind = 'balance') THEN
        SELECT sum(amount) INTO total FROM billing_ledgerleg WHERE account_id = NEW.account_id;
        IF total > 0 THEN
            RAISE EXCEPTION 'the balance of ledger account % would be negative: %', NEW.account_id, -total
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_balance_covers';
        END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_zero_sum AFTER INSERT ON billing_ledgerleg
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION billing_zero_sum();
"""

APPEND_ONLY = """
CREATE FUNCTION billing_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""

# The arguments name the columns that may still be set; each of them only while it is null, unless it is a state.
FACT = """
CREATE FUNCTION billing_fact() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    IF TG_OP = 'DELETE' OR (to_jsonb(NEW) - TG_ARGV) <> (to_jsonb(OLD) - TG_ARGV) THEN
        RAISE EXCEPTION '% keeps its facts: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END IF;
    FOREACH name IN ARRAY TG_ARGV LOOP
        IF name NOT IN ('state', 'updated_at') AND to_jsonb(OLD) ->> name IS NOT NULL
           AND (to_jsonb(NEW) -> name) IS DISTINCT FROM (to_jsonb(OLD) -> name) THEN
            RAISE EXCEPTION '% of % is set once', name, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
"""

APPEND_ONLY_TABLES = (
    "billing_ledgertransaction",
    "billing_ledgerleg",
    "billing_billline",
    "billing_billpayment",
    "billing_usagerefusal",
    "billing_chargeresize",
)
FACT_TABLES = {
    "billing_usagerecord": "'rated_at'",
    "billing_rateditem": "'bill_id'",
    "billing_bill": "'state', 'confirmed_at', 'paid_at', 'written_off_at', 'updated_at'",
    "billing_charge": "'state', 'closed_at', 'updated_at'",
}

# A slice runs once at a time: two intervals of one slice never share an instant. The charge's row is the lock that
# makes the look-up hold against another transaction; an exclusion constraint would want an extension.
NO_OVERLAP = """
CREATE FUNCTION billing_usage_no_overlap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM billing_charge WHERE id = NEW.charge_id FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT 1 FROM billing_usagerecord
        WHERE slice_uid = NEW.slice_uid AND end_at > NEW.start_at AND start_at < NEW.end_at
    ) THEN
        RAISE EXCEPTION 'usage of slice % overlaps what is recorded', NEW.slice_uid
            USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'usage_no_overlap';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER usage_no_overlap BEFORE INSERT ON billing_usagerecord
    FOR EACH ROW EXECUTE FUNCTION billing_usage_no_overlap();
"""


def _trigger(table: str, function: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {function};",
        f"DROP TRIGGER keep ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]

    operations = [
        migrations.RunSQL(ZERO_SUM, "DROP FUNCTION billing_zero_sum CASCADE;"),
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION billing_append_only CASCADE;"),
        migrations.RunSQL(FACT, "DROP FUNCTION billing_fact CASCADE;"),
        *[_trigger(table, "billing_append_only()") for table in APPEND_ONLY_TABLES],
        *[_trigger(table, f"billing_fact({columns})") for table, columns in FACT_TABLES.items()],
        migrations.RunSQL(NO_OVERLAP, "DROP FUNCTION billing_usage_no_overlap CASCADE;"),
    ]
