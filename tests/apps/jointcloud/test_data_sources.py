"""From where data would be copied to a centre: the engine's list over what is kept of its copies."""

import pytest

from apps.centers.states import CenterStatus
from apps.jointcloud.models import DatasetCopy, JointcloudSettings
from apps.jointcloud.services.data import dataset_make
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.kernel.actor import SYSTEM

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(acme, globex, member):
    return member("acme", "tenant_front_line").api()


@pytest.fixture
def address(acme, centre):
    """Data of acme's with copies near and far of the centre that wants it, `here`."""

    def make(*, may_move=True, size_bytes=1000):
        centre("here", longitude=116.4, latitude=39.9)
        centre("near", longitude=117.2, latitude=39.1)
        centre("far", longitude=114.1, latitude=22.5)
        centre("full")
        centre("away", status=CenterStatus.UNAVAILABLE)
        centre("other")
        row = dataset_make(
            actor=SYSTEM,
            tenant=acme,
            data_name="imagenet",
            data_version="1",
            facts=DatasetFacts(size_bytes, 1, "sha256:" + "a" * 64, may_move),
            copies=[
                CopyFacts("near", "/n", succeeded=9, failed=1, mean_time_s=30, concurrency_limit=4),
                CopyFacts(
                    "far",
                    "/f",
                    succeeded=1,
                    failed=9,
                    mean_time_s=60,
                    concurrency_limit=4,
                    current_downloads=3,
                ),
                CopyFacts("full", "/u", concurrency_limit=2, current_downloads=2),
                CopyFacts("away", "/a"),
                CopyFacts("other", "/o", digest="sha256:" + "b" * 64),
            ],
        )
        return f"/api/v1/datasets/{row.data_id}/sources"

    return make


@pytest.mark.req("JC-6.3.2-2", "JC-6.3.2-3", "JC-6.3.2-Fd", "JC-6.3.2-Ff", "JC-5c")
def test_the_sources_come_in_their_order_and_the_others_with_why(alice, address):
    told = alice.get(f"{address()}?center=here")
    assert told.status_code == 200, told.json()
    body = told.json()
    assert body["is_there"] is False
    assert [(each["ai_center_id"], each["dataset_url"]) for each in body["sources"]] == [
        ("near", "/n"),
        ("far", "/f"),
    ]
    near, far = body["sources"]
    assert near["score"] > far["score"]
    for evaluator in ("load", "time", "topology", "state"):
        assert (near["scores"][evaluator], far["scores"][evaluator]) == (100, 0)
    # A copy of another digest is none, and is not told of.
    assert {each["ai_center_id"]: each["code"] for each in body["refused"]} == {
        "full": "source_at_limit",
        "away": "source_unavailable",
    }
    assert DatasetCopy.objects.count() == 5


def test_a_centre_that_has_it_is_no_source_for_itself(alice, address):
    body = alice.get(f"{address()}?center=near").json()
    assert body["is_there"] is True
    assert [each["ai_center_id"] for each in body["sources"]] == ["far"]


@pytest.mark.req("JC-5f7")
def test_private_and_large_data_has_no_sources(alice, address):
    refused = alice.get(f"{address(may_move=False)}?center=here")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "data_stays")
    assert "imagenet:1 is private" in refused.json()["error"]["message"]


def test_data_larger_than_what_moves_stays(alice, address):
    JointcloudSettings.objects.create(number=1, weights=[["load", 1000]], move_bytes=999)
    refused = alice.get(f"{address()}?center=here")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "data_stays")
    assert "1,000 bytes" in refused.json()["error"]["message"]


def test_another_tenant_s_data_and_no_centre_are_refused(alice, address, member):
    path = address()
    assert member("globex", "tenant_front_line").api().get(f"{path}?center=here").status_code == 404
    assert alice.get(f"{path}?center=nowhere").status_code == 404
    assert "center" in alice.get(path).json()["error"]["fields"]
