"""What work and applications are for where they name no business system: a default of each person (PLAT-TEN-20)."""

from dataclasses import replace

import pytest

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import in_tenant
from apps.orgs.models import BusinessSystem
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_member_add,
    business_system_member_remove,
)
from apps.orgs.services.default_systems import default_system_set, work_system_of
from apps.orgs.services.organizations import organization_create

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-20", "PLAT-TEN-22")]
PATH = "/api/v1/business-systems/default"


@pytest.fixture
def eva(member):
    return member("acme", "tenant_front_line", "eva")


@pytest.fixture
def speech(eva):
    with in_tenant("acme"):
        physics = organization_create(actor=SYSTEM, name="Physics")
        row = business_system_create(actor=SYSTEM, name="Speech", number="N-1", organization=physics)
        business_system_create(actor=SYSTEM, name="Vision", number="N-2", organization=physics)
        business_system_member_add(actor=SYSTEM, business_system=row, user=eva.user)
    return row


def acting(person, row):
    return replace(person.actor, default_system=row.uid if row else None)


def test_it_is_chosen_of_those_one_takes_part_in_by_number_or_uid(eva, speech):
    api = eva.api()
    assert api.get(PATH).json() == {"business_system": None, "is_usable": False}
    chosen = api.put(PATH, {"business_system": "N-1"}, format="json").json()
    assert (chosen["business_system"]["name"], chosen["is_usable"]) == ("Speech", True)
    assert api.put(PATH, {"business_system": str(speech.uid)}, format="json").status_code == 200
    for other in ("N-2", "N-9", "0" * 48, "00000000-0000-0000-0000-000000000000"):
        refused = api.put(PATH, {"business_system": other}, format="json")
        assert (refused.status_code, "business_system" in refused.json()["error"]["fields"]) == (400, True)
    assert api.get(PATH).json()["business_system"]["number"] == "N-1"
    assert api.delete(PATH).status_code == 204
    assert api.get(PATH).json()["business_system"] is None


def test_each_has_his_own_and_none_in_another_tenant(eva, speech, member):
    eva.api().put(PATH, {"business_system": "N-1"}, format="json")
    fred, gina = member("acme", "tenant_front_line", "fred"), member("globex", "tenant_front_line", "gina")
    assert fred.api().get(PATH).json()["business_system"] is None
    assert gina.api().get(PATH).json()["business_system"] is None
    assert gina.api().put(PATH, {"business_system": str(speech.uid)}, format="json").status_code == 400


def test_who_sees_a_business_system_without_taking_part_has_it_not_as_default(member, speech):
    chief = member("acme", "tenant_system_administrator", "chief")
    refused = chief.api().put(PATH, {"business_system": "N-2"}, format="json")
    assert refused.json()["error"]["message"] == "You take no part in Vision."


def test_work_is_for_what_it_names_else_for_the_default(eva, speech):
    assert work_system_of(actor=eva.actor, asked="") is None
    assert work_system_of(actor=acting(eva, speech), asked="") == (speech.uid, "Speech")
    assert work_system_of(actor=eva.actor, asked="N-1") == (speech.uid, "Speech")
    with pytest.raises(InvalidInput, match="no business system N-2"):
        work_system_of(actor=acting(eva, speech), asked="N-2")


def test_a_default_that_one_takes_part_in_no_longer_is_refused_and_said(eva, speech):
    with in_tenant("acme"):
        default_system_set(actor=eva.actor, business_system=speech)
        business_system_member_remove(actor=SYSTEM, business_system=speech, user=eva.user)
    with pytest.raises(InvalidInput, match="no longer take part in your default business system Speech"):
        work_system_of(actor=acting(eva, speech), asked="")
    assert eva.api().get(PATH).json()["is_usable"] is False
    page = eva.page().get("/account/business-systems/").content.decode()
    assert 'data-test="default-refused"' in page
    with in_tenant("acme"):
        business_system_member_add(actor=SYSTEM, business_system=speech, user=eva.user)
        BusinessSystem.objects.update(is_enabled=False)
    with pytest.raises(InvalidInput, match="Speech is disabled"):
        work_system_of(actor=acting(eva, speech), asked="")


def test_it_is_chosen_on_a_page_and_given_up_there(eva, speech):
    browser = eva.page()
    assert 'data-test="system-N-1"' in browser.get("/account/business-systems/").content.decode()
    browser.post("/account/business-systems/", {"business_system": str(speech.uid)})
    assert eva.api().get(PATH).json()["business_system"]["number"] == "N-1"
    browser.post("/account/business-systems/", {"business_system": ""})
    assert eva.api().get(PATH).json()["business_system"] is None
