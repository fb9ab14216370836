"""PyTorch's own database of modules (module_db) against the device, as its test_modules derives tests of it."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_map

from tests.sessions.databases.comparing import Tally, gradients, moved, seed, tensors_of, total

DTYPES = (torch.float32, torch.float64)


class Sample:
    """One module of the database with one input, made anew for every check."""

    def __init__(self, info: Any, given: Any, dtype: torch.dtype, *, is_training: bool) -> None:
        self.info, self.dtype, self.is_training = info, dtype, is_training
        self.constructed, self.input = given.constructor_input, given.forward_input

    def made(self, place: str, **options: Any) -> torch.nn.Module:
        """The module, its parameters drawn from a fixed seed."""
        seed(3)
        arguments = copy.deepcopy((self.constructed.args, self.constructed.kwargs))
        module = self.info.module_cls(*arguments[0], **arguments[1], **options).to(self.dtype)
        return module.train(self.is_training).to(place)  # type: ignore[no-any-return]

    def arguments(self, place: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tree_map(lambda x: moved(x, place), (self.input.args, self.input.kwargs))  # type: ignore[no-any-return]


def _called(module: torch.nn.Module, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    seed(7)
    return module(*arguments[0], **arguments[1])


def _state(module: torch.nn.Module) -> list[torch.Tensor]:
    return list(module.state_dict().values())


def forward(sample: Sample, place: str) -> Any:
    """The result, and the buffers it leaves."""
    module = sample.made(place)
    return _called(module, sample.arguments(place)), list(module.buffers())


def backward(sample: Sample, place: str) -> Any:
    """The gradients of what goes in and of the parameters."""
    module, arguments = sample.made(place), sample.arguments(place)
    return gradients(_called(module, arguments), [*tensors_of(arguments), *module.parameters()])


def twice(sample: Sample, place: str) -> Any:
    """The gradients of those gradients."""
    module, arguments = sample.made(place), sample.arguments(place)
    leaves = [x for x in (*tensors_of(arguments), *module.parameters()) if x.requires_grad]
    once = gradients(_called(module, arguments), leaves, again=True)
    return torch.autograd.grad(total([x for x in once if x is not None]), leaves, allow_unused=True)


def by_backward(sample: Sample, place: str) -> Any:
    """`backward()` with full hooks in place, and gradients set to zero after it."""
    module, arguments = sample.made(place), sample.arguments(place)
    seen: list[Any] = []
    module.register_full_backward_hook(lambda _, into, out: seen.append((into, out)))
    total(_called(module, arguments)).backward()
    found = [x.grad for x in module.parameters()]
    module.zero_grad(set_to_none=False)
    return found, [x.grad for x in module.parameters()], seen


def state(sample: Sample, place: str) -> Any:
    """A state dict made on the CPU, loaded; and what the module says of itself then."""
    module, other = sample.made(place), sample.made("cpu")
    for value in _state(other):
        if value.is_floating_point():
            value.add_(0.25)
    module.load_state_dict(other.state_dict())
    return _called(module, sample.arguments(place)), _state(module)


def copied(sample: Sample, place: str) -> Any:
    """A deep copy and one by torch.save and torch.load."""
    module, file = sample.made(place), io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    copies = copy.deepcopy(module), torch.load(file, weights_only=False)
    return [(_called(each, sample.arguments(place)), _state(each)) for each in copies]


def there_and_back(sample: Sample, place: str) -> Any:
    """To the CPU, to another type and back, parameters staying who they are."""
    module = sample.made(place)
    before = list(module.parameters())
    module.to("cpu").double().to(device=place, dtype=sample.dtype)
    assert all(one is other for one, other in zip(before, module.parameters(), strict=True))
    return _called(module, sample.arguments(place)), _state(module)


def made_there(sample: Sample, place: str) -> Any:
    """Made on the device itself, the parameters drawn there."""
    return _state(sample.made(place, device=place))


def reordered(sample: Sample, place: str) -> Any:
    """With four-dimensional tensors in channels-last order, which the result keeps where PyTorch says so."""
    module = sample.made(place).to(memory_format=torch.channels_last)

    def change(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dim() == 4:
            return value.detach().to(memory_format=torch.channels_last).requires_grad_(value.requires_grad)
        return value

    result = _called(module, tree_map(change, sample.arguments(place)))
    keeps = sample.info.module_memformat_affects_out
    return result, [x.is_contiguous(memory_format=torch.channels_last) for x in tensors_of(result) if keeps]


def lazily(sample: Sample, place: str) -> Any:
    """Within `torch.device`, which names the place of what is made."""
    with torch.device(place):
        return _state(sample.made(place))


CHECKS: tuple[Callable[[Sample, str], Any], ...] = (
    forward,
    backward,
    by_backward,
    twice,
    state,
    copied,
    there_and_back,
    made_there,
    reordered,
    lazily,
)


def _samples(info: Any) -> Iterator[Sample]:
    for dtype in DTYPES:
        for is_training in (True, False):
            seed(0)
            made = info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=True, training=is_training
            )
            yield from (
                Sample(info, one, dtype, is_training=is_training)
                for one in made
                if one.forward_input is not None
            )


def suite(tally: Tally, only: str) -> None:
    """Run every check on the samples of every module whose name holds `only`."""
    for info in module_db:
        if only not in info.formatted_name or torch.float32 not in info.dtypes:
            continue
        for sample in _samples(info):
            for check in CHECKS:
                if tally.is_due() and (check is not twice or info.supports_gradgrad):
                    name = f"{info.formatted_name} {check.__name__}"
                    tally.compare(name, lambda place, case=(check, sample): case[0](case[1], place))
