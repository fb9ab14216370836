"""torchvision beside PyTorch's build for the CPU: its compiled part does not load there, and its Python part asks for
two of the operators by name when it is imported. They are declared and never called."""

from __future__ import annotations

import torch

NAMES = ("nms", "qnms")
_library = torch.library.Library("torchvision", "FRAGMENT")


def declare() -> None:
    """Let `import torchvision` end well; what needs its compiled part says so when it is called."""
    for name in NAMES:
        if not hasattr(torch.ops.torchvision, name):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
