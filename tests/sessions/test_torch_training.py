"""Unmodified training loops on the device: the same losses, bit for bit, as on the CPU here."""

import copy
import io

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from weir.torch import devices  # noqa: E402

from tests.sessions.models import GPT, Recurrent, cnn, mlp, train  # noqa: E402

pytestmark = pytest.mark.req("POOL-12.3", "POOL-7.1c")


def assert_same_parameters(one: nn.Module, other: nn.Module) -> None:
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert mine.detach().cpu().equal(theirs.detach())


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_an_mlp_is_bit_identical(weir0, optimizer):
    losses, model = train(mlp, "flat", weir0, optimizer=optimizer)
    wanted, local = train(mlp, "flat", "cpu", optimizer=optimizer)
    assert losses == wanted
    assert_same_parameters(model, local)


def test_a_cnn_is_bit_identical(weir0):
    losses, model = train(cnn, "image", weir0)
    wanted, local = train(cnn, "image", "cpu")
    assert losses == wanted
    assert_same_parameters(model, local)
    model.eval()
    local.eval()
    picture = torch.randn(3, 1, 28, 28)
    assert model(picture.to(weir0)).detach().cpu().equal(local(picture).detach())


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_gpt_with_dropout_is_bit_identical(weir0, is_checkpointed):
    losses, model = train(lambda: GPT(is_checkpointed=is_checkpointed), "words", weir0)
    wanted, local = train(lambda: GPT(is_checkpointed=is_checkpointed), "words", "cpu")
    assert losses == wanted
    assert_same_parameters(model, local)
    assert model.out.weight is model.words.weight


@pytest.mark.parametrize("kind", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_attention_under_a_mask_that_says_yes_or_no_is_bit_identical(weir0, kind, dropout):
    torch.manual_seed(0)
    rows = torch.randn(3, 2, 4, 12, 8)
    mask = torch.ones(2, 1, 12, 12, dtype=torch.bool).tril()
    mask[1, :, :, 8:] = False

    def seen(device):
        query, key, value = (row.to(device).requires_grad_() for row in rows.clone())
        torch.manual_seed(1)
        with sdpa_kernel([kind, SDPBackend.MATH]):
            out = F.scaled_dot_product_attention(query, key, value, mask.to(device), dropout_p=dropout)
        out.square().sum().backward()
        return [one.detach().cpu() for one in (out, query.grad, key.grad, value.grad)]

    for there, here in zip(seen(weir0), seen("cpu"), strict=True):
        assert there.equal(here)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_nets_learn_alike(weir0, kind):
    with torch.backends.mkldnn.flags(enabled=False):
        wanted, _ = train(lambda: Recurrent(kind), "rows", "cpu", steps=3)
    losses, _ = train(lambda: Recurrent(kind), "rows", weir0, steps=3)
    assert losses == pytest.approx(wanted, rel=1e-4)


def test_autocast_learns_as_the_cpu_does(weir0):
    losses, model = train(mlp, "flat", weir0, autocast=torch.bfloat16)
    wanted, _ = train(mlp, "flat", "cpu", autocast=torch.bfloat16)
    assert losses == pytest.approx(wanted, rel=0.02)
    with torch.autocast("weir", dtype=torch.bfloat16):
        x = torch.randn(4, 784, device=weir0)
        assert model(x).dtype is torch.bfloat16
        assert x.exp().dtype is torch.float32
        assert x.bfloat16().sum().dtype is torch.float32
        assert torch.cat([x, x.bfloat16()]).dtype is torch.float32
        with pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"):
            F.binary_cross_entropy(x.sigmoid(), x.sigmoid())
    assert (x @ x.T).dtype is torch.float32


def test_a_training_step_waits_for_nothing(weir0):
    device = devices.get(weir0)
    train(lambda: GPT(is_checkpointed=True), "words", weir0, steps=1)
    device.requests.clear()
    train(lambda: GPT(is_checkpointed=True), "words", weir0, steps=4)
    # Four losses read at the end; what clip_grad_norm_ and the optimizer ask for costs nothing.
    assert device.requests == {"READ": 4}


def test_state_goes_to_a_file_and_back(weir0):
    _, model = train(mlp, "flat", weir0, steps=2)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    local = mlp()
    local.load_state_dict(torch.load(file, map_location="cpu"))
    assert_same_parameters(model, local)
    file.seek(0)
    again = torch.load(file)
    assert all(tensor.device == weir0 for tensor in again.values())

    cpu_file = io.BytesIO()
    torch.save(local.state_dict(), cpu_file)
    cpu_file.seek(0)
    moved = torch.load(cpu_file, map_location="weir:0")
    assert all(tensor.device == weir0 for tensor in moved.values())
    back = mlp().to(weir0)
    back.load_state_dict(moved)
    assert_same_parameters(back, local)


def test_whole_models_and_optimizers_are_saved(weir0):
    torch.manual_seed(0)
    model = GPT().to(weir0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.zeros(2, 8, dtype=torch.long, device=weir0)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": model, "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    found = torch.load(file, weights_only=False)
    assert [type(p) for p in found["model"].parameters()] == [type(p) for p in model.parameters()]
    assert_same_parameters(model.cpu(), found["model"].cpu())
    fresh = torch.optim.AdamW(GPT().to(weir0).parameters(), lr=1e-3)
    fresh.load_state_dict(found["optimizer"])
    assert fresh.state_dict()["state"][0]["exp_avg"].device == weir0


def test_copies_of_a_model_are_of_their_own(weir0):
    model = mlp().to(weir0)
    other = copy.deepcopy(model)
    assert isinstance(other[0].weight, nn.Parameter)
    with torch.no_grad():
        other[0].weight.zero_()
    assert model[0].weight.abs().sum().item() > 0
    assert other[0].weight.abs().sum().item() == 0


def test_a_module_moves_and_its_optimizer_stays_valid(weir0):
    model = mlp()
    weight = model[0].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(weir0)
    assert model[0].weight is weight
    before = weight.detach().cpu()
    model(torch.randn(2, 784, device=weir0)).sum().backward()
    optimizer.step()
    assert not weight.detach().cpu().equal(before)
    model.cpu()
    assert weight.device.type == "cpu"
    assert model(torch.randn(2, 784)).shape == (2, 10)
