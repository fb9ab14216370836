"""The quota as the script meets it: exact, at the allocating line, told in PyTorch's own error."""

import gc

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

import weir.torch  # noqa: E402
from weir.torch import devices  # noqa: E402

pytestmark = pytest.mark.req("POOL-12.24", "POOL-12.2")
MIB = 1 << 20


def mib(count: int, device: torch.device) -> torch.Tensor:
    return torch.empty(count * MIB, dtype=torch.uint8, device=device)


def test_the_quota_is_exact_to_a_mebibyte(attach):
    device = attach(quota_mib=10)
    kept = [mib(1, device) for _ in range(10)]
    assert weir.torch.memory_allocated() == 10 * MIB
    with pytest.raises(torch.OutOfMemoryError, match=r"1\.00 MiB; in use 10\.00 MiB of the quota of 10 MiB"):
        mib(1, device)
    kept.pop()
    kept.append(mib(1, device))
    assert weir.torch.mem_get_info() == (0, 10 * MIB)
    assert devices.get(device).stat()["used_bytes"] == 10 * MIB


@pytest.mark.req("ELA-1313")
def test_the_error_is_raised_where_memory_is_asked_for_and_nothing_is_lost(attach):
    device = attach(quota_mib=4)
    x = torch.ones(MIB // 2, device=device)
    with pytest.raises(torch.OutOfMemoryError):
        torch.cat([x, x])
    with pytest.raises(torch.OutOfMemoryError):
        torch.ones(MIB).to(device)
    assert (x + 1)[:2].tolist() == [2, 2]
    weir.torch.synchronize()


def test_a_tensor_whose_new_contents_do_not_fit_is_a_tensor_still(attach):
    device = attach(quota_mib=8)
    link = devices.get(device).link
    whole, small = mib(4, device), torch.ones(2, device=device)
    link.quota_mib = 2
    with pytest.raises(torch.OutOfMemoryError):
        whole.copy_(torch.ones(4 * MIB, dtype=torch.uint8))
    assert whole.shape == (4 * MIB,)
    with pytest.raises(RuntimeError):
        whole.sum().item()
    link.quota_mib = 8
    assert small.tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="dense"):
        small.copy_(torch.ones(2).to_sparse())
    assert small.tolist() == [1, 1]


def test_freed_memory_is_there_for_the_next_line(attach):
    device = attach(quota_mib=8)
    x = mib(3, device)
    for _ in range(50):
        x = x + 1
    assert devices.get(device).requests == {}
    weir.torch.synchronize()
    assert weir.torch.memory_allocated() == 3 * MIB
    assert weir.torch.max_memory_allocated() == 6 * MIB


def test_views_take_nothing_and_keep_what_they_show(attach):
    device = attach(quota_mib=8)
    x = mib(4, device)
    part = x[:10].view(2, 5)
    assert weir.torch.memory_allocated() == 4 * MIB
    del x
    gc.collect()
    assert weir.torch.memory_allocated() == 4 * MIB
    del part
    gc.collect()
    assert weir.torch.memory_allocated() == 0
    assert devices.get(device).stat()["used_bytes"] == 0


@pytest.mark.req("ELA-1312")
def test_the_clients_count_is_the_workers_after_training(attach):
    from tests.sessions.models import GPT, train

    device = attach()
    _, model = train(GPT, "words", device, steps=2)
    gc.collect()
    counted = weir.torch.memory_allocated()
    assert counted == devices.get(device).stat()["used_bytes"]
    assert counted >= sum(p.numel() * 4 for p in model.parameters())


def test_another_session_is_not_touched(attach):
    small, large = attach(quota_mib=1), attach(quota_mib=64)
    with pytest.raises(torch.OutOfMemoryError, match="weir:0"):
        mib(2, small)
    kept = mib(2, large)
    assert kept.device == large
    assert weir.torch.memory_allocated(large) == 2 * MIB
