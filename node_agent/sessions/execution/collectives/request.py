"""What a client asks of a group, checked and made ready to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from node_agent.sessions.execution.collectives.algorithms import Exchange
from node_agent.sessions.execution.collectives.flat import Flat, parts_of
from node_agent.sessions.execution.collectives.group import Group
from node_agent.sessions.execution.collectives.loan import Loan
from node_agent.sessions.execution.collectives.peers import Patience
from node_agent.sessions.execution.handle_table import Table
from node_agent.sessions.execution.results import Mismatch
from weir_wire import wire
from weir_wire.wire import WireError

Exchanges = Callable[[dict[str, Any]], Exchange]
_REDUCING = frozenset({"all_reduce", "reduce", "reduce_scatter"})
_ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter", "send", "recv"})
_BETWEEN_TWO = frozenset({"send", "recv"})
_MOST_TENSORS = 1 << 14


class Request:
    """One COLLECTIVE frame. `written` are the handles whose tensors it writes to."""

    def __init__(self, asked: dict[str, Any], group: Group) -> None:
        """Raises WireError."""
        self._group = group
        self.op = str(asked.get("op"))
        self._ins, self._outs = _handles(asked.get("in")), _handles(asked.get("out"))
        self.written = self._outs
        self._make = _MAKERS.get(self.op)
        if self._make is None:
            raise WireError(f"no collective is called {self.op[:40]}")
        self.reduce = asked.get("reduce")
        if self.op in _REDUCING and self.reduce not in wire.REDUCTIONS:
            raise WireError(f"a reduction is one of {', '.join(wire.REDUCTIONS)}")
        self.root: Any = asked.get("root")
        if self.op in _ROOTED and (type(self.root) is not int or not 0 <= self.root < group.size):
            raise WireError(f"a rank is a number from 0 to {group.size - 1}")
        if self.op in _BETWEEN_TWO and self.root == group.rank:
            raise WireError("a rank cannot send to itself")
        self.tag = asked.get("tag")
        if self.op in _BETWEEN_TWO and type(self.tag) is not int:
            raise WireError("a tag is a number")
        self.splits = _counts(asked.get("in_splits", [])), _counts(asked.get("out_splits", []))

    def prepared(self, table: Table, patience: Patience, loan: Loan) -> Callable[[], None]:
        """What is to be run. Raises Poisoned, OutOfMemory, Mismatch and WireError."""
        group, made = self._group, self._make
        assert made is not None
        tensors = table.tensors([*self._ins, *self._outs])
        flats = [Flat(tensor, table.memory) for tensor in tensors]
        self.ins, self.outs = flats[: len(self._ins)], flats[len(self._ins) :]
        self.loan = loan
        if len({flat.data.dtype for flat in flats}) > 1 and self.op not in ("all_reduce", "broadcast"):
            raise Mismatch("the tensors of a collective are of one type")
        if len(group.peers) != group.size - 1:
            raise WireError("the group has not come together yet", "group")
        said: dict[str, Any] = {"op": "send" if self.op == "recv" else self.op}
        if self.op in _BETWEEN_TWO:
            said["tag"] = self.tag
        else:
            said |= {"reduce": self.reduce, "root": self.root}

        def exchange() -> Exchange:
            if "tag" in said:
                return Exchange(group.rank, group.peers, patience, said)
            group.number += 1
            return Exchange(group.rank, group.peers, patience, {**said, "number": group.number})

        run = made(self, exchange)

        def whole() -> None:
            run()
            for flat in self.outs:
                flat.put_back()

        return whole

    @property
    def size(self) -> int:
        """How many ranks take part."""
        return self._group.size

    @property
    def rank(self) -> int:
        """Which of them this one is."""
        return self._group.rank

    def is_root(self) -> bool:
        """Whether this rank is the one named."""
        return bool(self.root == self._group.rank)

    def one(self, flats: list[Flat]) -> Flat:
        """The one tensor there is. Raises Mismatch where there are more, or none."""
        if len(flats) != 1:
            raise Mismatch(f"{self.op} takes one tensor, not {len(flats)}")
        return flats[0]


Make = Callable[[Request, Callable[[], Exchange]], Callable[[], None]]


def _all_reduce(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    def run() -> None:
        for flat in request.outs:
            exchange().all_reduce(flat.data)

    return run


def _broadcast(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    def run() -> None:
        for flat in request.outs:
            exchange().broadcast(flat.data, request.root)

    return run


def _reduce(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own = request.one(request.outs)
    return lambda: exchange().reduce(own.data, request.root)


def _all_gather(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own, rows = request.one(request.ins), parts_of(request.outs, request.size, [])
    _check_sizes(rows, len(own.data))
    return lambda: exchange().all_gather(own.data, rows)


def _reduce_scatter(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own, rows = request.one(request.outs), parts_of(request.ins, request.size, [])
    _check_sizes(rows, len(own.data))
    return lambda: exchange().reduce_scatter(rows, own.data)


def _all_to_all(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    out = parts_of(request.ins, request.size, request.splits[0])
    into = parts_of(request.outs, request.size, request.splits[1])
    _check_sizes([into[request.rank]], len(out[request.rank]))
    return lambda: exchange().all_to_all(out, into)


def _gather(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own = request.one(request.ins)
    rows = parts_of(request.outs, request.size, []) if request.is_root() else []
    _check_sizes(rows, len(own.data))
    return lambda: exchange().gather(own.data, rows, request.root)


def _scatter(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own = request.one(request.outs)
    rows = parts_of(request.ins, request.size, []) if request.is_root() else []
    _check_sizes(rows, len(own.data))
    return lambda: exchange().scatter(rows, own.data, request.root)


def _barrier(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    return lambda: exchange().barrier()


def _send(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own = request.one(request.ins)
    return lambda: exchange().send(own.data, request.root, request.loan)


def _recv(request: Request, exchange: Callable[[], Exchange]) -> Callable[[], None]:
    own = request.one(request.outs)
    return lambda: exchange().recv(own.data, request.root)


_MAKERS: dict[str, Make] = {
    "all_reduce": _all_reduce,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "gather": _gather,
    "scatter": _scatter,
    "barrier": _barrier,
    "send": _send,
    "recv": _recv,
}


def _check_sizes(rows: list[Any], length: int) -> None:
    for row in rows:
        if len(row) != length:
            raise Mismatch(f"a rank's part has {len(row)} elements, its own {length}")


def _handles(value: Any) -> list[int]:
    is_list = isinstance(value, list) and len(value) <= _MOST_TENSORS
    if not is_list or not all(type(one) is int and 0 < one < 1 << 62 for one in value):
        raise WireError("a collective names its tensors by their handles")
    return value  # type: ignore[no-any-return]


def _counts(value: Any) -> list[int]:
    if not isinstance(value, list) or not all(type(one) is int and 0 <= one < 1 << 62 for one in value):
        raise WireError("a part is a number of elements")
    return value
