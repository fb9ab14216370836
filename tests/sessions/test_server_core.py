"""A session's core by hand-written frames: operators, exact memory, poison, views, and whatever is refused."""

import hashlib
import json

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.execution.core import Session  # noqa: E402
from node_agent.sessions.execution.tensors import blank, bytes_of, write  # noqa: E402
from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.inprocess import InProcessLink  # noqa: E402
from weir_wire import wire  # noqa: E402
from weir_wire.wire import Kind, SessionFault  # noqa: E402

MIB = 1 << 20


@pytest.fixture
def session():
    return Session("cpu", 8)


@pytest.fixture
def hand(session):
    link = InProcessLink(session)
    yield Hand(link)
    link.close()


def fault_of(action) -> wire.Fault:
    with pytest.raises(SessionFault) as caught:
        action()
    assert len(caught.value.faults) == 1, caught.value.faults
    return caught.value.faults[0]


@pytest.mark.req("ELA-1308", "ELA-1307")
@pytest.mark.parametrize("name", sorted(wire.DTYPE_BYTES))
def test_every_dtype_comes_back_bit_for_bit(hand, name):
    dtype = getattr(torch, name)
    bits = torch.randint(0, 256, (3, 5 * dtype.itemsize), dtype=torch.uint8)
    bits = bits % 2 if dtype is torch.bool else bits
    sent = bits.view(dtype)
    back = hand.down(hand.up(sent))
    assert back.dtype is dtype
    assert back.shape == sent.shape
    assert back.view(torch.uint8).equal(bits)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1)])
def test_empty_and_scalar_tensors(hand, shape):
    sent = torch.ones(shape)
    assert hand.down(hand.up(sent)).equal(sent)


@pytest.mark.req("ELA-1309", "ELA-1310")
def test_operators_give_what_torch_gives(hand):
    x, y = torch.randn(4, 6), torch.randn(6, 3)
    a, b = hand.up(x), hand.up(y)
    c = hand.run("aten::mm.default", [a, b], like=x @ y)
    d = hand.run("aten::mul.Tensor", [c], ["f", 0], like=x @ y, floats=[0.1])
    assert hand.down(d).equal((x @ y) * 0.1)


def test_floats_complex_and_huge_ints_arrive_exactly(hand):
    like = torch.zeros(2, dtype=torch.complex128)
    z = complex(0.1, float.fromhex("0x1.fffffffffffffp-1022"))
    a = hand.run(
        "aten::full.default", [], ["l", [["c", 2]]], wire.float_node(z), like=like, dtype=["d", "complex128"]
    )
    assert hand.down(a).tolist() == [z, z]
    big = 2**53 + 1
    b = hand.run(
        "aten::full.default",
        [],
        ["l", [["c", 1]]],
        ["c", big],
        like=torch.zeros(1, dtype=torch.int64),
        dtype=["d", "int64"],
    )
    assert hand.down(b).tolist() == [big]


def test_views_are_real(hand, session):
    x = torch.zeros(4, 4)
    a = hand.up(x)
    used = session.memory.used_bytes
    row = hand.run("aten::select.int", [a], ["c", 0], ["c", 1], like=x[1])
    assert session.memory.used_bytes == used
    hand.run("aten::add_.Scalar", [row], ["c", 3])
    x[1] += 3
    assert hand.down(a).equal(x)
    hand.free(a)
    assert session.memory.used_bytes == used, "a view keeps its storage"
    hand.free(row)
    assert session.memory.used_bytes == 0


@pytest.mark.req("POOL-7.3b", "ELA-1305", "ELA-1306")
def test_the_quota_is_exact_to_the_mib(hand, session):
    one = torch.zeros(MIB // 4)
    held = [hand.up(one) for _ in range(7)]
    last = hand.run("aten::neg.default", [held[0]], like=one)
    assert hand.link.stat()["used_bytes"] == 8 * MIB
    refused = hand.run("aten::neg.default", [held[0]], like=one)
    fault = fault_of(lambda: hand.down(refused))
    assert fault.code == "out_of_memory"
    assert "8.00 MiB in use of the session's 8 MiB" in fault.message
    hand.free(last, refused)
    again = hand.run("aten::neg.default", [held[0]], like=one)
    assert hand.down(again).equal(-one)
    for _ in range(50):
        hand.free(again)
        again = hand.run("aten::neg.default", [held[0]], like=one)
    hand.free(again, *held)
    assert hand.link.stat()["used_bytes"] == 0
    assert session.memory.peak_bytes == 8 * MIB


def test_one_byte_too_many_is_refused_and_an_upload_too(hand):
    hand.up(torch.zeros(7 * MIB, dtype=torch.uint8))
    over = hand.up(torch.zeros(MIB + 1, dtype=torch.uint8))
    assert fault_of(lambda: hand.down(over)).code == "out_of_memory"
    fits = hand.up(torch.zeros(MIB, dtype=torch.uint8))
    assert hand.down(fits).equal(torch.zeros(MIB, dtype=torch.uint8))


@pytest.mark.req("POOL-12.2")
def test_the_quota_changes_while_it_runs(hand, session):
    a = hand.up(torch.ones(MIB))
    session.share_set(quota_mib=4, compute_percent=50)
    assert fault_of(lambda: hand.down(hand.up(torch.ones(1)))).code == "out_of_memory"
    assert hand.down(a).equal(torch.ones(MIB)), "what is held stays"
    session.share_set(quota_mib=5, compute_percent=50)
    assert hand.down(hand.up(torch.ones(1))).item() == 1


def test_poison_spreads_and_tells_only_the_root_cause(hand):
    x = torch.ones(3)
    a = hand.up(x)
    index = hand.up(torch.tensor([7]))
    wrong = hand.template(
        {
            "op": "aten::index_select.default",
            "args": [["t", 0], ["c", 0], ["t", 1]],
            "kwargs": {},
            "n_inputs": 2,
            "n_floats": 0,
            "outs": [[[1], [1], "float32"]],
        }
    )
    hand.batch([wrong, a, index, 900])
    hand.shapes[900] = torch.float32, [1]
    two = hand.run("aten::neg.default", [900], like=x[:1])
    with pytest.raises(SessionFault) as caught:
        hand.down(two)
    assert [(fault.code, fault.op) for fault in caught.value.faults] == [
        ("index", "aten::index_select.default")
    ]
    assert "index_select" in fault_of(lambda: hand.down(two)).op, "told again for the same tensor"
    hand.run("aten::add_.Tensor", [a, two])
    assert fault_of(lambda: hand.down(a)).op == "aten::index_select.default", (
        "an in-place target is poisoned too"
    )


def test_a_failed_in_place_operator_poisons_views_of_its_target(hand):
    x = torch.ones(4, 4)
    a = hand.up(x)
    view = hand.run("aten::t.default", [a], like=x.t())
    hand.run("aten::add_.Tensor", [a, hand.up(torch.ones(3))])
    assert fault_of(lambda: hand.down(view)).code == "operator"


@pytest.mark.req("ELA-1310")
def test_outputs_are_compared_with_what_the_client_counts_on(hand):
    a = hand.up(torch.ones(2, 3))
    bad = hand.run("aten::neg.default", [a], like=torch.ones(3, 2))
    fault = fault_of(lambda: hand.down(bad))
    assert fault.code == "mismatch"
    other = hand.run("aten::neg.default", [a], like=torch.ones(3, 2).t())
    assert hand.down(other).equal(-torch.ones(2, 3)), "other strides are put right"


@pytest.mark.req("ELA-1305", "ELA-408")
def test_fresh_memory_is_zero(hand):
    junk = hand.up(torch.full((1000,), 7.0))
    hand.free(junk)
    like = torch.empty(1000)
    for op in ("aten::empty.memory_format", "aten::zeros.default"):
        assert hand.down(hand.run(op, [], ["l", [["c", 1000]]], like=like)).equal(torch.zeros(1000))
    node = hand.call("aten::empty.memory_format", [], ["l", [["c", 1000]]])
    assert hand.down(node[1]).equal(torch.zeros(1000))


def test_calls_tell_dynamic_shapes_and_scalars(hand):
    x = torch.tensor([0.0, 2.0, 0.0, 5.0])
    a = hand.up(x)
    node = hand.call("aten::nonzero.default", [a])
    assert (node[0], node[2], node[5]) == ("t", [2, 1], "int64")
    assert hand.down(node[1]).equal(x.nonzero())
    assert hand.call("aten::equal.default", [a, a]) == ["c", True]
    third = hand.up(torch.tensor(1 / 3, dtype=torch.float64))
    assert wire.float_of(hand.call("aten::item.default", [third])[1]) == 1 / 3
    z = hand.call("aten::item.default", [hand.up(torch.tensor(2 - 0.5j))])
    assert z == wire.float_node(2 - 0.5j)
    values = hand.call("aten::unique_consecutive.default", [a], ["c", True])
    assert [hand.down(one[1]).tolist() for one in values[1][:2]] == [[0, 2, 0, 5], [0, 1, 2, 3]]


def test_a_call_that_fails_keeps_nothing(hand, session):
    a = hand.up(torch.ones(5))
    before = hand.link.stat()
    assert fault_of(lambda: hand.call("aten::unbind.int", [a], room=3)).code == "bad_frame"
    after = hand.link.stat()
    assert (after["handles"], after["used_bytes"]) == (before["handles"], before["used_bytes"])
    assert fault_of(lambda: hand.call("aten::nonzero.default", [999])).code == "bad_handle"


def test_random_numbers_are_those_of_torch(hand):
    like = torch.empty(5)
    hand.seed(11)
    got = [hand.down(hand.run("aten::rand.default", [], ["l", [["c", 5]]], like=like)) for _ in range(2)]
    torch.manual_seed(11)
    assert torch.stack(got).equal(torch.stack([torch.rand(5), torch.rand(5)]))
    state = bytes(hand.link.request(Kind.RNG, b"\1"))
    hand.link.send(Kind.RNG, b"\3", wire.HANDLE.pack(5000))
    one = hand.down(hand.run("aten::rand.default", [], ["l", [["c", 5]]], like=like))
    hand.link.send(Kind.RNG, b"\2", state)
    two = hand.down(hand.run("aten::rand.default", [], ["l", [["c", 5]]], like=like))
    hand.link.send(Kind.RNG, b"\4", wire.HANDLE.pack(5000))
    three = hand.down(hand.run("aten::rand.default", [], ["l", [["c", 5]]], like=like))
    assert one.equal(two)
    assert one.equal(three)
    hand.link.send(Kind.RNG, b"\2", b"junk")
    assert fault_of(hand.link.stat).code == "bad_frame"


NOT_ALLOWED = (
    "aten::from_file.default",
    "aten::set_.source_Storage",
    "aten::save.default",
    "aten::resize_.default",
    "aten::data_ptr.default",
    "prim::Print.default",
    "aten::add",
    "aten::nothing.Tensor",
    "os::system.default",
    "aten::record_stream.default",
    "aten::__class__.default",
    "aten::to_mkldnn.default",
    "aten::_print.default",
    "aten::_reshape_alias.default",
    "aten::_sobol_engine_draw.default",
    "aten::_cummax_helper.default",
)


@pytest.mark.req("ELA-1309", "ELA-1302")
@pytest.mark.parametrize("op", NOT_ALLOWED)
def test_operators_outside_the_list_are_refused(hand, op):
    hand.link.send(Kind.TEMPLATE, wire.dump_json({"add": [{"id": 5, "op": op, "args": []}]}))
    assert fault_of(hand.link.stat).code == "not_allowed"
    assert fault_of(lambda: hand.call(op, [])).code == "not_allowed"


def nested(depth: int) -> list:
    return ["l", [nested(depth - 1)] if depth else []]


@pytest.mark.parametrize(
    "template",
    [
        None,
        5,
        [],
        {},
        {"id": -1},
        {"id": 0, "op": "aten::neg.default"},
        {"id": 0, "op": "aten::neg.default", "args": [["t", 0]], "n_inputs": 0},
        {"id": 0, "op": "aten::neg.default", "args": [["t", True]], "n_inputs": 1},
        {"id": 0, "op": "aten::neg.default", "args": [["t", -1]], "n_inputs": 1},
        {"id": 0, "op": "aten::neg.default", "args": [["q", 0]], "n_inputs": 1},
        {"id": 0, "op": "aten::neg.default", "args": [["t", 0]], "n_inputs": 1 << 40},
        {
            "id": 0,
            "op": "aten::neg.default",
            "args": [["t", 0]],
            "n_inputs": 1,
            "outs": [[[1 << 61] * 3, [], "x"]],
        },
        {
            "id": 0,
            "op": "aten::neg.default",
            "args": [["t", 0]],
            "n_inputs": 1,
            "outs": [[[2], [1], "object"]],
        },
        {"id": 0, "op": "aten::zeros.default", "args": [["l", []]], "kwargs": {"device": ["c", "meta"]}},
        {"id": 0, "op": "aten::neg.default", "args": [["x", "not a float"]]},
        {"id": 0, "op": "aten::neg.default", "args": [nested(9)]},
    ],
)
def test_templates_that_are_none_change_nothing(hand, session, template):
    hand.link.send(Kind.TEMPLATE, wire.dump_json({"add": [template]}))
    assert fault_of(hand.link.stat).code in ("bad_frame", "bad_template")
    assert not session.templates


def test_templates_are_bounded_and_can_be_dropped(hand, session):
    rows = [
        {"id": n, "op": "aten::neg.default", "args": [["t", 0]], "n_inputs": 1}
        for n in range(wire.MAX_TEMPLATES)
    ]
    for at in range(0, len(rows), 4096):
        hand.link.send(Kind.TEMPLATE, wire.dump_json({"add": rows[at : at + 4096]}))
    hand.link.stat()
    one_more = wire.dump_json({"add": [{**rows[0], "id": wire.MAX_TEMPLATES}]})
    hand.link.send(Kind.TEMPLATE, one_more)
    assert fault_of(hand.link.stat).code == "bad_template"
    hand.link.send(Kind.TEMPLATE, wire.dump_json({"drop": list(range(wire.MAX_TEMPLATES))}))
    assert session.template_bytes == 0
    hand.link.send(Kind.TEMPLATE, one_more)
    assert list(session.templates) == [wire.MAX_TEMPLATES]


@pytest.mark.req("ELA-1306", "ELA-1402")
def test_handles_must_be_known_and_new(hand, session):
    a = hand.up(torch.ones(2))
    neg = hand.template(
        {
            "op": "aten::neg.default",
            "args": [["t", 0]],
            "kwargs": {},
            "n_inputs": 1,
            "n_floats": 0,
            "outs": [[[2], [1], "float32"]],
        }
    )
    for records in ([-1, 77], [neg, 77, 501], [neg, a, a], [neg, a, 0], [neg, a, -5]):
        hand.batch(records)
        assert fault_of(hand.link.stat).code == "bad_handle", records
    assert hand.down(a).equal(torch.ones(2)), "it was not overwritten"


def test_batches_that_end_within_a_record(hand):
    a = hand.up(torch.ones(2))
    neg = hand.template(
        {
            "op": "aten::neg.default",
            "args": [["t", 0]],
            "kwargs": {},
            "n_inputs": 1,
            "n_floats": 0,
            "outs": [[[2], [1], "float32"]],
        }
    )
    for records in ([neg], [neg, a], [-5, a], [-(1 << 63)], [1 << 62]):
        hand.batch(records)
        assert fault_of(hand.link.stat).code in ("bad_frame", "bad_template"), records
    hand.link.send(Kind.BATCH, b"\1\0\0\0")
    assert fault_of(hand.link.stat).code == "bad_frame"


@pytest.mark.req("ELA-1307")
def test_uploads_stay_within_their_tensor(hand):
    send = hand.link.send
    for header, data in (
        (wire.upload_header(1, 0, "float32", [2]), b"123456789"),
        (wire.upload_header(1, 4, "float32", [2]), b"1234"),
        (wire.upload_header(1, 0, "float32", [-1]), b""),
        (wire.upload_header(1, 0, "float32", [1 << 62]), b"1"),
        (wire.upload_header(1, 0, "object", [1]), b"1"),
        (wire.upload_header(1, 0, "float32", [2]), b""),
        (b"", b""),
    ):
        send(Kind.UPLOAD, header, data)
        fault_of(hand.link.stat)
    send(Kind.UPLOAD, wire.upload_header(9, 0, "int32", [2]), b"1234")
    assert fault_of(lambda: hand.link.read(9, 8)).code == "bad_handle"
    send(Kind.UPLOAD, wire.upload_header(9, 4, "int32", [2]), b"5678")
    assert bytes(hand.link.read(9, 8)) == b"12345678"
    assert fault_of(lambda: hand.link.read(9, 4)).code == "mismatch"


def test_a_chunk_that_claims_another_shape_than_the_first_writes_nothing(hand):
    """Found by fuzzing: the second chunk said a larger shape and wrote behind the tensor's memory."""
    hand.link.send(Kind.UPLOAD, wire.upload_header(9, 0, "int32", [2]), b"1234")
    hand.link.send(Kind.UPLOAD, wire.upload_header(9, 4, "int32", [5000]), b"x" * 19_996)
    assert fault_of(hand.link.stat).code == "bad_frame"
    hand.link.send(Kind.UPLOAD, wire.upload_header(9, 4, "float32", [2]), b"5678")
    assert fault_of(hand.link.stat).code == "bad_frame"
    hand.link.send(Kind.UPLOAD, wire.upload_header(9, 4, "int32", [2]), b"5678")
    assert bytes(hand.link.read(9, 8)) == b"12345678"


def test_a_digest_s_shape_changed_while_it_is_read_writes_nothing_behind_the_tensor(session, monkeypatch):
    """In shared memory the client can change a frame that is being looked at."""
    data = bytes(range(256)) * 16
    session.cache.remember(memoryview(data))
    head = wire.CACHED_HEADER.pack(9, hashlib.sha256(data).digest())
    frame = bytearray(head + wire.dump_json(["uint8", [len(data)]]))
    parse = wire.tensor_meta

    def parse_then_change(meta):
        found = parse(meta)
        frame[len(head) :] = wire.dump_json(["uint8", [4]]).ljust(len(frame) - len(head))
        return found

    monkeypatch.setattr(wire, "tensor_meta", parse_then_change)
    session.handle(Kind.CACHED, memoryview(frame))
    assert bytes(bytes_of(session.table.rows[9])) == data


def test_a_chunk_longer_than_its_tensor_is_refused():
    made = blank("uint8", [4], torch.device("cpu"))
    with pytest.raises(wire.WireError):
        write(made, wire.Upload(1, 0, "uint8", [4], 4, memoryview(b"x" * 4096)))


def test_a_call_that_grows_an_output_past_the_quota_poisons_it(hand, session):
    a, out = hand.up(torch.ones(MIB + MIB // 2)), hand.up(torch.zeros(1))
    template = {"op": "aten::neg.out", "args": [["t", 0]], "kwargs": {"out": ["t", 1]}, "n_inputs": 2}
    call = {"template": template, "inputs": [a, out], "ints": [], "floats": [], "base": 700, "room": 2}
    payload = wire.dump_json(call)
    assert fault_of(lambda: hand.link.request(Kind.CALL, payload)).code == "out_of_memory"
    assert fault_of(lambda: hand.down(out)).code == "out_of_memory"
    assert session.memory.used_bytes == 6 * MIB


def test_growing_an_output_tensor_counts(hand, session):
    out = hand.up(torch.zeros(0))
    a = hand.up(torch.ones(MIB))
    grow = hand.template(
        {
            "op": "aten::neg.out",
            "args": [["t", 0]],
            "kwargs": {"out": ["t", 1]},
            "n_inputs": 2,
            "outs": [],
        }
    )
    hand.batch([grow, a, out])
    assert hand.link.stat()["used_bytes"] == 8 * MIB
    other = hand.up(torch.zeros(0))
    hand.batch([grow, a, other])
    assert fault_of(hand.link.stat).code == "out_of_memory"
    assert session.memory.used_bytes == 8 * MIB


def test_an_operator_that_grows_what_it_writes_to_without_naming_it_out_counts(hand, session):
    """The statistics of an observer take the length of its input, which may be expanded from one element."""
    wide = torch.zeros(1, 1).expand(MIB, 1)
    one = hand.up(torch.zeros(1, 1))
    shape = ["l", [["c", MIB], ["c", 1]]]
    x = hand.run("aten::expand.default", [one], shape, like=wide)
    on = hand.up(torch.ones(1, dtype=torch.int64))
    grown = [hand.up(torch.zeros(0)) for _ in range(3)] + [hand.up(torch.zeros(0, dtype=torch.int32))]
    rest = [["x", (0.1).hex()], ["c", 0], ["c", 255], ["c", 0], ["c", True], ["c", False]]
    call = {
        "template": {
            "op": "aten::_fused_moving_avg_obs_fq_helper.default",
            "args": [*(["t", k] for k in range(7)), *rest],
            "n_inputs": 7,
        },
        "inputs": [x, on, on, *grown],
        "base": 700,
        "room": 2,
    }
    assert fault_of(lambda: hand.link.request(Kind.CALL, wire.dump_json(call))).code == "out_of_memory"
    rows = [row for row in session.table.rows.values() if isinstance(row, torch.Tensor)]
    held = {row.untyped_storage()._cdata: row.untyped_storage().nbytes() for row in rows}
    assert sum(held.values()) == session.memory.used_bytes <= 8 * MIB


def test_unknown_frames_and_json_that_is_none(hand):
    for kind in (37, 63):
        hand.link.send(kind, b"x")
        assert fault_of(hand.link.stat).code == "bad_kind"
    for payload in (b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, json.dumps({"add": 5}).encode()):
        hand.link.send(Kind.TEMPLATE, payload)
        assert fault_of(hand.link.stat).code == "bad_frame"
