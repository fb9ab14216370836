"""What was done is kept with the doing, cannot be changed unseen, and is shown to those who may look."""

import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from apps.audit.chain_heads import head_keep, heads_verify
from apps.audit.models import Record, Seal
from apps.audit.selectors import chain_verify, record_list
from apps.audit.services import audit_seal
from apps.identity.models import SignIn
from apps.identity.services.users import LOCK_AFTER, user_disable
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden
from apps.kernel.service import service


@pytest.fixture
def person(member):
    return member("acme", "tenant_front_line")


@pytest.mark.django_db
def test_an_act_names_who_in_which_role_on_what(operator, person):
    admin = operator("system_administrator")
    user_disable(actor=admin.actor, user=person.user)
    row = record_list(subject_kind="user", subject_id=str(person.user.uid)).first()
    assert (row.name, row.actor_kind, row.actor_name) == ("user_disable", "operator", admin.user.username)
    assert (row.user_id, row.role) == (admin.user.pk, "system_administrator")


@pytest.mark.django_db
def test_what_is_refused_leaves_no_record():
    @service()
    def fails(*, actor):
        raise Conflict("no")

    before = Record.objects.count()
    with pytest.raises(Conflict):
        fails(actor=SYSTEM)
    assert Record.objects.count() == before


@pytest.mark.django_db
def test_secrets_never_reach_the_log(member):
    member("acme", "tenant_front_line")
    assert "correct-horse" not in str(list(Record.objects.values_list("detail", flat=True)))


@pytest.mark.django_db
@pytest.mark.parametrize("change", ["UPDATE audit_record SET actor_name = 'x'", "DELETE FROM audit_record"])
def test_the_database_refuses_to_rewrite_the_log(person, change):
    before = Record.objects.count()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute(change)
    assert Record.objects.count() == before


def unguarded(statement: str, *values: object) -> None:
    """What somebody with the keys to the database could do."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)


def seal_soon() -> Seal:
    """A seal waits for every older transaction of the server, also of tests beside this one."""
    for _ in range(600):
        seal = audit_seal(actor=SYSTEM)
        if seal is not None:
            return seal
        time.sleep(0.1)
    raise AssertionError("an older transaction stayed open for a minute")


@pytest.fixture
def sealed(committed, member):
    """Links of the chain over really committed acts; the first and the last of them."""
    member("acme", "tenant_front_line")
    first = seal_soon()
    member("globex", "tenant_front_line")
    second = seal_soon()
    while Record.objects.filter(txid__gte=second.until_txid).exists():
        second = seal_soon()
    return first, second


def test_a_sound_chain_is_found_sound(sealed, capsys, tmp_path):
    report = chain_verify()
    assert (report.seals, report.broken_seal) == (Seal.objects.count(), None)
    assert report.records == Record.objects.count() > 0
    digests = list(Seal.objects.order_by("until_txid").values_list("previous", "digest"))
    assert [previous for previous, _digest in digests[1:]] == [digest for _previous, digest in digests[:-1]]
    call_command("audit_verify", heads=tmp_path / "none.jsonl")
    assert "nothing was changed" in capsys.readouterr().out


def test_there_is_nothing_to_seal_twice(sealed):
    before = Seal.objects.count()
    assert audit_seal(actor=SYSTEM) is None
    assert Seal.objects.count() == before


@pytest.mark.parametrize("where", [0, 1])
def test_a_changed_record_breaks_its_seal(sealed, where):
    seal = sealed[where]
    victim = Record.objects.filter(txid__lt=seal.until_txid).order_by("-txid", "-pk").first()
    unguarded("UPDATE audit_record SET actor_name = 'nobody' WHERE id = %s", victim.pk)
    assert chain_verify().broken_seal == seal.pk
    with pytest.raises(CommandError, match=f"Seal {seal.pk} does not hold"):
        call_command("audit_verify")


def test_a_deleted_record_breaks_its_seal(sealed):
    victim = Record.objects.filter(txid__lt=sealed[0].until_txid).order_by("-txid", "-pk").first()
    unguarded("DELETE FROM audit_record WHERE id = %s", victim.pk)
    assert chain_verify().broken_seal == sealed[0].pk


def test_a_removed_seal_breaks_the_next(sealed):
    follower = Seal.objects.get(previous=sealed[0].digest)
    unguarded("DELETE FROM audit_seal WHERE id = %s", sealed[0].pk)
    assert chain_verify().broken_seal == follower.pk


def test_nobody_but_the_system_seals(operator_actor):
    with pytest.raises(Forbidden):
        audit_seal(actor=operator_actor)


@pytest.fixture
def operator_actor(db, operator):
    return operator("system_administrator").actor


@pytest.mark.django_db
def test_the_api_shows_acts_to_those_who_may_look(operator, person):
    api = operator("system_administrator").api()
    found = api.get("/api/v1/audit/acts?search=membership_add").json()["results"]
    assert {row["name"] for row in found} == {"membership_add"}
    assert operator("front_line").api().get("/api/v1/audit/acts").status_code == 403
    assert person.api().get("/api/v1/audit/acts").status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize("table", ["audit_record", "billing_ledgerleg", "catalog_priceline", "billing_bill"])
def test_the_database_refuses_to_empty_what_is_kept(person, table):
    # What the fixtures wrote is checked first: rows with checks still to come would refuse before the guard does.
    connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute(f"TRUNCATE {table} CASCADE")
    assert Record.objects.exists()


def cut_off(seal: Seal) -> None:
    """The end of the log with its seals: what is left is a chain that holds."""
    unguarded("DELETE FROM audit_record WHERE txid >= %s", seal.until_txid)
    unguarded("DELETE FROM audit_seal WHERE until_txid > %s", seal.until_txid)


def test_a_tail_cut_off_with_its_seals_is_found_by_the_heads_kept_elsewhere(sealed, tmp_path, capsys):
    path = tmp_path / "audit" / "heads.jsonl"
    head = head_keep(path)
    assert head.digest == Seal.objects.order_by("-until_txid").first().digest
    assert head_keep(path) is None, "it is there already"
    call_command("audit_verify", heads=path)
    assert "1 heads kept" in capsys.readouterr().out
    cut_off(sealed[0])
    assert chain_verify().broken_seal is None, "inside the database nothing shows"
    with pytest.raises(CommandError, match="cut off"):
        call_command("audit_verify", heads=path)


def test_heads_are_chained_signed_and_survive_a_torn_line(sealed, member, tmp_path):
    path = tmp_path / "heads.jsonl"
    head_keep(path)
    path.write_bytes(path.read_bytes() + b'{"torn')
    member("acme", "tenant_decision_maker")
    seal_soon()
    assert head_keep(path) is None, "the last one is young"
    head_keep(path, timedelta(0))
    assert heads_verify(path) == (2, "")
    first, second = path.read_text().splitlines()
    for broken in (second + "\n", first.replace('"seals":', '"seals":1') + "\n" + second + "\n"):
        path.write_text(broken)
        assert heads_verify(path)[1]


@pytest.mark.req("PLAT-LOG-2")
@pytest.mark.django_db
def test_what_a_role_does_not_allow_leaves_a_record_by_page_and_by_api(person):
    assert person.api().post("/api/v1/organizations", {"name": "X"}).status_code == 403
    assert person.page().post("/organizations/add/", {"name": "X"}).status_code == 403
    assert person.page().get("/billing/account/").status_code == 403
    rows = Record.objects.filter(name="act_refused", user=person.user).order_by("pk")
    assert [(row.detail["method"], row.subject_id, row.detail["permission"]) for row in rows] == [
        ("POST", "/api/v1/organizations", "orgs.manage"),
        ("POST", "/organizations/add/", "orgs.manage"),
        ("GET", "/billing/account/", "billing.view"),
    ]
    assert {row.schema for row in rows} == {"acme"}


@pytest.mark.django_db
@pytest.mark.req("PLAT-CFG-40")
def test_tries_on_a_locked_account_leave_a_record_and_lock_it_for_no_longer(client, member):
    member("acme", "tenant_front_line", "alice")
    given = {"username": "alice", "password": "wrong-word"}
    answers = [
        client.post("/login/", given, headers={"host": "acme.localhost"}) for _try in range(LOCK_AFTER)
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert client.post("/login/", given, headers={"host": "acme.localhost"}).status_code == 429
    api = client.post("/api/v1/auth/login", given, "application/json", headers={"host": "localhost"})
    assert api.status_code == 429
    rows = Record.objects.filter(name="sign_in_locked")
    assert [(row.subject_id, row.actor_kind) for row in rows] == [("alice", "anonymous")] * 2
    assert SignIn.objects.filter(username="alice").count() == LOCK_AFTER
