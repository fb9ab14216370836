"""Groups whose members lie, die, leave or are late: every rank is told why, and none waits for ever."""

import json
import socket
import threading
import time
from contextlib import ExitStack

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.connection.move import Target  # noqa: E402
from tests.sessions.grouped import Rank, address, each, grouped, join_all, refusal  # noqa: E402
from tests.sessions.proxy import Proxy  # noqa: E402
from tests.sessions.served import served  # noqa: E402
from tests.sessions.workers import workers  # noqa: E402
from weir_wire import wire  # noqa: E402
from weir_wire.handshake import Claim, Endpoint, HandshakeRefused, attach  # noqa: E402
from weir_wire.wire import Kind  # noqa: E402

pytestmark = pytest.mark.req("ELA-1209", "ELA-1401")


def reduced(rank, length=4):
    """Its part of a sum over all ranks."""
    handle = rank.hand.up(torch.ones(length))
    rank.ask("all_reduce", [], [handle], reduce="sum")
    return handle


# --- who is let in


@pytest.fixture
def met():
    """Two sessions where rank 1 has said where it is, and rank 0 what it is told."""
    with served() as first, served() as second:
        ranks = Rank(first), Rank(second)
        yield (*ranks, ranks[0].met(0, 2), ranks[1].met(1, 2))
        for one in ranks:
            one.link.close()


def came(told, secret, rank):
    endpoint = Endpoint(told["host"], told["port"], told["fingerprint"])
    claim = Claim(purpose=f"peer:{told['group']}:{rank}")
    return attach(endpoint, secret, claim, timeout_s=10, is_local=False)[0]


@pytest.mark.req("ELA-1408")
@pytest.mark.parametrize("wrong", ["secret", "rank", "group", "purpose", "lower rank"])
def test_who_does_not_know_the_secret_is_not_let_in(met, wrong):
    _one, _other, told, _more = met
    secret, rank = told["secrets"][1], 1
    if wrong == "secret":
        secret = "0" * 32
    elif wrong == "rank":
        rank = 2
    elif wrong == "group":
        told = {**told, "group": "0" * 16}
    elif wrong == "purpose":
        told = {**told, "group": "x:y"}
    else:
        rank = 0
    with pytest.raises(HandshakeRefused):
        came(told, secret, rank)


def test_a_secret_lets_one_in_once(met):
    _one, _other, told, _more = met
    first = came(told, told["secrets"][1], 1)
    with pytest.raises(HandshakeRefused, match="not any more"):
        came(told, told["secrets"][1], 1)
    first.close()


def test_a_token_of_a_session_opens_no_group_and_a_secret_no_session(met):
    from tests.sessions.workers import TOKEN

    one, _other, told, _more = met
    with pytest.raises(HandshakeRefused):
        came(told, TOKEN, 1)
    with pytest.raises(ConnectionError):
        one.served.link(token=told["secrets"][1])


def test_an_address_where_nobody_or_somebody_else_is_is_named(met):
    one, other, told, more = met
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    other.join([{**address(told, 1), "port": port}, None], timeout_s=3)
    assert f"rank 1 cannot reach the session of rank 0 at 127.0.0.1:{port}" in refusal(other.link.stat)
    one.join([None, address(more, 0)], timeout_s=1)
    assert "rank 1 did not take part within 1 s" in refusal(one.link.stat)


def test_another_certificate_is_not_talked_to(met):
    _one, other, told, _more = met
    other.join([{**address(told, 1), "fingerprint": "0" * 64}, None], timeout_s=3)
    assert "nobody answers there, or somebody else" in refusal(other.link.stat)


@pytest.mark.parametrize("host", ["169.254.169.254", "127.0.0.2", "0.0.0.0", "::1", "224.0.0.1"])
def test_only_addresses_of_nodes_are_gone_to(met, host):
    _one, other, told, _more = met
    other.join([{**address(told, 1), "host": host}, None], timeout_s=3)
    assert f"{host} is no address of a node" in refusal(other.link.stat)


@pytest.mark.parametrize(
    "change", [{"port": 0}, {"host": ""}, {"secret": "short"}, {"group": None, "host": None}]
)
def test_malformed_addresses_are_refused(met, change):
    _one, other, told, _more = met
    row = {**address(told, 1), **change}
    other.join([{name: value for name, value in row.items() if value is not None}, None], timeout_s=3)
    assert "a rank with" in refusal(other.link.stat)


def test_a_group_of_impossible_size_is_refused():
    with served() as one:
        rank = Rank(one)
        for asked in (
            {"rank": 0, "size": 0},
            {"rank": 2, "size": 2},
            {"rank": 0, "size": 10**6},
            {"rank": "0"},
        ):
            with pytest.raises(wire.SessionFault):
                rank.link.request(Kind.MEET, wire.dump_json(asked))
        for _ in range(wire.MAX_GROUPS):
            rank.met(0, 2)
        with pytest.raises(wire.SessionFault, match="at most 64 groups"):
            rank.met(0, 2)
        rank.link.close()


# --- a rank that lies


def hostile(met):
    """Rank 1 as this test itself plays it."""
    one, _other, told, more = met
    transport = came(told, told["secrets"][1], 1)
    one.join([None, address(more, 0)])
    one.link.stat()
    return one, transport


HEAD = {"op": "all_reduce", "reduce": "sum", "root": None, "number": 1, "dtype": "float32", "nbytes": 16}
LIES = {
    "noise": ([(200, b"\xff" * 40)], "does not belong here"),
    "no JSON": ([(Kind.PEER_BEGIN, b"{")], "malformed"),
    "bytes first": ([(Kind.PEER_DATA, bytes(16))], "does not belong here"),
    "another size": ([(Kind.PEER_BEGIN, wire.dump_json({**HEAD, "nbytes": 64}))], "of 64 bytes"),
    "another number": ([(Kind.PEER_BEGIN, wire.dump_json({**HEAD, "number": 7}))], "number 7"),
    "fewer bytes": (
        [(Kind.PEER_BEGIN, wire.dump_json(HEAD)), (Kind.PEER_DATA, bytes(4))],
        "does not belong here",
    ),
    "more bytes": (
        [(Kind.PEER_BEGIN, wire.dump_json(HEAD)), (Kind.PEER_DATA, bytes(64))],
        "does not belong here",
    ),
    "a send without end": (
        [(Kind.PEER_BEGIN, wire.dump_json({"op": "send", "tag": 1, "dtype": "float32", "nbytes": 1 << 50}))],
        "tried to allocate",
    ),
    "a send of less than nothing": (
        [(Kind.PEER_BEGIN, wire.dump_json({"op": "send", "tag": 1, "dtype": "float32", "nbytes": -1}))],
        "malformed",
    ),
    "a farewell that is none": ([(Kind.PEER_END, b"[]")], "takes part no more"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_does_not_belong_to_a_collective_breaks_the_group_and_nothing_else(met, lie):
    frames, says = LIES[lie]
    one, transport = hostile(met)
    for kind, payload in frames:
        transport.send((kind, [payload]))
    handle = reduced(one)
    assert says in refusal(lambda: one.hand.down(handle))
    # Later ones say the same; the session itself goes on.
    one.ask("barrier")
    assert refusal(one.link.stat)
    assert one.hand.down(one.hand.up(torch.ones(3))).tolist() == [1.0] * 3
    assert one.link.stat()["used_bytes"] < 1000
    transport.close()


def test_a_frame_that_is_too_long_breaks_the_group(met):
    one, transport = hostile(met)
    transport.write_all(memoryview(wire.HEADER.pack(wire.MAX_PAYLOAD + 1, Kind.PEER_DATA) + b"x" * 100))
    handle = reduced(one)
    assert "rank 1 broke the protocol" in refusal(lambda: one.hand.down(handle))
    transport.close()


# --- ranks that are late, leave or die


def test_one_that_never_comes_is_named_after_the_time_limit():
    with grouped(3) as (one, other, _third):
        began = time.monotonic()
        for rank in (one, other):
            rank.ask("all_reduce", [], [rank.hand.up(torch.ones(2))], reduce="sum", timeout_s=1)
        told = each([one, other], lambda rank: refusal(rank.link.stat))
        assert time.monotonic() - began < 20
        assert all("did not take part within 1 s" in text for text in told), told
        assert any("rank 2" in text for text in told)


@pytest.mark.parametrize("how", ["program ends", "session stopped", "client gone"])
def test_who_leaves_while_others_wait_is_named_at_all_of_them(how):
    with ExitStack() as stack:
        services = [stack.enter_context(served(detach_s=0.3)) for _ in range(3)]
        proxy = Proxy(services[2].listener.port)
        one, other = Rank(services[0]), Rank(services[1])
        third = Rank(services[2], port=proxy.port, is_local=False, resume_s=1)
        join_all([one, other, third])
        handles = [reduced(one), reduced(other)]
        time.sleep(0.2)
        if how == "program ends":
            third.link.close()
        elif how == "session stopped":
            third.served.service.stop_soon()
        else:
            proxy.shut(True)
        began = time.monotonic()
        told = each([one, other], lambda rank: refusal(lambda: rank.hand.down(handles[rank is other])))
        assert time.monotonic() - began < 20
        assert all("rank 2" in text for text in told), told
        proxy.close()
        for rank in (one, other, third):
            rank.link.close()


def test_a_program_that_ends_does_its_part_of_what_it_began():
    with grouped(2) as (one, other):
        reduced(one)
        one.link.close()
        handle = reduced(other)
        assert other.hand.down(handle).tolist() == [2.0] * 4
        assert "rank 0 has left: its client has finished" in refusal(lambda: other.hand.down(reduced(other)))


def test_a_client_whose_connection_drops_goes_on_in_the_middle_of_a_collective():
    with served() as first, served() as second:
        proxy = Proxy(first.listener.port)
        one, other = Rank(first, port=proxy.port, is_local=False), Rank(second)
        join_all([one, other])
        handle = reduced(one)
        doubled = one.hand.run("aten::add.Tensor", [handle, handle], like=torch.ones(4))
        first.wait(lambda service: service.session.groups.is_running)
        proxy.cut()
        first.wait(lambda service: not service.attached)
        first.wait(lambda service: service.attached)
        assert other.hand.down(reduced(other)).tolist() == [2.0] * 4
        assert one.hand.down(doubled).tolist() == [4.0] * 4
        proxy.close()
        for rank in (one, other):
            rank.link.close()


@pytest.mark.req("POOL-12.11")
def test_waiting_is_no_compute_and_no_idleness_and_the_client_is_heard():
    with grouped(2) as (one, other):
        service = one.served.service
        handle = reduced(one)
        one.served.wait(lambda found: found.session.groups.is_running)
        busy_s, spent = service.session.clock.busy_s, time.process_time()
        time.sleep(1)
        assert time.process_time() - spent < 0.5
        assert (service.session.clock.busy_s, service.idle_s) == (busy_s, 0.0)
        assert one.link._ping(8) < 2
        reduced(other)
        assert one.hand.down(handle).tolist() == [2.0] * 4
        assert 0 <= service.idle_s < 10


def test_a_client_that_sends_on_meanwhile_is_held_to_its_credit():
    with grouped(2) as (one, other):
        handle = reduced(one)
        sender = threading.Thread(target=lambda: [one.hand.up(torch.zeros(1 << 18)) for _ in range(10)])
        sender.start()
        sender.join()
        reduced(other)
        assert one.hand.down(handle).tolist() == [2.0] * 4
        assert one.link.stat()["handles"] == 11


def test_one_that_ran_out_of_memory_tells_the_others():
    with grouped(2, quota_mib=1) as (one, other):
        too_large = one.hand.up(torch.ones(1 << 20))
        one.ask("all_reduce", [], [too_large], reduce="sum")
        mine = other.hand.up(torch.ones(4))
        other.ask("all_reduce", [], [mine], reduce="sum")
        assert "tried to allocate" in refusal(one.link.stat)
        told = refusal(lambda: other.hand.down(mine))
        assert "rank 0 could not take part in all_reduce" in told
        assert "tried to allocate" in told


@pytest.mark.req("POOL-12.23")
def test_a_session_of_a_group_does_not_move_and_says_why():
    with grouped(2) as (one, other):
        service = one.served.service
        target = Target(Endpoint("127.0.0.1", 1, "0" * 64), "t" * 32)
        service.move_to(target)
        assert (service.move, "takes part in a process group" in service.move_reason) == ("failed", True)
        one.link.send(Kind.LEAVE, wire.dump_json({"group": one.group}))
        one.link.stat()
        service.move_to(None)
        service.move_to(target)
        one.served.wait(lambda found: "cannot take the session over" in found.move_reason)
        assert refusal(lambda: (other.ask("barrier"), other.link.stat()))


def test_the_next_program_of_a_kept_session_belongs_to_no_group():
    with served() as first, served() as second:
        one, other = Rank(first, is_kept=True), Rank(second)
        join_all([one, other])
        one.link.close()
        first.wait(lambda service: service._is_fresh)
        assert "its client has finished" in refusal(lambda: other.hand.down(reduced(other)))
        again = Rank(first)
        join_all([again, other])
        handles = [reduced(again), reduced(other)]
        assert other.hand.down(handles[1]).tolist() == [2.0] * 4
        for rank in (again, other):
            rank.link.close()


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2, 0.5])
def test_a_worker_killed_at_any_time_leaves_nobody_waiting(tmp_path, after):
    with workers(tmp_path) as make:
        made = [make(f"share-{k}") for k in range(3)]
        ranks = [Rank(_Linked(worker)) for worker in made]
        join_all(ranks)
        handles = [rank.hand.up(torch.ones(1 << 20)) for rank in ranks]
        threading.Timer(after, made[1].kill).start()

        def train(rank):
            handle = handles[ranks.index(rank)]
            try:
                for _ in range(10_000):
                    rank.ask("all_reduce", [], [handle], reduce="max")
                    rank.hand.down(handle)
            except (wire.SessionFault, wire.SessionLost) as error:
                return str(error)
            return "went on"

        told = each([ranks[0], ranks[2]], train)
        assert all("rank 1 has gone" in text for text in told), told
        assert ranks[0].hand.down(ranks[0].hand.up(torch.ones(2))).tolist() == [1.0, 1.0]
        for rank in (ranks[0], ranks[2]):
            rank.link.close()


class _Linked:
    """A worker process as `Rank` takes one."""

    def __init__(self, worker):
        self._worker = worker

    def link(self, **options):
        return self._worker.link(is_local=False, **options)


def test_frames_of_groups_that_are_nonsense_end_nothing():
    with grouped(2) as (one, _other):
        for kind in (Kind.MEET, Kind.JOIN, Kind.COLLECTIVE, Kind.LEAVE):
            for payload in (
                b"",
                b"[]",
                b"{}",
                b'{"group":7}',
                json.dumps({"group": one.group, "peers": 3}).encode(),
            ):
                one.link.send(kind, payload)
        assert refusal(one.link.stat)
        assert one.hand.down(one.hand.up(torch.ones(2))).tolist() == [1.0, 1.0]
