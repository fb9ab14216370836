"""The log refuses to be changed: not by code, not by a careless session at the database."""

from django.db import migrations

GUARD = """
CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the operation log is append-only: % on % refused', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_record_append_only BEFORE UPDATE OR DELETE ON audit_record
    FOR EACH ROW EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_seal_append_only BEFORE UPDATE OR DELETE ON audit_seal
    FOR EACH ROW EXECUTE FUNCTION audit_append_only();
"""
UNGUARD = """
DROP TRIGGER audit_seal_append_only ON audit_seal;
DROP TRIGGER audit_record_append_only ON audit_record;
DROP FUNCTION audit_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunSQL(GUARD, UNGUARD)]
