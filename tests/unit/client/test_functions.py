"""Functions that are called in the pool: what travels, and what comes back, with the real runner and a centre that
stands in for the node."""

import os
import subprocess
import sys
import tarfile

import pytest
import weir
from weir.call.run import MARK
from weir.errors import WeirClientError

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-101")
AMOUNTS = {"compute_percent": 5, "memory_mib": 64}


class Node(Centre):
    """Takes a folder, runs in it what is submitted, and shows what that printed."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.spoils = folder, lambda text: text

    def folder_send(self, packed, *, progress=None):
        packed.archive.seek(0)
        with tarfile.open(fileobj=packed.archive) as tar:
            tar.extractall(self.folder, filter="data")
        return packed.sha256

    def workload_submit(self, **body):
        self.asked.append(body)
        env = {"PATH": os.environ["PATH"]}
        argv = [sys.executable if body["argv"][0] == "python" else body["argv"][0], *body["argv"][1:]]
        # Nothing of the caller's is there but what has travelled.
        self.done = subprocess.run(
            [*argv], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60
        )
        return {"uid": "u", "no": "W-1"}

    def workload(self, _uid):
        return {
            "uid": "u",
            "state": "finished" if self.done.returncode == 0 else "failed",
            "reason": "It has ended.",
        }

    def log(self, _uid, offset=0):
        text = self.spoils(self.done.stdout + self.done.stderr)
        return {
            "text": text[offset : offset + 3000],
            "next_offset": min(len(text), offset + 3000),
            "ended": True,
        }


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def area(width, height=1):
    print("computing")
    return {"area": width * height, "where": os.getcwd()}


class Unlucky(Exception):
    pass


def fails():
    raise Unlucky("seven")


def test_what_a_function_returns_comes_back(node, tmp_path):
    run = weir.submit(area, 6, named={"height": 7}, client=node, **AMOUNTS)
    assert run.result() == {"area": 42, "where": str(tmp_path)}
    assert run.output().strip() == "computing"
    (asked,) = node.asked
    assert (asked["name"], asked["kind"], asked["compute_percent"]) == ("area", "program", 5)


def test_what_it_closes_over_travels_too(node):
    factor = 3

    def scaled(values):
        return [factor * value for value in values]

    assert weir.submit(scaled, list(range(20_000)), client=node).result()[-1] == 59_997


def test_the_decorator_calls_here_and_there(node):
    @weir.job(client=node, **AMOUNTS)
    def double(number: int) -> int:
        """Twice as much."""
        return 2 * number

    assert double(4) == 8
    assert node.asked == []
    assert double.run(5) == 10
    assert double.__doc__ == "Twice as much."


def test_what_it_raises_is_raised_here_with_its_trace(node):
    run = weir.submit(fails, client=node)
    with pytest.raises(weir.FunctionFailed, match="Unlucky: seven") as failed:
        run.result()
    assert type(failed.value.__cause__).__name__ == "Unlucky"
    assert "in fails" in failed.value.trace
    assert node.done.returncode == 1


def test_a_folder_travels_beside_it(node, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "words.py").write_text("GREETING = 'hello'\n")

    def greets():
        import words

        return words.GREETING

    assert weir.submit(greets, client=node, workdir=source).result() == "hello"


def test_an_answer_that_is_not_sealed_is_none(node):
    def shows():
        print("weir-answer", "0" * 64, "gASVBQAAAAAAAACMAWGULg==")
        print("weir-answer x")
        return 1

    assert weir.submit(shows, client=node).result() == 1
    node.spoils = lambda text: text.replace(f"{MARK} ", f"{MARK} 0")
    with pytest.raises(weir.FunctionFailed, match="without an answer"):
        weir.submit(shows, client=node).result()


def test_an_answer_that_is_too_long_says_so(node):
    with pytest.raises(weir.FunctionFailed, match="write it to a file"):
        weir.submit(lambda: b"x" * 5_000_000, client=node).result()


def test_what_cannot_travel_is_said_before_anything_is_asked(node, tmp_path):
    handle = (tmp_path / "open").open("w")
    with handle, pytest.raises(WeirClientError, match="cannot travel"):
        weir.submit(lambda: handle.write("x"), client=node)
    assert node.asked == []


def test_another_python_is_named(node, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    run = weir.submit(area, 1, client=node)
    with pytest.raises(weir.FunctionFailed, match=r"made by Python 3\.99"):
        run.result()


def test_who_does_not_wait_for_ever_is_told_how_it_stands(node):
    run = weir.submit(area, 1, client=node)
    node.workload = lambda _uid: {"state": "pending", "reason": "No room."}
    with pytest.raises(TimeoutError, match=r"pending\. No room"):
        run.result(timeout_s=0)
