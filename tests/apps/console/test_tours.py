"""The guided tour of each role: its pages open, it is offered until it is ended, and once only."""

import pytest

from apps.console.tours.selectors import stops_for
from apps.console.tours.stops import PROVIDER_TOURS, TENANT_TOURS
from portal.roles import OPERATOR_ROLES, TENANT_ROLES

pytestmark = [pytest.mark.django_db]
OFFER = 'data-test="tour-offer"'


def text_of(answer) -> str:
    assert answer.status_code == 200
    return answer.content.decode()


def walked(page, count: int) -> None:
    """Every stop, from the first on by the address of the next."""
    address = page.get("/tour/").headers["Location"]
    for number in range(1, count + 1):
        answer = page.get(address)
        assert answer.status_code == 200, address
        stop = answer.context["stop"]
        assert stop["progress"] == f"{number} of {count}"
        assert 'id="tour-stop"' in answer.content.decode()
        address = stop["next"]
    assert address == ""


@pytest.mark.parametrize("role", TENANT_TOURS)
def test_each_tenants_role_is_led_through_pages_that_open_for_it(member, role):
    person = member("acme", role, "nia")
    page = person.page()
    page.cookies["django_language"] = "en"
    stops = stops_for(person.actor)
    assert [stop.view for stop in stops] == [stop.view for stop in TENANT_TOURS[role]]
    walked(page, len(stops))


@pytest.mark.parametrize("role", PROVIDER_TOURS)
def test_each_operators_role_is_led_through_pages_that_open_for_it(operator, role):
    person = operator(role, username="nia")
    page = person.page()
    page.cookies["django_language"] = "en"
    stops = stops_for(person.actor)
    assert [stop.view for stop in stops] == [stop.view for stop in PROVIDER_TOURS[role]]
    walked(page, len(stops))


def test_no_built_in_role_is_without_a_tour():
    assert {role.code for role in TENANT_ROLES} == set(TENANT_TOURS)
    assert {role.code for role in OPERATOR_ROLES} == set(PROVIDER_TOURS)


def test_it_is_offered_until_it_is_ended_once_for_each_role(member):
    person = member("acme", "tenant_front_line", "nia")
    page = person.page()
    assert OFFER in text_of(page.get("/"))
    for _twice in range(2):
        assert page.post("/tour/end/").status_code == 302
    assert OFFER not in text_of(page.get("/"))
    person.user.refresh_from_db()
    assert person.user.tours_ended == ["tenant_front_line"]
    assert page.get("/tour/").status_code == 302, "the menu has it still"


def test_a_number_that_is_no_stop_of_this_page_shows_nothing(member):
    page = member("acme", "tenant_front_line", "nia").page()
    for wrong in ("0", "2", "99", "-1", "x", "²", "1" * 400, "\x7f"):
        assert 'id="tour-stop"' not in text_of(page.get("/", {"tour": wrong})), wrong


def test_a_visitor_ends_nobodys_tour(client):
    assert client.post("/tour/end/", headers={"host": "acme.localhost"}).status_code == 302
    assert "login" in client.post("/tour/end/", headers={"host": "localhost"}).headers["Location"]
