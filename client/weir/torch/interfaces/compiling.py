"""torch.compile looks into every Python function that runs below it; what the device does is none of the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch


def pass_over(*functions: Callable[..., Any]) -> None:
    """Never compile these, nor what they call."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    for function in functions:
        frames.set_code_exec_strategy(inspect.unwrap(getattr(function, "__func__", function)).__code__, skip)
