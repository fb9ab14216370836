"""Unpacking by the C library for zstd, where that library is missing or has no room."""

import ctypes
import gc
import io
from types import SimpleNamespace

import pytest

from apps.images import zstd


def test_where_there_is_no_room_to_unpack_in_it_is_said_and_nothing_freed(monkeypatch):
    freed = []
    library = SimpleNamespace(ZSTD_createDStream=lambda: None, ZSTD_freeDStream=freed.append)
    monkeypatch.setattr(zstd, "_library", lambda: library)
    with pytest.raises(MemoryError):
        zstd.ZstdFile(io.BytesIO())
    assert freed == []


def test_a_file_that_could_not_be_made_is_closed_without_a_word(monkeypatch):
    def missing():
        raise zstd.ZstdMissing

    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    monkeypatch.setattr(zstd, "_library", missing)
    with pytest.raises(zstd.ZstdMissing):
        zstd.ZstdFile(io.BytesIO())
    made = zstd.ZstdFile.__new__(zstd.ZstdFile)
    made.close()
    del made
    gc.collect()
    assert unraisable == []


def test_what_was_made_is_freed_once(monkeypatch):
    freed = []
    library = SimpleNamespace(
        ZSTD_createDStream=lambda: 7, ZSTD_freeDStream=lambda one: freed.append(one.value)
    )
    monkeypatch.setattr(zstd, "_library", lambda: library)
    file = zstd.ZstdFile(io.BytesIO())
    assert isinstance(file._stream, ctypes.c_void_p)
    file.close()
    file.close()
    assert freed == [7]
