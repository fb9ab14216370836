"""Data of jobs over the API: by the printed names of table 6, a tenant's own and the centre's, with its copies."""

import pytest
from rest_framework.test import APIClient

from apps.audit.models import Record
from apps.centers.errors import CenterInUse
from apps.centers.services.centers import center_remove
from apps.centers.services.tenants import center_serves_set
from apps.identity.rules.role_functions import RoleDraft, Side, functions_of
from apps.identity.services.tokens import api_token_make
from apps.identity.services.users import membership_add, user_create
from apps.jointcloud.errors import TooManyDatasets
from apps.jointcloud.models import Dataset, DatasetCopy
from apps.jointcloud.services import data as services
from apps.jointcloud.services.data import dataset_make
from apps.jointcloud.types import DatasetFacts
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.reach import DataPermission
from apps.orgs.services.own_roles import role_make
from apps.orgs.services.roles import role_bind

pytestmark = pytest.mark.django_db
DATASETS = "/api/v1/datasets"
DIGEST = "sha256:" + "a1" * 32
PLACE = {
    "dataset_url": "/share/data/imagenet", "access": "rw", "ai_center_id": "lake", "download_state": "12/1/0",
    "download_rate_limit": "20000", "concurrency_limit": "4", "current_downloads": "2",
    "network_topology": "east/core-2", "download_cost": "90",
}  # fmt: skip
BODY = {"data_name": "imagenet", "data_version": "2012", "size_bytes": 150_000_000_000, "files": 1_281_167}


@pytest.fixture
def api(acme, globex, member):
    """A front-line member's client of the API, of acme where nothing else is said."""

    def make(schema="acme", role="tenant_front_line"):
        tenant = {"acme": acme, "globex": globex}[schema]
        return client_of(member(schema, role).user, tenant)

    return make


def client_of(user, tenant):
    _row, secret = api_token_make(actor=SYSTEM, user=user, name="t", tenant=tenant)
    client = APIClient(headers={"host": "localhost"})
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").api()


def post(client, **more):
    return client.post(DATASETS, BODY | more, format="json")


def made(client, **more):
    answer = post(client, **more)
    assert answer.status_code == 201, answer.json()
    return answer.json()


@pytest.mark.req("JC-6.3.1-T6.1", "JC-6.3.1-T6.2", "JC-6.3.1-T6.3", "JC-6.3.1-T6.4", "JC-6.3.1-T6.5")
@pytest.mark.req("JC-6.3.1-T6.6", "JC-6.3.1-T6.6a", "JC-6.3.1-T6.6b", "JC-6.3.1-T6.6c", "JC-6.3.1-T6.6d")
@pytest.mark.req("JC-6.3.1-T6.6e", "JC-6.3.1-T6.6f", "JC-6.3.1-T6.6g", "JC-6.3.1-T6.6h", "JC-6.3.1-T6.6i")
def test_data_comes_back_by_the_printed_names_with_a_place_for_each_centre(api, centre):
    centre("lake")
    centre("hill")
    client = api()
    hill = {"dataset_url": "s3://shared/imagenet", "ai_center_id": "hill", "download_rate_limit": 500}
    data = made(client, digest=DIGEST, location=[PLACE, hill])
    told = client.get(f"{DATASETS}/{data['data_id']}").json()
    assert told == data
    assert {name: told[name] for name in BODY} == BODY
    assert (told["tenant"], told["digest"], told["may_move"]) == ("acme", DIGEST, False)
    assert told["created_user"].startswith("acme.front_line")
    assert told["created_at"] <= told["updated_at"]
    there = {place["ai_center_id"]: place for place in told["location"]}
    assert {name: there["lake"][name] for name in PLACE} == PLACE
    # As in the table's sample, figures are texts; what is not known or has no limit is empty.
    printed = {name: there["hill"][name] for name in PLACE}
    assert printed == {
        "dataset_url": "s3://shared/imagenet", "access": "r", "ai_center_id": "hill", "download_state": "",
        "download_rate_limit": "500", "concurrency_limit": "", "current_downloads": "0", "network_topology": "",
        "download_cost": "",
    }  # fmt: skip
    assert [row["data_id"] for row in client.get(DATASETS).json()["results"]] == [data["data_id"]]


def test_it_is_changed_its_copies_come_and_go_and_each_act_is_kept(api, centre):
    centre("lake")
    client = api()
    address = f"{DATASETS}/{made(client)['data_id']}"
    changed = client.patch(
        address, {"size_bytes": 7, "may_move": True, "digest": DIGEST}, format="json"
    ).json()
    assert (changed["size_bytes"], changed["may_move"], changed["files"]) == (7, True, BODY["files"])
    place = {name: value for name, value in PLACE.items() if name != "ai_center_id"}
    put = client.put(f"{address}/copies/lake", place, format="json").json()
    assert [each["is_of_it"] for each in put["location"]] == [True]
    first = put["location"][0]["seen_at"]
    other = "sha256:" + "b2" * 32
    put = client.put(f"{address}/copies/lake", {**place, "digest": other}, format="json").json()
    assert [(each["is_of_it"], each["seen_at"] > first) for each in put["location"]] == [(False, True)]
    assert client.delete(f"{address}/copies/lake").status_code == 204
    assert client.delete(f"{address}/copies/lake").status_code == 404
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404
    acts = Record.objects.filter(subject_kind="dataset").order_by("pk").values_list("name", flat=True)
    assert list(acts) == [
        "dataset_make", "dataset_change", "dataset_copy_set", "dataset_copy_set", "dataset_copy_remove",
        "dataset_remove",
    ]  # fmt: skip


@pytest.mark.req("JC-6.3.1-1", "PLAT-TEN-2")
def test_a_tenant_finds_its_own_and_the_centre_s_and_changes_its_own_alone(api, admin, centre):
    centre("lake")
    public = made(admin, data_name="public", location=[PLACE])
    ours, theirs = api(), api("globex")
    mine, other = made(ours), made(theirs)
    assert public["tenant"] == ""

    def names(client, query=""):
        return {row["data_id"] for row in client.get(f"{DATASETS}{query}").json()["results"]}

    assert names(ours) == {public["data_id"], mine["data_id"]}
    assert names(admin) == {public["data_id"], mine["data_id"], other["data_id"]}
    assert names(admin, "?center=lake") == names(admin, "?search=publ") == {public["data_id"]}
    strange = f"{DATASETS}/{other['data_id']}"
    for method in ("get", "patch", "delete"):
        assert getattr(ours, method)(strange, {}, format="json").status_code == 404
    refused = ours.delete(f"{DATASETS}/{public['data_id']}")
    assert (refused.status_code, refused.json()["error"]["message"]) == (
        403,
        "public:2012 is kept by the centre.",
    )
    assert admin.patch(strange, {"may_move": True}, format="json").status_code == 403
    assert ours.put(f"{strange}/copies/lake", {"dataset_url": "/x"}, format="json").status_code == 404
    assert Dataset.objects.count() == 3
    assert DatasetCopy.objects.count() == 1
    assert api("acme", "tenant_decision_maker").get(DATASETS).status_code == 200
    assert post(api("acme", "tenant_decision_maker")).status_code == 403


def test_who_does_not_manage_centres_enters_nothing_for_all(operator, centre):
    client = operator("front_line").api()
    assert post(client).status_code == 403
    assert Dataset.objects.count() == 0


@pytest.mark.req("PLAT-SEC-4")
def test_who_reaches_his_own_records_alone_finds_no_other_s_data(acme, globex, member):
    data = made(client_of(member("acme", "tenant_front_line").user, acme))
    near = user_create(actor=SYSTEM, username="near", display_name="near", password="correct-horse-9")
    membership_add(actor=SYSTEM, user=near, tenant=acme)
    with in_tenant("acme"):
        functions = [row.permission for row in functions_of(Side.TENANT)]
        draft = RoleDraft("near", functions, data=DataPermission())
        role_bind(actor=SYSTEM, user=near, role=role_make(actor=SYSTEM, draft=draft))
    client = client_of(near, acme)
    assert client.get(DATASETS).json()["results"] == []
    assert client.delete(f"{DATASETS}/{data['data_id']}").status_code == 404


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"data_name": "../x"}, "data_name"),
        ({"data_name": "x" * 64}, "data_name"),
        ({"data_name": "a b"}, "data_name"),
        ({"data_version": "数据"}, "data_version"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"size_bytes": 10**16}, "size_bytes"),
        ({"files": -5}, "files"),
        ({"digest": "md5:00"}, "digest"),
        ({"location": [PLACE | {"dataset_url": "../x"}]}, "location.0.dataset_url"),
        ({"location": [PLACE | {"dataset_url": "/share/../etc/passwd"}]}, "location.0.dataset_url"),
        ({"location": [PLACE | {"dataset_url": "//share"}]}, "location.0.dataset_url"),
        ({"location": [PLACE | {"dataset_url": "s3://key:secret@bucket/x"}]}, "location.0.dataset_url"),
        ({"location": [PLACE | {"dataset_url": "/" + "x" * 1100}]}, "location.0.dataset_url"),
        ({"location": [PLACE | {"ai_center_id": "nowhere"}]}, "location.0.ai_center_id"),
        ({"location": [PLACE, PLACE]}, "location.1.ai_center_id"),
        ({"location": [PLACE | {"access": "w"}]}, "location.0.access"),
        ({"location": [PLACE | {"download_state": "fine"}]}, "location.0.download_state"),
        ({"location": [PLACE | {"concurrency_limit": "0"}]}, "location.0.concurrency_limit"),
        ({"location": [PLACE | {"download_rate_limit": "-1"}]}, "location.0.download_rate_limit"),
        ({"location": [PLACE | {"current_downloads": "many"}]}, "location.0.current_downloads"),
        ({"location": "lake"}, "location.non_field_errors"),
    ],
)
def test_bad_input_is_named_by_its_field_and_nothing_is_kept(api, centre, more, field):
    centre("lake")
    answer = post(api(), **more)
    assert answer.status_code == 400, answer.json()
    assert field in answer.json()["error"]["fields"], answer.json()
    assert Dataset.objects.count() == DatasetCopy.objects.count() == 0


def test_a_name_and_version_is_there_once_and_another_tenant_s_says_nothing_of_it(api):
    client = api()
    made(client)
    again = post(client)
    assert (again.status_code, again.json()["error"]["message"]) == (
        409,
        "There is data imagenet:2012 already.",
    )
    made(client, data_version="2017")
    made(api("globex"))
    assert Dataset.objects.count() == 3


def test_a_centre_stays_while_data_lies_there_and_a_tenant_has_so_many_at_most(
    api, admin, centre, acme, monkeypatch
):
    centre("lake")
    data = made(api(), location=[PLACE])
    with pytest.raises(CenterInUse, match="imagenet:2012"):
        center_remove(actor=SYSTEM, ai_center_id="lake")
    DatasetCopy.objects.all().delete()
    center_remove(actor=SYSTEM, ai_center_id="lake")
    assert admin.get(f"{DATASETS}/{data['data_id']}").json()["location"] == []
    monkeypatch.setattr(services, "MOST_DATASETS", 1)
    with pytest.raises(TooManyDatasets):
        dataset_make(actor=SYSTEM, tenant=acme, data_name="more", data_version="1", facts=DatasetFacts(1, 1))
    # The centre's are counted apart.
    dataset_make(actor=SYSTEM, tenant=None, data_name="more", data_version="1", facts=DatasetFacts(1, 1))


def test_many_datasets_take_no_more_queries_than_one(api, centre, django_assert_max_num_queries):
    centre("lake")
    client = api()
    made(client, location=[PLACE])
    with django_assert_max_num_queries(9):
        client.get(DATASETS)
    for number in range(5):
        made(client, data_name=f"more{number}", location=[PLACE])
    with django_assert_max_num_queries(9):
        assert len(client.get(DATASETS).json()["results"]) == 6


def test_a_tenant_hears_nothing_of_copies_at_centres_that_do_not_serve_it(api, admin, centre):
    """It can neither name such a centre nor find that one has a copy."""
    centre("lake")
    address = f"{DATASETS}/{made(admin, location=[PLACE])['data_id']}"
    assert api().get(address).json()["location"]
    center_serves_set(actor=SYSTEM, ai_center_id="lake", serves="named")
    assert api().get(address).json()["location"] == []
    assert api().get(DATASETS, {"center": "lake"}).json()["results"] == []
    for code in ("lake", "nowhere"):
        assert api().get(f"{address}/sources", {"center": code}).status_code == 404
    refused = post(api(), location=[PLACE])
    assert (refused.status_code, Dataset.objects.count()) == (400, 1)
    assert admin.get(address).json()["location"]


def test_what_a_tenant_said_of_a_centre_it_can_take_back_when_that_serves_it_no_more(api, centre):
    centre("lake")
    client = api()
    address = f"{DATASETS}/{made(client, location=[PLACE])['data_id']}"
    center_serves_set(actor=SYSTEM, ai_center_id="lake", serves="named")
    assert [place["ai_center_id"] for place in client.get(address).json()["location"]] == ["lake"]
    assert client.delete(f"{address}/copies/lake").status_code == 204
