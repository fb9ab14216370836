"""What is only counted is tallied by whoever makes it, in the same transaction: no table of years is counted through."""

from django.db import migrations

TALLY = """
CREATE FUNCTION public.scheduling_tally_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.scheduling_tally ("of", kind, count)
        SELECT 'decision', kind, count(*) FROM fresh GROUP BY kind;
    RETURN NULL;
END $$;
CREATE TRIGGER tally AFTER INSERT ON public.scheduling_decision
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.scheduling_tally_decisions();

CREATE FUNCTION public.scheduling_tally_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.state IN ('finished', 'failed', 'lost') THEN
        INSERT INTO public.scheduling_tally ("of", kind, count) VALUES ('ended', OLD.state, -1);
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state IN ('finished', 'failed', 'lost') THEN
        INSERT INTO public.scheduling_tally ("of", kind, count) VALUES ('ended', NEW.state, 1);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER tally_new AFTER INSERT ON public.scheduling_workload FOR EACH ROW
    WHEN (NEW.state IN ('finished', 'failed', 'lost')) EXECUTE FUNCTION public.scheduling_tally_ended();
CREATE TRIGGER tally AFTER UPDATE ON public.scheduling_workload FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND ARRAY[OLD.state, NEW.state]::text[] && ARRAY['finished', 'failed', 'lost'])
    EXECUTE FUNCTION public.scheduling_tally_ended();
CREATE TRIGGER tally_gone AFTER DELETE ON public.scheduling_workload FOR EACH ROW
    WHEN (OLD.state IN ('finished', 'failed', 'lost')) EXECUTE FUNCTION public.scheduling_tally_ended();
"""
UNTALLY = """
DROP FUNCTION public.scheduling_tally_decisions() CASCADE;
DROP FUNCTION public.scheduling_tally_ended() CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0002_change_feed")]

    operations = [migrations.RunSQL(TALLY, UNTALLY)]
