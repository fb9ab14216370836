"""Images built from a Containerfile: refused before anything runs, carried out by work, saved, failed, cancelled."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.fleet.models import ContainerSave, LogChunk, MetricSeries, Slice
from apps.images.containerfile.script import DONE, FAILED
from apps.images.errors import ContainerfileRefused
from apps.images.models import ImageBuild, ImageVersion
from apps.images.registry import Registry
from apps.images.selectors import build_get, build_list
from apps.images.services.build_following import build_follow, build_work_end, builds_open
from apps.images.services.builds import BuildRequest, build_cancel, image_build
from apps.images.services.images import version_delete
from apps.images.services.imports import version_take
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from apps.scheduling.models import QuotaHold, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.stopping import workload_stop
from tests.apps.images.test_saves import LAYER, SavingNode
from tests.apps.scheduling.test_preempting import pool
from tests.factories.archive import layer

__all__ = ["pool"]
pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-4", "POOL-8.2c")]
TEXT = "FROM mine:1\nENV C=d\nRUN echo hi > /srv/new\nCMD /srv/new\n"


@pytest.fixture
def node(pool):
    return SavingNode()


@pytest.fixture
def base(registry, archive, taken, node) -> ImageVersion:
    """An image of ann's."""
    node.turn()
    archive(layer({"bin/sh": b"#!\n", "srv/old": b"old"}), entry_point=(), Env=["A=b"])
    return taken()


@pytest.fixture
def ask(ann, acme, base):
    def act(text=TEXT, tag="1", *, person=ann, name="built", **more) -> ImageBuild:
        asked = BuildRequest(name=name, tag=tag, containerfile=text, **more)
        return image_build(actor=person.actor, tenant=acme, asked=asked)

    return act


@pytest.fixture
def running(ask, node):
    def act(*args, **more) -> ImageBuild:
        row = ask(*args, **more)
        cycle_run(actor=SYSTEM)
        node.turn()
        assert work_of(row).state == "running"
        return row

    return act


def work_of(row: ImageBuild) -> Workload:
    return Workload.plain.get(uid=row.workload_uid)


def version_of(row: ImageBuild) -> ImageVersion:
    return ImageVersion.objects.get(uid=row.version_uid)


def told(row: ImageBuild, name: str, value: float = 1) -> None:
    """Its script has written a figure."""
    MetricSeries.plain.create(
        tenant=row.tenant,
        workload_uid=row.workload_uid,
        share=0,
        name=name,
        steps=[1],
        values=[value],
        times=[1.0],
    )
    follow(row)


def follow(row: ImageBuild) -> ImageBuild:
    build_follow(actor=SYSTEM, version_uid=row.version_uid)
    build_work_end(actor=SYSTEM, version_uid=row.version_uid)
    row.refresh_from_db()
    return row


def built(row: ImageBuild, node: SavingNode) -> ImageVersion:
    """All the way."""
    told(row, DONE)
    node.turn()
    assert node.send(LAYER).status_code == 200
    follow(row)
    version_take(actor=SYSTEM, uid=row.version_uid)
    follow(row)
    node.turn()
    follow(row)
    return version_of(row)


def test_steps_that_are_done_become_a_version_and_its_work_ends(registry, running, node, base, ann, acme):
    row = running()
    work = work_of(row)
    assert (version_of(row).state, row.state, row.base, row.steps) == ("building", "building", "mine:1", 1)
    assert work.work["image"]["version"] == str(base.uid)
    assert work.work["argv"][:2] == ["/bin/sh", "-c"]
    assert (work.run_timeout_s, work.submitted_by) == (3600, ann.user)
    told(row, DONE)
    assert (version_of(row).state, row.state, work_of(row).state) == ("saving", "saving", "running")
    node.turn()
    assert node.send(LAYER).status_code == 200
    follow(row)
    assert work_of(row).state == "stopping", "its layer is here: it need not run on"
    version_take(actor=SYSTEM, uid=row.version_uid)
    node.turn()
    follow(row)
    version = version_of(row)
    assert (version.state, row.state, row.problem, work_of(row).state) == ("ready", "done", "", "finished")
    assert row.ended_at is not None
    assert row.version_uid not in builds_open()
    assert version.entry_point == ["/bin/sh", "-c", "/srv/new"]
    held = Registry(registry.url)
    told_config = held.config(version.repository, held.manifest(version.repository, version.digest))
    assert sorted(told_config["config"]["Env"])[:2] == ["A=b", "C=d"]
    assert "weir image build" in json.dumps(told_config["history"])


def test_what_cannot_be_built_is_refused_by_its_line_and_nothing_is_left(ask, base, taken, stranger):
    for text, line in (
        ("FROM mine:1\nRUN --mount=type=secret,id=a true", "Line 2"),
        ("FROM mine:1\nADD http://x/y /z", "Line 2"),
        ("FROM mine:1\nCOPY ../x /z", "Line 2"),
        ("FROM mine:1\nCOPY x /z", "There are no files to copy"),
        ("x" * 10_000_000, "at most 16 KiB"),
    ):
        with pytest.raises(ContainerfileRefused, match=line):
            ask(text)
    with pytest.raises(InvalidInput) as found:
        ask("FROM nobody:1\nRUN true")
    assert "no image nobody:1" in str(found.value.fields["containerfile"])
    with pytest.raises(InvalidInput):
        ask("FROM mine:1\nCOPY x /z", folder="0" * 64)
    with pytest.raises(InvalidInput):
        ask("FROM mine:1\nCOPY x /z", volume="nobodys")
    with pytest.raises(InvalidInput):
        ask("FROM mine:1\nRUN true", args={"A": "x" * 10_000})
    assert not ImageBuild.plain.exists()
    assert not Workload.plain.exists()
    assert ImageVersion.objects.count() == 1


def test_nobody_begins_with_an_image_of_another_tenant_or_finds_his_build(
    base, ask, stranger, globex, member
):
    asked = BuildRequest(name="theirs", containerfile=TEXT)
    with pytest.raises(InvalidInput):
        image_build(actor=stranger.actor, tenant=globex, asked=asked)
    row = ask()
    for person, tenant in ((stranger, globex), (member("acme", "tenant_front_line"), row.tenant)):
        assert list(build_list(actor=person.actor, tenant=tenant)) == []
        with pytest.raises(NotFound):
            build_cancel(actor=person.actor, tenant=tenant, uid=row.uid)


def test_of_two_builds_of_one_version_one_is_refused_and_holds_nothing(ask):
    row = ask()
    with pytest.raises(Conflict):
        ask()
    assert [one.uid for one in ImageBuild.plain.all()] == [row.uid]
    assert Workload.plain.count() == 1


def test_without_quota_for_the_image_nothing_is_built(ask, acme):
    quota_set(actor=SYSTEM, tenant=acme, item="storage_mib", total=0)
    with pytest.raises(QuotaExceeded):
        ask()
    assert not Workload.plain.exists()


def test_a_step_that_failed_is_said_with_its_line_and_its_last_words(running, node, acme):
    row = running()
    part = Slice.plain.get(workload_uid=row.workload_uid)
    LogChunk.objects.create(slice=part, offset=0, size=6, text="oh no\n")
    Slice.plain.filter(pk=part.pk).update(log_next=6)
    told(row, FAILED, 3)
    assert row.state == "building", "as long as it runs it is not over"
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.workload_uid, reason="x")
    node.turn()
    follow(row)
    assert (row.state, row.failed_line, row.output) == ("failed", 3, "oh no\n")
    version = version_of(row)
    assert (version.state, version.problem) == ("refused", "Line 3 failed.")
    assert not QuotaHold.plain.exclude(state="released").filter(holder_uid=version.uid).exists()


def test_work_that_was_ended_before_its_steps_were_done_is_a_build_that_failed(running, node, acme):
    row = running()
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.workload_uid, reason="no room")
    node.turn()
    assert follow(row).state == "failed"
    assert row.workload_no in row.problem
    follow(row)
    assert row.ended_at is not None


def test_its_last_words_are_waited_for(running, node, acme):
    row = running()
    Workload.plain.filter(uid=row.workload_uid).update(state="failed", ended_at=timezone.now())
    assert follow(row).state == "building"
    Workload.plain.filter(uid=row.workload_uid).update(ended_at=timezone.now() - timedelta(minutes=1))
    assert follow(row).state == "failed"


def test_a_build_is_cancelled_while_it_waits_runs_and_is_saved(ask, running, node, ann, acme):
    waits = ask(tag="1")
    assert build_get(actor=ann.actor, tenant=acme, uid=waits.uid).shown_state == "waiting"
    build_cancel(actor=ann.actor, tenant=acme, uid=waits.uid)
    assert (follow(waits).state, work_of(waits).state) == ("cancelled", "finished")
    row = running(tag="2")
    told(row, DONE)
    assert ContainerSave.plain.exists()
    build_cancel(actor=ann.actor, tenant=acme, uid=row.uid)
    follow(row)
    node.turn()
    assert (follow(row).state, work_of(row).state) == ("cancelled", "finished")
    assert not ContainerSave.plain.exists()
    assert version_of(row).state == "refused"
    with pytest.raises(Conflict):
        build_cancel(actor=ann.actor, tenant=acme, uid=row.uid)


def test_a_version_that_is_deleted_ends_its_build(running, node, ann):
    row = running()
    version_delete(actor=ann.actor, uid=row.version_uid)
    follow(row)
    node.turn()
    assert (follow(row).state, work_of(row).state) == ("cancelled", "finished")
    assert row.ended_at is not None


def test_a_hint_that_was_lost_is_found_by_the_clock(running, django_capture_on_commit_callbacks):
    row = running()
    assert builds_open() == [row.version_uid]


def test_steps_of_a_build_before_are_not_run_again_unless_that_is_wanted(running, ask, node, base):
    first = built(running(), node)
    again = ask(TEXT.replace("CMD", "RUN more\nCMD"), tag="2")
    assert (again.steps, again.steps_before) == (2, 1)
    assert work_of(again).work["image"]["version"] == str(first.uid)
    script = work_of(again).work["argv"][-1]
    assert ("RUN more" in script, "RUN echo hi" in script) == (True, False)
    fresh = ask(TEXT, tag="3", is_fresh=True)
    assert (fresh.steps_before, work_of(fresh).work["image"]["version"]) == (0, str(base.uid))
    other = ask(TEXT.replace("hi", "ho"), tag="4")
    assert other.steps_before == 0


def test_by_page_and_api(ask, ann, base, acme):
    page = ann.page()
    assert 'data-test="build-containerfile"' in page.get("/images/builds/new/").content.decode()
    given = {"name": "paged", "tag": "1", "owner": "person", "containerfile": TEXT, "compute_percent": 10,
             "memory_mib": 512, "minutes": 5, "args": ""}  # fmt: skip
    made = page.post("/images/builds/new/", given)
    row = ImageBuild.plain.get()
    assert made["Location"] == f"/images/builds/{row.uid}/"
    assert work_of(row).run_timeout_s == 300
    shown = page.get(f"/images/builds/{row.uid}/").content.decode()
    assert 'data-state="waiting"' in shown
    assert "RUN echo hi &gt; /srv/new" in shown
    assert 'data-name="paged:1"' in page.get("/images/builds/").content.decode()
    refused = page.post("/images/builds/new/", given | {"tag": "2", "containerfile": "FROM mine:1\nFROB"})
    assert "Line 2: FROB is not taken" in refused.content.decode()
    page.post(f"/images/builds/{row.uid}/cancel/")
    row.refresh_from_db()
    assert row.state == "cancelled"
