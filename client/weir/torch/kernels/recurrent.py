"""What works along sequences: LSTM and GRU cells for workers on a CPU, which have no fused cell (the same sums in the
order PyTorch does them); lengths, which PyTorch has on the CPU on whichever device the sequences are."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch.dispatch import forward
from weir.torch.operators import operator_of

aten = torch.ops.aten


def _is_on_cpu(tensor: Any) -> bool:
    return bool(tensor._remote.device.kind == "cpu")


def _with_bias(gates: Any, bias: Any) -> Any:
    return gates if bias is None else gates + bias


def lstm_cell(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(input gates, hidden gates, cx, biases) to (hy, cy, the activated gates)."""
    if not _is_on_cpu(args[0]):
        return forward(func, args, kwargs)
    inputs, hidden, cx, input_bias, hidden_bias = (*args, None, None)[:5]
    gates = _with_bias(inputs, input_bias) + _with_bias(hidden, hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = (f * cx).add_(i * g)
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def lstm_cell_backward(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Gradients of the gates, of cx and of the bias."""
    grad_hy, grad_cy, cx, cy, workspace, has_bias = args
    if not _is_on_cpu(workspace):
        return forward(func, args, kwargs)
    i, f, g, o = workspace.chunk(4, 1)
    tanh_cy = cy.tanh()
    grad_c = torch.zeros_like(cx) if grad_cy is None else grad_cy
    grad_o = torch.zeros_like(o)
    if grad_hy is not None:
        grad_c = grad_c + grad_hy * o * (1 - tanh_cy * tanh_cy)
        grad_o = grad_hy * tanh_cy
    parts = (
        grad_c * g * (1 - i) * i,
        grad_c * cx * (1 - f) * f,
        grad_c * i * (1 - g * g),
        grad_o * (1 - o) * o,
    )
    grad_gates = torch.cat(parts, 1)
    return grad_gates, grad_c * f, grad_gates.sum(0, keepdim=False) if has_bias else None


def gru_cell(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(input gates, hidden gates, hx, biases) to (hy, what backward needs)."""
    if not _is_on_cpu(args[0]):
        return forward(func, args, kwargs)
    inputs, hidden, hx, input_bias, hidden_bias = (*args, None, None)[:5]
    ir, ii, inew = _with_bias(inputs, input_bias).chunk(3, 1)
    hr, hi, hnew = _with_bias(hidden, hidden_bias).chunk(3, 1)
    reset, update = (hr + ir).sigmoid(), (hi + ii).sigmoid()
    new = inew.add(reset * hnew).tanh()
    hy = (hx - new) * update + new
    return hy, torch.cat((reset, update, new, hx, hnew), 1)


def gru_cell_backward(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Gradients of input gates, hidden gates, hx and both biases."""
    grad, workspace, has_bias = args
    if not _is_on_cpu(workspace):
        return forward(func, args, kwargs)
    reset, update, new, hx, hnew = workspace.chunk(5, 1)
    grad_update = grad * (hx - new) * (1 - update) * update
    grad_new = grad * (1 - update) * (1 - new * new)
    grad_reset = grad_new * hnew * (1 - reset) * reset
    grad_inputs = torch.cat((grad_reset, grad_update, grad_new), 1)
    grad_hidden = torch.cat((grad_reset, grad_update, grad_new * reset), 1)
    biases = (grad_inputs.sum(0), grad_hidden.sum(0)) if has_bias else (None, None)
    return grad_inputs, grad_hidden, grad * update, *biases


def pack_padded(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(padded sequences, their lengths on the CPU, batch_first) to (the rows, how many are at each step, on the CPU).

    Which rows those are PyTorch finds out itself, on their numbers. Raises what it raises for wrong lengths.
    """
    padded, lengths, batch_first = args
    numbers = torch.arange(padded.shape[0] * padded.shape[1], device="cpu").view(padded.shape[:2])
    rows, batch_sizes = torch._VF._pack_padded_sequence(numbers, lengths, batch_first)
    return padded.flatten(0, 1).index_select(0, rows.to(padded.device)), batch_sizes


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Any:
    """With lengths in tensors of any device, as with lengths in lists. The defaults are the schema's."""
    lengths = input_lengths.tolist(), target_lengths.tolist()
    return torch.ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)


def register(library: Any) -> None:
    """Put these in place."""
    operator_of(aten._pack_padded_sequence.default).special = pack_padded
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        library.impl("ctc_loss.Tensor", ctc_loss, key)
    operator_of(aten._thnn_fused_lstm_cell.default).special = lstm_cell
    operator_of(aten._thnn_fused_lstm_cell_backward_impl.default).special = lstm_cell_backward
    operator_of(aten._thnn_fused_gru_cell.default).special = gru_cell
    operator_of(aten._thnn_fused_gru_cell_backward.default).special = gru_cell_backward
