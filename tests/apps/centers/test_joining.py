"""Centres join, change and leave; what a centre does not take changes nothing (JC-6.1.1-1)."""

import json

import pytest
from django.db import IntegrityError, connection, transaction

from apps.audit.models import Record
from apps.centers.errors import CenterInUse, CenterNonsense, CenterSaysNo, CenterSilent
from apps.centers.models import Center, CenterCredential, CenterSample
from apps.centers.selectors import center_get
from apps.centers.services.centers import (
    center_change,
    center_credential_set,
    center_drain,
    center_remove,
    center_set,
    center_undrain,
)
from apps.centers.services.credentials import credential_open
from apps.centers.services.sampling import center_sample_now
from apps.centers.services.specs import offer_remove, offer_set, resource_spec_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound

pytestmark = pytest.mark.django_db
TABLE_1 = pytest.mark.req("JC-6.1.1-1", "JC-5-1", "JC-6.5-2")


@TABLE_1
@pytest.mark.req("JC-6.1.1-2", "JC-5a")
def test_a_centre_that_answers_joins_with_what_it_holds(join):
    row = join(facts={"name": "湖畔智算中心", "region": "华东", "longitude": 120.15, "latitude": 30.28})
    row = center_get(row.ai_center_id)
    assert (row.name, row.region, row.status, row.geometry) == ("湖畔智算中心", "华东", 1, [120.15, 30.28])
    assert (row.sample.total.gpu, row.sample.used.gpu, row.sample.free.gpu) == (8, 3, 5)
    assert row.sample.version == "telling 1.0"
    assert row.takes_work


@pytest.mark.req("PLAT-SEC-4")
def test_its_credential_is_sealed_and_told_nowhere(join, telling):
    secret = "s3sam-0pen"
    telling.say(token=secret)
    row = join(secrets={"token": secret})
    assert credential_open(row) == {"token": secret}
    with connection.cursor() as cursor:
        for table in ("centers_center", "centers_centercredential", "audit_record"):
            cursor.execute(f"SELECT t::text FROM {table} t")
            texts = [text for (text,) in cursor.fetchall()]
            assert texts
            assert not any(secret in text for text in texts), table
    assert Record.objects.filter(name="center_add", subject_id="lake").count() == 1


@pytest.mark.parametrize(
    ("says", "kind", "words"),
    [
        ({"token": "another"}, CenterSaysNo, "wrong or has expired"),
        ({"trouble": "unreachable"}, CenterSilent, "did not answer within 20 s"),
        ({"trouble": "broken"}, CenterNonsense, "longer than 64 MiB"),
        ({"trouble": "fails"}, CenterNonsense, "RecursionError: too deep"),
        ({"total": {"cpu": -1}}, CenterNonsense, r"cpu \(total\) is -1"),
        ({"total": {"cpu": 10**16}}, CenterNonsense, "says what cannot be"),
        ({"nodes": 10**70}, CenterNonsense, "more than 60 digits"),
        ({"nodes": "many"}, CenterNonsense, "nodes is many"),
        ({"running": True}, CenterNonsense, "running_tasks is True"),
        ({"used": {"gpu": 9}}, CenterNonsense, "of 8 gpu it says that 9 are in use"),
    ],
)
def test_a_centre_that_does_not_answer_well_is_not_joined(join, telling, says, kind, words):
    telling.say(**says)
    with pytest.raises(kind, match=words) as caught:
        join()
    assert caught.value.cure
    assert not Center.objects.exists()
    assert len(str(caught.value.message)) <= 500


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"code": "Lake"}, "ai_center_id"),
        ({"code": "x" * 33}, "ai_center_id"),
        ({"code": "a,b"}, "ai_center_id"),
        ({"facts": {"name": "湖" * 22}}, "name"),
        ({"facts": {"name": "   "}}, "name"),
        ({"facts": {"name": "La\x00ke"}}, "name"),
        ({"facts": {"region": "r" * 64}}, "region"),
        ({"facts": {"longitude": 181.0, "latitude": 1.0}}, "longitude"),
        ({"facts": {"longitude": float("nan"), "latitude": 1.0}}, "longitude"),
        ({"facts": {"longitude": 1.0}}, "latitude"),
        ({"facts": {"security_grade": 0}}, "security_grade"),
        ({"facts": {"stale_after_s": 300, "lost_after_s": 300}}, "lost_after_s"),
        ({"settings": {}}, "address"),
        ({"settings": {"address": "a\x1bb"}}, "address"),
        ({"settings": {"address": "a", "colour": "red"}}, "colour"),
        ({"settings": {"address": "a", "token": "right"}}, "token"),
        ({"secrets": {}}, "token"),
        ({"secrets": {"token": "x" * 40_000}}, "token"),
    ],
)
def test_what_is_wrong_is_said_by_its_field_before_the_centre_is_asked(join, telling, more, field):
    with pytest.raises(InvalidInput) as caught:
        join(**more)
    assert list(caught.value.fields) == [field]
    assert telling.calls == []
    assert not Center.objects.exists()


def test_an_address_of_this_machine_is_refused_by_its_adapter(join):
    with pytest.raises(CenterSaysNo, match="address of this machine"):
        join(settings={"address": "127.0.0.1"})


def test_codes_and_names_are_there_once(join):
    join()
    for code, name in (("lake", "Sea"), ("sea", "Lake")):
        with pytest.raises(Conflict, match="already"):
            join(code, facts={"name": name})
    assert Center.objects.count() == 1


def test_only_those_who_manage_centres_change_them(join, operator, telling):
    join()
    asked = len(telling.calls)
    for role in ("executive", "front_line", "operations_manager"):
        actor = operator(role).actor
        with pytest.raises(Forbidden):
            center_drain(actor=actor, ai_center_id="lake")
        with pytest.raises(Forbidden):
            center_credential_set(actor=actor, ai_center_id="lake", secrets={"token": "right"})
        with pytest.raises(Forbidden):
            center_sample_now(actor=actor, ai_center_id="lake")
    assert len(telling.calls) == asked
    center_drain(actor=operator("cluster_administrator").actor, ai_center_id="lake")


@TABLE_1
def test_a_centre_is_changed_and_drained(join):
    join()
    row = center_change(actor=SYSTEM, ai_center_id="lake", facts={"name": "Lakeside", "security_grade": 3})
    assert (row.name, row.security_grade, row.revision) == ("Lakeside", 3, 1)
    assert not center_drain(actor=SYSTEM, ai_center_id="lake").takes_work
    assert center_undrain(actor=SYSTEM, ai_center_id="lake").takes_work
    with pytest.raises(NotFound, match="no centre sea"):
        center_drain(actor=SYSTEM, ai_center_id="sea")


def test_what_one_does_not_change_stays_as_another_has_said_it_meanwhile(join):
    row = join()
    told = {"actor": SYSTEM, "ai_center_id": "lake", "values": None, "answer": None, "revision": row.revision}
    for facts in ({"region": "West"}, {"stale_after_s": 60, "name": "Lakeside"}):
        center_set(facts=facts, **told)
    row = center_get("lake")
    assert (row.region, row.name, row.stale_after_s) == ("West", "Lakeside", 60)
    with pytest.raises(InvalidInput):
        center_set(facts={"lost_after_s": 60}, **told)


def test_other_settings_are_tried_first(join, telling, tmp_path):
    row = join()
    changed = {"actor": SYSTEM, "ai_center_id": "lake", "facts": {}, "secrets": {"token": "right"}}
    with pytest.raises(CenterSilent):
        center_change(**changed, settings={"address": str(tmp_path / "no.json")})
    assert Center.objects.get().settings == row.settings
    other = type(telling)(tmp_path / "other.json").say(total={"gpu": 80}, used={})
    center_change(**changed, settings={"address": str(other.path)})
    row = center_get("lake")
    assert (row.settings["address"], row.revision, row.sample.total.gpu) == (str(other.path), 2, 80)


@pytest.mark.parametrize("secrets", [None, {}, {"token": ""}])
def test_the_credential_that_is_kept_goes_to_no_other_address(join, telling, tmp_path, secrets):
    join()
    thief = type(telling)(tmp_path / "thief.json").say(total={"gpu": 80}, used={})
    with pytest.raises(InvalidInput) as refused:
        center_change(
            actor=SYSTEM,
            ai_center_id="lake",
            facts={"region": "West"},
            settings={"address": str(thief.path)},
            secrets=secrets,
        )
    assert set(refused.value.fields) == {"address"}
    assert Center.objects.get().region == ""
    other = {"address": str(telling.path), "remark": "elsewhere"}
    center_change(actor=SYSTEM, ai_center_id="lake", facts={}, settings=other, secrets=secrets)
    assert Center.objects.get().settings == other, "what is no place needs no credential"


def test_a_credential_is_changed_once_the_centre_takes_it(join, telling):
    join()
    telling.say(token="new")
    with pytest.raises(CenterSaysNo, match="expired"):
        center_credential_set(actor=SYSTEM, ai_center_id="lake", secrets={"token": "wrong"})
    assert credential_open(Center.objects.get()) == {"token": "right"}
    row = center_credential_set(actor=SYSTEM, ai_center_id="lake", secrets={"token": "new"})
    assert credential_open(row) == {"token": "new"}
    assert row.revision == 2


def test_a_centre_is_removed_when_it_offers_nothing(join):
    join()
    resource_spec_make(
        actor=SYSTEM, resource_spec_id="small", resource_spec_name="Small", resource_quantity={"cpu": "1"}
    )
    offer_set(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake")
    with pytest.raises(CenterInUse, match="Lake offers specifications: Small") as caught:
        center_remove(actor=SYSTEM, ai_center_id="lake")
    assert "Drain it" in str(caught.value.cure)
    assert Center.objects.exists()
    offer_remove(actor=SYSTEM, resource_spec_id="small", ai_center_id="lake")
    center_remove(actor=SYSTEM, ai_center_id="lake")
    assert not Center.objects.exists()
    assert not CenterSample.objects.exists()
    assert not CenterCredential.objects.exists()


def test_the_database_itself_refuses_what_cannot_be(join):
    row = join()
    for values in ({"status": 3}, {"name": "湖" * 22}, {"longitude": 500.0}, {"lost_after_s": 1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Center.objects.filter(pk=row.pk).update(**values)
    with pytest.raises(IntegrityError), transaction.atomic():
        CenterSample.objects.update(used_gpu=9)


def test_settings_that_are_kept_hold_no_secret(join):
    assert json.dumps(join().settings).count("right") == 0
