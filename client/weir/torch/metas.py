"""What the client knows of a tensor without asking: shape, strides, offset, type and device, each combination once."""

from __future__ import annotations

import torch

# So many different shapes may be known at once; past it the table and every template built on it start afresh.
MAX_METAS = 65_536


class Meta:
    """One combination, interned: tensors of equal layout on one device share the object, so keys hash by identity."""

    __slots__ = ("_shadow", "device", "dtype", "index", "offset", "size", "stride")

    def __init__(
        self, size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: torch.dtype, index: int
    ):
        self.size, self.stride, self.offset, self.dtype, self.index = size, stride, offset, dtype, index
        self.device = torch.device("weir", index)
        self._shadow: torch.Tensor | None = None

    @property
    def numel(self) -> int:
        count = 1
        for extent in self.size:
            count *= extent
        return count

    @property
    def storage_nbytes(self) -> int:
        """Bytes of the smallest storage that holds this layout: what a fresh tensor takes of the quota."""
        if 0 in self.size:
            return 0
        last = self.offset + sum((n - 1) * step for n, step in zip(self.size, self.stride, strict=True))
        return (last + 1) * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        expected = 1
        for extent, step in zip(reversed(self.size), reversed(self.stride), strict=True):
            if extent != 1 and step != expected:
                return False
            expected *= extent
        return True

    def shadow(self) -> torch.Tensor:
        """A tensor on the meta device with this layout, shared: for inference that changes nothing."""
        if self._shadow is None:
            self._shadow = self.fresh_shadow()
        return self._shadow

    def fresh_shadow(self) -> torch.Tensor:
        """A meta tensor of its own, which an in-place operator may change."""
        with torch.inference_mode(False):
            if not self.offset:
                return torch.empty_strided(self.size, self.stride, dtype=self.dtype, device="meta")
            room = torch.empty(self.storage_nbytes // self.dtype.itemsize, dtype=self.dtype, device="meta")
            return room.as_strided(self.size, self.stride, self.offset)


_metas: dict[tuple, Meta] = {}


def meta_of(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: torch.dtype, index: int
) -> Meta:
    """The one Meta of this combination."""
    key = (size, stride, offset, dtype, index)
    meta = _metas.get(key)
    if meta is None:
        if len(_metas) >= MAX_METAS:
            _metas.clear()
        meta = _metas[key] = Meta(*key)
    return meta


def meta_like(tensor: torch.Tensor, index: int) -> Meta:
    """The Meta of a tensor of any device, as it would be on device `index`."""
    return meta_of(
        tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()), tensor.dtype, index
    )


def contiguous_meta(size: tuple[int, ...], dtype: torch.dtype, index: int) -> Meta:
    """The Meta of a contiguous tensor of this shape."""
    stride, step = [], 1
    for extent in reversed(size):
        stride.append(step)
        step *= max(extent, 1)
    return meta_of(size, tuple(reversed(stride)), 0, dtype, index)
