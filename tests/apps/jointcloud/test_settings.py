"""How centres are chosen is the operators' to set: versions, a history, and bad input that changes nothing."""

import pytest

from apps.audit.models import Record
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.selectors.settings import settings_now

pytestmark = [pytest.mark.django_db, pytest.mark.req("JC-6.6.3-2")]
SETTINGS = "/api/v1/placement-settings"


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").api()


def test_without_any_change_the_usual_ones_hold(admin):
    told = admin.get(SETTINGS).json()
    assert (told["number"], told["weights"]["price"], told["changed_by"]) == (0, "0.200", "")
    assert told["model"] == "weighted_sum"


def test_each_change_is_a_version_in_the_history_and_in_the_operation_log(admin):
    first = admin.patch(SETTINGS, {"weights": {"price": "0.6", "load": 0.4}, "stale_s": 60})
    assert first.status_code == 200, first.json()
    assert first.json()["number"] == 1
    second = admin.patch(SETTINGS, {"cool_off_s": 0, "number": 1}).json()
    assert (second["number"], second["stale_s"], second["cool_off_s"]) == (2, 60, 0)
    assert (second["weights"]["price"], second["weights"]["load"], second["weights"]["qos"]) == (
        "0.600", "0.400", "0.000",
    )  # fmt: skip
    assert dict(settings_now().weights)["load"] == 400
    history = admin.get(f"{SETTINGS}/history").json()["results"]
    assert [row["number"] for row in history] == [2, 1]
    assert all(row["changed_by"] for row in history)
    assert Record.objects.filter(name="jointcloud_settings_set").count() == 2


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"weights": {"price": "0.5"}}, "weights", "have to sum to 1"),
        ({"weights": {"price": "1.5", "load": "-0.5"}}, "weights", "below 0"),
        ({"weights": {"luck": "1"}}, "weights", "no policy luck"),
        ({"weights": {"price": "much"}}, "weights", "no number"),
        ({"model": "dice"}, "model", "no evaluation model dice"),
        ({"stale_s": 0}, "stale_s", ""),
        ({"cool_off_failures": 0}, "cool_off_failures", ""),
        ({"move_bytes": -1}, "move_bytes", ""),
        ({"usual_duration_s": 10**12}, "usual_duration_s", ""),
        ({"luck": 1}, "luck", "no such setting"),
    ],
)
def test_bad_input_is_refused_in_words_and_changes_nothing(admin, changes, field, words):
    answer = admin.patch(SETTINGS, {"cool_off_s": 5} | changes)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["fields"][field]
    assert not JointcloudSettings.objects.exists()


def test_a_change_of_an_older_version_is_a_conflict(admin):
    admin.patch(SETTINGS, {"stale_s": 60, "number": 0})
    answer = admin.patch(SETTINGS, {"stale_s": 61, "number": 0})
    assert answer.status_code == 409
    assert settings_now().stale_s == 60


def test_who_sees_the_settings_alone_changes_none_and_a_tenant_sees_none(operator, member):
    assert operator("executive").api().get(SETTINGS).status_code == 200
    assert operator("executive").api().patch(SETTINGS, {"stale_s": 60}).status_code == 403
    assert member("acme", "tenant_front_line").api().get(SETTINGS).status_code == 403
