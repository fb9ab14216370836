"""Scaling rules by command."""

import pytest
import weir as weir_package
from typer.testing import CliRunner
from weir.cli.main import app
from weir.cli.work import scaling
from weir.cli.work.scaling import spans
from weir.errors import WeirClientError

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-907")
UID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Scaled(Centre):
    """Answers as a centre does."""

    def __getattr__(self, name):
        def ask(*words, **body):
            self.asked.append((name, *words, body))
            return {"sentence": "It does."}

        return ask


@pytest.fixture
def centre(monkeypatch):
    found = Scaled()
    monkeypatch.setattr(scaling, "caller", lambda _ctx: found)
    return found


def weir(*words):
    return CliRunner().invoke(app, ["scaling", *words])


def test_only_what_was_said_is_sent(centre):
    done = weir("set", UID, "--by", "utilisation", "--low", "30", "--high", "80", "--shrinks-when-high")
    assert done.exit_code == 0, done.output
    rule = {"by": "utilisation", "low": 30, "high": 80, "grows_when_high": False}
    assert centre.asked == [("workload_rule_set", UID, rule)]


def test_a_rule_of_a_queue_and_its_windows(centre):
    words = ("set", "night", "--queue", "--by", "window", "--shares", "2", "--window", "Sat-Sun 08:00-24:00")
    assert weir(*words).exit_code == 0
    windows = [{"weekday": day, "from_minute": 480, "to_minute": 1440} for day in (5, 6)]
    assert centre.asked == [("queue_rule_set", "night", {"by": "window", "shares": 2, "windows": windows})]
    assert weir("remove", "night", UID, "--queue").exit_code == 0
    assert centre.asked[-1] == ("queue_rule_remove", "night", UID, {})


def test_a_window_may_go_over_the_weekend():
    assert [each["weekday"] for each in spans("Fri-Mon 0:00-6:30")] == [4, 5, 6, 0]


@pytest.mark.parametrize("text", ["", "Mon", "Mox 08:00-18:00", "Mon 8-18", "Mon-Xxx 08:00-18:00"])
def test_what_is_no_window_is_named(text):
    with pytest.raises(WeirClientError):
        spans(text)


@pytest.mark.req("ELA-906")
def test_a_program_hears_its_size_through_the_client(monkeypatch):
    heard = []
    monkeypatch.setenv("WEIR_SLICE", "1f0c")
    monkeypatch.delenv("WEIR_SIZE_FILE", raising=False)
    weir_package.scaled(heard.append)
    assert [(now.share, now.shares, now.leaving) for now in heard] == [(0, 1, False)]


@pytest.mark.req("ELA-906")
def test_outside_a_pool_it_says_so(monkeypatch):
    monkeypatch.delenv("WEIR_SLICE", raising=False)
    with pytest.raises(WeirClientError, match="No pool"):
        weir_package.scaled(print)
