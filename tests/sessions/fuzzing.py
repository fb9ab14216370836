"""Frames no honest client would send: noise, damaged frames, and frames that are well formed and senseless."""

from __future__ import annotations

import random
import struct
from array import array
from typing import Any

from weir_wire import wire
from weir_wire.wire import Kind

_KINDS = [int(kind) for kind in Kind if wire.is_counted(kind)]
_OPERATORS = (
    "aten::neg.default", "aten::add.Tensor", "aten::add_.Tensor", "aten::mm.default", "aten::view.default",
    "aten::as_strided.default", "aten::index_select.default", "aten::cat.default", "aten::zeros.default",
    "aten::empty.memory_format", "aten::expand.default", "aten::select.int", "aten::slice.Tensor",
    "aten::_foreach_add.Scalar", "aten::neg.out", "aten::full.default", "aten::arange.default", "aten::t.default",
    "aten::_local_scalar_dense.default", "aten::nonzero.default", "aten::equal.default", "aten::split.Tensor",
    "aten::from_file.default", "aten::set_.source_Tensor", "aten::resize_.default", "aten::nothing.default",
    "prim::device.default", "aten::conv2d.default", "aten::sum.dim_IntList", "aten::_to_copy.default",
)  # fmt: skip
_WORDS = (
    "float32",
    "int64",
    "bool",
    "complex64",
    "object",
    "cuda",
    "strided",
    "nan",
    "0x1p3",
    "",
    "\0",
    "é" * 9,
)
_INTS = (0, 1, 2, 3, 4, 5, 7, 16, 64, -1, -2, 1 << 20, 1 << 31, (1 << 62) - 1, -(1 << 63))


class Fuzzer:
    """Frames that a seed decides. Remembers a few valid frames and damages them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # repeatable, not secret
        self._seen: list[tuple[int, bytes]] = [(int(Kind.STAT), b"")]
        self._makers = (self._noise, self._damaged, self._batch, self._batch, self._template, self._upload,
                        self._read, self._call, self._rng, self._drop)  # fmt: skip

    def frame(self) -> tuple[int, bytes]:
        """One frame: kind and payload."""
        made = self._random.choice(self._makers)()
        if self._random.random() < 0.01:
            self._seen = [*self._seen[-63:], made]
        return made

    def _noise(self) -> tuple[int, bytes]:
        return self._random.randrange(16, 64), self._random.randbytes(
            self._random.choice((0, 1, 4, 8, 17, 60))
        )

    def _damaged(self) -> tuple[int, bytes]:
        kind, payload = self._random.choice(self._seen)
        data = bytearray(payload)
        for _ in range(self._random.randrange(1, 4)):
            if data:
                data[self._random.randrange(len(data))] = self._random.randrange(256)
        cut = self._random.randrange(len(data) + 1) if self._random.random() < 0.3 else len(data)
        return kind, bytes(data[:cut])

    def _batch(self) -> tuple[int, bytes]:
        ints = [self._int() for _ in range(self._random.randrange(0, 9))]
        floats = [self._random.uniform(-9, 9) for _ in range(self._random.randrange(0, 3))]
        return int(Kind.BATCH), b"".join(wire.pack_batch(array("q", ints), array("d", floats)))

    def _template(self) -> tuple[int, bytes]:
        return int(Kind.TEMPLATE), wire.dump_json({"add": [{"id": self._small(), **self._described()}]})

    def _drop(self) -> tuple[int, bytes]:
        return int(Kind.TEMPLATE), wire.dump_json({"drop": [self._small(), self._node()]})

    def _described(self) -> dict[str, Any]:
        pick = self._random.randrange
        inputs = pick(0, 4)
        args: list[Any] = [["t", k] for k in range(inputs)] + [self._node() for _ in range(pick(0, 3))]
        outs = [self._out() for _ in range(pick(0, 3))]
        described = {"op": self._random.choice(_OPERATORS), "args": args, "n_inputs": inputs, "outs": outs}
        if pick(4) == 0:
            described["kwargs"] = {self._random.choice(("out", "device", "dtype", "dim", "x")): self._node()}
        if pick(4) == 0:
            described.update(n_ints=pick(0, 3), n_floats=pick(0, 2))
        return described

    def _out(self) -> Any:
        sizes = [self._random.choice((0, 1, 2, 4, 8)) for _ in range(self._random.randrange(0, 3))]
        return [sizes, sizes[::-1], self._random.choice(_WORDS)]

    def _node(self, depth: int = 0) -> Any:
        kind = self._random.choice(("t", "i", "f", "c", "c", "c", "x", "z", "l", "d", "m", "y", "dev", "?"))
        if kind == "l":
            return [
                "l",
                [self._node(depth + 1) for _ in range(self._random.randrange(3))] if depth < 9 else [],
            ]
        if kind == "c":
            return ["c", self._random.choice((None, True, self._modest(), self._random.choice(_WORDS)))]
        if kind in "tif":
            return [kind, self._random.randrange(-1, 4)]
        return [kind, self._random.choice(_WORDS)] if kind != "dev" else ["dev"]

    def _upload(self) -> tuple[int, bytes]:
        dtype = self._random.choice(("float32", "int64", "uint8", "bool"))
        shape = [self._random.choice((1, 2, 4, 64)) for _ in range(self._random.randrange(0, 3))]
        size = wire.numel(shape) * wire.DTYPE_BYTES[dtype]
        offset = self._random.choice((0, 0, 0, 4, 1 << 63))
        data = bytes(size if self._random.random() < 0.8 else self._random.randrange(64))
        return int(Kind.UPLOAD), wire.upload_header(self._small(), offset, dtype, shape) + data

    def _read(self) -> tuple[int, bytes]:
        return int(Kind.READ), wire.READ_REQUEST.pack(
            self._small(), self._random.choice((0, 4, 8, 64, 1 << 63))
        )

    def _call(self) -> tuple[int, bytes]:
        call = {"template": self._described(), "inputs": [self._small() for _ in range(self._random.randrange(4))],
                "ints": [], "floats": [], "base": self._random.choice((1, 40, 1 << 40, -1, "1")),
                "room": self._random.choice((0, 1, 8, 1 << 40))}  # fmt: skip
        return int(Kind.CALL), wire.dump_json(call)

    def _rng(self) -> tuple[int, bytes]:
        return int(Kind.RNG), bytes([self._random.randrange(6)]) + struct.pack("<q", self._int())

    def _small(self) -> int:
        return self._random.randrange(1, 40)

    def _modest(self) -> int:
        return self._random.choice((0, 1, 2, 4, -1, 64))

    def _int(self) -> int:
        return self._small() if self._random.random() < 0.8 else self._random.choice(_INTS)
