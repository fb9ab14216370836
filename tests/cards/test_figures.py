"""How quick a session on a card is against the same card without a session: prints, and fails past the limits.

One process at each end, frames through shared memory; rounds here and there alternate and the best of each counts.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not here")

import weir.torch  # noqa: E402
from weir.torch import devices  # noqa: E402

from tests.cards import plain  # noqa: E402
from tests.cards.plain import CARD, CASES, on_card  # noqa: E402
from tests.sessions.workers import workers  # noqa: E402

ROUNDS = 3


@pytest.fixture(scope="module")
def device(card, tmp_path_factory):
    with workers(tmp_path_factory.mktemp("figures")) as make:
        worker = make("figures", device=CARD, memory_mib=32768, is_started=True)
        yield weir.torch.attach(worker.link())
        for attached in devices.attached():
            weir.torch.detach(attached.index)


@pytest.mark.parametrize("name", CASES)
def test_a_step_of_training(device, name):
    here, there = on_card(plain.timed, name), plain.Training(name, device)
    there.run()
    devices.get(device).requests.clear()
    times = [(on_card(plain.timed, name), there.run()) for _ in range(ROUNDS)]
    assert devices.get(device).requests == {"READ": ROUNDS}
    here, over = (min(column) * 1e3 for column in zip(*times, strict=True))
    stat = devices.get(device).stat()
    print(f"\n{name}: card {here:.2f} ms, weir {over:.2f} ms a step: {over / here:.2f} times; "
          f"held {stat['used_bytes'] >> 20} MiB, at most {stat['peak_bytes'] >> 20} MiB")  # fmt: skip
    assert over <= CASES[name][-1] * here


def test_operators_and_bytes(device):
    print()
    for name, row in (("card", on_card(plain.figures)), ("weir", plain.figures(device))):
        print(f"{name}: " + ", ".join(f"{label} {value:.0f}" for label, value in row.items()))
    assert row["item() a second"] > 1000
