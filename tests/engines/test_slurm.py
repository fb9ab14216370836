"""What is Slurm's own: tokens, accounts that know what the controller has forgotten, folders of logs."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from apps.centers.adapters.base import (
    OVER,
    Ability,
    CallLimits,
    CenterBroken,
    CenterRefused,
    CenterUnreachable,
    JobMessage,
    JobState,
    Quantities,
)
from apps.centers.adapters.kinds import adapter_of, kinds
from apps.centers.adapters.slurm import records
from apps.centers.adapters.slurm.adapter import SlurmAdapter
from portal.devstack.servers.processes import wait_until
from tests.engines.engines import job
from tests.harness.bad_network import Fault
from tests.harness.slurm import USER

pytestmark = pytest.mark.req("JC-6.4-5")
WELL = {"address": "https://slurm.example.org:6820", "user": "games", "folder": "/work"}
KEY = base64.b64encode(b"k" * 32).decode()


def of(settings: dict[str, str], **secrets: str) -> SlurmAdapter:
    return adapter_of("slurm", settings, secrets or {"key": KEY}, local_addresses=True)


def token_of(engine, user: str = USER, lifespan: int = 600) -> str:
    told = engine.cluster.command("scontrol", "token", f"username={user}", f"lifespan={lifespan}")
    return told.strip()


def eventually(condition: Callable[[], bool], timeout_s: float = 90) -> None:
    assert wait_until(condition, timeout_s=timeout_s, every_s=0.2)


@pytest.fixture(autouse=True)
def _whole(request: pytest.FixtureRequest) -> None:
    """Whatever a test ends is there for the next one."""
    yield
    if "engine" in request.fixturenames:
        cluster = request.getfixturevalue("engine").cluster
        if "slurmdbd" not in cluster.processes:
            cluster.accounts_start()
        if "slurmctld" not in cluster.processes:
            cluster.controller_start()


def test_a_token_of_the_clusters_own_serves(engine, key):
    adapter = of(engine.settings, token=token_of(engine))
    assert adapter.check().startswith("slurm 2")
    assert adapter.job_find(key) is None


def test_a_token_that_has_ended_is_told_with_its_time(engine):
    adapter = of(engine.settings, token=token_of(engine, lifespan=1))
    time.sleep(2.1)
    for call in (
        adapter.check,
        lambda: adapter.job_find("k"),
        lambda: list(adapter.usage(datetime.now(UTC))),
    ):
        with pytest.raises(CenterRefused, match="expired at 20"):
            call()


def test_a_token_of_another_is_refused_before_anything_is_asked(engine):
    engine.network.asked.clear()
    with pytest.raises(CenterRefused, match="of nobody, not of games"):
        of(engine.settings, token=token_of(engine, "nobody"))
    with pytest.raises(CenterRefused, match="root's"):
        of(engine.settings, token=token_of(engine, "root"))
    assert engine.network.asked == []


@pytest.mark.parametrize(
    ("changed", "secrets", "words"),
    [
        ({"user": "root"}, {"key": KEY}, "root"),
        ({"user": "0"}, {"key": KEY}, "root"),
        ({"user": "a\nb"}, {"key": KEY}, "no name"),
        ({"user": " "}, {"key": KEY}, "User at the centre is to be filled in"),
        ({}, {}, "either a token or"),
        ({}, {"key": KEY, "token": "a.b.c"}, "either a token or"),
        ({}, {"key": "not base64!"}, "base64"),
        ({}, {"key": "aGVsbG8="}, "16 bytes"),
        ({}, {"token": "nonsense"}, "no token"),
        ({}, {"token": "a.W10.c"}, "no token"),
        ({}, {"token": "a.eyJleHAiOiJ4In0.c"}, "no time"),
        ({"folder": "relative"}, {"key": KEY}, "no absolute path"),
        ({"folder": "/a/../etc"}, {"key": KEY}, "no absolute path"),
        ({"folder": "/a/%u"}, {"key": KEY}, "no absolute path"),
        ({"folder": "/"}, {"key": KEY}, "no absolute path"),
        ({"log_folder": "logs"}, {"key": KEY}, "no absolute path"),
        ({"devices": "gpu"}, {"key": KEY}, "names of devices"),
        ({"devices": "tpu=x"}, {"key": KEY}, "names of devices"),
        ({"devices": "npu=gpu"}, {"key": KEY}, "same name"),
        ({"address": "slurm"}, {"key": KEY}, "address"),
        ({"adress": "x"}, {"key": KEY}, "no such field: adress"),
        ({"key": KEY}, {"key": KEY}, "no such field: key"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_words(changed, secrets, words):
    with pytest.raises(CenterRefused, match=words):
        adapter_of("slurm", WELL | changed, secrets, local_addresses=False)


def test_a_kind_that_is_not_there_is_refused():
    assert kinds()["slurm"].field_named("key").is_secret
    with pytest.raises(CenterRefused, match="named pbs"):
        adapter_of("pbs", {}, {}, local_addresses=False)


def test_secrets_are_not_in_what_an_adapter_is_printed_as():
    adapter = of(WELL)
    assert KEY not in f"{adapter!r}{vars(adapter)!r}"


def test_without_accounts_nothing_is_said_not_to_be_there(engine, adapter, key):
    native_id = adapter.job_create(job("true"), key)
    engine.cluster.kill("slurmdbd")
    with pytest.raises(CenterUnreachable, match="7000"):
        adapter.job_find("weir-never")
    with pytest.raises(CenterUnreachable):
        adapter.job_create(job("true"), f"{key}.2")
    with pytest.raises(CenterUnreachable):
        adapter.check()
    # What the controller knows it tells.
    assert adapter.job_get(native_id).key == key
    assert engine.count(f"{key}.2") == 0


def test_without_a_controller_it_is_unreachable_and_no_credential_is_blamed(engine, adapter, key):
    adapter.check()
    engine.cluster.kill("slurmctld")
    with pytest.raises(CenterUnreachable, match="controller"):
        adapter.check()
    hurried = engine.adapter(limits=CallLimits(answer_s=1))
    hurried._rest._version = "v0.0.38"
    for call in (lambda: hurried.job_create(job("true"), key), lambda: hurried.job_get("1")):
        with pytest.raises(CenterUnreachable):
            call()


def test_a_user_that_is_root_there_gets_no_job_run(engine, key):
    """A name of root's is known only by the number that its first job has."""
    adapter = engine.adapter()
    number = b'"user_id": 5,'

    def as_root(body: bytes) -> bytes:
        assert number in body
        return body.replace(number, b'"user_id": 0,').replace(b'"user_name": "games"', b'"user_name": "root"')

    fault = Fault(only="GET /slurm/v0.0.38/job/", body=as_root)
    with engine.network.bad(fault), pytest.raises(CenterRefused, match="for root"):
        adapter.job_create(job("sleep 30"), key)
    eventually(lambda: adapter.job_find(key).state == JobState.STOPPED)


def test_jobs_of_others_are_neither_told_nor_touched(engine, adapter, key):
    other = SlurmAdapter({**engine.settings, "user": "nobody"}, engine.secrets, True)
    native_id = other.job_create(job("sleep 300"), key)
    assert adapter.job_find(key) is None
    for call in (adapter.job_get, adapter.job_stop):
        with pytest.raises(CenterRefused, match="not of games"):
            call(native_id)
    mine = adapter.job_create(job("true"), key)
    assert mine != native_id
    eventually(lambda: other.job_get(native_id).state is JobState.RUNNING)
    other.job_stop(native_id)
    # Of a user without an association the accounts have jobs under no name.
    eventually(
        lambda: "CANCELLED" in engine.cluster.command("sacct", "-X", "-n", f"--name={key}", "-S", "now-1hour")
    )
    since = datetime.now(UTC) - timedelta(days=1)
    assert native_id not in {each.native_id for each in adapter.usage(since)}
    assert not list(other.usage(since))
    with pytest.raises(CenterRefused, match="know no user nobody"):
        other.check()


def test_a_job_is_not_run_again_by_slurm(engine, adapter, key, until):
    native_id = adapter.job_create(job("echo ran; sleep 30"), key)
    until(native_id, JobState.RUNNING)
    engine.cluster.command("scontrol", "requeue", native_id)
    # Put back, a job waits for two minutes unless it is told not to.
    eventually(lambda: adapter.job_get(native_id).message == "BeginTime")
    engine.cluster.command("scontrol", "update", f"JobId={native_id}", "StartTime=now")
    eventually(lambda: adapter.job_get(native_id).state in OVER)
    seen = adapter.job_get(native_id)
    assert (seen.state, seen.exit_code) == (JobState.FAILED, 75)
    assert adapter.job_log(native_id, 0).endswith(b"Not run a second time.\n")


def test_a_time_limit_in_minutes_and_what_is_asked_for_arrive(engine, adapter, key):
    asked = Quantities(cpu=2, gpu=1, npu=2, memory=120, storage=3, user_define=1)
    native_id = adapter.job_create(JobMessage("true", asked, time_limit_s=61), key)
    told = engine.cluster.command("scontrol", "show", "job", native_id)
    for part in (
        "TimeLimit=00:02:00",
        "cpu=2,mem=120M",
        "gres/card=1,gres/gpu=1,gres/npu=2",
        "MinTmpDiskNode=3G",
    ):
        assert part in told


def test_a_partition_bounds_what_is_told_and_asked(engine, key):
    adapter = of({**engine.settings, "partition": "all", "account": "weir"}, **engine.secrets)
    assert adapter.resources().nodes == 2
    native_id = adapter.job_create(job("true"), key)
    assert "Partition=all" in engine.cluster.command("scontrol", "show", "job", native_id)
    other = of({**engine.settings, "partition": "nowhere"}, **engine.secrets)
    assert (other.resources().nodes, other.resources().total) == (0, Quantities())
    with pytest.raises(CenterRefused, match="Invalid partition name specified \\(2000\\)"):
        other.job_create(job("true"), f"{key}.2")


def test_a_node_that_is_drained_gives_nothing(engine, adapter):
    engine.cluster.command("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    try:
        told = adapter.resources()
        assert (told.nodes, told.total.npu, told.total.cpu) == (1, 4, 8)
    finally:
        engine.cluster.command("scontrol", "update", "NodeName=n2", "State=RESUME")
    eventually(lambda: adapter.resources().nodes == 2)


def test_more_than_there_is_waits_with_its_reason_or_is_refused(adapter, key):
    with pytest.raises(CenterRefused, match="2014"):
        adapter.job_create(job("true", Quantities(cpu=1, npu=5)), key)
    native_id = adapter.job_create(job("true", Quantities(cpu=1000)), f"{key}.2")
    assert adapter.job_get(native_id).state == JobState.WAITING
    assert adapter.job_get(native_id).message
    adapter.job_stop(native_id)


def test_logs_are_an_ability_where_a_folder_is_set_alone(engine, adapter):
    settings = {name: value for name, value in engine.settings.items() if name != "log_folder"}
    without = of(settings, **engine.secrets)
    assert Ability.LOGS in adapter.abilities
    assert Ability.LOGS not in without.abilities
    with pytest.raises(CenterRefused, match="no folder of logs"):
        without.job_log("1", 0)
    away = of({**settings, "log_folder": "/nowhere/at/all"}, **engine.secrets)
    with pytest.raises(CenterRefused, match="folder of logs"):
        away.check()
    with pytest.raises(CenterUnreachable, match="folder of logs"):
        away.job_log("1", 0)


def test_a_log_leads_nowhere_else(tmp_path):
    adapter = of({**WELL, "log_folder": str(tmp_path)})
    (tmp_path / "secret").write_text("of the portal")
    (tmp_path / "weir-1.log").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", tmp_path / "weir-2.log")
    os.mkfifo(tmp_path / "weir-3.log")
    (tmp_path / "weir-4.log").mkdir()
    for native_id in "1234":
        with pytest.raises(CenterRefused):
            adapter.job_log(native_id, 0)
    assert adapter.job_log("5", 0) == b""


def test_an_interface_of_another_version_is_refused_with_its_name(engine):
    def newer(body: bytes) -> bytes:
        return body.replace(b"v0.0.3", b"v0.0.9")

    def without_accounts(body: bytes) -> bytes:
        return body.replace(b"slurmdb\\/", b"else\\/")

    for body, words in ((newer, "v0.0.98"), (without_accounts, "slurmdbd")):
        with (
            engine.network.bad(Fault(only="/openapi/v3", body=body)),
            pytest.raises(CenterRefused, match=words),
        ):
            engine.adapter().check()


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ("", {}),
        ("(null)", {}),
        ("gpu:2", {"gpu": 2}),
        ("gpu:a100:2(S:0-1),npu:4", {"gpu": 2, "npu": 4}),
        ("gpu:a100:2(IDX:0,3-5),gpu:v100:1(IDX:N/A),shard:1K", {"gpu": 3, "shard": 1024}),
        ("gpu:nvidia_a100-sxm4.80gb:8", {"gpu": 8}),
    ],
)
def test_generic_resources_are_read_as_slurm_writes_them(told, counts):
    assert records.gres_counts(told) == counts


@pytest.mark.parametrize("told", ["gpu", "gpu:", "gpu:x", ":2", "gpu:2;npu:1", "gpu:-1", "gpu:2 npu:1"])
def test_what_is_no_list_of_generic_resources_is_broken(told):
    with pytest.raises(CenterBroken):
        records.gres_counts(told)


@pytest.mark.req("JC-6.4-2")
def test_what_the_controller_has_forgotten_the_accounts_know(engine, adapter, key, until):
    """Slurm's controller forgets a job minutes after its end: it is not made a second time for that.

    The last of these tests: the controller counts anew from one.
    """
    ended = adapter.job_create(job("exit 3"), key)
    before = until(ended, JobState.FAILED)
    succeeded = adapter.job_create(job("true"), f"{key}.s")
    until(succeeded, JobState.SUCCEEDED)
    # The accounts hear of an end some seconds later.
    eventually(lambda: {key, f"{key}.s"} <= {each.key for each in adapter.usage(before.ended_at)})
    cluster = engine.cluster
    cluster.kill("slurmctld")
    for file in (cluster.folder / "state").glob("job_state*"):
        file.unlink()
    cluster.controller_start()
    assert cluster.command("squeue", "--noheader", "--states=all").strip() == ""
    seen = adapter.job_find(key)
    assert (seen.native_id, seen.state) == (ended, JobState.FAILED)
    assert (seen.started_at, seen.ended_at) == (before.started_at, before.ended_at)
    # REST of this version tells no codes of the accounts but 0.
    assert seen.exit_code is None
    assert adapter.job_get(succeeded).exit_code == 0
    assert adapter.job_create(job("exit 3"), key) == ended
    adapter.job_stop(ended)
    assert set(adapter.jobs([key, f"{key}.s", "weir-never"])) == {key, f"{key}.s"}


@pytest.mark.req("JC-6.5-2")
def test_of_two_jobs_of_a_name_the_first_is_told_and_that_there_is_another(engine, adapter, key, monkeypatch):
    first = adapter.job_create(job("sleep 60"), key)
    with monkeypatch.context() as blind:
        # As two that ask at the same moment, of which neither sees the other's.
        blind.setattr(adapter, "job_find", lambda _key: None)
        second = adapter.job_create(job("sleep 60"), key)
    try:
        seen = adapter.jobs([key])[key]
        assert (seen.native_id, seen.others) == (first, (second,))
        assert adapter.job_create(job("sleep 60"), key) == first
    finally:
        for native_id in (first, second):
            adapter.job_stop(native_id)
