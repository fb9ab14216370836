"""Collectives between sessions: what they compute, in order with everything else, and what the quota says of them."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.grouped import address, each, grouped, refusal  # noqa: E402
from weir_wire.wire import Kind  # noqa: E402

pytestmark = pytest.mark.req("POOL-7.1b")
# So many elements that chunks and frames come out uneven; more than one frame a chunk with two ranks.
LONG = 700_001


def rows(size, length, dtype, like=1):
    """A tensor for each rank, small whole numbers where it holds such."""
    random = torch.Generator().manual_seed(size * 1000 + length + like)
    if dtype.is_floating_point:
        return [torch.randn(length, generator=random).to(dtype) for _ in range(size)]
    return [torch.randint(1, 5, (length,), generator=random).to(dtype) for _ in range(size)]


@pytest.fixture(params=[1, 2, 3, 4])
def ranks(request):
    with grouped(request.param) as made:
        yield made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8, torch.complex64])
def test_all_ranks_get_the_same_sum(ranks, dtype):
    for length in (0, 1, 5, 4096):
        given = [one.to(dtype) for one in rows(len(ranks), length, torch.int64)]
        handles = [one.hand.up(tensor) for one, tensor in zip(ranks, given, strict=True)]
        for one, handle in zip(ranks, handles, strict=True):
            one.ask("all_reduce", [], [handle], reduce="sum")
        expected = torch.stack(given).sum(0).to(dtype)
        for one, handle in zip(ranks, handles, strict=True):
            assert torch.equal(one.hand.down(handle), expected)


REDUCTIONS = {
    "sum": lambda given: torch.stack(given).sum(0),
    "avg": lambda given: torch.stack(given).sum(0) / len(given),
    "product": lambda given: torch.stack(given).prod(0),
    "min": lambda given: torch.stack(given).amin(0),
    "max": lambda given: torch.stack(given).amax(0),
}


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_reductions_of_fractions_are_the_same_bits_at_every_rank(reduce, dtype):
    with grouped(3) as ranks:
        given = rows(3, LONG // 7, dtype)
        handles = [one.hand.up(tensor) for one, tensor in zip(ranks, given, strict=True)]
        for one, handle in zip(ranks, handles, strict=True):
            one.ask("all_reduce", [], [handle], reduce=reduce)
        got = [one.hand.down(handle) for one, handle in zip(ranks, handles, strict=True)]
        assert all(torch.equal(one, got[0]) for one in got)
        # Two roundings where the exact result has one.
        expected = REDUCTIONS[reduce]([one.double() for one in given])
        most = 2 * torch.finfo(dtype).eps * torch.stack(given).double().abs().sum(0).clamp(min=1) ** 3
        assert ((got[0].double() - expected).abs() <= most).all()


@pytest.mark.parametrize("reduce", ["band", "bor", "bxor", "avg"])
def test_whole_numbers_are_reduced_by_their_bits_and_averages_cut_off(ranks, reduce):
    given = rows(len(ranks), 11, torch.int32)
    handles = [one.hand.up(tensor) for one, tensor in zip(ranks, given, strict=True)]
    for one, handle in zip(ranks, handles, strict=True):
        one.ask("all_reduce", [], [handle], reduce=reduce)
    expected = given[0]
    for tensor in given[1:]:
        expected = {
            "band": torch.bitwise_and, "bor": torch.bitwise_or, "bxor": torch.bitwise_xor, "avg": torch.add,
        }[reduce](expected, tensor)  # fmt: skip
    if reduce == "avg":
        expected = expected // len(ranks)
    for one, handle in zip(ranks, handles, strict=True):
        assert torch.equal(one.hand.down(handle), expected)


@pytest.mark.parametrize("length", [3, LONG])
def test_rows_travel_to_where_each_collective_says(ranks, length):
    size, root = len(ranks), len(ranks) - 1
    given = rows(size, length, torch.float32)
    nothing = torch.zeros(length)

    def up(tensors):
        return [one.hand.up(tensor) for one, tensor in zip(ranks, tensors, strict=True)]

    def down(handles):
        return [one.hand.down(handle) for one, handle in zip(ranks, handles, strict=True)]

    sent = up(given)
    for one, handle in zip(ranks, sent, strict=True):
        one.ask("broadcast", [], [handle], root=root)
    assert all(torch.equal(got, given[root]) for got in down(sent))

    own, all_rows = up(given), up([torch.zeros(size * length)] * size)
    for one, mine, room in zip(ranks, own, all_rows, strict=True):
        one.ask("all_gather", [mine], [room])
    assert all(torch.equal(got, torch.cat(given)) for got in down(all_rows))

    whole = [torch.cat(rows(size, length, torch.float32, like=k)) for k in range(size)]
    given_whole, part = up(whole), up([nothing] * size)
    for one, mine, room in zip(ranks, given_whole, part, strict=True):
        one.ask("reduce_scatter", [mine], [room], reduce="sum")
    parts = torch.stack(whole).sum(0).chunk(size)
    assert all(torch.allclose(got, want, atol=1e-5) for got, want in zip(down(part), parts, strict=True))
    assert all(torch.equal(got, want) for got, want in zip(down(given_whole), whole, strict=True))

    room = up([torch.zeros(size * length)] * size)
    for one, mine, place in zip(ranks, given_whole, room, strict=True):
        one.ask("all_to_all", [mine], [place])
    for k, got in enumerate(down(room)):
        assert torch.equal(got, torch.cat([row.chunk(size)[k] for row in whole]))

    total = up(given)
    for one, handle in zip(ranks, total, strict=True):
        one.ask("reduce", [], [handle], reduce="sum", root=root)
    for k, got in enumerate(down(total)):
        assert torch.allclose(got, torch.stack(given).sum(0) if k == root else given[k], atol=1e-5)

    places = [ranks[root].hand.up(nothing) for _ in range(size)]
    for k, (one, mine) in enumerate(zip(ranks, own, strict=True)):
        one.ask("gather", [mine], places if k == root else [], root=root)
    for handle, want in zip(places, given, strict=True):
        assert torch.equal(ranks[root].hand.down(handle), want)

    got_back = up([nothing] * size)
    for k, (one, room_) in enumerate(zip(ranks, got_back, strict=True)):
        one.ask("scatter", places if k == root else [], [room_], root=root)
    assert all(torch.equal(got, want) for got, want in zip(down(got_back), given, strict=True))


def test_parts_of_several_sizes_change_places():
    with grouped(3) as ranks:
        counts = [[1, 0, 3], [2, 2, 2], [0, 4, 1]]
        given = [torch.arange(float(sum(row))) + 10 * k for k, row in enumerate(counts)]
        expected = [
            torch.cat([given[source].split(counts[source])[k] for source in range(3)]) for k in range(3)
        ]
        rooms = []
        for k, one in enumerate(ranks):
            room = one.hand.up(torch.zeros(len(expected[k])))
            splits = {"in_splits": counts[k], "out_splits": [row[k] for row in counts]}
            one.ask("all_to_all", [one.hand.up(given[k])], [room], **splits)
            rooms.append(room)
        for one, room, want in zip(ranks, rooms, expected, strict=True):
            assert torch.equal(one.hand.down(room), want)


def test_what_is_sent_is_matched_by_its_tag_whatever_comes_first():
    with grouped(2) as (one, other):
        first, second, third = torch.ones(LONG), torch.full((7,), 2.0), torch.full((3,), 3.0)
        for tensor, tag in ((first, 1), (second, 2)):
            one.ask("send", [one.hand.up(tensor)], [], root=1, tag=tag)
        one.ask("barrier")
        one.ask("send", [one.hand.up(third)], [], root=1, tag=1)
        room = [other.hand.up(torch.zeros_like(tensor)) for tensor in (first, second, third)]
        other.ask("barrier")
        held = other.link.stat()["used_bytes"]
        for handle, tag in zip(room, (1, 2, 1), strict=True):
            other.ask("recv", [], [handle], root=0, tag=tag)
        got = [other.hand.down(handle) for handle in room]
        assert [torch.equal(a, b) for a, b in zip(got, (first, second, third), strict=True)] == [True] * 3
        # What came before it was asked for took memory of the share, and gave it back.
        assert held - other.link.stat()["used_bytes"] >= first.numel() * 4


def test_tensors_with_gaps_and_several_at_once_are_reduced_in_place():
    with grouped(2) as ranks:
        for one in ranks:
            whole = one.hand.up(torch.arange(6.0).reshape(2, 3))
            turned = one.hand.run("aten::t.default", [whole], like=torch.empty(2, 3).t())
            small = one.hand.up(torch.ones(2, dtype=torch.int64))
            one.ask("all_reduce", [], [turned, small], reduce="sum")
            one.handles = whole, turned, small
        for one in ranks:
            whole, turned, small = map(one.hand.down, one.handles)
            assert torch.equal(whole, 2 * torch.arange(6.0).reshape(2, 3))
            assert torch.equal(turned, whole.t())
            assert small.tolist() == [2, 2]


def test_a_collective_is_in_order_with_operators_before_and_after_it():
    with grouped(2) as ranks:
        results = []
        for k, one in enumerate(ranks):
            x = one.hand.up(torch.full((4,), float(k + 1)))
            for _ in range(5):
                one.hand.run("aten::mul_.Tensor", [x, x])
                one.ask("all_reduce", [], [x], reduce="max")
                one.hand.run("aten::sqrt_.default", [x])
            results.append(x)
        for one, x in zip(ranks, results, strict=True):
            assert one.hand.down(x).tolist() == [2.0] * 4


def test_groups_within_a_group_stand_beside_each_other():
    from tests.sessions.grouped import join_all

    with grouped(3) as ranks:
        whole = [one.group for one in ranks]
        pair = [ranks[0], ranks[2]]
        join_all(pair)
        within = [one.group for one in pair]
        handles = [one.hand.up(torch.full((2,), float(k))) for k, one in enumerate(ranks)]
        for one, handle in zip(pair, (handles[0], handles[2]), strict=True):
            one.ask("all_reduce", [], [handle], reduce="sum")
        for one, name in zip(ranks, whole, strict=True):
            one.group = name
        for one, handle in zip(ranks, handles, strict=True):
            one.ask("all_reduce", [], [handle], reduce="sum")
        assert [one.hand.down(handle)[0].item() for one, handle in zip(ranks, handles, strict=True)] == [
            5.0
        ] * 3
        assert len(set(whole + within)) == 5


def test_ranks_may_come_before_one_has_been_asked_to_join():
    with grouped(3) as ranks:
        told = [one.met(rank, 3) for rank, one in enumerate(ranks)]
        peers = [[None if k == own else address(told[k], own) for k in range(3)] for own in range(3)]
        ranks[0].join(peers[0])
        ranks[2].join(peers[2])
        late = ranks[1].served
        late.wait(lambda service: 2 in service.session.groups._groups[ranks[1].group].peers)
        ranks[1].join(peers[1])
        handles = [one.hand.up(torch.ones(2)) for one in ranks]
        for one, handle in zip(ranks, handles, strict=True):
            one.ask("all_reduce", [], [handle], reduce="sum")
        assert [one.hand.down(handle).tolist() for one, handle in zip(ranks, handles, strict=True)] == [
            [3.0, 3.0]
        ] * 3
        for one, rows_of_one in zip(ranks, peers, strict=True):
            one.join(rows_of_one)
            assert "malformed joining" in refusal(one.link.stat)


@pytest.mark.req("POOL-7.3b")
def test_a_copy_on_its_way_is_counted_and_refused_past_the_quota():
    with grouped(2, quota_mib=3) as (one, other):
        x = one.hand.up(torch.zeros(500_000))
        one.ask("send", [x], [], root=1, tag=0)
        assert "tried to allocate" in refusal(one.link.stat)
        assert "rank 0 could not take part in send" in refusal(lambda: _barrier(other))


def _barrier(rank):
    rank.ask("barrier")
    rank.link.stat()


def test_nobody_takes_part_in_what_another_does_not_call():
    with grouped(2) as (one, other):
        x, y = one.hand.up(torch.zeros(4)), other.hand.up(torch.zeros(4))
        one.ask("all_reduce", [], [x], reduce="sum")
        other.ask("all_reduce", [], [y], reduce="max")
        told = each([one, other], lambda rank: refusal(rank.link.stat))
        assert all("all_reduce (sum)" in text and "all_reduce (max)" in text for text in told), told


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"op": "all_sum"}, "no collective is called all_sum"),
        ({"op": "all_reduce", "reduce": "mean"}, "a reduction is one of sum, avg"),
        ({"op": "broadcast", "root": 2}, "a rank is a number from 0 to 1"),
        ({"op": "send", "root": 0, "tag": 0}, "a rank cannot send to itself"),
        ({"op": "barrier", "timeout_s": -1}, "a time limit is a number of seconds"),
        ({"op": "barrier", "in": ["x"]}, "names its tensors by their handles"),
        ({"op": "all_gather", "in": [99], "out": [99]}, "handle 99 is not known"),
        ({"op": "barrier", "group": "another"}, "does not belong to this group"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(asked, says):
    with grouped(2) as (one, _other):
        one.ask(asked.pop("op"), asked.pop("in", []), asked.pop("out", []), **asked)
        assert says in refusal(one.link.stat)


def test_sizes_that_do_not_fit_are_refused_before_anything_is_sent():
    with grouped(2) as (one, other):
        own, room = one.hand.up(torch.zeros(4)), one.hand.up(torch.zeros(9))
        one.ask("all_gather", [own], [room])
        assert "9 elements cannot be cut evenly for 2 ranks" in refusal(one.link.stat)
        assert "rank 0 could not take part in all_gather" in refusal(lambda: _barrier(other))


def test_a_group_that_was_left_tells_the_others_so():
    from weir_wire import wire

    with grouped(2) as (one, other):
        one.link.send(Kind.LEAVE, wire.dump_json({"group": one.group}))
        one.link.stat()
        assert "rank 0 has left the group" in refusal(lambda: _barrier(other))
        assert not one.served.service.session.groups.is_any


def test_every_order_of_two_ranks_is_right_whoever_is_late():
    import time

    for order, late_s in itertools.product(((0, 1), (1, 0)), (0.0, 0.2)):
        with grouped(2) as ranks:
            handles = [one.hand.up(torch.full((3,), k + 1.0)) for k, one in enumerate(ranks)]
            for k in order:
                ranks[k].ask("all_reduce", [], [handles[k]], reduce="product")
                time.sleep(late_s)
            assert [one.hand.down(h).tolist() for one, h in zip(ranks, handles, strict=True)] == [
                [2.0] * 3
            ] * 2
