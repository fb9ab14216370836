"""What grows: counts that need not count, time lines that are forgotten, questions that read no past work."""

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.bulk import insert_many
from apps.scheduling.models import Allocation, Decision, PastUse, QuotaHold, Tally, Workload
from apps.scheduling.selectors.usage.statistics import decision_counts, workload_counts
from apps.scheduling.selectors.workloads import quota_get, workload_list_across
from apps.scheduling.services.cycle.housekeeping import DECISIONS_KEPT, decisions_prune, tallies_fold
from apps.scheduling.services.cycle.start_estimates import start_estimates_make, workloads_unestimated
from apps.scheduling.services.cycle.usage_decay import past_use_account
from apps.scheduling.services.decisions import decisions_put
from apps.scheduling.tasks import decisions_forget, tallies_tidy
from portal.prometheus import PortalCollector
from tests.apps.scheduling.pool import node_make, submit


def counted():
    """The figures that the tallies keep, counted anew from the rows."""
    kinds, states = {}, {}
    for kind in Decision.objects.values_list("kind", flat=True):
        kinds[kind] = kinds.get(kind, 0) + 1
    for state in Workload.objects.across().values_list("state", flat=True):
        states[state] = states.get(state, 0) + 1
    return kinds, states


@pytest.fixture
def row(db, acme):
    node_make()
    return submit(acme)


@pytest.mark.req("ELA-2108")
def test_what_is_tallied_is_what_there_is_before_and_after_it_is_folded(row, acme):
    assert (decision_counts(), workload_counts()) == counted()
    decisions_put(actor=SYSTEM, lines=[(row.pk, kind, "", {}) for kind in ("waiting", "waiting", "placed")])
    second = submit(acme)
    Workload.plain.filter(pk=row.pk).update(state="finished", ended_at=timezone.now())
    insert_many([Decision(workload_id=second.pk, kind="ended", at=timezone.now())])
    assert decision_counts()["waiting"] == 2
    assert workload_counts() == {"pending": 1, "finished": 1}
    assert (decision_counts(), workload_counts()) == counted()
    tallies_tidy()
    assert Tally.objects.count() == len(decision_counts()) + 1
    tallies_tidy()
    assert (decision_counts(), workload_counts()) == counted()
    Workload.plain.filter(pk=row.pk).update(state="lost")
    assert workload_counts() == {"pending": 1, "lost": 1}


def test_what_is_rolled_back_is_not_counted(row):
    before = decision_counts()
    with transaction.atomic():
        decisions_put(actor=SYSTEM, lines=[(row.pk, "placed", "", {})])
        transaction.set_rollback(True)
    assert decision_counts() == before


@pytest.mark.usefixtures("committed")
def test_folding_beside_those_who_count_loses_nothing(acme):
    node_make()
    row = submit(acme)
    start, failed = threading.Barrier(5), []

    def work(act):
        try:
            start.wait(30)
            for _each in range(20):
                act()
        except BaseException as error:
            failed.append(error)
        finally:
            connection.close()

    put = lambda: decisions_put(actor=SYSTEM, lines=[(row.pk, "waiting", "", {})])  # noqa: E731
    fold = lambda: tallies_fold(actor=SYSTEM)  # noqa: E731
    threads = [threading.Thread(target=work, args=(act,)) for act in (put, put, put, fold, fold)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failed == []
    assert decision_counts()["waiting"] == 60


@pytest.mark.req("ELA-504")
def test_time_lines_of_long_ago_are_forgotten_and_still_counted(row, acme):
    long_ago = timezone.now() - DECISIONS_KEPT - timedelta(days=2)
    running, lately = submit(acme), submit(acme)
    Decision.objects.update(at=long_ago)
    Workload.plain.filter(pk=row.pk).update(state="finished", ended_at=long_ago)
    Workload.plain.filter(pk=lately.pk).update(state="finished", ended_at=timezone.now())
    before = decision_counts()
    assert decisions_forget() == 1
    assert set(Decision.objects.values_list("workload_id", flat=True)) == {running.pk, lately.pk}
    assert decision_counts() == before
    assert decisions_prune(actor=SYSTEM) == 0


def test_metrics_count_no_decision_and_no_ended_work(row):
    list(PortalCollector().collect())
    said = []

    def note(execute, sql, params, many, context):
        said.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        families = {family.name: family for family in PortalCollector().collect()}
    assert not [sql for sql in said if "scheduling_decision" in sql]
    samples = {each.labels["state"]: each.value for each in families["weir_workloads"].samples}
    assert samples == {"pending": 1}
    assert families["weir_scheduler_decisions"].samples


def many(acme, row, count=20_000):
    """A table in which nearly all has ended long ago."""
    ended = timezone.now() - timedelta(days=30)
    columns = [f'"{each.column}"' for each in Workload._meta.concrete_fields if not each.primary_key]
    own = {
        '"uid"': "gen_random_uuid()", '"no"': "'X-' || g", '"state"': "'finished'", '"ended_at"': "%s",
        '"order_uid"': "NULL", '"created_at"': "%s - g * interval '1 second'",
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO scheduling_workload ({', '.join(columns)}) SELECT "
            f"{', '.join(own.get(name, 'w.' + name) for name in columns)} "
            "FROM scheduling_workload w, generate_series(1, %s) g WHERE w.id = %s",
            [*([ended] * sum("%s" in own.get(name, "") for name in columns)), count, row.pk],
        )
    rows = Workload.plain.filter(state="finished")
    held = [
        QuotaHold(tenant=acme, holder_uid=uid, item="instances", amount=1, state="released")
        for uid in rows.values_list("uid", flat=True)
    ]
    insert_many(held)
    device = row.allocations.model._meta.get_field("device").related_model.objects.get()
    insert_many(
        [
            Allocation(
                workload_id=pk, device=device, compute_percent=1, memory_mib=1, slice_uid=uuid4(), state="released",
                released_at=ended,
            )
            for pk in rows.values_list("pk", flat=True)
        ]
    )  # fmt: skip
    for table in ("workload", "quotahold", "allocation", "startestimate"):
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE scheduling_{table}")


def scans(act):
    """The tables that are read as a whole by what `act` asks."""
    asked = []

    def note(execute, sql, params, many, context):
        if sql.lstrip()[:6].upper() in ("SELECT", "WITH G"):
            asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        act()
    found = set()
    for sql, params in asked:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN " + sql, params)
            found |= {
                line.split(" on ")[1].split()[0] for (line,) in cursor.fetchall() if "Seq Scan on" in line
            }
    return found & {
        f"scheduling_{name}" for name in ("workload", "quotahold", "allocation", "decision", "startestimate")
    }


def test_of_work_that_has_ended_nothing_is_read(row, acme):
    many(acme, row)
    PastUse.plain.create(tenant=acme, card_seconds=1, as_of_at=timezone.now() - timedelta(seconds=10))
    for act in (
        lambda: quota_get(acme),
        lambda: list(workload_list_across()[:25]),
        lambda: past_use_account(actor=SYSTEM),
        lambda: workload_counts(),
        lambda: list(workloads_unestimated()),
    ):
        # A table of estimates of one row is sooner read than looked up.
        assert scans(act) <= {"scheduling_startestimate"}
    assert start_estimates_make(actor=SYSTEM) == 1
    assert not workloads_unestimated()
