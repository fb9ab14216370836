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

    def job_change(self, job_id, **changes):
        self.asked.append((job_id, changes))
        return FOUND

    def job_delete(self, job_id):
        self.asked.append(("delete", job_id))


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


def test_what_is_named_is_changed_and_nothing_else(portal):
    words = ["job", "change", "j1", "--priority=-3", "--weight", "price=1", "--deadline", ""]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert portal.asked == [("j1", {"priority": -3, "weights": {"price": "1"}, "deadline_at": None})]
    assert CliRunner().invoke(app, ["job", "change", "j1"]).exit_code != 0
    assert len(portal.asked) == 1


def test_a_job_is_deleted(portal):
    answer = CliRunner().invoke(app, ["job", "delete", "j1"])
    assert (answer.exit_code, portal.asked) == (0, [("delete", "j1")])
    assert "j1 is deleted." in answer.output
