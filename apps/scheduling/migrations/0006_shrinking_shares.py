"""A share that shrinks is held as it was until its node has done it: the leader hears of both."""

from django.db import migrations

FEED = """
CREATE FUNCTION public.scheduling_tell_slice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.scheduling_change (kind, key)
        SELECT 'work', id FROM public.scheduling_workload WHERE uid = NEW.workload_uid;
    PERFORM pg_notify('weir_schedule', '');
    RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER UPDATE ON public.fleet_slice FOR EACH ROW WHEN (
    (OLD.surplus_percent, OLD.surplus_mib) IS DISTINCT FROM (NEW.surplus_percent, NEW.surplus_mib)
) EXECUTE FUNCTION public.scheduling_tell_slice();
"""


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0005_change_feed"), ("fleet", "0003_shrinking")]

    operations = [migrations.RunSQL(FEED, "DROP FUNCTION public.scheduling_tell_slice() CASCADE;")]
