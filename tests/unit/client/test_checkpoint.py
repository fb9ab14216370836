"""A program that says it has saved itself."""

import pytest
import weir

pytestmark = pytest.mark.req("ELA-810")


def test_where_no_pool_runs_it_nothing_is_said(monkeypatch):
    monkeypatch.delenv("WEIR_CHECKPOINT_FILE", raising=False)
    assert not weir.checkpointed()


def test_each_word_is_another_file_in_one_step(monkeypatch, tmp_path):
    told = tmp_path / "weir-checkpoint"
    monkeypatch.setenv("WEIR_CHECKPOINT_FILE", str(told))
    assert weir.checkpointed()
    first = told.stat().st_ino
    with told.open():
        assert weir.checkpointed()
        assert told.stat().st_ino != first
    assert list(tmp_path.iterdir()) == [told]
