"""Classes of tensors that somebody else has written, on the device as on the CPU."""

import copy
import io

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

pytestmark = pytest.mark.req("POOL-12.3")


class Image(torch.Tensor):
    """A class that leaves everything to PyTorch: what is computed of images are images."""


class Counted(torch.Tensor):
    """A class that looks at what is called of it, as those of torchvision do."""

    called: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.called.append(getattr(func, "__name__", ""))
        return super().__torch_function__(func, types, args, kwargs or {})


class Masked(torch.Tensor):
    """A class whose constructor makes the tensor by PyTorch's own way."""

    def __new__(cls, data, label):
        made = torch.Tensor._make_subclass(cls, data)
        made.label = label
        return made


def test_what_is_computed_of_a_class_is_of_the_class(weir0):
    plain = torch.arange(6.0).view(2, 3)
    x, y = plain.to(weir0).as_subclass(Image), plain.as_subclass(Image)
    assert isinstance(x, Image)
    assert x.device.type == "weir"
    ways = [
        lambda t: t + 1,
        lambda t: t.t(),
        lambda t: torch.cat([t, t]),
        lambda t: t[0],
        lambda t: t @ t.t(),
        lambda t: t.sort().values,
        lambda t: t.to(torch.float64),
    ]
    for way in ways:
        there, here = way(x), way(y)
        assert isinstance(there, Image)
        assert isinstance(here, Image)
        assert there.device.type == "weir"
        assert there.cpu().equal(here)
    mixed = x + plain.to(weir0)
    assert isinstance(mixed, Image)
    assert type(x.cpu()) is Image
    assert type(x.as_subclass(torch.Tensor)) is type(plain.to(weir0))
    assert repr(x).startswith("Image([[0., 1., 2.]")


def test_a_class_moves_to_the_device_and_back(weir0):
    x = torch.ones(3).as_subclass(Image)
    assert isinstance(x.to(weir0), Image)
    assert type(x.to(weir0).cpu()) is Image
    assert isinstance(torch.Tensor.as_subclass(torch.ones(3, device=weir0), Image), Image)


def test_what_a_class_says_is_done(weir0):
    x = torch.ones(3, device=weir0).as_subclass(Counted)
    Counted.called.clear()
    y = x.mul(2)
    assert Counted.called == ["mul"]
    assert isinstance(y, Counted)
    assert y.tolist() == [2, 2, 2]


def test_gradients_flow_through_a_class(weir0):
    w = torch.ones(3, device=weir0, requires_grad=True)
    shown = w.as_subclass(Image)
    assert not shown.is_leaf
    (shown * 2).square().sum().backward()
    assert w.grad.tolist() == [8, 8, 8]
    leaf = torch.Tensor._make_subclass(Image, w.detach(), True)
    assert leaf.is_leaf
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3, 3]


def test_the_same_elements_are_shown(weir0):
    x = torch.zeros(3, device=weir0)
    shown = x.as_subclass(Image)
    shown.add_(1)
    shown[0] = 5
    assert x.tolist() == [5, 1, 1]
    target = torch.zeros(3, device=weir0)
    assert target.copy_(shown).tolist() == [5, 1, 1]
    assert torch.zeros(3).copy_(shown).tolist() == [5, 1, 1]


def test_a_constructor_makes_one_with_its_attributes_which_copies_and_files_keep(weir0):
    x = Masked(torch.arange(3.0, device=weir0), "cat")
    assert isinstance(x, Masked)
    assert x.label == "cat"
    copied = copy.deepcopy(x)
    copied.add_(1)
    assert (isinstance(copied, Masked), copied.label, x.tolist()) == (True, "cat", [0, 1, 2])
    file = io.BytesIO()
    torch.save(x, file)
    for place, kind in ((None, "weir"), ("cpu", "cpu")):
        file.seek(0)
        read = torch.load(file, map_location=place, weights_only=False)
        assert (isinstance(read, Masked), read.label, read.device.type) == (True, "cat", kind)
        assert read.tolist() == [0, 1, 2]


def test_a_module_with_parameters_of_a_class_learns(weir0):
    def learned(place):
        torch.manual_seed(3)
        module = torch.nn.Linear(4, 2)
        module.weight = torch.nn.Parameter(module.weight.detach().as_subclass(Image))
        module.to(place)
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            module(torch.ones(3, 4, device=place)).square().sum().backward()
            optimizer.step()
        return module.weight.detach().cpu()

    torch.testing.assert_close(learned(weir0), learned("cpu"))
    kind = torch.ones(2, device=weir0).as_subclass(torch.nn.Parameter)
    assert isinstance(kind, torch.nn.Parameter)
