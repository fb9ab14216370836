"""What work leaves as its outputs is kept in the volume it named: fetched from real folders of nodes, listed and
downloaded; links, escaping names, full volumes, lost nodes and strangers leave no harm."""

import html
import io
import os
import re
import tarfile
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from apps.fleet.models import Node, WorkFolder
from apps.fleet.services.folder_transfers import OUTPUTS_PATIENCE, folders_check
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.kernel.planes import in_tenant
from apps.scheduling.models import Workload
from apps.storage import tasks
from apps.storage.models import Volume, WorkOutput
from apps.storage.services import outputs as service
from apps.storage.services.volumes import volume_change, volume_delete, volume_make
from node_agent.files import OUTPUTS
from node_agent.protocol.slices import WorkSpec
from tests.apps.scheduling.test_submit import PROGRAM, alice, api, pool, submit  # noqa: F401
from tests.apps.scheduling.test_work_folders import KeepingNode, place

pytestmark = pytest.mark.django_db


class LeavingNode(KeepingNode):
    """Makes the folder of outputs where it is asked for, as an agent does."""

    def begin(self, wish):
        super().begin(wish)
        if wish.work.outputs:
            (self.folders.home(wish.folder.key) / OUTPUTS).mkdir(exist_ok=True)

    def outputs(self, row, share=0):
        return self.folders.home(f"{row.uid}.{share}") / OUTPUTS


@pytest.fixture
def node(pool, tmp_path, settings):  # noqa: F811
    settings.WEIR_FOLDERS_DIR = tmp_path / "portal"
    Node.objects.filter(name="n2").update(state="drained")
    return LeavingNode("n1", tmp_path)


@pytest.fixture
def volume(alice):  # noqa: F811
    with in_tenant("acme"):
        return volume_make(actor=alice.actor, name="results", size_mib=4)


@pytest.fixture
def running(api, node, volume):  # noqa: F811
    def run(**more):
        found = submit(api, outputs="results", **more)
        row = Workload.objects.across().get(uid=found["uid"])
        place([node], row)
        assert row.state == "running"
        return row

    return run


def end(api, node, row):  # noqa: F811
    assert api.post(f"/api/v1/workloads/{row.uid}/stop").status_code < 300
    node.turn()
    row.refresh_from_db()
    assert row.is_final


def settle(node, turns=2):
    """What was asked for is sent, and kept."""
    for _turn in range(turns):
        node.turn()
        tasks.storage_tidy_tenant("acme")


def told(api, row):  # noqa: F811
    answer = api.get(f"/api/v1/workloads/{row.uid}/outputs")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def kept(row):
    with in_tenant("acme"):
        return WorkOutput.objects.get(workload_uid=row.uid)


@pytest.mark.req("PLAT-ASSET-6", "ELA-501")
def test_what_work_leaves_is_kept_listed_and_downloaded(api, alice, node, volume, running):  # noqa: F811
    row = running()
    left = node.outputs(row)
    (left / "deep").mkdir()
    (left / "model.pt").write_bytes(b"weights" * 200_000)
    (left / "deep" / "说明 & log.txt").write_text("hello")
    os.link(left / "model.pt", left / "again.pt")
    (left.parent / "scratch.bin").write_bytes(b"not an output")
    assert told(api, row) == []
    end(api, node, row)
    settle(node)
    (share,) = told(api, row)
    assert (share["state"], share["files"], share["path"]) == ("kept", 3, row.no)
    at = f"/api/v1/volumes/{volume.uid}"
    names = [entry["name"] for entry in api.get(f"{at}/files?path={row.no}").json()["entries"]]
    assert names == ["deep", "again.pt", "model.pt"]
    got = api.get(f"{at}/content", {"path": f"{row.no}/again.pt"})
    assert b"".join(got.streaming_content) == b"weights" * 200_000
    page = alice.page().get(f"/files/outputs/{row.uid}/").content.decode()
    assert 'data-name="model.pt"' in page
    assert "scratch.bin" not in page
    links = [html.unescape(link) for link in re.findall(r'href="(/files/[^"]+)"', page)]
    assert len(links) == 6
    assert [alice.page().get(link).status_code for link in links] == [200] * 6
    with in_tenant("acme"):
        found = Volume.objects.get()
        assert found.used_bytes == share["size_bytes"] == 2 * 1_400_000 + 5
        assert found.upload_bytes == 0
    # Nothing of it is left on the node, nor on its way.
    node.turn()
    assert node.folders.names() == ()
    assert not WorkFolder.plain.exists()


def test_the_node_is_told_that_outputs_are_wanted(running):
    row = running()
    assert WorkSpec.model_validate({**row.work, "kind": "program"}).outputs
    assert "outputs" not in WorkSpec(argv=("true",)).model_dump()


@pytest.mark.req("PLAT-TEN-2", "PLAT-SEC-4")
def test_nobody_leaves_outputs_where_he_may_not_write(alice, api, pool, volume, member):  # noqa: F811
    colleague, strange = member("acme", "tenant_front_line"), member("globex", "tenant_front_line")
    uids = []
    for person in (colleague, strange):
        with in_tenant(person.actor.tenant):
            uids.append(volume_make(actor=person.actor, name="private", size_mib=4).uid)
    for name in ("private", *map(str, uids), "none", "../results", "results/../x"):
        refused = submit(api, outputs=name, expect=400)
        assert "outputs" in refused["fields"], name
    session = {"name": "s", "kind": "session", "compute_percent": 30, "memory_mib": 1}
    submit(api, session, outputs="results", expect=400)


@pytest.mark.req("PLAT-TEN-2", "PLAT-SEC-4")
def test_a_stranger_learns_nothing_of_outputs(api, node, running, member):  # noqa: F811
    row = running()
    (node.outputs(row) / "secret.txt").write_text("s")
    end(api, node, row)
    settle(node)
    strange = member("globex", "tenant_operations_manager")
    assert strange.page().get(f"/files/outputs/{row.uid}/").status_code == 404


def test_links_and_names_that_lead_out_stay_behind(api, node, volume, running, tmp_path):  # noqa: F811
    secret = tmp_path / "secret"
    secret.write_text("of the node")
    row = running()
    left = node.outputs(row)
    (left / "passwd").symlink_to(secret)
    (left / "folder").symlink_to(tmp_path)
    (left / "inner").symlink_to("fine.txt")
    (left / "fine.txt").write_text("fine")
    (left / "a\nb").write_text("x")
    os.mkfifo(left / "pipe")
    end(api, node, row)
    settle(node)
    assert (kept(row).state, kept(row).files) == ("kept", 1)
    files = django_settings.WEIR_STORAGE_DIR / "acme" / str(volume.uid) / "files"
    assert sorted(path.name for path in files.rglob("*")) == sorted([row.no, "fine.txt"])


def test_a_link_in_the_place_of_the_outputs_is_refused_by_its_node(api, node, running, tmp_path):  # noqa: F811
    row = running()
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "secret").write_text("s")
    node.outputs(row).rmdir()
    node.outputs(row).symlink_to(tmp_path / "else")
    end(api, node, row)
    settle(node)
    assert (kept(row).state, kept(row).problem_code) == ("lost", "refused")
    assert "no folder" in told(api, row)[0]["sentence"]
    assert not WorkFolder.plain.exists()


def test_a_node_that_lies_in_its_archive_writes_nowhere_else(api, node, volume, running, monkeypatch):  # noqa: F811
    """An archive with names that climb, links, and a file said to hold more than it does."""
    hostile = io.BytesIO()
    with tarfile.open(fileobj=hostile, mode="w") as archive:
        for name in ("../../up.txt", "/abs.txt", "a/../../b", "ok.txt"):
            entry = tarfile.TarInfo(name)
            entry.size = 2
            archive.addfile(entry, io.BytesIO(b"hi"))
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, "../../../.."
        archive.addfile(link)
        through = tarfile.TarInfo("way/in.txt")
        through.size = 2
        archive.addfile(through, io.BytesIO(b"hi"))
    row = running()
    monkeypatch.setattr(
        service, "_members", lambda folder: ((opened, each) for opened in [_open(hostile)] for each in opened)
    )
    end(api, node, row)
    settle(node)
    root = django_settings.WEIR_STORAGE_DIR / "acme" / str(volume.uid) / "files"
    places = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    # Where the link would be is a folder of its own: nothing was followed.
    assert places == [f"{row.no}/ok.txt", f"{row.no}/way/in.txt"]
    assert not (root / row.no / "way").is_symlink()
    assert kept(row).left_out == 4


def _open(archive):
    archive.seek(0)
    return tarfile.open(fileobj=archive, mode="r|")


def test_a_full_volume_keeps_them_waiting_and_takes_them_later(api, alice, node, volume, running):  # noqa: F811
    row = running()
    (node.outputs(row) / "big.bin").write_bytes(os.urandom(5 * 2**20))
    end(api, node, row)
    settle(node)
    assert (kept(row).state, kept(row).problem_code) == ("coming", "volume_full")
    assert "room" in told(api, row)[0]["sentence"]
    with in_tenant("acme"):
        assert Volume.objects.get().upload_bytes == 0
        volume_change(actor=alice.actor, uid=volume.uid, size_mib=8)
    settle(node)
    assert kept(row).state == "kept"


def test_after_days_without_room_they_are_lost_and_the_node_is_told(api, node, volume, running):  # noqa: F811
    row = running()
    (node.outputs(row) / "big.bin").write_bytes(os.urandom(5 * 2**20))
    end(api, node, row)
    with in_tenant("acme"):
        WorkOutput.objects.update(created_at=timezone.now() - service.WAIT - timedelta(hours=1))
    settle(node)
    assert (kept(row).state, kept(row).problem_code) == ("lost", "volume_full")
    node.turn()
    assert node.folders.names() == ()


def test_a_node_that_is_not_heard_of_any_more_has_lost_them(api, node, running):  # noqa: F811
    row = running()
    (node.outputs(row) / "a").write_text("a")
    end(api, node, row)
    folders_check(actor=SYSTEM)
    assert kept(row).state == "coming"
    WorkFolder.plain.update(moved_at=timezone.now() - OUTPUTS_PATIENCE - timedelta(hours=1), sent_at=None)
    folders_check(actor=SYSTEM)
    tasks.storage_tidy_tenant("acme")
    assert (kept(row).state, kept(row).problem_code) == ("lost", "silent")


def test_keeping_that_broke_off_begins_again(api, node, volume, running, monkeypatch):  # noqa: F811
    """Whoever keeps them dies after the first file: another goes on, and room is held once."""
    row = running()
    for name in ("a.bin", "b.bin"):
        (node.outputs(row) / name).write_bytes(name.encode() * 1000)
    end(api, node, row)
    node.turn()
    placed, real = [], service._place

    def dies(store, key, names, content):
        if placed:
            raise SystemExit
        placed.append(names)
        return real(store, key, names, content)

    monkeypatch.setattr(service, "_place", dies)
    with pytest.raises(SystemExit):
        tasks.storage_tidy_tenant("acme")
    assert kept(row).state == "coming"
    monkeypatch.setattr(service, "_place", real)
    tasks.storage_tidy_tenant("acme")
    tasks.storage_tidy_tenant("acme")
    assert (kept(row).state, kept(row).files) == ("kept", 2)
    with in_tenant("acme"):
        assert (Volume.objects.get().used_bytes, Volume.objects.get().upload_bytes) == (10_000, 0)


def test_what_stands_in_the_place_of_outputs_is_not_gone_through(api, node, volume, running, tmp_path):  # noqa: F811
    """Work that mounts the volume put a link where its outputs are to lie."""
    row = running()
    (node.outputs(row) / "a").write_text("a")
    (tmp_path / "target").mkdir()
    root = django_settings.WEIR_STORAGE_DIR / "acme" / str(volume.uid) / "files"
    (root / row.no).symlink_to(tmp_path / "target")
    end(api, node, row)
    settle(node)
    assert (kept(row).state, kept(row).problem_code) == ("lost", "path")
    assert list((tmp_path / "target").iterdir()) == []


def test_a_volume_that_is_to_keep_outputs_is_not_deleted(alice, api, node, volume, running):  # noqa: F811
    row = running()
    with in_tenant("acme"), pytest.raises(Conflict, match=row.no):
        volume_delete(actor=alice.actor, uid=volume.uid)
    (node.outputs(row) / "a").write_text("a")
    end(api, node, row)
    with in_tenant("acme"):
        volume_delete(actor=alice.actor, uid=volume.uid)
    settle(node)
    assert (kept(row).state, kept(row).problem_code) == ("lost", "volume_gone")
    assert not WorkFolder.plain.exists()


def test_work_that_never_ran_leaves_none(api, node, volume):  # noqa: F811
    found = submit(api, outputs=str(volume.uid))
    row = Workload.objects.across().get(uid=found["uid"])
    assert row.outputs == volume.uid
    assert api.post(f"/api/v1/workloads/{row.uid}/stop").status_code < 300
    assert told(api, row) == []
    assert not WorkFolder.plain.exists()
