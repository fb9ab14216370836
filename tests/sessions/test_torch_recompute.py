"""Checkpointed functions that draw random numbers give the CPU's gradients, wherever their tensors come from."""

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

from torch.utils.checkpoint import checkpoint, checkpoint_sequential  # noqa: E402

pytestmark = pytest.mark.req("POOL-12.4")
drop = torch.nn.Dropout(0.5)


def by_argument(w, reenters):
    return checkpoint(lambda x: drop(x * 2) * x, w, use_reentrant=reenters)


def by_keyword(w, reenters):
    return checkpoint(lambda x=None: drop(x * 2) * x, x=w, use_reentrant=False)


def from_around(w, reenters):
    return checkpoint(lambda: drop(w * 2) * w, use_reentrant=False)


def beside_a_cpu_tensor(w, reenters):
    one = torch.ones((), requires_grad=True)
    return checkpoint(lambda scale: drop(w * scale.item()) * w * w, one, use_reentrant=reenters) + one.to(
        w.device
    )


def in_a_tuple(w, reenters):
    return checkpoint(
        lambda pair, scale: drop(pair[0]) * pair[1] * scale, (w, w), w.sum(), use_reentrant=reenters
    )


def in_segments(w, reenters):
    return checkpoint_sequential([drop, torch.nn.ReLU(), drop], 2, w, use_reentrant=reenters)


def in_one_another(w, reenters):
    def inner(x):
        return checkpoint(lambda y: drop(y) * y, x, use_reentrant=reenters) * drop(x)

    return checkpoint(inner, w, use_reentrant=reenters)


def between_other_draws(w, reenters):
    first = checkpoint(lambda x: drop(x) * x, w, use_reentrant=reenters)
    return first + drop(w) + checkpoint(lambda x: drop(x) * x, w, use_reentrant=reenters) * drop(w)


def after_a_fork(w, reenters):
    with torch.random.fork_rng():
        kept = drop(w)
    return drop(w) * kept


CASES = [by_argument, by_keyword, from_around, beside_a_cpu_tensor, in_a_tuple, in_segments, in_one_another,
         between_other_draws, after_a_fork]  # fmt: skip


def gradient(case, reenters, place):
    torch.manual_seed(7)
    w = torch.linspace(0.5, 1.5, 64 * 64).view(64, 64).to(place).requires_grad_()
    case(w, reenters).sum().backward()
    return w.grad.cpu()


@pytest.mark.parametrize("reenters", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_the_cpus(weir0, case, reenters):
    assert torch.equal(gradient(case, reenters, "weir:0"), gradient(case, reenters, "cpu"))
