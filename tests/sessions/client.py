"""A client without the PyTorch device: writes templates and batches by hand, for tests of sessions."""

from __future__ import annotations

import itertools
import json
from array import array
from typing import Any

import torch
from weir.link.interface import Link

from node_agent.sessions.execution.template import name_of
from node_agent.sessions.execution.tensors import bytes_of
from weir_wire import wire
from weir_wire.wire import Kind


class Hand:
    """Runs operators over a Link. Handles and template ids are counted up."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._handles = itertools.count(1)
        self._templates: dict[str, int] = {}
        self.shapes: dict[int, tuple[torch.dtype, list[int]]] = {}

    def up(self, tensor: torch.Tensor) -> int:
        """Upload; the handle."""
        handle = next(self._handles)
        self.link.upload(handle, name_of(tensor.dtype), tensor.shape, bytes_of(tensor))
        self.shapes[handle] = tensor.dtype, list(tensor.shape)
        return handle

    def down(self, handle: int) -> torch.Tensor:
        """The tensor of a handle. Raises wire.SessionFault."""
        dtype, shape = self.shapes[handle]
        made = torch.empty(shape, dtype=dtype)
        if made.numel():
            self.link.read(handle, made.numel() * made.itemsize, bytes_of(made))
        return made

    def run(
        self, op: str, inputs: list[int], *rest: Any, like: Any = None, floats: Any = (), **kwargs: Any
    ) -> int:
        """One operator with its inputs first, then the nodes `rest`; `like` tells the output (None: in place)."""
        out = [] if like is None else [[list(like.shape), list(like.stride()), name_of(like.dtype)]]
        source = {
            "op": op,
            "args": [*(["t", k] for k in range(len(inputs))), *rest],
            "kwargs": kwargs,
            "n_inputs": len(inputs),
            "n_floats": len(floats),
            "outs": out,
        }
        ints = [self.template(source), *inputs]
        handle = 0
        if like is not None:
            handle = next(self._handles)
            self.shapes[handle] = like.dtype, list(like.shape)
            ints.append(handle)
        self.batch(ints, floats)
        return handle

    def template(self, source: dict[str, Any]) -> int:
        """Its id; sent the first time."""
        key = json.dumps(source)
        number = self._templates.get(key)
        if number is None:
            number = self._templates[key] = len(self._templates)
            self.link.send(Kind.TEMPLATE, wire.dump_json({"add": [{"id": number, **source}]}))
        return number

    def batch(self, ints: list[int], floats: Any = ()) -> None:
        """Records as they are."""
        self.link.send(Kind.BATCH, *wire.pack_batch(array("q", ints), array("d", floats)))

    def free(self, *handles: int) -> None:
        """Forget handles."""
        self.batch([-len(handles), *handles])

    def call(self, op: str, inputs: list[int], *rest: Any, room: int = 8, **kwargs: Any) -> Any:
        """A CALL; its node."""
        base = next(self._handles)
        self._handles = itertools.count(base + room)
        template = {
            "op": op,
            "args": [*(["t", k] for k in range(len(inputs))), *rest],
            "kwargs": kwargs,
            "n_inputs": len(inputs),
        }
        call = {"template": template, "inputs": inputs, "ints": [], "floats": [], "base": base, "room": room}
        node = json.loads(bytes(self.link.request(Kind.CALL, wire.dump_json(call))))
        self._remember(node)
        return node

    def _remember(self, node: Any) -> None:
        if node[0] == "l":
            for one in node[1]:
                self._remember(one)
        elif node[0] == "t":
            self.shapes[node[1]] = getattr(torch, node[5]), node[2]

    def seed(self, seed: int) -> None:
        """Seed the session's random state."""
        self.link.send(Kind.RNG, b"\0", wire.NUMBER.pack(seed))
