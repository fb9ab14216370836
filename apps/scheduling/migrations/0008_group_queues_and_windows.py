"""A queue for each resource group that has none (PLAT-AICFG-23); and who changes when somebody's work may start tells
the leader of their work that waits (PLAT-AICFG-32)."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

FEED = """
CREATE FUNCTION public.scheduling_tell_windows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched record;
BEGIN
    IF TG_OP = 'DELETE' THEN touched := OLD; ELSE touched := NEW; END IF;
    IF TG_ARGV[0] = 'user' THEN
        INSERT INTO public.scheduling_change (kind, key)
            SELECT 'work', id FROM public.scheduling_workload
            WHERE state = 'pending' AND submitted_by_id = touched.user_id;
    ELSE
        INSERT INTO public.scheduling_change (kind, key)
            SELECT 'work', id FROM public.scheduling_workload
            WHERE state = 'pending' AND submitted_by_id IN (
                SELECT user_id FROM public.scheduling_validityuser WHERE rule_id = touched.rule_id
            );
    END IF;
    PERFORM pg_notify('weir_schedule', '');
    RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON public.scheduling_validityuser
    FOR EACH ROW EXECUTE FUNCTION public.scheduling_tell_windows('user');
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON public.scheduling_validityperiod
    FOR EACH ROW EXECUTE FUNCTION public.scheduling_tell_windows('rule');
"""
UNFEED = "DROP FUNCTION public.scheduling_tell_windows() CASCADE;"


def queues_make(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A group whose code is a queue's already keeps to that queue."""
    queues = apps.get_model("scheduling", "Queue").objects
    for group in apps.get_model("fleet", "ResourceGroup").objects.all():
        if not queues.filter(code=group.code, retired_at=None).exists():
            names = {"name_en": group.name_en[:80], "name_zh": group.name_zh[:80]}
            queues.create(code=group.code, resource_group=group.code, **names)


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0007_resource_tickets"), ("fleet", "0003_shrinking")]

    operations = [
        migrations.RunSQL(FEED, UNFEED),
        migrations.RunPython(queues_make, migrations.RunPython.noop, elidable=True),
    ]
