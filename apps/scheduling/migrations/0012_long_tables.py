"""Tables of years are read by index: what is held and what was lately released, the newest work. What is only
counted is tallied by whoever makes it, in the same transaction.
"""

from django.db import migrations, models

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

INSERT INTO public.scheduling_tally ("of", kind, count)
    SELECT 'decision', kind, count(*) FROM public.scheduling_decision GROUP BY kind;
INSERT INTO public.scheduling_tally ("of", kind, count)
    SELECT 'ended', state, count(*) FROM public.scheduling_workload
    WHERE state IN ('finished', 'failed', 'lost') GROUP BY state;
"""
UNTALLY = """
DROP FUNCTION public.scheduling_tally_decisions() CASCADE;
DROP FUNCTION public.scheduling_tally_ended() CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0011_freed_holds")]

    operations = [
        migrations.CreateModel(
            name="Tally",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("of", models.CharField(max_length=12, verbose_name="of")),
                ("kind", models.CharField(max_length=16, verbose_name="what")),
                ("count", models.BigIntegerField(verbose_name="how many")),
            ],
            options={"verbose_name": "tally", "verbose_name_plural": "tallies"},
        ),
        migrations.RemoveIndex(model_name="quotahold", name="quota_hold_sums"),
        migrations.AddIndex(
            model_name="allocation",
            index=models.Index(
                condition=models.Q(("released_at__isnull", False)),
                fields=["released_at"],
                name="allocation_released",
            ),
        ),
        migrations.AddIndex(
            model_name="quotahold",
            index=models.Index(
                condition=models.Q(("state", "released"), _negated=True),
                fields=["tenant", "item", "state"],
                name="quota_hold_sums",
            ),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(fields=["-created_at", "-id"], name="workload_newest"),
        ),
        migrations.RunSQL(TALLY, UNTALLY),
    ]
