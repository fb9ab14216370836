"""What Weir asks of every kind of centre, tried on the engine itself (JC-6.4-2, JC-6.4-4, JC-6.4-5)."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from apps.centers.adapters.base import (
    Ability,
    CallLimits,
    CenterBroken,
    CenterError,
    CenterRefused,
    CenterUnreachable,
    JobMessage,
    JobState,
    Quantities,
)
from tests.engines.engines import SHORT, TEXT_LOGS, job
from tests.harness.bad_network import Fault, with_body

pytestmark = pytest.mark.req("JC-6.4-5")
# Of kinds without one, see `WIRELESS`.
WIRE = pytest.mark.wire
# Well below the seconds that a limit adds up to, well above what a busy machine takes.
PATIENCE_S = 8
# For logs and accounts that come a moment later.
ARRIVES_S = 90
LOG_BYTES = 16 * 1024 * 1024


def test_it_says_what_it_is(engine, adapter):
    assert adapter.check().startswith(engine.kind)


@pytest.mark.req("JC-6.4-2")
def test_a_job_is_made_runs_and_succeeds(adapter, key, until):
    before = datetime.now(UTC) - timedelta(seconds=2)
    native_id = adapter.job_create(job('test "$GREETING" = "two words"', GREETING="two words"), key)
    seen = until(native_id, JobState.SUCCEEDED)
    assert (seen.key, seen.native_id, seen.exit_code) == (key, native_id, 0)
    assert before <= seen.started_at <= seen.ended_at <= datetime.now(UTC) + timedelta(seconds=2)
    assert adapter.job_find(key) == seen


@pytest.mark.req("JC-6.4-2")
def test_a_job_made_twice_is_one_job(engine, adapter, key, until):
    native_id = adapter.job_create(job("sleep 1"), key)
    assert adapter.job_create(job("sleep 1"), key) == native_id
    until(native_id)
    assert adapter.job_create(job("sleep 1"), key) == native_id
    assert engine.count(key) == 1


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -KILL $$", 128 + 9), ("exit 255", 255)])
def test_a_failure_is_told_with_its_code(adapter, key, until, command, code):
    seen = until(adapter.job_create(job(command), key), JobState.FAILED)
    assert seen.exit_code == code


def test_what_is_not_there_is_not_found(adapter):
    assert adapter.job_find("weir-never") is None
    assert adapter.jobs([]) == {}
    for call in (adapter.job_get, adapter.job_stop):
        with pytest.raises(CenterRefused, match="999999"):
            call("999999")


@pytest.mark.parametrize("native_id", ["", "0", "-1", "1/../2", "../x", "1?a=b", "1\n", "x" * 4000, "٣"])
def test_what_is_no_id_is_refused(adapter, native_id):
    for call in (adapter.job_get, adapter.job_stop, lambda one: adapter.job_log(one, 0)):
        with pytest.raises(CenterRefused):
            call(native_id)


def test_many_are_asked_for_in_one_go(engine, adapter, key):
    keys = [f"{key}.{number}" for number in range(6)]
    with ThreadPoolExecutor(4) as threads:
        made = dict(
            zip(keys, threads.map(lambda each: adapter.job_create(job("true"), each), keys), strict=True)
        )
    assert len(set(made.values())) == len(keys)
    engine.network.asked.clear()
    seen = adapter.jobs([*keys, "weir-never"])
    assert {each: found.native_id for each, found in seen.items()} == made
    assert len(engine.network.asked) <= 2


@pytest.mark.req("JC-6.4-2")
def test_a_job_is_stopped_before_and_after_its_start(engine, adapter, key, until):
    # The engine has two places for these: the third waits.
    held = [adapter.job_create(job("sleep 60", engine.whole()), f"{key}.{number}") for number in range(2)]
    for native_id in held:
        until(native_id, JobState.RUNNING)
    # An engine may say what is in use some seconds later.
    ends_s = time.monotonic() + ARRIVES_S
    while (used := adapter.resources()).used.npu != 2 * engine.whole().npu:
        assert time.monotonic() < ends_s, used
        time.sleep(0.2)
    # Jobs of other tests may run beside them.
    assert min(used.running_tasks, used.used.cpu, used.used.memory // 100) >= 2
    waiting = adapter.job_create(job("sleep 60", engine.whole()), f"{key}.2")
    assert adapter.job_get(waiting).state == JobState.WAITING
    assert adapter.job_get(waiting).started_at is None
    adapter.job_stop(waiting)
    if engine.ends_waiting:
        stopped = until(waiting, JobState.STOPPED)
        assert (stopped.started_at, stopped.exit_code) == (None, None)
    for native_id in held:
        adapter.job_stop(native_id)
    ended = [until(native_id, JobState.STOPPED) for native_id in (*held, waiting)][:2]
    assert all(seen.started_at <= seen.ended_at for seen in ended)
    for native_id in (*held, waiting):
        adapter.job_stop(native_id)
        assert adapter.job_get(native_id).state == JobState.STOPPED


def test_resources_are_told(engine, adapter):
    told = adapter.resources()
    assert (told.nodes, told.total.npu) == (2, 2 * engine.whole().npu)
    assert min(told.total.cpu, told.total.memory) > 0
    assert told.version == adapter.check()


def test_an_hour_is_enough_for_a_time_limit(adapter, key, until):
    native_id = adapter.job_create(JobMessage("true", Quantities(cpu=1, memory=50), time_limit_s=1), key)
    until(native_id, JobState.SUCCEEDED)


@pytest.mark.req("JC-6.4-2")
def test_a_log_is_read_from_any_byte(adapter, key, until):
    assert Ability.LOGS in adapter.abilities
    native_id = adapter.job_create(job("printf 'one\\ntwo\\n'; echo wrong >&2; sleep 15; printf three"), key)
    until(native_id, JobState.RUNNING, JobState.SUCCEEDED)
    ends_s = time.monotonic() + ARRIVES_S
    while (read := adapter.job_log(native_id, 0)) != b"one\ntwo\nwrong\n":
        assert time.monotonic() < ends_s, read
        time.sleep(0.1)
    assert adapter.job_log(native_id, 4, 3) == b"two"
    assert adapter.job_log(native_id, 14) == b""
    until(native_id, JobState.SUCCEEDED)
    assert adapter.job_log(native_id, 14) == b"three"
    assert adapter.job_log(native_id, 10**12) == b""
    with pytest.raises(CenterRefused):
        adapter.job_log(native_id, -1)


def test_a_long_log_is_read_whole(engine, adapter, key, until):
    other, tail = (b"b", " | tr '\\0' b") if engine.kind in TEXT_LOGS else (b"\0", "")
    command = (
        f"i=0; head -c {LOG_BYTES // 2} /dev/zero | tr '\\0' a; head -c {LOG_BYTES // 2} /dev/zero{tail}"
    )
    native_id = adapter.job_create(job(command), key)
    until(native_id, JobState.SUCCEEDED)
    digest, offset = hashlib.sha256(), 0
    while block := adapter.job_log(native_id, offset):
        assert len(block) <= 1024 * 1024
        digest.update(block)
        offset += len(block)
    wanted = hashlib.sha256(b"a" * (LOG_BYTES // 2) + other * (LOG_BYTES // 2))
    assert (offset, digest.digest()) == (LOG_BYTES, wanted.digest())


def test_use_is_told_by_the_centres_accounts(engine, adapter, key, until):
    if Ability.USAGE not in adapter.abilities:
        with pytest.raises(CenterRefused):
            list(adapter.usage(datetime.now(UTC)))
        return
    native_id = adapter.job_create(job("sleep 1", engine.whole()), key)
    seen = until(native_id, JobState.SUCCEEDED)
    ends_s = time.monotonic() + ARRIVES_S
    while not (found := [each for each in adapter.usage(seen.ended_at) if each.native_id == native_id]):
        assert time.monotonic() < ends_s
        time.sleep(0.2)
    [record] = found
    assert (record.key, record.started_at, record.ended_at) == (key, seen.started_at, seen.ended_at)
    assert record.quantities == engine.whole()
    assert native_id in record.raw
    told = list(adapter.usage(seen.started_at - timedelta(days=400)))
    assert [each.ended_at for each in told] == sorted(each.ended_at for each in told)
    later = adapter.usage(seen.ended_at + timedelta(seconds=1))
    assert native_id not in {each.native_id for each in later}
    assert not list(adapter.usage(datetime.now(UTC) + timedelta(days=2)))


@WIRE
def test_a_wrong_credential_is_refused_whatever_is_asked(engine, adapter, key):
    native_id = adapter.job_create(job("true"), key)
    wrong = engine.wrong()
    calls = {
        "check": wrong.check,
        "resources": wrong.resources,
        "create": lambda: wrong.job_create(job("true"), f"{key}.w"),
        "find": lambda: wrong.job_find(key),
        "get": lambda: wrong.job_get(native_id),
        "jobs": lambda: wrong.jobs([key]),
        "stop": lambda: wrong.job_stop(native_id),
        "usage": lambda: list(wrong.usage(datetime(2026, 1, 1, tzinfo=UTC))),
    }
    for name, call in calls.items():
        with pytest.raises(CenterRefused):
            pytest.fail(f"{name} answered {call()}")
    assert engine.count(f"{key}.w") == 0


@WIRE
def test_a_word_that_is_not_known_is_an_unknown_state(engine, adapter, key, until):
    native_id = adapter.job_create(job("sleep 30"), key)
    until(native_id, JobState.RUNNING)
    with engine.network.bad(Fault(only=engine.asking, body=engine.strange)):
        for seen in (adapter.job_get(native_id), adapter.job_find(key)):
            assert (seen.state, seen.native_state) == (JobState.UNKNOWN, "LEVITATING")
    adapter.job_stop(native_id)


@WIRE
def test_a_cut_answer_is_never_taken_for_one(engine, adapter, key):
    native_id = adapter.job_create(job("true"), key)
    calls = [adapter.resources, lambda: adapter.job_find(key), lambda: adapter.job_get(native_id)]
    calls.append(adapter.check)
    if Ability.USAGE in adapter.abilities:
        calls.append(lambda: list(adapter.usage(datetime(2026, 1, 1, tzinfo=UTC))))
    for call in calls:
        with engine.network.bad(Fault()):
            call()
            answer = engine.network.answers[0]
        head = answer.index(b"\r\n\r\n")
        # From its end where its length may change, as jobs come and go.
        places = {0, 1, 9, 12, head - 1, head, head + 3, head + 4, head + 5, head + 60, len(answer) // 2}
        for place in sorted({*places, -40, -2, -1}):
            with engine.network.bad(Fault(cut_at=place)), pytest.raises((CenterUnreachable, CenterBroken)):
                pytest.fail(f"cut at {place} of {len(answer)}: {call()}")


@WIRE
def test_a_short_answer_that_says_it_is_whole_is_broken(engine, adapter, key):
    adapter.job_create(job("true"), key)
    for keep in (0, 1, 50, 200, -40, -3):
        with (
            engine.network.bad(Fault(body=lambda body, keep=keep: body[:keep])),
            pytest.raises((CenterBroken, CenterUnreachable)),
        ):
            pytest.fail(f"{keep}: {adapter.job_find(key)}")


@pytest.mark.parametrize("fault", [{"is_lost": True}, {"cut_at": 0}, {"cut_at": 40}, {"delay_s": 6.0}])
@WIRE
def test_a_job_whose_answer_is_lost_is_made_once(engine, key, fault):
    adapter = engine.adapter(limits=SHORT)
    adapter.check()
    with engine.network.bad(Fault(only=engine.creating, **fault)), pytest.raises(CenterUnreachable):
        adapter.job_create(job("true"), key)
    native_id = adapter.job_create(job("true"), key)
    assert adapter.job_find(key).native_id == native_id
    assert engine.count(key) == 1


@WIRE
def test_a_job_that_never_arrived_is_not_found_and_can_be_made(engine, key):
    adapter = engine.adapter()
    with engine.network.bad(Fault(only=engine.creating, is_kept_off=True)), pytest.raises(CenterUnreachable):
        adapter.job_create(job("true"), key)
    assert adapter.job_find(key) is None
    adapter.job_create(job("true"), key)
    assert engine.count(key) == 1


@pytest.mark.parametrize("fault", [{"is_lost": True}, {"trickle_s": 0.02}, {"delay_s": 20.0}])
@WIRE
def test_no_call_takes_longer_than_its_limit(engine, fault):
    adapter = engine.adapter(limits=SHORT)
    adapter.check()
    with engine.network.bad(Fault(**fault)):
        began_s = time.monotonic()
        with pytest.raises(CenterUnreachable, match="did not answer within 2 seconds"):
            adapter.resources()
        assert time.monotonic() - began_s < PATIENCE_S


@WIRE
def test_nobody_there_is_unreachable(engine):
    adapter = engine.adapter(limits=SHORT)
    engine.network.fault = Fault(is_kept_off=True)
    try:
        for call in (adapter.check, lambda: adapter.job_find("weir-never"), lambda: adapter.job_stop("1")):
            with pytest.raises(CenterUnreachable):
                call()
    finally:
        engine.network.fault = None


@pytest.mark.parametrize("hours", [-1, 1])
@WIRE
def test_a_clock_an_hour_off_hinders_nothing(engine, key, until, hours):
    adapter = engine.adapter(clock=lambda: time.time() + hours * 3600)
    adapter.check()
    native_id = adapter.job_create(job("true"), key)
    assert until(native_id, JobState.SUCCEEDED) == adapter.job_get(native_id)
    adapter.job_stop(native_id)


def test_the_longest_key_is_taken_and_told_whole(engine, adapter, key, until):
    longest = key + "k" * (adapter.key_length - len(key))
    native_id = adapter.job_create(job("true"), longest)
    assert until(native_id, JobState.SUCCEEDED).key == longest
    assert adapter.job_create(job("true"), longest) == native_id
    ends_s = time.monotonic() + ARRIVES_S
    has_accounts = Ability.USAGE in adapter.abilities
    while has_accounts and longest not in {
        each.key for each in adapter.usage(datetime(2026, 1, 1, tzinfo=UTC))
    }:
        assert time.monotonic() < ends_s
        time.sleep(0.2)
    with pytest.raises(CenterRefused):
        adapter.job_create(job("true"), longest + "k")


@pytest.mark.parametrize("wrong", ["", "a b", "a,b", "a/b", "ä", "-n", "a\nb", "a'b", "a%b"])
def test_what_is_no_key_is_refused(engine, adapter, wrong):
    engine.network.asked.clear()
    for call in (lambda: adapter.job_create(job("true"), wrong), lambda: adapter.job_find(wrong)):
        with pytest.raises(CenterRefused):
            call()
    assert engine.network.asked == []


@pytest.mark.parametrize(
    "message",
    [
        job(""),
        job("true\0"),
        job("true", Quantities(mlu=10**6, cpu=1)),
        JobMessage("true", Quantities(cpu=1), {"A B": "1"}),
        JobMessage("true", Quantities(cpu=1), {"A": "1\0"}),
    ],
)
def test_what_no_engine_can_do_is_refused(engine, adapter, key, message):
    with pytest.raises(CenterRefused):
        adapter.job_create(message, key)
    assert engine.count(key) == 0


def test_a_script_comes_as_it_was_written(adapter, key, until):
    command = 'printf "%s|" "$A" \'$B\' "{x}" "`echo y`"\n# end\nprintf "%s" "$((1 + 1))"'
    native_id = adapter.job_create(job(command, A="ü 堰 $HOME ; 'q' \"d\""), key)
    until(native_id, JobState.SUCCEEDED)
    assert adapter.job_log(native_id, 0).decode() == "ü 堰 $HOME ; 'q' \"d\"|$B|{x}|y|2"


NONSENSE = {
    "empty": b"",
    "not JSON": b"<html>proxy</html>",
    "no record": b"[]",
    "a text": b'"jobs"',
    "no list": b'{"errors": [], "jobs": {}, "nodes": {}}',
    "no records": b'{"errors": [], "jobs": [1, null], "nodes": [[]]}',
    "no errors": b'{"jobs": [], "nodes": [], "pings": []}',
    "wrong types": b'{"errors": [], "jobs": [{"job_id": "1", "job_state": 7, "name": []}], "nodes": 1}',
    "NaN": b'{"errors": [], "jobs": [NaN], "nodes": [Infinity]}',
    "too deep": b'{"errors": [], "jobs": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "deep": b'{"errors": [], "jobs": '
    + b"[" * 100
    + b"]" * 100
    + b', "nodes": '
    + b"[" * 100
    + b"]" * 100
    + b"}",
    "a long number": b'{"errors": [], "jobs": [' + b"9" * 5000 + b'], "nodes": [' + b"9" * 5000 + b"]}",
    "another's": b'{"result": true, "msg": "", "data": {"result": 1, "summary": []}}',
    "a number for a word": b'{"status": 1, "submission_id": [], "type": {}}',
    "not UTF-8": b'{"errors": [], "jobs": ["\xff"], "nodes": ["\xff"]}',
}


@pytest.mark.parametrize("name", NONSENSE)
@WIRE
def test_what_no_such_centre_says_is_broken(engine, adapter, name):
    adapter.check()
    with engine.network.bad(Fault(only=engine.asking, body=lambda _body: NONSENSE[name])):
        for call in (adapter.resources, lambda: adapter.job_find("weir-never"), lambda: adapter.job_get("1")):
            with pytest.raises(CenterBroken):
                pytest.fail(f"{name}: {call()}")


@WIRE
def test_nothing_is_followed_elsewhere_and_nothing_packed_is_opened(engine, adapter):
    adapter.check()
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    packed = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"
    for answer, words in ((moved, "sends elsewhere"), (packed, "packed")):
        with (
            engine.network.bad(Fault(whole=lambda _answer, answer=answer: answer)),
            pytest.raises(CenterBroken, match=words),
        ):
            adapter.resources()
    assert len(engine.network.asked) <= 1


@WIRE
def test_an_answer_has_a_largest_size(engine):
    adapter = engine.adapter(limits=CallLimits(answer_bytes=2 * 1024 * 1024))
    adapter.check()
    long = b'{"errors": [], "nodes": [], "jobs": ["' + b"x" * (3 * 1024 * 1024) + b'"]}'
    with (
        engine.network.bad(Fault(body=lambda _body: long)),
        pytest.raises(CenterBroken, match="2097152 bytes"),
    ):
        adapter.resources()


@pytest.mark.parametrize("status", [401, 403])
@WIRE
def test_a_refusal_by_http_is_one(engine, adapter, status):
    adapter.check()
    refusal = b"HTTP/1.1 %d No\r\nContent-Length: 9\r\n\r\nno\x1b entry" % status
    with (
        engine.network.bad(Fault(whole=lambda _answer: refusal)),
        pytest.raises(CenterRefused, match="no entry"),
    ):
        adapter.job_find("weir-never")


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
@WIRE
def test_not_now_is_unreachable(engine, adapter, status):
    adapter.check()
    busy = b"HTTP/1.1 %d Later\r\nContent-Length: 4\r\n\r\nbusy" % status
    with (
        engine.network.bad(Fault(whole=lambda _answer: busy)),
        pytest.raises(CenterUnreachable, match="busy"),
    ):
        adapter.job_find("weir-never")


@WIRE
def test_no_error_without_words_is_an_empty_list(engine, adapter):
    adapter.check()
    empty = b'{"errors": [], "jobs": [], "nodes": []}'
    with engine.network.bad(
        Fault(whole=lambda answer: with_body(answer, empty).replace(b"200 OK", b"500 NO", 1))
    ):
        for call in (adapter.resources, lambda: adapter.job_find("weir-never")):
            with pytest.raises(CenterError):
                pytest.fail(str(call()))


@WIRE
def test_control_characters_do_not_come_through(engine, adapter, key, until):
    native_id = adapter.job_create(job("sleep 30"), key)
    until(native_id, JobState.RUNNING)

    def worse(body: bytes) -> bytes:
        assert engine.words in body
        return body.replace(engine.words, b'"a\\u0000b\\u001b[31m\\ud800"')

    with engine.network.bad(Fault(only=engine.asking, body=worse)):
        told = adapter.job_get(native_id).message
    assert told == "ab[31m?"
    adapter.job_stop(native_id)
