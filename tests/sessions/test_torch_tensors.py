"""What scripts do with tensors beside arithmetic: print, copy, move, seed, resize, index, and what is refused."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

import weir.torch  # noqa: E402
from weir.torch import devices  # noqa: E402
from weir.torch.templates import DTYPES  # noqa: E402


def test_a_tensor_shows_itself(weir0):
    x = torch.tensor([[1.5, 2.0], [3.0, 4.0]], device=weir0, requires_grad=True)
    assert repr(x).startswith("tensor([[1.5000, 2.0000]")
    assert repr(x).endswith("device='weir:0', requires_grad=True)")
    assert x.tolist() == [[1.5, 2.0], [3.0, 4.0]]
    assert x.detach().numpy(force=True).shape == (2, 2)
    with pytest.raises(TypeError, match=r"use \.cpu"):
        x.detach().numpy()


def test_a_number_is_written_as_a_number(weir0):
    """As PyTorch's own tensors: the loss in a line of progress, the number of an expert in a name."""
    loss = torch.tensor(1.25, device=weir0, requires_grad=True)
    assert f"{loss:.3f} {loss} expert_{torch.tensor(3, device=weir0)}" == "1.250 1.25 expert_3"
    assert f"{torch.zeros(2, device=weir0)}" == "tensor([0., 0.], device='weir:0')"
    with pytest.raises(TypeError, match="format string"):
        f"{torch.zeros(2, device=weir0):.3f}"


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_type_goes_and_comes_back(weir0, name):
    bits = torch.randint(0, 2, (3, 4 * DTYPES[name].itemsize), dtype=torch.uint8)
    sent = bits.view(DTYPES[name])
    back = sent.to(weir0).cpu()
    assert back.dtype is DTYPES[name]
    assert back.view(torch.uint8).equal(bits)


def test_strides_survive_the_way(weir0):
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    there = x.to(weir0)
    assert there.stride() == x.stride()
    assert there.cpu().stride() == x.stride()
    assert there.cpu().equal(x)
    assert torch.randn(3, 4)[:, ::2].to(weir0).cpu().shape == (3, 2)


def test_views_share_storage(weir0):
    x = torch.zeros(4, 4, device=weir0)
    x[1:3, 1:3].add_(1)
    x.view(-1)[0] = 7
    x.t()[3].fill_(2)
    assert x.tolist() == [[7, 0, 0, 2], [0, 1, 1, 2], [0, 1, 1, 2], [0, 0, 0, 2]]


def test_a_picture_is_cut_into_windows(weir0):
    """Of six dimensions, whose strides multiply to more than any tensor has elements."""

    def windows(x):
        return x.view(2, 8, 7, 8, 7, 96).transpose(2, 3).contiguous().view(-1, 49, 96)

    x = torch.randn(2, 56, 56, 96)
    assert windows(x.to(weir0)).cpu().equal(windows(x))


def test_metadata_changes_in_place(weir0):
    x = torch.arange(6.0, device=weir0).view(2, 3)
    x.t_()
    assert x.shape == (3, 2)
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]]
    x.unsqueeze_(0).squeeze_(0).transpose_(0, 1)
    assert (x + 0).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_data_is_exchanged(weir0):
    x = torch.nn.Parameter(torch.zeros(2, device=weir0))
    x.data = torch.ones(3, device=weir0)
    assert x.shape == (3,)
    assert x.tolist() == [1, 1, 1]
    x.data.add_(1)
    assert x.tolist() == [2, 2, 2]


def test_complex_numbers_and_conjugation(weir0):
    x = torch.tensor([1 + 2j, 3 - 1j])
    y = x.to(weir0)
    assert y.conj().cpu().tolist() == x.conj().tolist()
    assert (y.conj() @ y).item() == (x.conj() @ x).item()
    assert y.conj().imag.tolist() == x.conj().imag.tolist()
    assert (y * (2 - 1j)).tolist() == (x * (2 - 1j)).tolist()
    assert y.to(weir0).conj().resolve_conj().real.tolist() == [1, 3]


def test_shapes_that_only_data_tells(weir0):
    x = torch.tensor([0.0, 2.0, 0.0, 3.0], device=weir0)
    assert x.nonzero().tolist() == [[1], [3]]
    assert x[x > 0].tolist() == [2, 3]
    values, counts = x.unique(return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([0, 2, 3], [2, 1, 1])
    assert torch.equal(x, x.clone())
    assert bool((x > 2).any())


def test_copies_and_pickles(weir0):
    x = torch.randn(3, device=weir0)
    assert copy.deepcopy({"x": x})["x"].equal(x)
    again = pickle.loads(pickle.dumps(x))
    assert again.device == weir0
    assert again.equal(x)
    leaf = torch.ones(2, device=weir0, requires_grad=True)
    (leaf * 3).sum().backward()
    assert copy.deepcopy(leaf).grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(leaf * 2)


def test_seeds_and_random_states(weir0):
    torch.manual_seed(3)
    first = torch.rand(4, device=weir0)
    state = torch.weir.get_rng_state()
    second = torch.rand(4, device=weir0)
    torch.weir.set_rng_state(state)
    assert torch.rand(4, device=weir0).equal(second)
    torch.weir.set_rng_state(state.cpu())
    assert torch.rand(4, device=weir0).equal(second)
    torch.manual_seed(3)
    assert torch.rand(4, device=weir0).equal(first)
    torch.manual_seed(3)
    assert torch.rand(4).equal(first.cpu())
    with torch.random.fork_rng(devices=[0], device_type="weir"):
        torch.rand(9, device=weir0)
    assert torch.rand(4, device=weir0).equal(first)


def test_a_seed_set_before_a_device_is_attached_holds(attach):
    torch.manual_seed(9)
    assert torch.rand(3, device=attach()).cpu().equal(torch.rand(3))


def test_tensors_of_the_cpu_and_of_devices_do_not_mix(attach):
    one, other = torch.ones(2, device=attach()), torch.ones(2, device=attach())
    assert (one * torch.tensor(3.0)).tolist() == [3, 3]
    assert one[torch.tensor([1])].tolist() == [1]
    for stranger in (torch.ones(2), other):
        with pytest.raises(RuntimeError, match="same device"):
            one + stranger
    assert (one + other.to(one.device)).tolist() == [2, 2]
    one.copy_(other)
    torch.zeros(2).copy_(other)


def test_wrong_arguments_are_told_at_the_line(weir0):
    x = torch.ones(2, 3, device=weir0)
    with pytest.raises(RuntimeError, match=r"dim|shape|size"):
        x @ x
    with pytest.raises(IndexError):
        x.sum(5)
    with pytest.raises(RuntimeError):
        x.add_(torch.ones(4, device=weir0))


def test_an_error_only_data_tells_comes_with_the_next_read(weir0):
    table, index = torch.ones(3, 2, device=weir0), torch.tensor([7], device=weir0)
    found = torch.nn.functional.embedding(index, table)
    with pytest.raises(RuntimeError, match=r"embedding.*asynchronously"):
        found.cpu()
    assert table.sum().item() == 6


def test_blocking_mode_raises_at_the_line(monkeypatch, attach):
    monkeypatch.setenv("WEIR_LAUNCH_BLOCKING", "1")
    device = attach()
    table, index = torch.ones(3, 2, device=device), torch.tensor([7], device=device)
    with pytest.raises(RuntimeError, match="embedding"):
        torch.nn.functional.embedding(index, table)


def test_what_cannot_be_is_refused_clearly(weir0):
    x = torch.ones(2, device=weir0)
    with pytest.raises(RuntimeError, match="resize"):
        x.resize_(5)
    with pytest.raises(RuntimeError, match="would resize"):
        torch.add(x, x, out=torch.empty(0, device=weir0))
    with pytest.raises(RuntimeError, match="pinned memory"):
        torch.empty(2, device=weir0, pin_memory=True)
    with pytest.raises((RuntimeError, NotImplementedError), match=r"dense|quantized"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8).to(weir0)
    assert x.tolist() == [1, 1]


def test_results_into_out(weir0):
    x, out = torch.ones(2, device=weir0), torch.empty(2, device=weir0)
    assert torch.add(x, x, out=out) is out
    assert out.tolist() == [2, 2]


def test_the_default_type_is_this_processes(weir0):
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(2, device=weir0).dtype is torch.float64
        assert torch.arange(3, device=weir0).dtype is torch.int64
    finally:
        torch.set_default_dtype(torch.float32)


def test_templates_are_bounded(weir0, monkeypatch):
    monkeypatch.setattr("weir_wire.wire.MAX_TEMPLATES", 20)
    device = devices.get(weir0)
    for size in range(1, 60):
        assert torch.ones(size, device=weir0).sum().item() == size
    assert len(device.templates) < 20
    assert device.stat()["templates"] < 20


def test_changing_scalars_share_a_template(weir0):
    x = torch.ones(3, device=weir0)
    x = x * 0.5 + 1
    known = len(devices.get(weir0).templates)
    for step in range(20):
        x = x * (0.1 * step) + step
    assert len(devices.get(weir0).templates) == known
    assert x.isfinite().all().item()


def test_a_chosen_device_is_the_default(attach):
    attach()
    attach()
    with torch.weir.device(1):
        assert torch.zeros(1, device="weir").device.index == 1
    assert torch.zeros(1, device="weir").device.index == 0
    with torch.device("weir:1"):
        assert torch.ones(2).device.index == 1
    assert (weir.torch.device_count(), torch.weir.is_available()) == (2, True)


def test_results_are_written_to_tensors_that_are_given(weir0):
    matrix = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    for write in (
        torch.linalg.matrix_rank,
        torch.linalg.inv,
        torch.linalg.cholesky,
        torch.linalg.det,
        torch.msort,
    ):
        wanted = write(matrix)
        room = torch.zeros_like(wanted, device=weir0)
        write(matrix.to(weir0), out=room)
        assert room.cpu().equal(wanted), write
    with pytest.raises(RuntimeError, match="cannot be resized"):
        torch.linalg.matrix_rank(matrix.to(weir0), out=torch.zeros(3, dtype=torch.int64, device=weir0))


def test_what_pytorch_infers_otherwise_than_it_computes(weir0):
    row = torch.tensor([0.1, 0.2, 0.7])
    for loss, target in (
        (torch.nn.functional.multi_margin_loss, torch.tensor(2)),
        (torch.nn.functional.multilabel_margin_loss, torch.tensor([2, -1, 0])),
    ):
        found = loss(row.to(weir0), target.to(weir0), reduction="none")
        assert found.shape == ()
        assert torch.allclose(found.cpu(), loss(row, target, reduction="none"))
    whole = torch.tensor([1, 2, 2, 3], dtype=torch.int32, device=weir0)
    assert torch.histc(whole, bins=4, min=0, max=3).tolist() == [0, 1, 2, 1]


def test_an_encoder_takes_a_padding_mask_when_it_evaluates(weir0):
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1
    ).eval()
    rows, padding = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        wanted = encoder(rows, src_key_padding_mask=padding)
    found = encoder.to(weir0)(rows.to(weir0), src_key_padding_mask=padding.to(weir0))
    assert torch.allclose(found.cpu()[~padding], wanted[~padding], atol=1e-6)


def test_what_a_card_returns_beside_a_result_is_learned_from_its_first_run(weir0, monkeypatch):
    """CUDA's log_sigmoid_forward returns an empty buffer where the CPU, and PyTorch's inference, have a full one."""
    from weir.torch.device import Device

    from node_agent.sessions.execution.template import Template

    plain = Template.run

    def run(template, *values):
        result = plain(template, *values)
        is_it = template.op.startswith("aten::log_sigmoid_forward")
        return (result[0], result[1].new_empty(0)) if is_it else result

    monkeypatch.setattr(Template, "run", run)
    x = torch.randn(5)
    with pytest.raises(RuntimeError, match="log_sigmoid_forward"):
        torch.nn.functional.logsigmoid(x.to(weir0)).cpu()
    monkeypatch.setattr(Device, "kind", "cuda")
    x = torch.randn(6)
    for _ in range(2):
        assert torch.nn.functional.logsigmoid(x.to(weir0)).cpu().equal(torch.nn.functional.logsigmoid(x))
    assert devices.get(weir0).requests["CALL"] == 1
    values, places = x.to(weir0).sort()
    assert values.cpu().equal(x.sort()[0])
    assert places.cpu().equal(x.sort()[1])


@pytest.mark.parametrize("is_transposed", [False, True])
def test_a_convolution_lies_as_its_input_does(weir0, is_transposed):
    """Channels last stays so, without a copy: what draws random numbers afterwards draws them in that order."""
    kind = torch.nn.ConvTranspose2d if is_transposed else torch.nn.Conv2d

    def run(place):
        torch.manual_seed(3)
        layer = kind(6, 4, 3).to(place)
        x = torch.randn(2, 6, 8, 8).to(memory_format=torch.channels_last)
        x = x.to(place).requires_grad_()
        found = layer(x)
        torch.manual_seed(5)
        dropped = torch.nn.functional.dropout(found, 0.5)
        dropped.square().sum().backward()
        return found, dropped, x.grad, layer.weight.grad

    for there, here in zip(run(weir0), run("cpu"), strict=True):
        assert there.stride() == here.stride()
        torch.testing.assert_close(there.detach().cpu(), here.detach())


def test_a_tensor_like_another_is_made_where_it_is_asked_for(attach):
    first, second = attach(), attach()
    x = torch.ones(2, 3, device=first).t()
    for place in (torch.device("cpu"), second, first):
        for made in (
            torch.zeros_like(x, device=place),
            torch.full_like(x, 0.0, device=place),
            x.new_zeros((3, 2), device=place),
        ):
            assert made.device == place
            assert made.tolist() == [[0.0, 0.0]] * 3
        assert torch.empty_like(x, device=place).stride() == x.stride()
        assert torch.rand_like(x, device=place).device == place
    assert x.new_ones(2).device == first
