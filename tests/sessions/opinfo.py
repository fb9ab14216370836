"""PyTorch's own operator database against the device, in a process of its own: an abort fails the test, not the run.

`python -m tests.sessions.opinfo` prints one JSON object: how many samples were equal to local, and what was not.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

SAMPLES = 2
# Their results are whatever the memory holds: only layout and type can be equal.
UNSPECIFIED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}


def samples(op: Any, *, needs_grad: bool) -> Iterator[Any]:
    """The first samples of an operator in float32 on the CPU."""
    if torch.float32 not in op.supported_dtypes("cpu") or (needs_grad and not op.supports_autograd):
        return iter(())
    torch.manual_seed(0)
    return itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=needs_grad), SAMPLES)


def on_device(value: Any) -> Any:
    """An argument with its tensors on the device, leaves that need gradients as leaves."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("weir:0").requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or value == "cpu":
        return torch.device("weir:0")
    return value


def run(op: Any, sample: Any, change: Callable[[Any], Any]) -> tuple[Any, list[torch.Tensor]]:
    """The operator's result and the tensors that were put in."""
    arguments = tree_map(change, (sample.input, sample.args, sample.kwargs))
    leaves = [x for x in tree_flatten(arguments)[0] if isinstance(x, torch.Tensor)]
    torch.manual_seed(7)
    first, rest, named = arguments
    return op(first, *rest, **named), leaves


def clone(value: Any) -> Any:
    """An argument of its own for the local run: operators may write to theirs."""
    return (
        value.detach().clone().requires_grad_(value.requires_grad)
        if isinstance(value, torch.Tensor)
        else value
    )


def read(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


def check_equal(op: Any, mine: Any, theirs: Any) -> None:
    """Raises AssertionError where results differ in number, layout, type or value."""
    found, wanted = tree_flatten(mine)[0], tree_flatten(theirs)[0]
    assert len(found) == len(wanted), f"{len(found)} results, not {len(wanted)}"
    for one, other in zip(found, wanted, strict=True):
        if not isinstance(other, torch.Tensor):
            assert one == other or one != one, f"{one} is not {other}"
            continue
        assert one.device.type == "weir", f"a result on {one.device}"
        assert one.shape == other.shape, f"shape {one.shape}, not {other.shape}"
        assert one.dtype == other.dtype, f"dtype {one.dtype}, not {other.dtype}"
        if op.name not in UNSPECIFIED:
            torch.testing.assert_close(read(one), other.detach(), equal_nan=True)


def gradients(result: Any, leaves: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """Of a fixed sum over the results, with respect to the leaves that need one."""
    tensors = [x for x in tree_flatten(result)[0] if isinstance(x, torch.Tensor) and x.requires_grad]
    wanted = [x for x in leaves if x.requires_grad]
    total = sum((x.abs() if x.is_complex() else x).sum() * (1 + 0.1 * k) for k, x in enumerate(tensors))
    return list(torch.autograd.grad(total, wanted, allow_unused=True))  # type: ignore[arg-type]


def compare(op: Any, sample: Any, local: tuple[Any, list[Any]], wanted: list[Any] | None) -> None:
    """Run the sample on the device. Raises AssertionError where it is wrong, anything else where it is refused."""
    mine, leaves = run(op, sample, on_device)
    if wanted is None:
        check_equal(op, mine, local[0])
        return
    for one, other in zip(gradients(mine, leaves), wanted, strict=True):
        assert (one is None) == (other is None), "a gradient is missing"
        if other is not None and one is not None:
            torch.testing.assert_close(read(one), other, equal_nan=True)


def runnable(op: Any, *, needs_grad: bool) -> Iterator[tuple[Any, Any, list[Any] | None]]:
    """Samples that work on the CPU itself, with their result there and its gradients."""
    for sample in samples(op, needs_grad=needs_grad):
        try:
            local = run(op, sample, clone)
            wanted = gradients(*local) if needs_grad else None
        except Exception:
            continue
        yield sample, local, wanted


def suite(*, needs_grad: bool, only: str = "") -> dict[str, Any]:
    """Run every sample: {"samples", "equal", "failed": [[operator, "wrong" or "refused", message]]}."""
    total = equal = 0
    failed = []
    for op in op_db:
        if only and only not in op.formatted_name:
            continue
        for sample, local, wanted in runnable(op, needs_grad=needs_grad):
            total += 1
            try:
                compare(op, sample, local, wanted)
                equal += 1
            except AssertionError as error:
                failed.append([op.formatted_name, "wrong", str(error)[:300]])
            except Exception as error:
                failed.append([op.formatted_name, "refused", f"{type(error).__name__}: {error}"[:400]])
    return {"samples": total, "equal": equal, "failed": failed}


def main() -> None:
    import weir.torch

    from node_agent.sessions.execution.core import Session
    from tests.sessions.inprocess import InProcessLink

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    weir.torch.attach(InProcessLink(Session("cpu", 1024)))
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    found = {
        "forward": suite(needs_grad=False, only=only),
        "backward": suite(needs_grad=True, only=only),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
