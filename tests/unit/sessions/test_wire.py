"""The protocol's frames and payloads, without torch: what goes in comes out, and nothing else gets through."""

import json
import struct
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir_wire import wire
from weir_wire.wire import Fault, WireError


@pytest.mark.req("ELA-1301")
@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.floats(allow_nan=False)))
def test_a_batch_comes_back(ints, floats):
    payload = memoryview(b"".join(wire.pack_batch(array("q", ints), array("d", floats))))
    assert wire.unpack_batch(payload) == (ints, floats)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_bytes_that_are_no_payload_are_refused_and_nothing_worse(data):
    for parse in (wire.unpack_batch, wire.unpack_upload, wire.unpack_value, wire.tensor_meta, wire.load_json):
        try:
            parse(memoryview(data))
        except WireError:
            continue


@settings(deadline=None)
@given(
    st.integers(1, 2**62), st.sampled_from(sorted(wire.DTYPE_BYTES)), st.lists(st.integers(0, 5), max_size=4)
)
def test_an_upload_comes_back(handle, dtype, shape):
    size = wire.DTYPE_BYTES[dtype] * wire.numel(shape)
    data = memoryview(bytes(range(256)) * (size // 256 + 1))[:size]
    ((header, chunk),) = wire.upload_frames(handle, dtype, shape, data)
    assert len(header) % 16 == 0
    found = wire.unpack_upload(memoryview(header + bytes(chunk)))
    assert (found.handle, found.offset, found.dtype, found.shape) == (handle, 0, dtype, shape)
    assert (found.total, bytes(found.data)) == (size, bytes(data))


@pytest.mark.parametrize(
    ("shape", "stride", "extent"),
    [
        ([], [], 1),
        ([2, 3], [3, 1], 6),
        ([4, 4], [0, 0], 1),
        ([0, 4], [4, 1], 0),
        # Six dimensions, as windows of a picture have: the strides together are far above what a tensor may hold.
        ([2, 8, 7, 8, 7, 96], [301056, 37632, 5376, 672, 96, 1], 602112),
    ],
)
def test_a_tensor_reaches_as_far_as_its_strides_say(shape, stride, extent):
    assert wire.extent(shape, stride) == extent


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        ([2], [1, 1]),
        ([0], [-1]),
        ([2], [1 << 60]),
        ([1], [1 << 62]),
        ([2], [True]),
        ([2], None),
        ([1 << 61] * 3, [1, 1, 1]),
        ([2, 1 << 57], [1 << 57, 2]),
    ],
)
def test_strides_that_no_tensor_has_are_refused(shape, stride):
    with pytest.raises(WireError):
        wire.extent(shape, stride)


def test_a_large_upload_goes_in_chunks_that_fit_a_frame():
    data = memoryview(bytes(2 * wire.CHUNK_BYTES + 5))
    frames = [
        wire.unpack_upload(memoryview(header + bytes(chunk)))
        for header, chunk in wire.upload_frames(7, "uint8", [len(data)], data)
    ]
    assert [(one.offset, len(one.data)) for one in frames] == [
        (0, wire.CHUNK_BYTES),
        (wire.CHUNK_BYTES, wire.CHUNK_BYTES),
        (2 * wire.CHUNK_BYTES, 5),
    ]
    assert wire.CHUNK_BYTES + 1024 < wire.MAX_PAYLOAD


@pytest.mark.req("ELA-1303", "ELA-1307")
@pytest.mark.parametrize(
    ("offset", "shape", "data"),
    [
        (0, [2], b"x" * 9),
        (5, [2], b"x" * 4),
        (0, [-1], b""),
        (0, [True], b"x"),
        (0, [2.0], b""),
        (0, [2], b""),
        (0, [2**62], b"x"),
        (0, [2**40, 2**40], b"x"),
        (0, [1] * 65, b"x"),
        (2**64 - 1, [2], b"x"),
    ],
)
def test_uploads_out_of_bounds(offset, shape, data):
    meta = json.dumps(["float32", shape]).encode()
    payload = struct.pack("<qQI", 1, offset, len(meta)) + meta + data
    with pytest.raises(WireError):
        wire.unpack_upload(memoryview(payload))


@settings(deadline=None)
@given(st.floats())
def test_floats_are_written_exactly(value):
    kind, text = wire.float_node(value)
    assert kind == "x"
    back = wire.float_of(text)
    assert back == value or (back != back and value != value)


@pytest.mark.parametrize("text", [None, 5, "", "zz", "0x1p99999999", []])
def test_texts_that_are_no_float(text):
    with pytest.raises(WireError):
        wire.float_of(text)


def test_replies_carry_number_faults_and_body():
    faults = [Fault("out_of_memory", "aten::mm.default", "no room"), Fault("bad_frame", "", "short")]
    packed = wire.pack_faults(faults)
    payload = wire.VALUE_HEADER.pack(9, len(packed)) + packed + b"body"
    number, found, body = wire.unpack_value(memoryview(payload))
    assert (number, found, bytes(body)) == (9, faults, b"body")
    assert str(wire.SessionFault(faults)) == "aten::mm.default: no room; short"


@pytest.mark.req("ELA-1401")
def test_proofs_cannot_be_moved_between_fields_or_sessions():
    proof = wire.mac("key", "client", "ab", "c")
    assert wire.mac_equal(proof, wire.mac("key", "client", "ab", "c"))
    for other in (("key", "client", "a", "bc"), ("key", "worker", "ab", "c"), ("other", "client", "ab", "c")):
        assert not wire.mac_equal(proof, wire.mac(*other))
    for junk in (None, 5, b"x", "", "é"):
        assert not wire.mac_equal(junk, proof)


def test_the_protocol_s_kinds_are_counted_where_they_should_be():
    assert [kind.name for kind in wire.Kind if wire.is_counted(kind)] == [
        "TEMPLATE",
        "BATCH",
        "UPLOAD",
        "READ",
        "CALL",
        "RNG",
        "STAT",
        "CACHED",
        "REMEMBER",
        "MEET",
        "JOIN",
        "COLLECTIVE",
        "LEAVE",
    ]
