"""What the leader's picture of the pool follows: whoever writes a row that a decision depends on tells of it in the
same transaction, and wakes the leader when it commits.

The leader takes lines away as it follows them, so what commits late is found late and nothing is missed. A new
leader reads everything anew: that is why the lines need no log and may go when the server crashes. What the leader
writes itself it knows already (`weir.leads`).
"""

from django.db import migrations

FEED = """
CREATE UNLOGGED TABLE public.scheduling_change (
    id bigserial PRIMARY KEY, kind text NOT NULL, key bigint NOT NULL
);
-- Grows with each change of devices, nodes and rules: what was read of them at one value may be read again at it.
CREATE SEQUENCE public.scheduling_pool_version;

CREATE FUNCTION public.scheduling_tell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed public.scheduling_change.key%TYPE;
BEGIN
    IF current_setting('weir.leads', true) = 'on' THEN
        RETURN NULL;
    END IF;
    IF TG_ARGV[0] = 'held' THEN
        IF TG_OP = 'DELETE' THEN changed := OLD.workload_id; ELSE changed := NEW.workload_id; END IF;
    ELSIF TG_OP = 'DELETE' THEN changed := OLD.id;
    ELSE changed := NEW.id;
    END IF;
    IF TG_ARGV[0] IN ('node', 'device') THEN
        PERFORM nextval('public.scheduling_pool_version');
    END IF;
    INSERT INTO public.scheduling_change (kind, key)
        VALUES (CASE TG_ARGV[0] WHEN 'held' THEN 'work' ELSE TG_ARGV[0] END, changed);
    PERFORM pg_notify('weir_schedule', '');
    RETURN NULL;
END $$;

CREATE FUNCTION public.scheduling_tell_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.scheduling_change (kind, key) SELECT 'work', id FROM fresh;
    PERFORM pg_notify('weir_schedule', '');
    RETURN NULL;
END $$;

CREATE FUNCTION public.scheduling_tell_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('public.scheduling_pool_version');
    INSERT INTO public.scheduling_change (kind, key) VALUES ('rules', 0);
    PERFORM pg_notify('weir_schedule', '');
    RETURN NULL;
END $$;

CREATE TRIGGER tell_new AFTER INSERT ON public.scheduling_workload
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.scheduling_tell_new();
CREATE TRIGGER tell_gone AFTER DELETE ON public.scheduling_workload
    FOR EACH ROW EXECUTE FUNCTION public.scheduling_tell('work');
CREATE TRIGGER tell AFTER UPDATE ON public.scheduling_workload FOR EACH ROW WHEN (
    (OLD.state, OLD.queue_id, OLD.priority, OLD.shares, OLD.min_shares, OLD.active_shares, OLD.compute_percent,
     OLD.memory_mib, OLD.preemptible, OLD.urgent, OLD.earliest_start_at, OLD.not_before_at, OLD.deadline_at,
     OLD.checkpoint_at, OLD.started_at, OLD.reservation_id, OLD.preemptions, OLD.scaled_at,
     OLD.waits_for_funds, OLD.waits_for_work, OLD.waits_for_turn, OLD.run_timeout_s)
    IS DISTINCT FROM
    (NEW.state, NEW.queue_id, NEW.priority, NEW.shares, NEW.min_shares, NEW.active_shares, NEW.compute_percent,
     NEW.memory_mib, NEW.preemptible, NEW.urgent, NEW.earliest_start_at, NEW.not_before_at, NEW.deadline_at,
     NEW.checkpoint_at, NEW.started_at, NEW.reservation_id, NEW.preemptions, NEW.scaled_at,
     NEW.waits_for_funds, NEW.waits_for_work, NEW.waits_for_turn, NEW.run_timeout_s)
) EXECUTE FUNCTION public.scheduling_tell('work');

CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON public.scheduling_allocation
    FOR EACH ROW EXECUTE FUNCTION public.scheduling_tell('held');

CREATE TRIGGER tell_new AFTER INSERT OR DELETE ON public.fleet_node
    FOR EACH ROW EXECUTE FUNCTION public.scheduling_tell('node');
CREATE TRIGGER tell AFTER UPDATE ON public.fleet_node FOR EACH ROW WHEN (
    (OLD.name, OLD.state, OLD.is_leaving, OLD.info -> 'cpu_count', OLD.info -> 'memory_mib', OLD.info -> 'labels',
     OLD.info -> 'storage', OLD.info -> 'containers', OLD.info -> 'packages')
    IS DISTINCT FROM
    (NEW.name, NEW.state, NEW.is_leaving, NEW.info -> 'cpu_count', NEW.info -> 'memory_mib', NEW.info -> 'labels',
     NEW.info -> 'storage', NEW.info -> 'containers', NEW.info -> 'packages')
) EXECUTE FUNCTION public.scheduling_tell('node');

CREATE TRIGGER tell_new AFTER INSERT OR DELETE ON public.fleet_device
    FOR EACH ROW EXECUTE FUNCTION public.scheduling_tell('device');
CREATE TRIGGER tell AFTER UPDATE ON public.fleet_device FOR EACH ROW WHEN (
    (OLD.node_id, OLD.memory_mib, OLD.vendor, OLD.model, OLD.is_enabled, OLD.is_leaving, OLD.left_at,
     OLD.missing_at, OLD.health, OLD.is_sliced, OLD.group_id, OLD.oversubscribe_permille,
     OLD.memory_oversubscribe_permille, OLD.numa_node, OLD.slice_drivers)
    IS DISTINCT FROM
    (NEW.node_id, NEW.memory_mib, NEW.vendor, NEW.model, NEW.is_enabled, NEW.is_leaving, NEW.left_at,
     NEW.missing_at, NEW.health, NEW.is_sliced, NEW.group_id, NEW.oversubscribe_permille,
     NEW.memory_oversubscribe_permille, NEW.numa_node, NEW.slice_drivers)
) EXECUTE FUNCTION public.scheduling_tell('device');
"""

# A share that shrinks is held as it was until its node has done it: the leader hears of both.
SHRINKING = """
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

# Who changes when somebody's work may start tells the leader of their work that waits (PLAT-AICFG-32).
WINDOWS = """
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

# The leader hears of what the scaling rules ask for.
TARGETS = """
CREATE TRIGGER tell_wanted AFTER UPDATE ON public.scheduling_workload FOR EACH ROW WHEN (
    OLD.wanted_shares IS DISTINCT FROM NEW.wanted_shares
) EXECUTE FUNCTION public.scheduling_tell('work');
"""

RULES = (
    "scheduling_queue", "scheduling_queuetenant", "scheduling_queuewindow", "scheduling_schedulingpolicy",
    "scheduling_tenantquota", "scheduling_tenantshare", "scheduling_reservation", "centre_centre",
)  # fmt: skip
UNFEED = """
DROP FUNCTION public.scheduling_tell() CASCADE;
DROP FUNCTION public.scheduling_tell_new() CASCADE;
DROP FUNCTION public.scheduling_tell_rules() CASCADE;
DROP SEQUENCE public.scheduling_pool_version;
DROP TABLE public.scheduling_change;
"""


def _rules(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON public.{table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION public.scheduling_tell_rules();",
        f"DROP TRIGGER tell ON public.{table};",
    )


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0001_initial"), ("fleet", "0001_initial"), ("centre", "0001_initial")]

    operations = [
        migrations.RunSQL(FEED, UNFEED),
        migrations.RunSQL(SHRINKING, "DROP FUNCTION public.scheduling_tell_slice() CASCADE;"),
        migrations.RunSQL(WINDOWS, "DROP FUNCTION public.scheduling_tell_windows() CASCADE;"),
        migrations.RunSQL(TARGETS, "DROP TRIGGER tell_wanted ON public.scheduling_workload;"),
        *map(_rules, RULES),
    ]
