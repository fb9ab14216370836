import time

import pytest
from weir.cli.context import uid_of
from weir.cli.show import cell, fitting
from weir.cli.units import amounts, duration_s
from weir.errors import WeirClientError

UID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("45m", 2700), ("2h", 7200), ("1d", 86400), ("30", 30), (" 5m ", 300)]
)
def test_durations(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0h", "-1h", "1.5h", "h", "3x", "9" * 12])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(WeirClientError, match="no duration"):
        duration_s(text)


def test_amounts():
    assert amounts(["gpu_memory=512", "cpu=1"]) == {"gpu_memory": 512, "cpu": 1}


@pytest.mark.parametrize("pair", ["cpu", "cpu=", "=1", "cpu=-1", "cpu=1.5", "cpu=x", ""])
def test_what_is_no_amount_is_refused(pair):
    with pytest.raises(WeirClientError, match="no amount"):
        amounts([pair])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "yes"),
        ("4.8400000000", "4.84"),
        ("0.1234000000", "0.1234"),
        ("12.00", "12.00"),
        (["a", "b"], "a, b"),
        ("F20261121-0001", "F20261121-0001"),
    ],
)
def test_cells_show_values_as_people_write_them(value, shown):
    assert cell({"a": {"b": value}}, "a.b") == shown
    assert cell({}, "a.b") == ""


def test_things_are_called_by_number_or_uid():
    rows = [{"no": "F1", "uid": UID}]
    assert uid_of(UID, lambda: pytest.fail("asked for nothing"), "no") == UID
    assert uid_of("f1", lambda: rows, "no") == UID
    with pytest.raises(WeirClientError, match="no F2"):
        uid_of("F2", lambda: rows, "no")


def test_the_begin_of_a_number_is_enough_where_it_is_the_only_one():
    rows = [{"no": "W-AB12", "uid": UID}, {"no": "W-AC34", "uid": "ffff2d3c-4b5a-6978-8796-a5b4c3d2e1f0"}]
    assert uid_of("w-ab", lambda: rows, "no") == UID
    assert uid_of("0f1e", lambda: rows, "no") == UID
    assert uid_of("last", lambda: rows, "no") == UID
    with pytest.raises(WeirClientError, match="one of 2: W-AB12, W-AC34"):
        uid_of("W-A", lambda: rows, "no")
    for short in ("W", "", "0f"):
        with pytest.raises(WeirClientError, match="There is no"):
            uid_of(short, lambda: rows, "no")


def test_a_terminal_gets_the_columns_that_fit_it():
    shown = {
        "number": ["W-1", "W-2"], "name": ["a", "b"], "why": ["", ""], "state": ["running", "pending"],
        "node": ["n" * 30, ""], "uid": [UID, UID],
    }  # fmt: skip
    kept, left_out = fitting(shown, 200)
    assert (list(kept), left_out) == (["number", "name", "state", "node"], [])
    kept, left_out = fitting(shown, 40)
    assert (list(kept), left_out) == (["number", "name", "state"], ["node"])
    kept, _left_out = fitting({"name": ["a"], "uid": [UID]}, 80)
    assert kept == {"name": ["a"], "uid": [UID[:8]]}, "enough of it to name the thing by"


def test_times_name_their_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert cell({"at": "2026-11-21T10:28:39Z"}, "at") == "2026-11-21 18:28:39 CST"
    finally:
        monkeypatch.undo()
        time.tzset()
