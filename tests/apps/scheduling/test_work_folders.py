"""What work keeps in its folder is there at its next attempt, on whichever node, until the work is over.

The nodes keep real folders, and pack, send, fetch and unpack them over the agents' endpoints.
"""

from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone, translation

from apps.fleet.models import Node, Slice, Watch, WorkFolder
from apps.fleet.services.folder_transfers import archives_tidy, folders_check
from apps.fleet.services.nodes.membership import node_drain, node_remove
from apps.fleet.services.nodes.node_liveness import leaving_check, nodes_check
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Workload
from apps.scheduling.selectors.timeline import timeline
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workload_control import workload_requeue, workload_resume, workload_suspend
from apps.scheduling.services.workloads.stopping import deadlines_keep, workload_stop
from node_agent.folder_transfers import FolderFailed, FolderTransfers
from node_agent.protocol.folders import piece_path, sent_path
from node_agent.transport import RequestRefused
from node_agent.work_folders import WorkFolders
from tests.apps.scheduling.test_preempting import alice, pool, submit
from tests.apps.scheduling.working_node import WorkingNode
from tests.journeys.test_node_agent_runtime import ROOT

__all__ = ["alice", "pool", "submit"]
pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-810", "ELA-811", "ELA-503")]


class KeepingNode(WorkingNode):
    """Keeps the folders of its work on disk as an agent does, and is the portal that its transfers speak to."""

    def __init__(self, name, place, **more):
        super().__init__(name, **more)
        self.folders = WorkFolders(place / name)
        self.transfers = FolderTransfers(self, self.folders, lambda key: None, ROOT)
        self.client = Client(headers={"host": "localhost", "authorization": f"Bearer {self.credential}"})
        self.homes, self.problems = {}, []

    def message(self, **more):
        used = {key for uid, key in self.homes.items() if uid in self.runs}
        idle = tuple(key for key in self.folders.names() if key not in used)
        return super().message(**more).model_copy(update={"folders": idle})

    def hear(self, reply):
        for wish in reply.desired:
            if wish.state == "running" and wish.slice_uid not in self.runs and wish.folder:
                self.begin(wish)
        super().hear(reply)
        for key in reply.folders_over:
            self.folders.remove(key)
        for wish in reply.folders_send:
            self.transfers._send(wish)

    def begin(self, wish):
        folder = wish.folder
        self.homes[wish.slice_uid] = folder.key
        if not self.transfers.is_fetched(folder):
            self.transfers._fetch(wish)
        elif not folder.is_kept and folder.archive is None:
            self.folders.remove(folder.key)
        self.folders.make(folder.key, None)

    def home(self, row):
        return self.folders.home(f"{row.uid}.0")

    # ---- the portal as transfers see it ----

    def piece_put(self, key, transfer, number, piece):
        answer = self.client.put(
            piece_path(key, transfer, number), piece, content_type="application/octet-stream"
        )
        if answer.status_code != 200:
            raise RequestRefused(answer.content.decode())

    def piece_get(self, key, transfer, number):
        answer = self.client.get(piece_path(key, transfer, number))
        if answer.status_code != 200:
            raise RequestRefused(answer.content.decode())
        return answer.content

    def folder_sent(self, key, message):
        answer = self.client.post(sent_path(key), message.model_dump_json(), content_type="application/json")
        if answer.status_code != 200:
            raise RequestRefused(answer.content.decode())


@pytest.fixture
def nodes(pool, tmp_path, settings):
    settings.WEIR_FOLDERS_DIR = tmp_path / "portal"
    return [KeepingNode(name, tmp_path) for name in ("n1", "n2")]


@pytest.fixture
def steer(alice, acme):
    def act(service, row):
        service(actor=alice, tenant=acme, workload_uid=row.uid)
        row.refresh_from_db()

    return act


def runs_on(row):
    part = Slice.plain.filter(workload_uid=row.uid).latest("pk")
    return part.node.name


def place(nodes, row, turns=3):
    """It is placed and everybody does his part until it runs."""
    for _turn in range(turns):
        cycle_run(actor=SYSTEM)
        folders_check(actor=SYSTEM)
        for node in nodes:
            node.turn()
    row.refresh_from_db()


def told(row):
    with translation.override("en"):
        return [line.sentence for line in timeline(row) if line.kind == "folder"]


def first(nodes, submit):
    """Work that runs on one of them and has saved; the node where it is, and the other."""
    row = submit()
    place(nodes, row)
    assert row.state == "running"
    here, other = sorted(nodes, key=lambda node: node.info.name != runs_on(row))
    (here.home(row) / "model.pt").write_bytes(b"epoch 7" * 300_000)
    return row, here, other


def aside(nodes, row, steer):
    steer(workload_suspend, row)
    for node in nodes:
        node.turn()
    row.refresh_from_db()
    assert row.state == "suspended"


def elsewhere(here):
    """Nothing more is placed on this node."""
    node_drain(actor=SYSTEM, node_uid=here.uid)


def test_resumed_on_the_same_node_it_finds_what_it_kept(nodes, submit, steer):
    row, here, other = first(nodes, submit)
    aside(nodes, row, steer)
    here.turn()
    assert (here.home(row) / "model.pt").exists(), "suspended work keeps its folder"
    Node.objects.filter(uid=other.uid).update(state="drained", is_drained=True)
    steer(workload_resume, row)
    place(nodes, row)
    assert (row.state, runs_on(row)) == ("running", here.info.name)
    assert (here.home(row) / "model.pt").read_bytes().startswith(b"epoch 7")
    assert told(row) == []


def test_resumed_on_another_node_its_folder_is_there_before_it_starts(
    nodes, submit, steer, settings, django_capture_on_commit_callbacks
):
    row, here, other = first(nodes, submit)
    aside(nodes, row, steer)
    Node.objects.filter(uid=here.uid).update(is_leaving=True)
    steer(workload_resume, row)
    cycle_run(actor=SYSTEM)
    other.turn()
    assert Slice.plain.get(workload_uid=row.uid, final_at=None).told_at is None, "it waits for its folder"
    with django_capture_on_commit_callbacks(execute=True):
        place(nodes, row)
    assert (row.state, runs_on(row)) == ("running", other.info.name)
    assert (other.home(row) / "model.pt").read_bytes() == b"epoch 7" * 300_000
    assert told(row) == [
        f"It starts when its folder has come from {here.info.name}.",
        f"It goes on in its folder, which came from {here.info.name} (3 MiB).",
    ]
    assert here.folders.names() == (), "what was brought away is deleted"
    assert list(settings.WEIR_FOLDERS_DIR.iterdir()) == [], "nothing stays at the portal"


def test_an_owner_s_requeue_is_told_as_one_and_keeps_the_folder(nodes, submit, steer):
    row, here, _other = first(nodes, submit)
    steer(workload_requeue, row)
    for node in nodes:
        node.turn()
    assert Workload.plain.get(pk=row.pk).state == "pending"
    with translation.override("en"):
        (sentence,) = [line.sentence for line in timeline(row) if line.kind == "requeued"]
    assert sentence == "Its owner asked for it: it waits again in its old place (attempt 2)."
    assert (here.home(row) / "model.pt").exists()


def test_over_its_folder_is_deleted_where_it_lies(nodes, submit, steer, acme):
    row, here, _other = first(nodes, submit)
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough")
    here.turn()
    here.turn()
    assert here.folders.names() == ()
    row, here, _other = first(nodes, submit)
    aside(nodes, row, steer)
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough")
    here.turn()
    assert here.folders.names() == (), "ended while it was put aside"
    assert not WorkFolder.plain.exists()


def test_a_node_that_leaves_stays_until_what_it_keeps_is_brought_away(nodes, submit, steer):
    row, here, other = first(nodes, submit)
    aside(nodes, row, steer)
    node_remove(actor=SYSTEM, node_uid=here.uid)
    leaving_check(actor=SYSTEM)
    assert Node.objects.get(uid=here.uid).state == "ready"
    folders_check(actor=SYSTEM)
    here.turn()
    leaving_check(actor=SYSTEM)
    assert Node.objects.get(uid=here.uid).state == "removed"
    steer(workload_resume, row)
    place([other], row)
    assert (other.home(row) / "model.pt").exists()


def test_lost_with_its_node_it_says_so(nodes, submit):
    row, here, other = first(nodes, lambda: submit(requeue_on_loss=True))
    nodes_check(actor=SYSTEM)
    Node.objects.filter(uid=here.uid).update(last_seen_at=timezone.now() - timedelta(minutes=5))
    Watch.objects.update(listening_since_at=timezone.now() - timedelta(minutes=9), checked_at=timezone.now())
    nodes_check(actor=SYSTEM)
    assert Workload.plain.get(pk=row.pk).state == "pending"
    place([other], row)
    assert row.state == "running"
    assert told(row) == [f"It started in an empty folder: what it had kept was lost with {here.info.name}."]
    assert list(other.home(row).iterdir()) == []


def test_a_node_that_does_not_send_in_time_is_waited_for_and_then_told(nodes, submit, steer):
    row, here, other = first(nodes, submit)
    aside(nodes, row, steer)
    elsewhere(here)
    steer(workload_resume, row)
    place([other], row)
    assert row.state == "placed"
    long_ago = timezone.now() - timedelta(seconds=django_settings.WEIR_SLICE_LOST_AFTER_S + 5)
    WorkFolder.plain.update(moved_at=long_ago)
    place([other], row)
    assert row.state == "running"
    assert told(row)[-1].startswith(f"It started in an empty folder: {here.info.name} did not send")


def test_a_folder_beyond_the_limit_is_not_brought_and_that_is_said(nodes, submit, steer, settings):
    settings.WEIR_FOLDER_LIMIT_MIB = 1
    row, here, _other = first(nodes, submit)
    aside(nodes, row, steer)
    elsewhere(here)
    steer(workload_resume, row)
    place(nodes, row)
    assert row.state == "running"
    assert told(row)[-1].endswith("(it holds more than the 1 MiB that may travel).")


def test_nobody_else_puts_fetches_or_ends_a_transfer(nodes, submit, steer):
    row, here, other = first(nodes, submit)
    aside(nodes, row, steer)
    elsewhere(here)
    steer(workload_resume, row)
    cycle_run(actor=SYSTEM)
    folders_check(actor=SYSTEM)
    folder = WorkFolder.plain.get()
    key, transfer = str(folder), str(folder.transfer)
    for node in (other, KeepingNode("n3", here.folders._root.parent)):
        with pytest.raises(RequestRefused, match="not_found"):
            node.piece_put(key, transfer, 0, b"mine")
    here.piece_put(key, transfer, 0, b"half")
    with pytest.raises(RequestRefused, match="not_found"):
        other.piece_get(key, transfer, 0)
    with pytest.raises(RequestRefused, match="too_large"):
        here.piece_put(key, transfer, 0, b"x" * (1024 * 1024 + 1))
    for strange in ("../../etc", "x", f"{row.uid}", f"{row.uid}.0.0"):
        answer = here.client.get(f"/api/agent/v1/folders/{strange}/{transfer}/0")
        assert answer.status_code == 404
    assert (
        here.client.put(piece_path(key, transfer, 0).replace(transfer, str(row.uid)), b"x").status_code == 404
    )
    assert Client(headers={"host": "localhost"}).get(piece_path(key, transfer, 0)).status_code == 401


def test_half_a_transfer_is_no_folder(nodes, submit, steer, settings):
    row, here, other = first(nodes, submit)
    aside(nodes, row, steer)
    elsewhere(here)
    steer(workload_resume, row)
    cycle_run(actor=SYSTEM)
    folders_check(actor=SYSTEM)
    here.turn()
    transfer = WorkFolder.plain.get().transfer
    (settings.WEIR_FOLDERS_DIR / str(transfer) / "1").write_bytes(b"another")
    with pytest.raises(FolderFailed, match="what came is not what was sent"):
        other.turn()
    assert other.folders.names() == ()


def test_a_full_disk_of_the_portal_is_told_to_the_node(nodes, submit, steer, monkeypatch):
    row, here, _other = first(nodes, submit)
    aside(nodes, row, steer)
    elsewhere(here)
    steer(workload_resume, row)
    cycle_run(actor=SYSTEM)
    folders_check(actor=SYSTEM)
    monkeypatch.setattr("apps.fleet.services.folder_files.RESERVE_BYTES", 2**60)
    with pytest.raises(RequestRefused, match="folder_store_full"):
        here.turn()
    monkeypatch.undo()
    place(nodes, row)
    assert row.state == "running"


def test_what_runs_at_its_deadline_is_stopped_and_that_is_why(nodes, submit):
    row = submit(deadline_at=timezone.now() + timedelta(hours=1))
    other = submit(percent=50, deadline_at=timezone.now() + timedelta(hours=2))
    place(nodes, row)
    assert deadlines_keep(actor=SYSTEM) == 0
    Workload.plain.filter(pk=row.pk).update(deadline_at=timezone.now())
    assert deadlines_keep(actor=SYSTEM) == 1
    for node in nodes:
        node.turn()
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("finished", "deadline")
    with translation.override("en"):
        assert timeline(row)[-1].sentence == "Its deadline has come: it was to have ended by then."
    assert Workload.plain.get(pk=other.pk).state == "running"
    assert deadlines_keep(actor=SYSTEM) == 0


def test_an_agent_that_knows_no_folders_is_told_none(pool, submit):
    node = WorkingNode()
    submit()
    cycle_run(actor=SYSTEM)
    assert node.say().desired[0].folder is None


def test_archives_nobody_knows_are_swept(nodes, settings):
    stray = settings.WEIR_FOLDERS_DIR / "7d8f4b7e-0000-0000-0000-000000000000"
    stray.mkdir(parents=True)
    assert archives_tidy(timezone.now()) == 0
    assert archives_tidy(timezone.now() + timedelta(hours=2)) == 1
    assert not stray.exists()
