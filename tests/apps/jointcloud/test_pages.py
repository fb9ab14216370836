"""The pages: where a task would go, in words, and how centres are chosen."""

import re

import pytest

from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.selectors.settings import settings_now

pytestmark = pytest.mark.django_db
EN = {"accept-language": "en"}
FORM = {"resource_spec_id": "gpu1", "replicas": "1", "job_type": "", "data": "", "weight_price": "1"}
LIMITS = {
    "number": "0", "model": "weighted_sum", "stale_s": "60", "cool_off_failures": "2", "cool_off_s": "5",
    "cool_off_s_unit": "60", "move_gb": "1.5", "usual_duration_s": "3600",
}  # fmt: skip
WEIGHTS = {f"weight_{policy}": "0" for policy in POLICIES}


@pytest.fixture
def network(spec, centre):
    one = spec()
    centre("cheap", one, prices={"gpu1": 100})
    centre("dear", one, prices={"gpu1": 900})
    centre("away", one, is_drained=True)


@pytest.fixture(params=["provider", "tenant"])
def reader(request, operator, member):
    if request.param == "provider":
        return operator("cluster_administrator").page()
    return member("acme", "tenant_front_line").page()


def text_of(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


@pytest.mark.req("JC-6.6-1", "JC-6.6.3-3")
def test_every_centre_is_told_in_words(reader, network):
    page = reader.get("/placements/", headers=EN)
    assert page.status_code == 200
    assert 'name="weight_price"' in page.content.decode()
    answer = reader.get("/placements/", FORM, headers=EN)
    assert answer.status_code == 200, answer.content.decode()
    told = text_of(answer)
    for words in (
        "It would go there", "Centre cheap is best, with 100 of 100 points.", "Price aware: 100 × 1.000 = 100.0",
        "The centre is being drained", "9.00",
    ):  # fmt: skip
        assert words in told
    assert "secret-address" not in answer.content.decode()
    part = reader.get("/placements/", FORM, headers=EN | {"HX-Request": "true"})
    assert "<html" not in part.content.decode()


def test_what_nobody_takes_would_wait(reader, network):
    told = text_of(reader.get("/placements/", FORM | {"replicas": "9"}, headers=EN))
    assert "It would wait" in told
    assert "Too little GPU: 9 needed, 8 free." in told


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"weight_price": "0.5"}, "have to sum to 1"),
        ({"replicas": "0"}, "Replicas"),
        ({"resource_spec_id": "none"}, "Network specification"),
        ({"deadline": "2020-01-01T00:00"}, "It is over already"),
    ],
)
def test_a_form_that_cannot_be_meant_is_refused_in_words(reader, network, more, words):
    answer = reader.get("/placements/", FORM | more, headers=EN)
    assert answer.status_code == 400
    assert words in text_of(answer)


@pytest.mark.req("JC-6.6.3-2")
def test_operators_change_how_centres_are_chosen_and_see_every_version(operator):
    browser = operator("cluster_administrator").page()
    assert "Nobody has changed anything yet" in text_of(browser.get("/placements/settings/", headers=EN))
    sent = LIMITS | WEIGHTS | {"weight_price": "0.7", "weight_load": "0.3"}
    assert browser.post("/placements/settings/", sent, headers=EN).status_code == 302
    now = settings_now()
    assert (dict(now.weights)["price"], now.stale_s, now.cool_off_s, now.move_bytes) == (
        700, 60, 300, 1_500_000_000,
    )  # fmt: skip
    page = browser.get("/placements/settings/", headers=EN)
    assert "Load aware 0.300" in text_of(page)
    assert 'value="1.5"' in page.content.decode()
    # Who sends the form of an older version has not seen what he would undo.
    assert browser.post("/placements/settings/", sent, headers=EN).status_code == 409
    wrong = browser.post("/placements/settings/", sent | {"number": "1", "weight_price": "0.6"}, headers=EN)
    assert wrong.status_code == 400
    assert "have to sum to 1" in text_of(wrong)
    assert JointcloudSettings.objects.count() == 1


def test_who_may_only_see_the_settings_has_no_button(operator):
    page = operator("executive").page()
    assert "placement-save" not in page.get("/placements/settings/").content.decode()
    assert page.post("/placements/settings/", LIMITS | WEIGHTS).status_code == 403


def test_a_tenant_has_no_page_of_the_settings(member):
    assert member("acme", "tenant_front_line").page().get("/placements/settings/").status_code == 404
