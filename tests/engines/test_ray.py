"""What is Ray's own: its token, its 500 for a job that there is, names of resources, logs with lines of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.centers.adapters.base import (
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
from apps.centers.adapters.ray import records
from apps.centers.adapters.ray.adapter import RayAdapter
from apps.centers.adapters.ray.jobs import SCRIPT_BYTES_MAX
from apps.centers.adapters.ray.logs import LogWindow
from portal.devstack.engines.ray_install import ray_folder
from portal.devstack.servers.processes import wait_until
from tests.engines.engines import job
from tests.harness.bad_network import Fault, with_body

pytestmark = pytest.mark.req("JC-6.4-5")
WELL = {"address": "https://ray.example.org:8265"}
TOKEN = "a-token-of-many-letters"


def eventually(condition: Callable[[], bool], timeout_s: float = 90) -> None:
    assert wait_until(condition, timeout_s=timeout_s, every_s=0.2)


def test_a_wrong_token_and_none_are_told_apart(engine):
    with pytest.raises(CenterRefused, match=r"403.*Invalid authentication token"):
        engine.wrong().check()
    with pytest.raises(CenterRefused, match=r"401.*Missing authentication token"):
        adapter_of("ray", engine.settings, {}, local_addresses=True).check()


@pytest.mark.parametrize(
    ("changed", "secrets", "words"),
    [
        ({"address": ""}, {}, "Address is to be filled in"),
        ({"address": "ray://cluster:10001"}, {}, "address"),
        ({}, {"token": "two words"}, "no token"),
        ({}, {"token": "a\nb"}, "no token"),
        ({}, {"token": "tökén"}, "no token"),
        ({"devices": "tpu=TPU"}, {}, "names of devices"),
        ({"devices": "npu=GPU"}, {}, "same name"),
        ({"token": "x"}, {}, "no such field: token"),
        ({"partition": "all"}, {}, "no such field: partition"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_words(changed, secrets, words):
    with pytest.raises(CenterRefused, match=words):
        adapter_of("ray", WELL | changed, secrets, local_addresses=False)


def test_its_token_is_a_secret_and_not_in_what_an_adapter_is_printed_as():
    assert kinds()["ray"].field_named("token").is_secret
    made = adapter_of("ray", WELL, {"token": TOKEN}, local_addresses=False)
    assert TOKEN not in f"{made!r}{vars(made)!r}"
    assert made.abilities == {Ability.JOBS, Ability.LOGS}


def test_a_key_sent_by_two_at_once_is_one_job(engine, adapter, key, until):
    others = [engine.adapter() for _ in range(3)]
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda each: each.job_create(job("echo ran"), key), [adapter, *others]))
    assert set(made) == {key}
    until(key, JobState.SUCCEEDED)
    assert adapter.job_log(key, 0) == b"ran\n"


def test_jobs_of_a_cluster_that_remembers_too_many_are_asked_for_one_by_one(engine, adapter, key):
    keys = [f"{key}.{number}" for number in range(4)]
    for each in keys:
        adapter.job_create(job("true"), each)
    narrow = engine.adapter(limits=CallLimits(answer_bytes=2500))
    engine.network.asked.clear()
    assert set(narrow.jobs([*keys, "weir-never"])) == set(keys)
    assert len(engine.network.asked) == 1 + 5


def test_its_500_is_taken_for_a_job_that_there_is_where_it_is_found(engine, adapter, key):
    """As if it had been sent by another between the question and the submission."""
    adapter.job_create(job("true"), key)
    missed = iter([b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"])
    told = f"Job {key} does not exist".encode()

    def once(answer: bytes) -> bytes:
        head = next(missed, None)
        return answer if head is None else with_body(head, told)

    with engine.network.bad(Fault(only=f"GET /api/jobs/{key}", whole=once)):
        assert adapter.job_create(job("true"), key) == key
        assert [line.split()[0] for line in engine.network.asked] == ["GET", "GET", "POST", "GET"]
    assert engine.count(key) == 1


def test_another_500_is_no_job(engine, adapter, key):
    trace = b"Traceback (most recent call last):\n" + b"  File x\n" * 200 + b"RuntimeError: no agent now\n"

    def fails(answer: bytes) -> bytes:
        return with_body(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", trace)

    with engine.network.bad(Fault(only=f"/api/jobs/{key}", whole=fails)):
        for call in (adapter.job_find, adapter.job_get, adapter.job_stop):
            with pytest.raises(CenterUnreachable, match="do it now: RuntimeError: no agent now"):
                call(key)
    # It has arrived all the same, and is found.
    with engine.network.bad(Fault(only="POST", whole=fails)):
        assert adapter.job_create(job("true"), key) == key
    assert engine.count(key) == 1

    def never_arrives(answer: bytes) -> bytes:
        if b'"type": "SUBMISSION"' in answer:
            return with_body(
                b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", f"Job {key}.2 does not exist".encode()
            )
        return fails(answer) if b'"job_id"' in answer else answer

    with (
        engine.network.bad(Fault(whole=never_arrives)),
        pytest.raises(CenterUnreachable, match="now: RuntimeError: no agent now"),
    ):
        adapter.job_create(job("true"), f"{key}.2")


def test_what_ray_itself_refuses_is_told_by_the_end_of_its_traceback(engine, adapter, key):
    def refuses(answer: bytes) -> bytes:
        told = b"Traceback:\n" + b"  File x\n" * 200 + b"ValueError: bad runtime_env\n"
        return with_body(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", told)

    with (
        engine.network.bad(Fault(only="POST", whole=refuses)),
        pytest.raises(CenterRefused, match="refuses the job: ValueError: bad runtime_env"),
    ):
        adapter.job_create(job("true"), key)


def test_a_404_that_is_not_rays_does_not_say_that_there_is_no_job(engine, adapter, key):
    def lost(_answer: bytes) -> bytes:
        return with_body(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", b"no such upstream")

    with engine.network.bad(Fault(whole=lost)):
        for call in (lambda: adapter.job_find(key), lambda: adapter.job_create(job("true"), key)):
            with pytest.raises(CenterBroken, match="404"):
                call()


def test_variables_reach_the_job_and_its_workers_and_its_ids_are_no_keys(adapter, key, until):
    """A job that uses Ray has an id of Ray's own beside its key, by which Ray lets it be asked for, too."""
    python = ray_folder() / "bin" / "python"
    script = (
        "import os, ray; ray.init(log_to_driver=False); read = ray.remote(lambda: os.environ['A']);"
        "print(ray.get_runtime_context().get_job_id(), os.environ['A'], os.environ['B'], ray.get(read.remote()))"
    )
    variables = {"A": "ü ' 堰", "B": "$HOME ${HOME} ${NOT_THERE} $"}
    message = JobMessage(f'{python} -c "{script}" 2>/dev/null', Quantities(cpu=1), variables)
    adapter.job_create(message, key)
    until(key, JobState.SUCCEEDED)
    ray_id, *told = adapter.job_log(key, 0).decode().split(" ", 1)
    assert told == ["ü ' 堰 $HOME ${HOME} ${NOT_THERE} $ ü ' 堰\n"]
    assert adapter.job_find(ray_id) is None
    for call in (adapter.job_get, adapter.job_stop):
        with pytest.raises(CenterRefused, match=f"no job {ray_id}"):
            call(ray_id)


def test_a_time_limit_ends_a_job(adapter, key, until):
    adapter.job_create(JobMessage("echo a; sleep 60", Quantities(cpu=1), time_limit_s=1), key)
    seen = until(key, JobState.FAILED)
    assert seen.exit_code == 124
    # Of a failed job Ray repeats the output in its message.
    assert seen.message == "Job entrypoint command failed with exit code 124"
    assert adapter.job_log(key, 0) == b"a\n"


def test_a_job_that_waits_has_no_log_and_no_begin(engine, adapter, key, until):
    held = [adapter.job_create(job("sleep 60", engine.whole()), f"{key}.{number}") for number in range(2)]
    for each in held:
        until(each, JobState.RUNNING)
    adapter.job_create(job("true", Quantities(npu=1)), key)
    seen = adapter.job_get(key)
    assert (seen.state, seen.started_at, seen.exit_code) == (JobState.WAITING, None, None)
    assert "waiting for resources" in seen.message
    assert adapter.job_log(key, 0) == b""
    assert adapter.resources().waiting_tasks >= 1
    for each in held:
        adapter.job_stop(each)
    until(key, JobState.SUCCEEDED)


@pytest.mark.parametrize(
    "asked",
    [
        Quantities(npu=5),
        Quantities(cpu=9),
        Quantities(memory=16_001),
        Quantities(gpu=3),
        Quantities(user_define=4),
    ],
)
def test_what_no_single_node_has_is_refused(engine, adapter, key, asked):
    """Ray would let it wait for a quarter of an hour, and then fail it."""
    with pytest.raises(CenterRefused, match="No node"):
        adapter.job_create(job("true", asked), key)
    assert engine.count(key) == 0


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (job("true", Quantities(cpu=1, storage=1)), "storage"),
        (JobMessage("true", Quantities(cpu=1), image="x:1"), "image"),
        (JobMessage("true " + "x" * SCRIPT_BYTES_MAX, Quantities(cpu=1)), "65536 bytes"),
    ],
)
def test_what_ray_cannot_be_asked_for_is_refused(engine, adapter, key, message, words):
    engine.network.asked.clear()
    with pytest.raises(CenterRefused, match=words):
        adapter.job_create(message, key)
    assert engine.network.asked == []


def test_a_script_of_the_largest_size_runs(adapter, key, until):
    command = "echo " + "x" * (SCRIPT_BYTES_MAX - 5)
    adapter.job_create(JobMessage(command, Quantities(cpu=1)), key)
    until(key, JobState.SUCCEEDED)
    assert len(adapter.job_log(key, 0)) == SCRIPT_BYTES_MAX - 4


def test_devices_count_by_the_clusters_names_and_both_reports_of_use_say_the_same(
    engine, adapter, key, until
):
    """Ray's dashboard changes names with a "_" where they are keys; a second autoscaler reports elsewhere."""
    asked = Quantities(cpu=2, gpu=1, npu=3, memory=1024, user_define=2)
    before = adapter.resources()
    assert (before.total.gpu, before.total.npu, before.total.user_define, before.total.cpu) == (4, 8, 6, 16)
    assert before.total.memory == 32_000
    adapter.job_create(job("sleep 300", asked), key)
    until(key, JobState.RUNNING)
    eventually(lambda: adapter.resources().used.user_define == 2)
    used = adapter.resources().used
    assert (used.gpu, used.npu) == (1, 3)
    assert min(used.cpu - 2, used.memory - 1024) >= 0

    def without(body: bytes) -> bytes:
        assert b'"clusterStatus": {' in body
        return b'{"result": true, "msg": "", "data": {"clusterStatus": null}}'

    with engine.network.bad(Fault(only="/api/cluster_status", body=without)):
        eventually(lambda: _close(adapter, used))
    with engine.network.bad(Fault(body=_no_use)), pytest.raises(CenterRefused, match="monitor"):
        adapter.resources()
    adapter.job_stop(key)


def _close(adapter: RayAdapter, used: Quantities) -> bool:
    """Whether devices are told as before: jobs of other tests, which have none of these, may end meanwhile."""
    told = adapter.resources().used
    return (told.gpu, told.npu, told.user_define) == (used.gpu, used.npu, used.user_define)


def _no_use(body: bytes) -> bytes:
    if b'"clusterStatus"' in body:
        return b'{"result": true, "msg": "", "data": {"clusterStatus": null}}'
    return (
        b'{"result": true, "msg": "", "data": {"nodeLogicalResources": {}}}' if b'"summary"' in body else body
    )


def test_a_part_of_the_nodes_is_not_taken_for_all(engine, adapter):
    def part(body: bytes) -> bytes:
        assert b'"num_filtered": 2' in body
        return body.replace(b'"num_filtered": 2', b'"num_filtered": 3')

    def silent(body: bytes) -> bytes:
        return body.replace(
            b'"partial_failure_warning": ""', b'"partial_failure_warning": "no answer of one"'
        )

    for body in (part, silent):
        with (
            engine.network.bad(Fault(only="/api/v0/nodes", body=body)),
            pytest.raises(CenterBroken, match="part of its nodes"),
        ):
            adapter.resources()


def test_what_was_in_use_on_a_node_that_went_is_not_more_than_there_is(engine, adapter):
    """Ray's monitor reports every few seconds what it saw; which nodes there are is told as it is."""
    node = {"resources_total": {"CPU": 1.5, "memory": 1.5 * 2**20}}
    usage = {"CPU": [9.5, 16.0], "memory": [1.5 * 2**20, 2.0**30]}
    told = {
        b'"resources_total"': {"result": {"num_filtered": 1, "result": [node]}},
        b'"clusterStatus"': {"clusterStatus": {"loadMetricsReport": {"usage": usage}}},
    }
    answers = {sign: json.dumps({"result": True, "data": data}).encode() for sign, data in told.items()}

    def older(body: bytes) -> bytes:
        return next((answer for sign, answer in answers.items() if sign in body), body)

    with engine.network.bad(Fault(body=older)):
        seen = adapter.resources()
    assert (seen.nodes, seen.total, seen.used) == (
        1,
        Quantities(cpu=1, memory=1),
        Quantities(cpu=1, memory=1),
    )


@pytest.mark.parametrize(
    ("told", "used"),
    [
        ("0.5/8.0 CPU\n1.0/2.0 GPU\n0B/3.73GiB memory", Quantities(cpu=1, gpu=1)),
        ("1.0/8.0 CPU (1.0 used of 1.0 reserved in placement groups)", Quantities(cpu=1)),
        ("50.01MiB/3.73GiB memory\n2.0/2.0 fpga", Quantities(memory=51, user_define=2)),
        ("1.5GiB/3.73GiB memory\n0.0/1.0 accelerator_type:A100", Quantities(memory=1536)),
    ],
)
def test_lines_about_use_are_read_as_ray_writes_them(told, used):
    names = {"gpu": "GPU", "user_define": "fpga"}
    assert records.used_of_nodes({"nodeLogicalResources": {"n": told}}, names) == used


@pytest.mark.parametrize("told", ["x", "1.0 CPU", "1.0/2.0", "1..0/2.0 CPU", "-1/2 CPU", "1XiB/2XiB memory"])
def test_what_is_no_line_about_use_is_broken(told):
    with pytest.raises(CenterBroken):
        records.used_of_nodes({"nodeLogicalResources": {"n": told}}, {})


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_window_is_the_same_in_blocks_of_any_size(size):
    log = b"Setting up.\nRunning: weir-begins not this\n\nweir-begins\nabcdefgh"
    for offset, limit, wanted in ((0, 99, b"abcdefgh"), (2, 3, b"cde"), (8, 9, b""), (10**12, 1, b"")):
        window = LogWindow(offset, limit)
        for at in range(0, len(log), size):
            if not window.take(log[at : at + size]):
                break
        assert window.read == wanted
    # A job that is over before it began to write has no mark.
    window = LogWindow(0, 99)
    window.take(log[:30])
    assert window.read == b""
