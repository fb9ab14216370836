"""Sparse tensors of the device, and splitting by a tensor: equal to the CPU's, and said to be on the device."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

pytestmark = [
    pytest.mark.req("POOL-12.3"),
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta"),
]
FORMS = {"coo": torch.Tensor.to_sparse, "csr": torch.Tensor.to_sparse_csr, "csc": torch.Tensor.to_sparse_csc}


def dense() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(5, 5).relu()


@pytest.mark.parametrize("form", FORMS)
def test_there_and_back(weir0, form):
    wanted = FORMS[form](dense())
    for x in (FORMS[form](dense().to(weir0)), wanted.to(weir0), copy.deepcopy(wanted.to(weir0))):
        assert (x.device, x.layout, x.shape) == (weir0, wanted.layout, wanted.shape)
        torch.testing.assert_close(x.cpu(), wanted)
        assert x.to_dense().device == weir0
        assert x.to_dense().cpu().equal(dense())
        assert "device='weir:0'" in repr(x)


def test_a_graph_layer_trains_as_on_the_cpu(weir0):
    def losses(place):
        torch.manual_seed(1)
        graph = dense().to_sparse().to(place)
        weight = torch.randn(5, 3).to(place).requires_grad_()
        optimizer = torch.optim.SGD([weight], lr=0.1)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.sparse.mm(graph, weight).square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(weir0) == losses("cpu")


def test_gradients_of_the_sparse_side(weir0):
    def gradient(place):
        x = dense().to_sparse().to(place).requires_grad_()
        (torch.sparse.mm(x, dense().to(place)).sum() * 2).backward()
        assert x.grad.device == torch.device(place)
        return x.grad.cpu().coalesce()

    torch.testing.assert_close(gradient(weir0), gradient("cpu"))


def test_made_on_the_device_and_written_to(weir0):
    where, values = torch.tensor([[0, 2], [1, 0]]), torch.tensor([3.0, 4.0])
    x = torch.sparse_coo_tensor(where, values, (3, 3), device=weir0)
    target = torch.ones(3, 3, device=weir0)
    assert target.add_(x) is target
    assert target.cpu().equal(torch.ones(3, 3).add_(torch.sparse_coo_tensor(where, values, (3, 3))))
    x.mul_(2)
    assert x.cpu().to_dense().sum() == 14
    assert x.to(torch.float64).dtype is torch.float64
    with pytest.raises(RuntimeError, match="Sparse"):
        x.view(9)


def test_two_devices_keep_their_sparse_tensors_apart(attach):
    first, second = attach(), attach()
    x = dense().to_sparse().to(second)
    assert x.device == second
    assert torch.sparse.mm(x, dense().to(second)).device == second
    assert x.to(first).device == first


@pytest.mark.parametrize(
    "places", [torch.tensor([1, 4]), torch.tensor(2), torch.tensor([], dtype=torch.int64)]
)
def test_splitting_by_a_tensor(weir0, places):
    x = dense().to(weir0).requires_grad_()
    for where in (places, places.to(weir0)):
        parts = torch.tensor_split(x, where, dim=1)
        wanted = torch.tensor_split(dense(), places, dim=1)
        assert [part.detach().cpu().tolist() for part in parts] == [part.tolist() for part in wanted]
    parts[0].sum().backward()
    assert x.grad.sum().item() == parts[0].numel()
