"""A training script that is interrupted again and again: `python -m tests.sessions.interrupted weir:0 100`.

Prints how many interrupts arrived, what else went wrong, and whether the device's model still computes what a CPU copy
of its parameters does.
"""

import os
import random
import signal
import sys
import threading
import time

import torch
import weir.torch  # noqa: F401

LONGEST_GAP_S = 0.05
PATIENCE_S = 20.0


def main(place: str, count: int) -> None:
    # Whoever runs in the background of a shell inherits that interrupts are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = torch.nn.Linear(32, 64), torch.nn.Dropout(0.1), torch.nn.ReLU(), torch.nn.Linear(64, 10)
    model = torch.nn.Sequential(*layers).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    rows, classes = torch.randn(64, 32), torch.randint(0, 10, (64,))

    def step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(rows.to(place)), classes.to(place))
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    go = threading.Event()
    threading.Thread(target=_interrupt, args=(go,), daemon=True).start()
    seen, wrong = 0, []
    for _ in range(count):
        go.set()
        began = time.monotonic()
        try:
            while time.monotonic() - began < PATIENCE_S:
                step()
            wrong.append("an interrupt was lost")
        except KeyboardInterrupt:
            seen += 1
        step()
    print(seen, wrong, _is_sound(model, rows, place))


def _interrupt(go: threading.Event) -> None:
    while go.wait():
        go.clear()
        time.sleep(random.random() * LONGEST_GAP_S)
        os.kill(os.getpid(), signal.SIGINT)


def _is_sound(model: torch.nn.Module, rows: torch.Tensor, place: str) -> bool:
    model.eval()
    with torch.no_grad():
        here = model(rows.to(place)).cpu()
        state = {name: value.cpu() for name, value in model.state_dict().items()}
        model.to("cpu").load_state_dict(state)
        return torch.equal(here, model(rows)) and bool(here.isfinite().all())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
