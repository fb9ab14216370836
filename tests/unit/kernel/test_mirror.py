import pytest

from apps.kernel import case_mirror


@pytest.fixture
def guard():
    token = case_mirror.mirror_open()
    yield
    case_mirror.mirror_close(token)


def test_a_touched_row_without_its_case_is_drift(guard):
    case_mirror.mirror_touched("order", "u1")
    with pytest.raises(case_mirror.MirrorDrift, match="order u1"):
        case_mirror.mirror_check()


def test_a_row_whose_case_was_put_is_fine(guard):
    case_mirror.mirror_touched("order", "u1")
    case_mirror.mirror_put("order", "u1")
    case_mirror.mirror_check()


def test_outside_a_service_nothing_is_watched():
    case_mirror.mirror_touched("order", "u1")
    case_mirror.mirror_check()
