"""Models and a training loop that say nothing of the device but its name: what an unmodified script looks like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(256, 10),
    )


class Recurrent(nn.Module):
    """An LSTM (or GRU) over a sequence, its last state to ten classes."""

    def __init__(self, kind: type[nn.RNNBase] = nn.LSTM) -> None:
        super().__init__()
        self.cells = kind(28, 32, num_layers=2, batch_first=True)
        self.out = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.cells(x)[0][:, -1])


class Block(nn.Module):
    """A transformer's block with dropout."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.drop(self.out(seen.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.mlp(self.between(x)))


class GPT(nn.Module):
    """A language model with tied weights; `is_checkpointed` computes blocks again in backward."""

    def __init__(
        self,
        width: int = 64,
        layers: int = 2,
        length: int = 32,
        words: int = 256,
        dropout: float = 0.1,
        *,
        is_checkpointed: bool = False,
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, 4, dropout) for _ in range(layers)])
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.out.weight = self.words.weight
        self.is_checkpointed = is_checkpointed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.is_checkpointed else block(h)
        return self.out(self.norm(h))


def batches(kind: str, steps: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Data that is equal on every device."""
    torch.manual_seed(11)
    if kind == "words":
        return [(x, x.roll(-1, 1)) for x in torch.randint(0, 256, (steps, 8, 32))]
    shape = {"flat": (784,), "image": (1, 28, 28), "rows": (28, 28)}[kind]
    return [(torch.randn(16, *shape), torch.randint(0, 10, (16,))) for _ in range(steps)]


def train(
    make: Callable[[], nn.Module],
    kind: str,
    device: Any,
    *,
    steps: int = 8,
    optimizer: str = "AdamW",
    autocast: torch.dtype | None = None,
) -> tuple[list[float], nn.Module]:
    """Losses of every step, read at the end, and the model. Seeds are set at each step, as both devices draw."""
    torch.manual_seed(5)
    model = make().to(device)
    step_size = {"AdamW": 1e-3, "SGD": 0.05}[optimizer]
    options: dict[str, Any] = {"momentum": 0.9} if optimizer == "SGD" else {}
    steps_of = getattr(torch.optim, optimizer)(model.parameters(), lr=step_size, **options)
    losses = []
    for number, (x, y) in enumerate(batches(kind, steps)):
        torch.manual_seed(number)
        inputs, wanted = x.to(device), y.to(device)
        steps_of.zero_grad()
        place = torch.device(device).type
        with torch.autocast(place, dtype=autocast or torch.bfloat16, enabled=autocast is not None):
            loss = F.cross_entropy(model(inputs).flatten(0, -2), wanted.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps_of.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses], model
