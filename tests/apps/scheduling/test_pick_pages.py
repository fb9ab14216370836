"""What the operators' forms offer to choose from: people and devices, by part of a name, for who may see them."""

import html

import pytest
from django.utils import timezone

from apps.fleet.models import Device
from apps.identity.models import User
from apps.identity.pages.picks import OFFERED
from apps.scheduling.models import Reservation, UserGroup
from tests.apps.scheduling.test_limit_pages import local
from tests.apps.scheduling.test_limits import HOUR
from tests.apps.scheduling.test_pages import text

pytestmark = pytest.mark.django_db
PEOPLE, DEVICES = "/scheduling/people/", "/scheduling/devices/"


@pytest.fixture
def page(operator):
    return operator("cluster_administrator").page()


def offered(page, address, **asked):
    answer = page.get(address, asked)
    assert answer.status_code == 200
    return answer.content.decode()


def test_people_are_found_by_every_word_of_a_name_and_within_a_tenant(page, alice, member):
    other = member("globex", "tenant_front_line").user
    User.objects.filter(pk=alice.user.pk).update(display_name="李 Ai <b>")
    found = offered(page, PEOPLE, q="ai 李")
    assert f'data-value="{alice.user.username}"' in found
    assert "<b>" not in found
    assert "李 Ai <b>" in html.unescape(found)
    assert other.username not in offered(page, PEOPLE, q="front_line", tenant="acme")
    assert 'data-test="pick-none"' in offered(page, PEOPLE, q="nobody of this name")
    assert 'data-test="pick-none"' in offered(page, PEOPLE, q="", tenant="no-such-tenant")


def test_nobody_is_found_by_what_the_reader_may_not_see(page, alice):
    User.objects.filter(pk=alice.user.pk).update(email="ai.li@secret.example")
    assert 'data-test="pick-none"' in offered(page, PEOPLE, q="secret.example")


def test_who_cannot_sign_in_is_not_offered(page, alice):
    User.objects.filter(pk=alice.user.pk).update(is_active=False)
    assert f'data-value="{alice.user.username}"' not in offered(page, PEOPLE, q=alice.user.username)


def test_of_thousands_some_are_offered_and_the_reader_is_told(page, django_assert_max_num_queries):
    User.objects.bulk_create(User(username=f"crowd{n:04}", display_name=f"Crowd {n}") for n in range(2000))
    with django_assert_max_num_queries(12):
        found = offered(page, PEOPLE, q="crowd")
    assert found.count('data-test="pick-option"') == OFFERED
    assert "type more of the name" in found
    assert offered(page, PEOPLE, q="crowd1234").count('data-test="pick-option"') == 1


def test_devices_are_found_by_node_model_and_index(page, alice):
    device = Device.objects.select_related("node").first()
    for words in (device.node.name, device.uid, f"{device.node.name} #{device.index}", ""):
        assert f'data-value="{device.uid}"' in offered(page, DEVICES, q=words)
    for words in ("no such card", "#99999", f"#{'9' * 30}"):
        assert 'data-test="pick-none"' in offered(page, DEVICES, q=words)


def test_who_may_not_see_the_scheduler_is_offered_nobody(operator, alice):
    for address in (PEOPLE, DEVICES):
        assert operator("front_line").page().get(address).status_code == 403
        assert alice.page().get(address).status_code == 404


@pytest.mark.req("PLAT-CLU-61")
def test_what_is_chosen_stands_in_the_form_by_its_name(page, alice):
    given = {"code": "lab", "name_en": "Lab", "name_zh": "实验室"}
    assert page.post("/scheduling/user-groups/", {**given, "users": alice.user.username}).status_code == 302
    shown = html.unescape(text(page.get("/scheduling/user-groups/lab/")))
    assert f'"{alice.user.username}": "{alice.user.display_name}"' in shown
    assert "commas between them" in shown
    refused = page.post("/scheduling/user-groups/lab/", {**given, "users": f"{alice.user.username}、nobody"})
    assert refused.status_code == 400
    assert UserGroup.objects.get().users.count() == 1


@pytest.mark.req("ELA-305")
def test_reserved_devices_are_called_by_node_and_index(page, alice):
    devices = list(Device.objects.select_related("node").order_by("pk")[:2])
    now = timezone.now()
    given = {"name": "kept", "tenant": "acme", "from_at": local(now + HOUR), "to_at": local(now + 2 * HOUR)}
    sent = page.post("/scheduling/reservations/", {**given, "device_uids": ", ".join(d.uid for d in devices)})
    assert sent.status_code == 302, sent.content
    assert Reservation.objects.get().device_uids == [device.uid for device in devices]
    shown = text(page.get("/scheduling/reservations/"))
    for device in devices:
        assert f"{device.node.name} #{device.index}" in shown
        assert device.uid not in shown
