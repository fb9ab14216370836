"""Prepared queries answer as the querysets they are made of; many rows are inserted as they would be one by one."""

import time
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists, OuterRef
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.audit.models import Record
from apps.fleet.models import Device, Node, ResourceGroup
from apps.kernel.bulk import insert_many
from apps.kernel.planes import in_tenant
from apps.kernel.prepared_queries import ArrayParam, Param, PreparedQuery, PreparedValues, pipeline
from apps.orgs.models import TenantRole
from apps.scheduling.models import QuotaHold, TenantQuota
from apps.scheduling.states import HoldState
from apps.telemetry.models import LogEntry
from apps.tenancy.models import Domain, Tenant

pytestmark = pytest.mark.django_db


def statements(asked: CaptureQueriesContext) -> list[str]:
    """What was asked, without the tenant's schema being entered, which any first statement does."""
    return [each["sql"] for each in asked if not each["sql"].startswith("SET search_path")]


def test_rows_are_those_of_the_queryset(acme, globex):
    named = PreparedQuery(lambda: Tenant.objects.filter(schema_name=Param("schema")))
    assert named.all(schema="acme") == [acme]
    assert named.first(schema="globex") == globex
    assert named.first(schema="nobody") is None
    assert vars(named.first(schema="acme")).keys() == vars(Tenant.objects.get(pk=acme.pk)).keys()


def test_related_rows_and_annotations_come_along(acme):
    domains = PreparedQuery(
        lambda: (
            Domain.objects.filter(tenant=Param("tenant"))
            .annotate(twice=Exists(Domain.objects.filter(domain=OuterRef("domain"), tenant=Param("other"))))
            .order_by("pk")
        ),
        fields=("domain", "tenant", "is_primary", "tenant__schema_name"),
        annotations=("twice",),
    )
    with CaptureQueriesContext(connection) as asked:
        found = domains.all(tenant=acme.pk, other=-1)
        assert {each.tenant.schema_name for each in found} == {"acme"}
    assert len(statements(asked)) == 1
    assert [each.twice for each in found] == [False] * Domain.objects.filter(tenant=acme).count()
    assert all(each.twice for each in domains.all(tenant=acme.pk, other=acme.pk))


def test_any_of_a_list(acme, globex):
    names = PreparedValues(
        lambda: Tenant.objects.filter(pk=ArrayParam("pks")).order_by("pk"), "schema_name", "pk"
    )
    assert names.all(pks=[acme.pk, globex.pk]) == [("acme", acme.pk), ("globex", globex.pk)]
    assert names.all(pks=[]) == []


def test_what_is_always_the_same_stands_in_the_sql(acme):
    odd = PreparedQuery(
        lambda: Tenant.objects.exclude(name__contains="100 % '").filter(
            schema_name__in=["acme", "x"], pk=Param("pk")
        )
    )
    with CaptureQueriesContext(connection) as asked:
        assert odd.all(pk=acme.pk) == [acme]
    assert "'acme', 'x'" in statements(asked)[0]


def test_tuples_and_sums(acme):
    items = PreparedValues(
        lambda: (
            TenantQuota.plain.filter(tenant_id=Param("tenant"))
            .values("item")
            .annotate(count=Count("pk"))
            .order_by("item")
        ),
        "item",
        "count",
    )
    rows = (
        TenantQuota.plain.filter(tenant=acme).values_list("item").annotate(count=Count("pk")).order_by("item")
    )
    assert items.all(tenant=acme.pk) == list(rows)


def test_a_deferred_column_is_read_when_asked_for(acme):
    short = PreparedQuery(lambda: Tenant.objects.filter(pk=Param("pk")), fields=("schema_name",))
    found = short.first(pk=acme.pk)
    assert found.get_deferred_fields() == {
        each.attname for each in Tenant._meta.concrete_fields if each.name not in ("id", "schema_name")
    }
    assert found.name == acme.name


def test_values_are_as_the_fields_have_them():
    """Of a row and of a related one's columns: JSON is no text."""
    Record.objects.create(name="x", actor_kind="system", detail={"a": [1, None]}, at=timezone.now())
    last = PreparedQuery(lambda: Record.objects.order_by("-pk")[:1])
    assert last.first().detail == {"a": [1, None]}
    assert vars(last.first()).keys() == vars(Record.objects.order_by("-pk")[0]).keys()
    detail = PreparedValues(lambda: Record.objects.order_by("-pk")[:1], "detail", "uid")
    assert detail.first() == Record.objects.order_by("-pk").values_list("detail", "uid")[0]


def test_related_rows_are_shared_and_may_be_missing(acme):
    uids = [uuid4() for _each in range(3)]
    node = Node.objects.create(uid="n1", name="n1", last_seen_at=timezone.now())
    for index, group in enumerate([ResourceGroup.objects.create(code="g"), None, None]):
        Device.objects.create(
            uid=str(uids[index]), index=index, node=node, group=group, memory_mib=1, reported_mib=1
        )
    devices = PreparedQuery(
        lambda: Device.objects.select_for_update(of=("self",)).filter(uid=ArrayParam("uids")).order_by("pk"),
        fields=("uid", "node", "group", "node__name", "group__code"),
    )
    with CaptureQueriesContext(connection) as asked:
        found = devices.all(uids=[str(uid) for uid in uids])
        assert [each.group and each.group.code for each in found] == ["g", None, None]
        assert found[0].node is found[2].node
        assert found[0].node.name == "n1"
    (statement,) = statements(asked)
    assert 'FOR UPDATE OF "fleet_device"' in statement


def test_a_value_that_is_missing_is_named():
    with pytest.raises(KeyError, match="schema"):
        PreparedQuery(lambda: Tenant.objects.filter(schema_name=Param("schema"))).all(code="acme")


def test_the_tenants_own_schema_is_asked(acme, globex):
    """A plan that was kept in one tenant's schema reads the other's tables in the other's."""
    roles = PreparedQuery(lambda: TenantRole.objects.order_by("pk"))
    for tenant in (acme, globex, acme, globex):
        with in_tenant(tenant.schema_name):
            TenantRole.objects.filter(pk=roles.all()[0].pk).update(name_en=tenant.schema_name)
            assert roles.all()[0].name_en == tenant.schema_name


def test_a_database_error_is_djangos(acme):
    hold = {"tenant": acme, "holder_uid": uuid4(), "item": "instances", "amount": 1}
    insert_many([QuotaHold(**hold)])
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_many([QuotaHold(**hold)])
    assert QuotaHold.plain.filter(holder_uid=hold["holder_uid"]).count() == 1


def test_piped_statements_are_in_order_and_others_wait(acme):
    """What the database answers to a statement that is not `prepared` is known at once, and rows that are read too."""
    uid = uuid4()
    held = PreparedValues(lambda: QuotaHold.plain.filter(holder_uid=Param("holder")), "state")
    with pipeline():
        insert_many([QuotaHold(tenant=acme, holder_uid=uid, item="instances", amount=1)], keyed=False)
        assert held.all(holder=uid) == [("in_process",)]
        assert QuotaHold.plain.filter(holder_uid=uid, state="used").update(amount=2) == 0
        assert QuotaHold.plain.filter(holder_uid=uid).update(state="used") == 1
        insert_many([QuotaHold(tenant=acme, holder_uid=uid, item="gpu_memory_mib", amount=1)], keyed=False)
    assert sorted(held.all(holder=uid)) == [("in_process",), ("used",)]


def test_what_is_refused_in_a_pipe_is_told_at_its_end_and_undoes_all(acme):
    uid = uuid4()
    hold = {"tenant": acme, "holder_uid": uid, "item": "instances", "amount": 1}

    @transaction.atomic
    def twice() -> None:
        with pipeline():
            insert_many([QuotaHold(**hold)], keyed=False)
            insert_many([QuotaHold(**hold)], keyed=False)
            insert_many([QuotaHold(**hold | {"item": "gpu_memory_mib"})], keyed=False)

    with pytest.raises(IntegrityError):
        twice()
    assert not QuotaHold.plain.filter(holder_uid=uid).exists()


def test_what_a_nested_transaction_in_a_pipe_does_wrong_is_djangos_and_undone_alone(acme):
    """Of a statement that waits it is told at once, of one that does not at the latest where the nested one ends."""
    hold = {"tenant": acme, "holder_uid": uuid4(), "item": "instances", "amount": 1}
    with transaction.atomic(), pipeline():
        insert_many([QuotaHold(**hold)], keyed=False)
        with pytest.raises(IntegrityError), transaction.atomic():
            QuotaHold.plain.create(**hold)
        with pytest.raises(IntegrityError), transaction.atomic():
            insert_many([QuotaHold(**hold)], keyed=False)
        insert_many([QuotaHold(**hold | {"item": "gpu_memory_mib"})], keyed=False)
    assert QuotaHold.plain.filter(holder_uid=hold["holder_uid"]).count() == 2


@pytest.mark.parametrize("before", ["it is read", "the next is sent", "the savepoint is left"])
def test_whenever_the_error_of_a_nested_transaction_in_a_pipe_comes_it_undoes_that_alone(acme, before):
    hold = {"tenant": acme, "holder_uid": uuid4(), "item": "instances", "amount": 1}

    @transaction.atomic
    def fail() -> None:
        insert_many([QuotaHold(**hold)], keyed=before == "it is read")
        # The server's word is here before anything more is asked.
        time.sleep(0.1)
        if before == "the next is sent":
            insert_many([QuotaHold(**hold), QuotaHold(**hold)], keyed=False)

    with transaction.atomic(), pipeline():
        insert_many([QuotaHold(**hold)], keyed=False)
        with pytest.raises(IntegrityError):
            fail()
        insert_many([QuotaHold(**hold | {"item": "gpu_memory_mib"})], keyed=False)
    assert QuotaHold.plain.filter(holder_uid=hold["holder_uid"]).count() == 2


def test_an_error_of_ours_undoes_a_nested_transaction_that_the_database_has_refused_unheard(acme):
    hold = {"tenant": acme, "holder_uid": uuid4(), "item": "instances", "amount": 1}

    @transaction.atomic
    def fail() -> None:
        insert_many([QuotaHold(**hold)], keyed=False)
        raise ValueError("ours")

    with transaction.atomic(), pipeline():
        insert_many([QuotaHold(**hold)], keyed=False)
        with pytest.raises(ValueError, match="ours"):
            fail()
        insert_many([QuotaHold(**hold | {"item": "gpu_memory_mib"})], keyed=False)
    assert QuotaHold.plain.filter(holder_uid=hold["holder_uid"]).count() == 2


def test_an_error_of_ours_in_a_pipe_stays_what_it_is(acme):
    uid = uuid4()

    @transaction.atomic
    def fail() -> None:
        with pipeline():
            insert_many([QuotaHold(tenant=acme, holder_uid=uid, item="instances", amount=1)], keyed=False)
            raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        fail()
    assert not QuotaHold.plain.filter(holder_uid=uid).exists()


@pytest.mark.parametrize("count", [1, 3])
def test_rows_are_inserted_as_one_by_one(count):
    """Defaults of the database and of the model, empty and differing values, JSON."""
    details = [{"a": number, "b": ["", None, True]} for number in range(count)]
    rows = [
        Record(name="x", actor_kind="system", actor_name=f"s'{at}", detail=detail, at=timezone.now())
        for at, detail in enumerate(details)
    ]
    insert_many(rows)
    kept = Record.objects.filter(pk__in=[row.pk for row in rows]).order_by("pk")
    assert [row.detail for row in kept] == details
    assert [row.uid for row in kept] == [row.uid for row in rows]
    assert {(row.user_id, row.role, row.subject_id) for row in kept} == {(None, "", "")}
    assert len({row.txid for row in kept}) == 1
    insert_many([LogEntry(at=timezone.now(), level="info", text="100 % ''") for _each in range(count)])
    assert set(LogEntry.objects.values_list("text", "priority")) == {("100 % ''", None)}
    insert_many([])


def test_states_are_written_as_their_values(acme):
    uid = uuid4()
    insert_many([QuotaHold(tenant=acme, holder_uid=uid, item="instances", amount=2, state=HoldState.USED)])
    assert QuotaHold.plain.filter(holder_uid=uid, state="used").exists()


def test_the_server_keeps_a_plan_of_what_is_asked_again_and_psycopg_no_text_of_anything_else(acme):
    named = PreparedValues(lambda: Tenant.objects.filter(schema_name=Param("schema")), "name")
    with pipeline():
        assert [named.first(schema="acme") for _again in range(3)] == [(acme.name,)] * 3
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement = %s",
            [named._select.sql.replace("%s", "$1")],
        )
        assert cursor.fetchone() == (1,)
    known = connection.connection._prepared
    before = {*known._counts, *known._names}
    now = timezone.now()
    for number in range(3):
        LogEntry.objects.bulk_create(
            LogEntry(at=now, level="info", text=f"{number} {'x' * 500}") for _ in range(50)
        )
    assert {*known._counts, *known._names} == before
