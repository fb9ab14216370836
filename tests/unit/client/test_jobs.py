"""`weir job`: what is asked of the portal for what is written."""

import pytest
from typer.testing import CliRunner
from weir.cli.main import app
from weir.cli.work import jobs

FOUND = {"id": "j1", "name": "night", "state": "pending", "reason": "It waits.", "created_user": "ada"}


class Portal:
    """Keeps what it is asked for."""

    def __init__(self):
        self.asked = []

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def job_submit(self, name, tasks, **more):
        self.asked.append((name, tasks, more))
        return FOUND


@pytest.fixture
def portal(monkeypatch):
    found = Portal()
    monkeypatch.setattr(jobs, "caller", lambda _ctx: found)
    return found


def test_tasks_have_a_name_or_get_one(portal):
    words = ["job", "submit", "night", "--spec", "gpu1", "--task", "train=python train.py --lr=1"]
    answer = CliRunner().invoke(
        app, [*words, "--task", "echo a=b", "--weight", "price=0.5", "--weight", "load=0.5"]
    )
    assert answer.exit_code == 0, answer.output
    assert "It waits." in answer.output
    ((name, tasks, more),) = portal.asked
    assert (name, more["weights"]) == ("night", {"price": "0.5", "load": "0.5"})
    assert [(each["name"], each["command"]) for each in tasks] == [
        ("train", "python train.py --lr=1"),
        ("task2", "echo a=b"),
    ]


@pytest.mark.parametrize("weights", [["price"], ["price=1", "price=1"]])
def test_a_weight_that_is_none_is_refused_and_nothing_asked(portal, weights):
    given = [word for each in weights for word in ("--weight", each)]
    answer = CliRunner().invoke(app, ["job", "submit", "n", "--spec", "s", "--task", "true", *given])
    assert answer.exit_code != 0
    assert "POLICY=PART" in answer.output + str(getattr(answer.exception, "cure", ""))
    assert portal.asked == []
