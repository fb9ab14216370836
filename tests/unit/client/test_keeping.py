"""`weir reservations` and `weir hooks`: what is asked of the centre, and what is told."""

import pytest
from typer.testing import CliRunner
from weir.cli.centre import reservations
from weir.cli.main import app

ROW = {
    "uid": "0b8a7c1e-1111-4222-8333-444455556666", "name": "course", "tenant": "acme", "queue": "", "device_uids": [],
    "count": 2, "compute_percent": 50, "memory_mib": 0, "model": "", "from_at": "F", "to_at": "T",
}  # fmt: skip
CALL = {
    "uid": "u-1",
    "hook": "cleans",
    "kind": "ended",
    "state": "failed",
    "tries": 12,
    "error": "OSError: full",
}


class Centre:
    """Keeps what it is asked for."""

    def __init__(self):
        self.asked = []

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def reservations(self):
        return [ROW]

    def reservation_make(self, *, name, from_at, to_at, **more):
        self.asked.append(("make", name, more))
        assert from_at < to_at
        return ROW

    def reservation_cancel(self, uid):
        self.asked.append(("cancel", uid))

    def hook_calls(self):
        return [CALL]

    def hook_call_retry(self, uid):
        self.asked.append(("retry", uid))
        return CALL | {"state": "pending"}


@pytest.fixture
def centre(monkeypatch):
    found = Centre()
    monkeypatch.setattr(reservations, "caller", lambda _ctx: found)
    return found


def weir(*words, code=0):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.req("ELA-305")
def test_reservations_are_listed_made_and_given_back_by_name(centre):
    listed = weir("reservations", "list")
    assert "course" in listed
    assert "2 × 50 %" in listed
    weir("reservations", "make", "course", "--from", "1h", "--until", "3h", "--for", "acme", "--count", "2",
         "--share", "50")  # fmt: skip
    weir("reservations", "make", "card", "--from", "1h", "--until", "3h", "--queue", "q", "--device", "d0")
    weir("reservations", "cancel", "course")
    assert centre.asked == [
        ("make", "course", {"tenant": "acme", "count": 2, "compute_percent": 50}),
        ("make", "card", {"queue": "q", "device_uids": ["d0"]}),
        ("cancel", ROW["uid"]),
    ]


@pytest.mark.req("ELA-305")
def test_a_reservation_for_nobody_is_refused_before_it_is_sent(centre):
    assert "It is for nobody." in weir(
        "reservations", "make", "x", "--from", "1h", "--until", "2h", "--count", "1", code=1
    )
    assert centre.asked == []


@pytest.mark.req("ELA-1103")
def test_calls_of_hooks_are_listed_and_tried_again(centre):
    assert "OSError: full" in weir("hooks", "list")
    assert "cleans is called again." in weir("hooks", "retry", "u-1")
    assert centre.asked == [("retry", "u-1")]
