"""What other people wrote is shown by a terminal, never obeyed by it; a pipe gets every byte as it is."""

import io
import json
import sys
from functools import partial

import pytest
import typer
from weir.cli import resources, show
from weir.cli.main import app

from tests.unit.client.centre import Centre

# Clears the screen, renames the window, hides what follows, turns the direction of a name.
EVIL = "a\x1b[2J\x1b]0;root\x07b\x9bc\x7fd\u202egpj"
SHOWN = r"a\x1b[2J\x1b]0;root\x07b\x9bc\x7fd\u202egpj"
UID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(monkeypatch, stream, work):
    """What both outputs of a command get, where they are this stream."""
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    work()
    return stream.getvalue()


def context(*, json_=False):
    ctx = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    ctx.params["json_"] = json_
    return ctx


PRINTS = {
    "a line": lambda: show.say(EVIL),
    "a line beside": lambda: show.tell(EVIL),
    "a heading": lambda: show.heading(EVIL),
    "a table": lambda: show.rows(context(), [{"name": EVIL}], [("name", "name")]),
    "one thing": lambda: show.one(context(), {"name": EVIL}, [("name", "name")]),
    "a table beside": lambda: show.notes([{"name": EVIL}]),
}


@pytest.mark.parametrize("what", PRINTS)
def test_nothing_that_is_printed_acts_on_a_terminal(monkeypatch, what):
    text = printed(monkeypatch, Terminal(), PRINTS[what])
    assert SHOWN in text
    assert "\x1b[2J" not in text
    assert not set(text) & set("\x07\x7f\x9b\u202e")


def test_a_line_end_makes_no_line_of_its_own_in_a_table(monkeypatch):
    work = partial(show.rows, context(), [{"name": "a\nW-1  running"}], [("name", "name")])
    assert printed(monkeypatch, Terminal(), work).splitlines()[-1].strip() == r"a\nW-1  running"


def test_json_is_the_same_to_who_parses_it(monkeypatch):
    work = partial(show.rows, context(json_=True), [{"name": EVIL}], [("name", "name")])
    text = printed(monkeypatch, Terminal(), work)
    assert json.loads(text) == [{"name": EVIL}]
    assert not set(text) & set("\x1b\x07\x7f\x9b\u202e")


@pytest.mark.parametrize("what", ["a line", "a line beside"])
def test_a_pipe_gets_a_name_as_it_is(monkeypatch, what):
    text = printed(monkeypatch, io.StringIO(), PRINTS[what])
    assert "\u202egpj" in text
    assert r"\x" not in text


# --- what work printed -----------------------------------------------------------------------------------------


class Printed(Centre):
    def workloads(self):
        return []

    def workload(self, _uid):
        return {"shares": 1}

    def log(self, _uid, offset, **_which):
        text = "" if offset else f"\x1b[31;1mred\x1b[0m 10 %\r20 %\r\n{EVIL}\n"
        return {"text": text, "next_offset": 1, "ended": bool(offset), "share": 0, "attempt": 1}


def logs(monkeypatch, stream, *words):
    monkeypatch.setattr(resources, "caller", lambda _ctx: Printed())
    return printed(monkeypatch, stream, lambda: app(["logs", UID, *words], standalone_mode=False))


def test_a_log_keeps_its_colours_and_nothing_else(monkeypatch):
    assert logs(monkeypatch, Terminal()) == f"\x1b[31;1mred\x1b[0m 10 %\n  20 %\n{SHOWN}\n"


@pytest.mark.parametrize(("stream", "words"), [(Terminal, ["--raw"]), (io.StringIO, [])])
def test_a_raw_log_and_one_in_a_pipe_are_as_they_were_printed(monkeypatch, stream, words):
    assert logs(monkeypatch, stream(), *words) == f"\x1b[31;1mred\x1b[0m 10 %\r20 %\r\n{EVIL}\n"
