"""What work printed, by line, with whose it is."""

import pytest
from typer.testing import CliRunner
from weir.cli import resources
from weir.cli.main import app
from weir.output import output

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-504")
UID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Printed(Centre):
    """A workload whose shares printed these pieces, each of an attempt."""

    def __init__(self, shares, pieces):
        super().__init__()
        self.shares, self.pieces = shares, pieces

    def workloads(self):
        return []

    def workload(self, _uid):
        return {"shares": self.shares}

    def log(self, _uid, offset, *, share=None, attempt=None):
        pieces = [
            (which, text) for which, text in self.pieces[share or 0] if attempt is None or which == attempt
        ]
        if offset >= len(pieces):
            return {"text": "", "next_offset": offset, "ended": True, "share": share, "attempt": 1}
        which, text = pieces[offset]
        return {"text": text, "next_offset": offset + 1, "ended": False, "share": share, "attempt": which}


GANG = Printed(2, [[(1, "a\nb"), (1, "c\n")], [(1, "x"), (2, "y\n")]])


def test_lines_of_a_gang_say_whose_they_are_and_a_line_is_never_cut():
    assert list(output(GANG, UID)) == ["[0] a\n", "[0] bc\n", "[1] x\n", "[1, attempt 2] y\n"]


def test_one_share_that_is_named_is_as_it_was_printed():
    assert "".join(output(GANG, UID, share=0)) == "a\nbc\n"
    assert "".join(output(GANG, UID, share=1)) == "x\n[attempt 2] y\n"
    assert "".join(output(GANG, UID, share=1, attempt=2)) == "y\n"


def test_work_of_one_share_has_no_mark(monkeypatch):
    monkeypatch.setattr(resources, "caller", lambda _ctx: Printed(1, [[(1, "line\n"), (1, "and more")]]))
    done = CliRunner().invoke(app, ["logs", UID])
    assert (done.exit_code, done.output) == (0, "line\nand more\n"), done.output
