"""Annex A.4 on the wire: a signed address of a log, which this portal reads at the centre for whoever has it."""

import base64
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from apps.centers.models import RemoteTask
from apps.centers.services.credentials import credential_put
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job
from apps.jointcloud.services import log_links
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState
from tests.apps.jointcloud.jobs import attempts, cycle, say
from tests.apps.jointcloud.test_annex import refused
from tests.apps.jointcloud.test_annex_jobs import ROOT, TASK, create

pytestmark = pytest.mark.django_db
A4 = pytest.mark.req("JC-7.1.4", "JC-A.4-1", "JC-A.4-2.1", "JC-A.4-2.2", "JC-A.4-2.3", "JC-A.4-3.1", "JC-A.4-3.2",
                     "JC-A.4-3.3", "JC-A.4-3.4", "JC-A.4-3.5")  # fmt: skip
LINES = "epoch 1\n山\n".encode()


@pytest.fixture
def lake(spec, centre, tmp_path):
    """A cluster whose folder of logs is here."""
    row = centre("lake", spec())
    row.settings |= {"user": "weir", "folder": "/shared", "log_folder": str(tmp_path)}
    row.save()
    credential_put(
        row, {"key": base64.b64encode(b"very-secret-key-of-the-cluster-of-the-lake").decode()}, None
    )
    return row


@pytest.fixture
def api(member):
    return member("acme", "tenant_front_line").api()


@pytest.fixture
def night(api, lake, tmp_path):
    """A job of two replicas, of which the second runs and has printed two lines; the path of its log's address."""
    job_id = create(api, [TASK]).json()["data"]["jobId"]
    cycle()
    row = attempts(Job.plain.get())[1]
    say(row, RemoteState.RUNNING)
    RemoteTask.objects.filter(key=row.key).update(native_id="17")
    (tmp_path / "weir-17.log").write_bytes(LINES)
    return f"{ROOT}/{job_id}/task/0/replica/1/log"


def fetch(address, **more):
    """What somebody who is not signed in gets there."""
    parts = urlsplit(address)
    return Client(headers={"host": parts.netloc or "localhost"}).get(f"{parts.path}?{parts.query}", **more)


def changed(address, **query):
    """The address with another query."""
    parts = urlsplit(address)
    told = {name: values[0] for name, values in parse_qs(parts.query).items()} | query
    return parts._replace(query=urlencode(told)).geturl()


@A4
def test_the_log_is_fetched_at_a_signed_address_of_the_portal(api, night):
    answer = api.get(night)
    body = answer.json()
    assert answer.status_code == 200, body
    assert {name: body[name] for name in ("status", "code", "errorMsg")} == {
        "status": 200, "code": "ok", "errorMsg": "",
    }  # fmt: skip
    assert list(body["data"]) == ["logUrl"]
    address = body["data"]["logUrl"]
    assert urlsplit(address).path == f"{night}/file"
    assert "secret" not in answer.content.decode()
    file = fetch(address)
    assert (file.status_code, file.content) == (200, LINES)
    assert file["Content-Type"] == "text/plain; charset=utf-8"
    assert file["Content-Disposition"].startswith("attachment")
    assert (file["Cache-Control"], file["X-Content-Type-Options"]) == ("private, no-store", "nosniff")
    assert "Link" not in file
    assert "secret" not in str(file.headers)
    assert fetch(changed(address, offset="8")).content == "山\n".encode()


@A4
def test_a_log_that_is_longer_than_one_answer_says_where_it_goes_on(api, night, monkeypatch):
    monkeypatch.setattr(log_links, "LOG_FILE_MOST", 8)
    file = fetch(api.get(night).json()["data"]["logUrl"])
    assert file.content == b"epoch 1\n"
    target, _, rel = file["Link"].partition(">; ")
    assert rel == 'rel="next"'
    rest = fetch(target.removeprefix("<"))
    assert (rest.content, "Link" in rest) == ("山\n".encode(), False)


@A4
def test_an_address_that_is_not_signed_for_this_log_opens_nothing(api, night, settings):
    address = api.get(night).json()["data"]["logUrl"]
    query = parse_qs(urlsplit(address).query)
    wrong = [
        address.replace("/replica/1/", "/replica/0/"),
        changed(address, until=str(int(query["until"][0]) + 60)),
        changed(address, until="never"),
        changed(address, signature=""),
        changed(address, signature="\udcff.x".encode("utf-8", "replace").decode()),
        changed(address, signature=query["signature"][0][:-1]),
        urlsplit(address)._replace(query="").geturl(),
    ]
    for each in wrong:
        assert refused(fetch(each), 403)["code"] == "log_address_unsigned"
    assert fetch(address).status_code == 200
    settings.SECRET_KEY = "of another installation, and as long as such keys are at the least"
    assert refused(fetch(address), 403)["code"] == "log_address_unsigned"


@A4
def test_an_address_expires_and_ends_with_its_tenant(api, night, monkeypatch):
    address = api.get(night).json()["data"]["logUrl"]
    refused(fetch(changed(address, offset="-1")), 400)
    Tenant.objects.filter(schema_name="acme").update(state=TenantState.DELETED)
    refused(fetch(address), 404)
    Tenant.objects.filter(schema_name="acme").update(state=TenantState.ACTIVE)
    later = timezone.now() + timedelta(seconds=log_links.HOLDS_S + 1)
    monkeypatch.setattr(log_links.timezone, "now", lambda: later)
    assert refused(fetch(address), 403)["code"] == "log_address_expired"


@A4
def test_what_there_is_not_is_refused_in_the_envelope(api, night, member, lake):
    for path, name in (("task/x/replica/1", "taskId"), ("task/0/replica/-1", "replicaId")):
        path = night.replace("task/0/replica/1", path)
        assert name in refused(api.get(path), 400)["errorMsg"]
    refused(api.get(night.replace("replica/1", "replica/7")), 404)
    refused(api.get(night.replace("task/0", "task/7")), 404)
    refused(api.get(f"{ROOT}/nowhere/task/0/replica/0/log"), 404)
    refused(member("globex", "tenant_front_line").api().get(night), 404)
    refused(fetch(night), 401)


@A4
def test_a_centre_that_tells_no_logs_gives_no_address(api, night, lake):
    lake.settings["log_folder"] = ""
    lake.revision += 1
    lake.save()
    assert "tells no logs" in refused(api.get(night), 404)["errorMsg"]


@pytest.mark.req("JC-A.3-4.6", "JC-A.3-4.7")
def test_the_place_of_a_replica_is_its_index_whatever_has_a_centre(api, night):
    row = attempts(Job.plain.get())[0]
    say(row, RemoteState.REFUSED, "no")
    (info,) = api.get(night.partition("/task/")[0]).json()["data"]["taskInfos"]
    assert (info["centerIDs"], info["replicaStatus"]) == (["", "lake"], ["pending", "running"])
