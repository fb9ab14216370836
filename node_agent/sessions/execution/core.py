"""A session: the tensors of one client, the operators it runs on them, its memory and its random state.

Pure of sockets: `handle` takes one counted frame and gives the reply, if the frame asks for one. Used by one
thread. Nothing a client sends makes `handle` raise: what is wrong becomes a fault in the next reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from node_agent.sessions.available import public_version
from node_agent.sessions.execution import results, tensors
from node_agent.sessions.execution.cache import UploadCache
from node_agent.sessions.execution.collectives.groups import Groups
from node_agent.sessions.execution.faults import fault_of
from node_agent.sessions.execution.handle_table import Poisoned, Table
from node_agent.sessions.execution.memory import MemoryQuota, OutOfMemory
from node_agent.sessions.execution.operator_allowlist import NotAllowed
from node_agent.sessions.execution.pace import Clock, Stopwatch
from node_agent.sessions.execution.reply import Reply
from node_agent.sessions.execution.rng import rng_get, rng_seed, rng_set, rng_tensor
from node_agent.sessions.execution.template import Template
from weir_wire import wire
from weir_wire.wire import Kind, WireError

_TEMPLATES_BYTES = 128 << 20


class Session:
    """`device` is torch's name of it ("cpu", "cuda:0"); `clock` times what runs (and holds the share)."""

    def __init__(self, device: str, quota_mib: int, *, clock: Clock | None = None) -> None:
        self.device = device
        self.torch_device = torch.device(device)
        self.memory = MemoryQuota(quota_mib)
        self.table = Table(self.memory)
        self.templates: dict[int, Template] = {}
        self.template_bytes = 0
        self.operators = 0
        self.compute_percent = 100
        self.clock: Clock = clock or Stopwatch()
        self._has_ticks = clock is not None
        self.used_at = time.monotonic()
        self.is_running = False
        self.uploads: dict[int, int] = {}
        self.cache = UploadCache()
        self.groups = Groups(self.table)
        self._handlers: dict[int, Callable[[memoryview], Reply | None]] = {
            Kind.TEMPLATE: self._template,
            Kind.BATCH: self._batch,
            Kind.UPLOAD: self._upload,
            Kind.READ: self._read,
            Kind.CALL: self._call,
            Kind.RNG: self._rng,
            Kind.STAT: self._stat,
            Kind.CACHED: self._cached,
            Kind.REMEMBER: self._remember,
            **self.groups.handlers,
        }

    @property
    def quota_mib(self) -> int:
        return self.memory.quota_mib

    def share_set(self, *, quota_mib: int, compute_percent: int) -> None:
        """A new share while running; what is held stays, what is asked from now on must fit."""
        self.memory.quota_set(quota_mib)
        self.compute_percent = compute_percent
        self.clock.share_set(compute_percent)

    def handle(self, kind: int, payload: memoryview) -> Reply | None:
        """Run one counted frame after all before it; None where it asks for no reply."""
        self.groups.settle()
        handler = self._handlers.get(kind)
        reply = None
        # A STAT is bookkeeping, everything else is use of the device (POOL-12.11).
        self.is_running = kind != Kind.STAT
        with torch.inference_mode():
            try:
                if handler is None:
                    raise WireError(f"no frame of kind {kind} is known", "bad_kind")
                reply = handler(payload)
            except Exception as error:
                self.table.blame(fault_of("", error))
        if self.is_running:
            self.used_at = time.monotonic()
            self.is_running = False
        if reply is None and not self._is_request(kind, payload):
            return None
        if kind == Kind.CACHED:
            return reply or Reply([b"\0"], [])
        faults = self.table.faults_take()
        return Reply([], faults) if faults or reply is None else reply

    @staticmethod
    def _is_request(kind: int, payload: memoryview) -> bool:
        return kind in wire.REQUESTS or (kind == Kind.RNG and bytes(payload[:1]) == b"\1")

    # --- templates and batches

    def _template(self, payload: memoryview) -> None:
        news = wire.load_json(payload)
        for number in _rows(news.get("drop", [])):
            gone = self.templates.pop(number, None) if type(number) is int else None
            if gone is not None:
                self.template_bytes -= len(wire.dump_json(gone.source))
        for source in _rows(news.get("add", [])):
            try:
                self.template_add(source)
            except (WireError, NotAllowed) as error:
                self.table.blame(fault_of(str(source.get("op")) if isinstance(source, dict) else "", error))

    def template_add(self, source: Any) -> None:
        """Compile and keep a template. Raises WireError and NotAllowed."""
        number = source.get("id") if isinstance(source, dict) else None
        if type(number) is not int or not 0 <= number < 1 << 62 or number in self.templates:
            raise WireError("a template needs an id of its own", "bad_template")
        size = len(wire.dump_json(source))
        is_full = len(self.templates) >= wire.MAX_TEMPLATES or self.template_bytes + size > _TEMPLATES_BYTES
        if is_full or size > wire.MAX_TEMPLATE_BYTES:
            raise WireError("the template is too large or there are too many: drop some", "bad_template")
        self.templates[number] = Template(source, self.torch_device)
        self.template_bytes += size

    def _batch(self, payload: memoryview) -> None:
        ints, floats = wire.unpack_batch(payload)
        self.clock.start()
        try:
            self._records(ints, floats)
        finally:
            self.clock.stop()

    def _records(self, ints: list[int], floats: list[float]) -> None:
        at, floats_at, end = 0, 0, len(ints)
        templates, run, free = self.templates, self._run, self._free
        while at < end:
            number = ints[at]
            if number < 0:
                stop = at + 1 - number
                if stop > end:
                    raise WireError("a batch that ends within a record")
                for handle in ints[at + 1 : stop]:
                    free(handle)
                at = stop
                continue
            template = templates.get(number)
            if template is None:
                raise WireError(f"template {number} is not known", "bad_template")
            ints_at = at + 1 + template.n_inputs
            outs_at = ints_at + template.n_ints
            stop = outs_at + template.n_outs
            floats_stop = floats_at + template.n_floats
            if stop > end or floats_stop > len(floats):
                raise WireError("a batch that ends within a record")
            values = (ints[ints_at:outs_at], floats[floats_at:floats_stop])
            run(template, ints[at + 1 : ints_at], values, ints[outs_at:stop])
            at, floats_at = stop, floats_stop

    def _free(self, handle: int) -> None:
        try:
            self.table.free(handle)
            self.uploads.pop(handle, None)
        except WireError as error:
            self.table.blame(fault_of("", error))

    def _run(
        self, template: Template, ids: list[int], values: tuple[list[int], list[float]], outs: list[int]
    ) -> None:
        """Run one operator; whatever goes wrong poisons its outputs and what it writes to."""
        table = self.table
        try:
            table.check_free(outs)
            inputs = table.tensors(ids)
            if template.need_bytes:
                self.memory.need(template.need_bytes)
            result = template.run(inputs, *values)
            if outs:
                self._keep(template, result, inputs, outs)
            if template.may_grow:
                for k in template.writes:
                    self.memory.recount(inputs[k])
        except Exception as error:
            self._failed(template, error, ids, outs)
        self.operators += 1
        if self._has_ticks:
            self.clock.tick()

    def _keep(self, template: Template, result: Any, inputs: list[torch.Tensor], outs: list[int]) -> None:
        if template.is_simple and result.__class__ is torch.Tensor:
            self.table.put(outs[0], result)
            return
        found = results.flatten(result)
        if not template.is_checked:
            results.check(template, found, inputs)
        if template.restrides:
            found = results.restride(template, found)
        if template.is_zeroed:
            for tensor in found:
                tensor.zero_()
        before = self.memory.used_bytes
        at = 0
        for tensor, out in zip(found, template.outs, strict=True):
            if out is not None:
                self.table.put(outs[at], tensor)
                at += 1
        template.ran(self.memory.used_bytes - before)

    def _failed(self, template: Template, error: Exception, ids: list[int], outs: list[int]) -> None:
        fault = error.fault if isinstance(error, Poisoned) else fault_of(template.op, error)
        if not isinstance(error, Poisoned):
            self.table.blame(fault)
        if isinstance(error, WireError):
            outs = [handle for handle in outs if handle not in self.table.rows]
        written = [ids[k] for k in template.writes if k < len(ids)]
        self.table.poison([*outs, *written], fault)

    # --- bytes

    def _upload(self, payload: memoryview) -> None:
        self._upload_chunk(wire.unpack_upload(payload))

    def _upload_chunk(self, upload: wire.Upload) -> None:
        handle = upload.handle
        if self.uploads.get(handle, 0) != upload.offset:
            raise WireError("an upload with a hole", "bad_frame")
        try:
            if upload.offset == 0:
                self._upload_begin(upload)
            row = self.table.tensors([handle])[0]
            tensors.write(row, upload)
        except Poisoned:
            pass
        except (OutOfMemory, RuntimeError) as error:
            fault = fault_of("upload", error)
            self.table.blame(fault)
            self.table.poison([handle], fault)
        done = upload.offset + len(upload.data)
        self.uploads[handle] = done
        if done == upload.total:
            del self.uploads[handle]

    def _cached(self, payload: memoryview) -> Reply:
        if len(payload) < wire.CACHED_HEADER.size:
            raise WireError("a malformed upload by digest")
        handle, digest = wire.CACHED_HEADER.unpack_from(payload)
        data = self.cache.find(digest)
        # Read once: in shared memory the client could change it between two looks.
        dtype, shape, total = wire.tensor_meta(payload[wire.CACHED_HEADER.size :])
        if data is None or total != len(data):
            return Reply([b"\0"], [])
        self._upload_chunk(wire.Upload(handle, 0, dtype, shape, total, memoryview(data)))
        return Reply([b"\1"], [])

    def _remember(self, payload: memoryview) -> None:
        if len(payload) != wire.HANDLE.size:
            raise WireError("a malformed request to remember")
        tensor = self._tensor(wire.HANDLE.unpack(payload)[0])
        if tensor is not None:
            self.cache.remember(tensors.bytes_of(tensor))

    def _upload_begin(self, upload: wire.Upload) -> None:
        self.table.check_free([upload.handle])
        self.memory.need(upload.total)
        self.table.put(upload.handle, tensors.blank(upload.dtype, upload.shape, self.torch_device))

    def _read(self, payload: memoryview) -> Reply | None:
        if len(payload) != wire.READ_REQUEST.size:
            raise WireError("a malformed read")
        handle, nbytes = wire.READ_REQUEST.unpack(payload)
        if handle in self.uploads:
            raise WireError(f"handle {handle} is not uploaded yet", "bad_handle")
        tensor = self._tensor(handle)
        if tensor is None:
            return None
        data = tensors.bytes_of(tensor)
        if len(data) != nbytes:
            raise WireError(f"the tensor has {len(data)} bytes, not {nbytes}", "mismatch")
        return Reply([data], [], bulk=True)

    def _tensor(self, handle: int) -> torch.Tensor | None:
        """None where it is poisoned: the reply says why, also the second time."""
        try:
            return self.table.tensors([handle])[0]
        except Poisoned as error:
            if error.fault not in self.table.faults:
                self.table.blame(error.fault)
            return None

    # --- calls

    def _call(self, payload: memoryview) -> Reply | None:
        call = wire.load_json(payload)
        source = call.get("template")
        if not isinstance(source, dict):
            raise WireError("a call without template")
        self.clock.start()
        try:
            return Reply([wire.dump_json(self._called({**source, "outs": []}, call))], [])
        except Poisoned as error:
            if error.fault not in self.table.faults:
                self.table.blame(error.fault)
        except Exception as error:
            self.table.blame(fault_of(str(source.get("op")), error))
        finally:
            self.operators += 1
            self.clock.stop()
        return None

    def _called(self, source: dict[str, Any], call: dict[str, Any]) -> list[Any]:
        template = Template(source, self.torch_device)
        ids, ints = _ints(call.get("inputs", [])), _ints(call.get("ints", []))
        floats = [_float(node) for node in _rows(call.get("floats", []))]
        if (len(ids), len(ints), len(floats)) != (template.n_inputs, template.n_ints, template.n_floats):
            raise WireError("a call of another size than its template")
        base, room = _ints([call.get("base", 1), call.get("room", 0)])
        if not 0 < base < 1 << 62 or not 0 <= room <= wire.MAX_ROOM:
            raise WireError("a call without room for its results")
        self.table.check_free([])
        inputs = self.table.tensors(ids)
        result = template.run(inputs, ints, floats)
        if template.is_zeroed:
            result.zero_()
        fresh = (handle for handle in range(base, base + room) if handle not in self.table.rows)
        describer = results.Describer(self.table, fresh, self.torch_device)
        try:
            if template.may_grow:
                for k in template.writes:
                    self.memory.recount(inputs[k])
            return describer.node(result)
        except Exception as error:
            for handle in describer.kept:
                self.table.free(handle)
            written = [ids[k] for k in template.writes if k < len(ids)]
            self.table.poison(written, fault_of(template.op, error))
            raise

    # --- the rest

    def _rng(self, payload: memoryview) -> Reply | None:
        what, rest = bytes(payload[:1]), payload[1:]
        if what == b"\0" and len(rest) == wire.NUMBER.size:
            rng_seed(self.torch_device, wire.NUMBER.unpack(rest)[0])
        elif what == b"\1" and not rest:
            return Reply([rng_get(self.torch_device)], [])
        elif what == b"\2":
            rng_set(self.torch_device, bytes(rest))
        elif what == b"\3" and len(rest) == wire.HANDLE.size:
            self._rng_keep(wire.HANDLE.unpack(rest)[0])
        elif what == b"\4" and len(rest) == wire.HANDLE.size:
            kept = self._tensor(wire.HANDLE.unpack(rest)[0])
            if kept is not None:
                rng_set(self.torch_device, bytes(tensors.bytes_of(kept)))
        else:
            raise WireError("a malformed random-state frame")
        return None

    def _rng_keep(self, handle: int) -> None:
        self.table.check_free([handle])
        try:
            self.table.put(handle, rng_tensor(self.torch_device))
        except OutOfMemory as error:
            fault = fault_of("random state", error)
            self.table.blame(fault)
            self.table.poison([handle], fault)

    def _stat(self, payload: memoryview) -> Reply:
        return Reply([wire.dump_json(self.stat())], [])

    def stat(self) -> dict[str, Any]:
        """What Kind.STAT tells."""
        return {
            "used_bytes": self.memory.used_bytes,
            "peak_bytes": self.memory.peak_bytes,
            "quota_mib": self.quota_mib,
            "handles": len(self.table.rows),
            "templates": len(self.templates),
            "operators": self.operators,
            "busy_s": self.clock.busy_s,
            "device": self.device,
            "torch": public_version(torch.__version__),
            "compute_percent": self.compute_percent,
        }


def _rows(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise WireError("a list was expected")
    return value


def _ints(value: Any) -> list[int]:
    if not all(type(one) is int and -(1 << 63) <= one < 1 << 63 for one in _rows(value)):
        raise WireError("a list of ints was expected")
    return value  # type: ignore[no-any-return]


def _float(node: Any) -> float:
    if not isinstance(node, list) or len(node) != 2 or node[0] != "x":
        raise WireError("a float should be an x node")
    return wire.float_of(node[1])
