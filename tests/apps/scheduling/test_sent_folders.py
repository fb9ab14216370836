"""A folder that somebody sends along with his work: taken in pieces over the API, fetched by the node where the work
begins, kept while work needs it, and nobody else's."""

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone
from weir.working_folder import folder_pack

from apps.fleet.models import FolderUpload, FolderUse
from apps.fleet.services.folder_transfers import archives_tidy
from apps.fleet.services.folder_uploads import UNUSED_KEPT, uploads_tidy
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.services.workload_control import workload_resume, workload_suspend
from apps.scheduling.services.workloads.stopping import workload_stop
from node_agent.folder_transfers import FolderFailed
from node_agent.protocol.folders import PIECE_BYTES, piece_path
from tests.apps.scheduling.test_preempting import pool
from tests.apps.scheduling.test_work_folders import (
    aside,
    elsewhere,
    nodes,
    place,
    runs_on,
    steer,
    submit,
)

__all__ = ["nodes", "pool", "steer", "submit"]
pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-101", "ELA-503")]
URL = "/api/v1/folder-uploads"


@pytest.fixture
def person(pool, member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def alice(person):
    return person.actor


@pytest.fixture
def packed(tmp_path):
    source = tmp_path / "source"
    (source / "lib").mkdir(parents=True)
    (source / "train.py").write_text("print('hello')\n")
    (source / "lib" / "weights.bin").write_bytes(bytes(range(256)) * 10_000)
    return folder_pack(source)


def offer(client, packed, **more):
    return client.post(URL, {"sha256": packed.sha256, "size_bytes": packed.size_bytes, **more}, format="json")


def put(client, place, number, piece):
    address = f"{URL}/{place['uid']}/pieces/{number}"
    return client.put(address, piece, content_type="application/octet-stream")


def send(client, packed):
    place = offer(client, packed).json()
    for number in place["missing"]:
        assert put(client, place, number, packed.piece(number, place["piece_bytes"])).status_code == 204
    return client.post(f"{URL}/{place['uid']}/finish")


@pytest.fixture
def sent(nodes, person, packed):
    assert send(person.api(), packed).status_code == 200
    return packed.sha256


def test_what_is_broken_off_goes_on_and_the_same_is_sent_once(nodes, person, packed):
    client = person.api()
    place = offer(client, packed).json()
    assert place["missing"] == [0, 1, 2]
    put(client, place, 1, packed.piece(1, PIECE_BYTES))
    assert client.post(f"{URL}/{place['uid']}/finish").status_code == 409
    assert offer(client, packed).json()["missing"] == [0, 2]
    assert send(client, packed).json()["whole_at"]
    again = offer(client, packed).json()
    assert (again["missing"], again["uid"]) == ([], place["uid"])
    assert put(client, place, 0, b"x" * PIECE_BYTES).status_code == 409, "what is whole stays as it is"


def test_a_piece_that_is_none_and_a_false_digest_are_refused(nodes, person, packed, settings):
    client = person.api()
    place = offer(client, packed).json()
    for number, piece in (
        (0, b"short"),
        (0, b"x" * (PIECE_BYTES + 1)),
        (3, b"x"),
        (99_999_999, b"x"),
        (0, b""),
    ):
        assert put(client, place, number, piece).status_code == 400
    for number in place["missing"]:
        length = min(PIECE_BYTES, packed.size_bytes - number * PIECE_BYTES)
        put(client, place, number, b"y" * length)
    assert client.post(f"{URL}/{place['uid']}/finish").status_code == 409
    assert offer(client, packed).json()["missing"] == [0, 1, 2], "all of it is sent again"
    assert offer(client, packed, sha256="../../etc/passwd").status_code == 400
    assert offer(client, packed, size_bytes=packed.size_bytes + 1).status_code == 409
    settings.WEIR_UPLOAD_LIMIT_MIB = 1
    refused = offer(client, packed, sha256="0" * 64)
    assert refused.status_code == 413
    assert ".weirignore" in refused.json()["error"]["cure"]


def test_a_folder_is_its_senders_own(nodes, sent, person, member, acme, submit):
    place = offer(person.api(), folder_like(sent)).json()
    for other in (member("acme", "tenant_front_line"), member("globex", "tenant_front_line")):
        client = other.api()
        assert put(client, place, 0, b"x").status_code == 404
        assert client.post(f"{URL}/{place['uid']}/finish").status_code == 404
        answer = client.post(
            "/api/v1/workloads",
            {"name": "thief", "argv": ["true"], "compute_percent": 1, "memory_mib": 1, "folder": sent},
            format="json",
        )
        assert answer.status_code == 400
        assert "sent no such folder" in str(answer.json()["error"]["fields"]["folder"])
        assert offer(client, folder_like(sent)).json()["missing"], "nobody learns that another has sent it"


def folder_like(sha256):
    class Like:
        size_bytes = FolderUpload.plain.filter(sha256=sha256).first().size_bytes

    Like.sha256 = sha256
    return Like


def test_work_begins_in_it_on_its_node_and_again_where_all_was_lost(nodes, sent, submit, steer):
    row = submit(folder=sent)
    place(nodes, row)
    assert row.state == "running"
    (here,) = [node for node in nodes if node.info.name == runs_on(row)]
    assert (here.home(row) / "train.py").read_text() == "print('hello')\n"
    assert (here.home(row) / "lib" / "weights.bin").stat().st_size == 2_560_000
    (here.home(row) / "model.pt").write_text("epoch 1")
    aside(nodes, row, steer)
    elsewhere(here)
    steer(workload_resume, row)
    place(nodes, row)
    (other,) = [node for node in nodes if node is not here]
    assert runs_on(row) == other.info.name
    assert (other.home(row) / "model.pt").read_text() == "epoch 1", "what it kept comes before what was sent"


def test_a_node_that_runs_nothing_of_it_is_given_no_piece(nodes, sent, submit):
    row = submit(folder=sent)
    upload = FolderUpload.plain.get(sha256=sent)
    for node in nodes:
        answer = node.client.get(piece_path(f"{row.uid}.0", str(upload.uid), 0))
        assert answer.status_code == 404
    place(nodes, row)
    (here,) = [node for node in nodes if node.info.name == runs_on(row)]
    other = next(node for node in nodes if node is not here)
    assert other.client.get(piece_path(f"{row.uid}.0", str(upload.uid), 0)).status_code == 404


def test_bytes_that_rotted_at_the_portal_start_nothing(nodes, sent, submit, settings):
    upload = FolderUpload.plain.get(sha256=sent)
    piece = settings.WEIR_FOLDERS_DIR / str(upload.uid) / "0"
    piece.write_bytes(b"\0" * piece.stat().st_size)
    row = submit(folder=sent)
    with pytest.raises(FolderFailed):
        place(nodes, row)


def test_it_is_kept_while_work_needs_it_and_goes_unused(
    nodes, sent, submit, acme, settings, django_capture_on_commit_callbacks
):
    rows = [submit(name, folder=sent, percent=10) for name in ("a", "b")]
    later = timezone.now() + UNUSED_KEPT + timedelta(hours=1)
    assert uploads_tidy(actor=SYSTEM, now=later) == 0
    for row in rows:
        workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough")
    assert not FolderUse.objects.exists()
    assert uploads_tidy(actor=SYSTEM, now=timezone.now()) == 0, "it is not sent again the same week"
    assert archives_tidy(later) == 0, "the store's own sweep knows of it"
    with django_capture_on_commit_callbacks(execute=True):
        assert uploads_tidy(actor=SYSTEM, now=later) == 1
    assert list(settings.WEIR_FOLDERS_DIR.iterdir()) == []
    with pytest.raises(InvalidInput):
        submit(folder=sent)


def test_a_tenant_fills_no_disk_unused_folders_make_room(nodes, person, packed, submit, settings, acme):
    settings.WEIR_UPLOADS_TOTAL_MIB = 4
    client = person.api()
    send(client, packed)
    other = {"sha256": hashlib.sha256(b"other").hexdigest(), "size_bytes": packed.size_bytes}
    row = submit(folder=packed.sha256)
    refused = client.post(URL, other, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "quota_exceeded")
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough")
    assert client.post(URL, other, format="json").status_code == 201
    assert not FolderUpload.plain.filter(sha256=packed.sha256).exists()


def test_a_session_takes_none(nodes, sent, submit):
    with pytest.raises(InvalidInput) as refused:
        submit(folder=sent, kind="session")
    assert "folder" in refused.value.fields


def test_suspended_before_it_ran_it_begins_in_it(nodes, sent, submit, steer):
    row = submit(folder=sent)
    steer(workload_suspend, row)
    steer(workload_resume, row)
    place(nodes, row)
    (here,) = [node for node in nodes if node.info.name == runs_on(row)]
    assert (here.home(row) / "train.py").exists()
