import pytest

from apps.kernel import mirror


@pytest.fixture
def guard():
    token = mirror.mirror_open()
    yield
    mirror.mirror_close(token)


def test_a_touched_row_without_its_case_is_drift(guard):
    mirror.mirror_touched("order", "u1")
    with pytest.raises(mirror.MirrorDrift, match="order u1"):
        mirror.mirror_check()


def test_a_row_whose_case_was_put_is_fine(guard):
    mirror.mirror_touched("order", "u1")
    mirror.mirror_put("order", "u1")
    mirror.mirror_check()


def test_outside_a_service_nothing_is_watched():
    mirror.mirror_touched("order", "u1")
    mirror.mirror_check()
