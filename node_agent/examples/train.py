"""A small real training: a two-layer network learns to tell handwritten-like digits apart.

The pictures are drawn from ten stroke templates with shifts and noise, so the loss truly falls. It
prints a line about once a second, holds `--memory-mib` of data, and ends after `--steps` or `--seconds`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SIDE = 12
CLASSES = 10
SAMPLES = 4096
HIDDEN = 128
BATCH = 64


@dataclass
class Model:
    """Weights of a two-layer perceptron."""

    hidden: Floats
    hidden_bias: Floats
    out: Floats
    out_bias: Floats

    @classmethod
    def make(cls, rng: np.random.Generator) -> Model:
        """Small random weights."""
        inputs = SIDE * SIDE
        return cls(
            rng.normal(0, inputs**-0.5, (inputs, HIDDEN)).astype(np.float32),
            np.zeros(HIDDEN, np.float32),
            rng.normal(0, HIDDEN**-0.5, (HIDDEN, CLASSES)).astype(np.float32),
            np.zeros(CLASSES, np.float32),
        )

    def probabilities(self, pictures: Floats) -> tuple[Floats, Floats]:
        """The hidden layer and the probability of each class."""
        layer = np.maximum(pictures @ self.hidden + self.hidden_bias, 0)
        scores = layer @ self.out + self.out_bias
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return layer, powers / powers.sum(axis=1, keepdims=True)

    def step(self, pictures: Floats, labels: NDArray[np.int64], rate: float) -> float:
        """One step of gradient descent; returns the loss before it."""
        rows = np.arange(len(labels))
        layer, chances = self.probabilities(pictures)
        loss = float(-np.log(chances[rows, labels] + 1e-9).mean())
        chances[rows, labels] -= 1
        chances /= len(labels)
        back = (chances @ self.out.T) * (layer > 0)
        self.out -= rate * (layer.T @ chances)
        self.out_bias -= rate * chances.sum(axis=0)
        self.hidden -= rate * (pictures.T @ back)
        self.hidden_bias -= rate * back.sum(axis=0)
        return loss


def data_make(rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Shifted, noisy copies of ten random stroke pictures, with their labels."""
    strokes = (rng.random((CLASSES, SIDE, SIDE)) > 0.7).astype(np.float32)
    labels = rng.integers(0, CLASSES, SAMPLES)
    shifts = rng.integers(-1, 2, (SAMPLES, 2))
    pairs = zip(labels, shifts, strict=True)
    moved = [np.roll(strokes[label], tuple(shift), axis=(0, 1)) for label, shift in pairs]
    noise = rng.normal(0, 1.5, (SAMPLES, SIDE * SIDE))
    return (np.stack(moved).reshape(SAMPLES, -1) + noise).astype(np.float32), labels


def train(*, seconds: float | None, steps: int | None, seed: int) -> float:
    """Train until either bound; returns the last loss."""
    rng = np.random.default_rng(seed)
    pictures, labels = data_make(rng)
    model = Model.make(rng)
    started = told = time.monotonic()
    done = told_done = 0
    loss = float("nan")
    while (steps is None or done < steps) and (seconds is None or time.monotonic() - started < seconds):
        pick = rng.integers(0, SAMPLES, BATCH)
        loss = model.step(pictures[pick], labels[pick], rate=0.002)
        done += 1
        now = time.monotonic()
        if now - told >= 1:
            _tell(done, loss, (done - told_done) / (now - told))
            told, told_done = now, done
    accuracy = float((model.probabilities(pictures)[1].argmax(axis=1) == labels).mean())
    took_s = time.monotonic() - started
    print(f"done steps={done} loss={loss:.4f} accuracy={accuracy:.3f} seconds={took_s:.1f}", flush=True)
    return loss


def _tell(done: int, loss: float, steps_per_s: float) -> None:
    epoch = done * BATCH // SAMPLES
    print(f"epoch={epoch} step={done} loss={loss:.4f} steps/s={steps_per_s:.0f}", flush=True)


def main() -> None:
    """Read the arguments, hold the memory, train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, help="end after so many seconds")
    parser.add_argument("--steps", type=int, help="end after so many steps")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--memory-mib", type=int, default=32, help="hold so much data besides the model")
    options = parser.parse_args()
    held = np.ones(options.memory_mib * 1024 * 1024, np.uint8)
    print(f"training with seed {options.seed}, holding {held.nbytes // 1024 // 1024} MiB", flush=True)
    train(seconds=options.seconds, steps=options.steps, seed=options.seed)


if __name__ == "__main__":
    main()
