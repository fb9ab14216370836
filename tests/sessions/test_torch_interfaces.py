"""What PyTorch's other parts and its libraries expect of any accelerator, beside operators."""

import copy
import importlib
import importlib.util
import io
import pickle
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the device weir needs PyTorch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.utils import rnn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

ROOT = Path(__file__).parents[2]


def test_a_loader_that_pins_gives_what_one_that_does_not_gives(weir0):
    rows = torch.randn(8, 3)
    given = [
        batch.to(weir0, non_blocking=True) for (batch,) in DataLoader(TensorDataset(rows), 4, pin_memory=True)
    ]
    assert torch.cat(given).cpu().equal(rows)


@pytest.mark.req("POOL-12.3")
def test_new_tensors_of_the_cpu_that_are_to_be_pinned_are_ordinary_ones(weir0):
    """A device of Python's making has no memory to pin: what is made says so, and goes to the device as any other."""
    like = torch.ones(2)
    made = [
        torch.empty(2, pin_memory=True),
        torch.zeros(2, device="cpu", pin_memory=True),
        torch.rand(2, pin_memory=True),
        torch.tensor([1.0, 2.0], pin_memory=True),
        torch.arange(2.0, pin_memory=True),
        torch.empty_strided((2,), (1,), pin_memory=True),
        torch.zeros_like(like, pin_memory=True),
        torch.empty_like(torch.ones(2, device=weir0), device="cpu", pin_memory=True),
        like.new_empty(2, pin_memory=True),
        like.new_zeros(2, pin_memory=True),
    ]
    for one in made:
        assert (one.device.type, one.shape, one.is_pinned()) == ("cpu", (2,), False)
        assert one.to(weir0, non_blocking=True).cpu().equal(one) or one.isnan().any()
    for wrong in (
        lambda: torch.zeros(2, device=weir0, pin_memory=True),
        lambda: like.to(weir0).new_zeros(2, pin_memory=True),
    ):
        with pytest.raises(RuntimeError, match="no pinned memory"):
            wrong()


def test_functions_that_make_tensors_are_known_to_others_as_before(weir0):
    def made(x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(3) + torch.arange(3)

    assert torch.jit.script(made)(torch.ones(3)).tolist() == [1, 2, 3]
    assert torch.compile(made, backend="eager", fullgraph=True)(torch.ones(3)).tolist() == [1, 2, 3]
    with torch.device(weir0):
        assert {torch.empty(2).device.type, torch.tensor([1.0]).device.type} == {"weir"}


def test_a_generator_draws_what_its_seed_says_and_leaves_the_device_s_numbers_alone(weir0):
    torch.manual_seed(1)
    first = torch.randn(3, device=weir0).cpu()
    torch.manual_seed(1)
    generator = torch.Generator(device="weir").manual_seed(3)
    drawn = torch.randn(4, generator=generator, device=weir0).cpu()
    assert torch.randn(3, device=weir0).cpu().equal(first)
    assert drawn.equal(torch.randn(4, generator=torch.Generator().manual_seed(3)))
    state = generator.get_state()
    assert isinstance(generator, torch.Generator)
    assert generator.device == weir0
    later = torch.empty(4, device=weir0).uniform_(generator=generator)
    other = generator.clone_state()
    generator.set_state(state)
    assert torch.empty(4, device=weir0).uniform_(generator=generator).equal(later)
    assert torch.rand(2, generator=other, device=weir0).equal(
        torch.rand(2, generator=generator, device=weir0)
    )


def test_a_generator_of_another_device_is_refused(weir0):
    with pytest.raises(RuntimeError, match=r"torch.Generator\(device='weir:0'\)"):
        torch.randn(3, generator=torch.Generator(), device=weir0)
    assert type(torch.Generator()) is torch._C.Generator
    assert isinstance(torch.default_generator, torch.Generator)


def test_streams_and_events_keep_the_order(weir0):
    began, ended = (torch.Event(device=weir0, enable_timing=True) for _ in range(2))
    began.record()
    with torch.weir.stream(torch.weir.Stream()):
        x = torch.ones(64, 64, device=weir0) @ torch.ones(64, 64, device=weir0)
    ended.record(torch.weir.current_stream())
    ended.synchronize()
    assert ended.query()
    assert began.elapsed_time(ended) > 0
    assert x[0, 0].item() == 64
    with pytest.raises(ValueError, match="enable_timing"):
        began.elapsed_time(torch.weir.Event())
    torch.weir.Stream().wait_stream(torch.weir.current_stream())


def test_the_calls_for_any_accelerator_are_answered(weir0):
    assert torch.accelerator.current_accelerator().type == "weir"
    torch.accelerator.synchronize()
    held = torch.accelerator.memory_allocated()
    x = torch.ones(1024, device=weir0)
    assert torch.accelerator.memory_allocated() - held == x.nbytes
    assert torch.accelerator.max_memory_allocated() >= held + x.nbytes
    assert torch.accelerator.get_memory_info()[1] == 64 << 20
    torch.accelerator.empty_cache()
    torch.accelerator.set_device_index(0)
    torch.accelerator.current_stream().synchronize()


def test_a_module_moves_with_weak_references_to_it_and_under_inference_mode(weir0):
    module = nn.Linear(3, 4)
    weak, shown = weakref.ref(module.weight), module.weight.detach().clone()
    module.to(weir0)
    assert weak() is module.weight
    assert module.weight.cpu().equal(shown)
    other = nn.Linear(3, 4)
    with torch.inference_mode():
        other.to(weir0)
        assert other(torch.ones(1, 3, device=weir0)).shape == (1, 4)
    average = torch.optim.swa_utils.AveragedModel(module)
    average.update_parameters(module)
    assert average(torch.ones(1, 3, device=weir0)).device == weir0


def test_a_module_does_not_move_from_under_a_graph(weir0):
    module = nn.Linear(3, 4)
    loss = module(torch.ones(1, 3)).sum()
    module.to(weir0)
    with pytest.raises(RuntimeError):
        loss.backward()
    module(torch.ones(1, 3, device=weir0)).sum().backward()
    assert module.weight.grad.device == weir0


def test_a_parameter_s_data_is_given_another_place(weir0):
    parameter = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    parameter.data = parameter.data.to(weir0)
    (parameter * 2).sum().backward()
    optimizer.step()
    assert parameter.device == weir0
    assert parameter.tolist() == [-1, -1, -1]
    parameter.data = parameter.data.cpu()
    assert parameter.device.type == "cpu"


@pytest.mark.parametrize("is_sorted", [True, False])
def test_sequences_are_packed_by_lengths_on_the_cpu(weir0, is_sorted):
    torch.manual_seed(0)
    lstm, padded = nn.LSTM(4, 5, batch_first=True), torch.randn(3, 6, 4)
    lengths = [6, 4, 1] if is_sorted else torch.tensor([1, 6, 4])

    def run(module, x):
        x = x.detach().requires_grad_()
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=is_sorted)
        out, found = rnn.pad_packed_sequence(module(packed)[0], batch_first=True, padding_value=9)
        out.sum().backward()
        return out.detach().cpu(), found, x.grad.cpu()

    expected = run(lstm, padded)
    got = run(copy.deepcopy(lstm).to(weir0), padded.to(weir0))
    assert got[1].equal(expected[1])
    assert torch.allclose(got[0], expected[0], atol=1e-6)
    assert torch.allclose(got[2], expected[2], atol=1e-6)
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(padded.to(weir0), torch.tensor([6, 4, 0]), batch_first=True)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_ctc_takes_lengths_on_the_cpu(weir0, reduction):
    torch.manual_seed(0)
    scores, targets = torch.randn(12, 2, 5), torch.randint(1, 5, (2, 4))
    lengths = torch.tensor([12, 10]), torch.tensor([4, 3])

    def run(device):
        x = scores.to(device).requires_grad_()
        loss = F.ctc_loss(x.log_softmax(-1), targets.to(device), *lengths, reduction=reduction)
        loss.sum().backward()
        return loss.detach().cpu(), x.grad.cpu()

    for got, expected in zip(run(weir0), run("cpu"), strict=True):
        assert torch.allclose(got, expected, atol=1e-6)


def test_numbers_on_the_device_make_a_tensor(weir0):
    losses = [torch.full((), value, device=weir0) for value in (1.5, 2.0)]
    assert torch.tensor(losses).tolist() == [1.5, 2]
    assert torch.tensor([*losses, 3.0], device=weir0).tolist() == [1.5, 2, 3]


def test_a_file_says_where_its_tensors_belong(weir0):
    x = torch.arange(6.0, device=weir0).view(2, 3)
    file = io.BytesIO()
    torch.save({"x": x, "p": nn.Parameter(x)}, file)

    def load(where=None):
        file.seek(0)
        return torch.load(file, map_location=where)

    assert load()["x"].device == weir0
    for where in ("cpu", lambda storage, place: storage, {"weir:0": "cpu"}):
        assert load(where)["x"].equal(x.cpu())
    assert isinstance(load()["p"], nn.Parameter)
    assert pickle.loads(pickle.dumps(x)).equal(x)
    shown = copy.copy(x)
    shown.add_(1)
    assert x.equal(shown)


def test_tensors_that_share_memory_are_found(weir0):
    x, other = torch.ones(4, 4, device=weir0), torch.ones(4, 4, device=weir0)
    assert x.untyped_storage().data_ptr() == x[1:].untyped_storage().data_ptr()
    assert x[1:].data_ptr() - x.data_ptr() == 16
    assert x.untyped_storage() != other.untyped_storage()
    assert x.untyped_storage().nbytes() == 64
    tied = nn.Linear(4, 4).to(weir0)
    assert tied.share_memory() is tied


def test_a_function_is_compiled_without_the_device_s_own_code(weir0):
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(weir0)
    x = torch.randn(3, 4, device=weir0)
    compiled = torch.compile(module, backend="aot_eager")
    for rows in (3, 5, 7):
        compiled(torch.randn(rows, 4, device=weir0))
    result = compiled(x)
    assert torch.allclose(result.cpu(), module(x).cpu(), atol=1e-6)
    result.sum().backward()
    assert module[0].weight.grad.device == weir0
    compiled_codes = [seen() for seen in torch._dynamo.convert_frame.output_codes.seen]
    assert not [code for code in compiled_codes if code and "client/weir" in code.co_filename]


def test_a_batch_is_spread_over_several_shares(attach):
    places = [attach(), attach()]
    torch.manual_seed(0)
    module, x = nn.Linear(3, 4), torch.randn(5, 3)
    spread = nn.DataParallel(copy.deepcopy(module).to(places[0]), device_ids=[0, 1])
    result = spread(x.to(places[0]))
    assert torch.allclose(result.cpu(), module(x), atol=1e-6)
    result.sum().backward()
    module(x).sum().backward()
    assert torch.allclose(spread.module.weight.grad.cpu(), module.weight.grad, atol=1e-6)


TRAINED = """
import sys
sys.path[:0] = [{root!r}, {client!r}]
import torch, torch.distributed as dist, weir.torch
from torch import nn
from node_agent.sessions.execution.core import Session
from tests.sessions.inprocess import InProcessLink
rank, device = int(sys.argv[1]), sys.argv[3]
if device == "weir:0":
    weir.torch.attach(InProcessLink(Session("cpu", 64)))
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
torch.manual_seed(rank)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 3, generator=torch.Generator().manual_seed(rank)).to(device)
for _ in range(3):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
total = torch.full((2,), rank + 1.0, device=device)
dist.all_reduce(total)
gathered = [torch.zeros(2, device=device) for _ in range(2)]
dist.all_gather(gathered, torch.full((2,), float(rank), device=device))
print(repr((total.tolist(), [one.tolist() for one in gathered], [p.tolist() for p in model.parameters()])))
dist.destroy_process_group()
"""


def test_processes_train_together_as_on_the_cpu(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINED.format(root=str(ROOT), client=str(ROOT / "client")))

    def trained(device):
        meeting = str(tmp_path / f"meeting-{device[:3]}")
        words = [sys.executable, str(script)]
        both = [
            subprocess.Popen([*words, str(rank), meeting, device], stdout=subprocess.PIPE, text=True)
            for rank in range(2)
        ]
        return [process.communicate(timeout=300)[0].strip().splitlines()[-1] for process in both]

    here, there = trained("cpu"), trained("weir:0")
    assert there[0] == there[1]
    assert there == here
    assert there[0].startswith("([3.0, 3.0], [[0.0, 0.0], [1.0, 1.0]], ")


@pytest.mark.parametrize("place", ["cpu", "weir:0"])
def test_a_move_to_where_a_module_is_leaves_its_graph_whole(weir0, place):
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).to(place)
    loss = module(torch.ones(2, 3, device=place)).square().sum()
    module.to(place).float()
    loss.backward()
    assert module[1].weight.grad.device == torch.device(place)


def test_a_module_leaves_while_a_graph_still_holds_what_it_was(weir0):
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).to(weir0)
    x = torch.ones(2, 3, device=weir0)
    result = module(x)
    module.cpu()
    assert {p.device.type for p in module.parameters()} == {"cpu"}
    assert torch.allclose(module(torch.ones(2, 3)), result.cpu(), atol=1e-6)
    with pytest.raises(RuntimeError, match="moved between forward and backward"):
        result.square().sum().backward()


def test_a_parameter_s_class_makes_parameters(weir0):
    parameter = nn.Linear(3, 4).to(weir0).weight
    made = type(parameter)(torch.ones(2), requires_grad=False)
    assert isinstance(made, nn.Parameter)
    assert not made.requires_grad


def test_inference_mode_shows_parts_of_what_was_made_before_it(weir0):
    torch.manual_seed(0)
    module, x = nn.Linear(3, 4), torch.randn(2, 3)
    there = copy.deepcopy(module).to(weir0)
    with torch.inference_mode():
        found = there(x.to(weir0)) + there.weight[:2, 0] @ there.weight.detach()[:2, :2].t().sum(1)
        parts = there.weight.chunk(2)
        copied = copy.deepcopy(there.bias)
        drawn = F.scaled_dot_product_attention(*[x.to(weir0).view(1, 1, 2, 3)] * 3).cpu()
        assert (found.cpu().device.type, found.to(torch.float64).dtype) == ("cpu", torch.float64)
    assert torch.allclose(drawn, F.scaled_dot_product_attention(*[x.view(1, 1, 2, 3)] * 3), atol=1e-6)
    assert torch.allclose(
        found.cpu(), module(x) + module.weight[:2, 0] @ module.weight[:2, :2].t().sum(1), atol=1e-6
    )
    assert not parts[0].is_inference()
    assert copied.cpu().equal(module.bias)
    there(x.to(weir0)).sum().backward()
    assert there.weight.grad.device == weir0


@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.LayerNorm, nn.Linear])
@pytest.mark.parametrize("learned", ["weight", "bias"])
def test_layers_learn_though_nobody_asks_for_their_input_s_gradient(weir0, kind, learned):
    torch.manual_seed(0)
    x = torch.randn(5, 4)

    def run(device):
        module = (kind(4, 4) if kind is nn.Linear else kind(4)).to(device)
        for name, parameter in module.named_parameters():
            nn.init.constant_(parameter, 0.5)
            parameter.requires_grad_(name == learned)
        module(x.to(device)).square().sum().backward()
        return getattr(module, learned).grad.cpu()

    assert torch.allclose(run(weir0), run("cpu"), atol=1e-5)


def test_another_library_is_changed_when_it_is_imported_and_not_before(tmp_path, monkeypatch):
    from weir.torch.interfaces import imports

    (tmp_path / "imported_later.py").write_text("kept = 1")
    (tmp_path / "broken_once.py").write_text("import pathlib\nassert pathlib.Path(__file__ + '.on').exists()")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(imports, "_changes", dict(imports._changes))
    seen = []
    for name in ("imported_later", "broken_once", "not_there_at_all"):
        imports.when_imported(name, lambda module: seen.append(module.__name__))
    assert not seen
    import imported_later

    assert (seen, imported_later.kept) == (["imported_later"], 1)
    with pytest.raises(AssertionError):
        importlib.import_module("broken_once")
    (tmp_path / "broken_once.py.on").touch()
    importlib.import_module("broken_once")
    assert seen == ["imported_later", "broken_once"]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("not_there_at_all")
    imports.when_imported("imported_later", lambda module: seen.append("at once"))
    assert seen[-1] == "at once"
    assert importlib.util.find_spec("imported_later").loader is not None
