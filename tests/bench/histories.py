"""The engine's random histories over very many steps: `python -m tests.bench.histories --steps 1000000`.

Every step's plan is checked against all promises; that a pool kept warm decides as one built anew, on every fourth.
Each batch has a seed of its own, which repeats it: `--first-seed`. After each batch it prints where it stands, a
second being one of this process's own; a promise that is broken ends it with the history that breaks it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from time import process_time

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from tests.unit.engine.histories import History

HISTORIES = 100
"""In each batch."""
STEPS = 40
"""In each history."""
OPTIONS = settings(
    max_examples=HISTORIES,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class Counted(History):
    """A history that counts its steps, and what was planned in them."""

    seen: Counter[str] = Counter()
    rebuilt_every = 4

    @invariant()
    def all_holds(self) -> None:
        """As it says; then counts."""
        super().all_holds()
        made = self.made
        for name in ("placements", "preemptions", "resizes", "moves", "holds"):
            self.seen[name] += len(getattr(made, name))
        self.seen["steps"] += 1


def batch(number: int) -> None:
    """One batch, by its seed. Raises what the first broken promise raises."""
    machine = type("Batch", (Counted,), {})
    seed(number)(machine)
    run_state_machine_as_test(machine, settings=OPTIONS)


def histories(steps: int, first_seed: int, tell: Callable[[str], None]) -> Counter[str]:
    """Batches until so many steps are done; what was seen."""
    Counted.seen.clear()
    started, number = process_time(), first_seed
    while Counted.seen["steps"] < steps:
        batch(number)
        number += 1
        seen, took = Counted.seen, process_time() - started
        rest = "  ".join(f"{name} {count}" for name, count in seen.items() if name != "steps")
        tell(
            f"{seen['steps']} of {steps} steps  {seen['steps'] / took:.0f} a second  seed {number - 1}  {rest}"
        )
    return Counted.seen


def main() -> int:
    """Read the command line and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    histories(options.steps, options.first_seed, lambda text: print(text, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
