"""The pages of data of jobs: entered by a form, its copies told of, seen by others, forgotten."""

import pytest
from django.test import Client

from apps.jointcloud.models import Dataset, DatasetCopy

pytestmark = pytest.mark.django_db
NEW = {
    "data_name": "imagenet", "data_version": "2012", "size_bytes": "150000000000", "files": "12", "digest": "",
    "moves": "",
}  # fmt: skip
COPY = {"ai_center_id": "lake", "dataset_url": "/share/<b>imagenet", "access": "r", "failed": "1"}


@pytest.fixture
def page(acme, globex, member):
    """A member's browser on the tenant's own host."""

    def make(schema="acme", role="tenant_front_line"):
        person = member(schema, role)
        client = Client(headers={"host": person.host, "accept-language": "en"})
        client.force_login(person.user)
        return client

    return make


@pytest.fixture
def operator_page(operator):
    def make(role="cluster_administrator"):
        client = Client(headers={"host": "localhost", "accept-language": "en"})
        client.force_login(operator(role).user)
        return client

    return make


def test_data_is_entered_its_copy_told_of_changed_and_forgotten(page, centre):
    centre("lake")
    client = page()
    assert "Enter data" in client.get("/datasets/").content.decode()
    answer = client.post("/datasets/new/", NEW)
    row = Dataset.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/datasets/{row.data_id}/")
    assert client.post(f"{answer.url}copy/", COPY).status_code == 302
    shown = client.get(f"{answer.url}?center=lake").content.decode()
    assert "/share/&lt;b&gt;imagenet" in shown
    assert "private: it stays where it is" in shown
    assert 'value="/share/&lt;b&gt;imagenet"' in shown
    assert "secret-address" not in shown
    assert "Centre lake" in client.get("/datasets/?search=image").content.decode()
    changed = {**NEW, "moves": "yes", "size_bytes": "1.5", "size_bytes_unit": str(1024**3)}
    assert client.post(f"{answer.url}change/", changed).status_code == 302
    row.refresh_from_db()
    assert (row.may_move, row.size_bytes, row.data_version) == (True, 3 * 2**29, "2012")
    assert client.post(f"{answer.url}copies/lake/remove/").status_code == 302
    assert not DatasetCopy.objects.exists()
    assert client.post(f"{answer.url}remove/").status_code == 302
    assert not Dataset.objects.exists()


def test_a_wrong_form_says_what_is_wrong_at_its_field(page, centre):
    centre("lake")
    client = page()
    refused = client.post("/datasets/new/", {**NEW, "data_name": "../x"}, headers={"hx-request": "true"})
    assert refused.status_code == 400
    assert "Letters, digits, points, dashes and underscores" in refused.content.decode()
    assert not Dataset.objects.exists()
    client.post("/datasets/new/", NEW)
    address = f"/datasets/{Dataset.objects.get().data_id}/"
    refused = client.post(f"{address}copy/", {**COPY, "dataset_url": "../x"}, headers={"hx-request": "true"})
    assert refused.status_code == 400
    assert "Give a path that begins with /" in refused.content.decode()
    assert not DatasetCopy.objects.exists()


def test_the_centre_s_data_is_read_by_all_and_changed_by_who_manages_centres(page, operator_page, centre):
    centre("lake")
    operators = operator_page()
    operators.post("/datasets/new/", NEW)
    row = Dataset.objects.get()
    assert row.tenant is None
    address = f"/datasets/{row.data_id}/"
    front, alice, viewer = operator_page("front_line"), page(), page(role="tenant_decision_maker")
    for client in (front, alice, viewer):
        shown = client.get(address).content.decode()
        assert "the centre, for all" in shown
        assert "dataset-save" not in shown
        assert "dataset-remove" not in shown
    assert "dataset-save" in operators.get(address).content.decode()
    for client in (front, viewer):
        assert "dataset-new" not in client.get("/datasets/").content.decode()
        assert client.get("/datasets/new/").status_code == 403
    assert alice.post(f"{address}remove/").status_code == 403
    assert page("globex").get(address).status_code == 200
    alice.post("/datasets/new/", {**NEW, "data_name": "own"})
    own = Dataset.objects.get(data_name="own")
    assert page("globex").get(f"/datasets/{own.data_id}/").status_code == 404
    assert "dataset-save" not in operators.get(f"/datasets/{own.data_id}/").content.decode()
