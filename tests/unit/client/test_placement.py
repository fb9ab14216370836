"""`weir placement`: what is asked of the portal, and what is told."""

import json

import pytest
from typer.testing import CliRunner
from weir.cli.main import app
from weir.cli.work import placing

SCORES = [
    {
        "policy": "price",
        "name": "Price aware",
        "score": 100,
        "is_known": True,
        "weight": "0.600",
        "milli_points": 60000,
    },
    {
        "policy": "load",
        "name": "Load aware",
        "score": 50,
        "is_known": True,
        "weight": "0.400",
        "milli_points": 20000,
    },
]
TRIAL = {
    "at": "2026-11-28T00:00:00Z", "model": "weighted_sum", "weights": {}, "is_placed": True,
    "tasks": [{
        "name": "task1",
        "placed": [{"ai_center_id": "lake", "center_name": "Lakeside", "replicas": 2}],
        "sentences": [{"code": "chosen", "message": "Lakeside is best, with 80 of 100 points."}],
        "centers": [
            {"ai_center_id": "lake", "center_name": "Lakeside", "is_candidate": True, "rank": 1, "final_score": 80,
             "price": 500, "scores": SCORES, "reasons": []},
            {"ai_center_id": "hill", "center_name": "Hill", "is_candidate": False, "rank": None, "final_score": None,
             "price": None, "scores": [], "reasons": [{"code": "drained", "message": "It is being drained."}]},
        ],
    }],
}  # fmt: skip
SETTINGS = {
    "number": 3, "weights": {"price": "0.600", "load": "0.400", "qos": "0.000"}, "model": "weighted_sum",
    "stale_s": 180,
    "cool_off_failures": 3, "cool_off_s": 600, "move_bytes": 10**11, "usual_duration_s": 3600, "changed_by": "ada",
    "created_at": "2026-11-28T00:00:00Z",
}  # fmt: skip


class Portal:
    """Keeps what it is asked for, and answers as the API does."""

    def __init__(self):
        self.asked = []

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def __getattr__(self, name):
        def call(**body):
            self.asked.append((name, body))
            answers = {"placement_try": TRIAL, "placement_settings_history": [SETTINGS]}
            return answers.get(name, SETTINGS)

        return call


@pytest.fixture
def portal(monkeypatch):
    found = Portal()
    monkeypatch.setattr(placing, "caller", lambda _ctx: found)
    return found


def weir(*words, code=0):
    answer = CliRunner().invoke(app, [*words])
    assert answer.exit_code == code, answer.output
    return answer.output


@pytest.mark.req("JC-6.6-1")
def test_a_try_is_told_centre_by_centre(portal):
    told = weir("placement", "try", "gpu-1", "gpu-2", "--replicas", "2", "--center", "lake", "--gang",
                "--weight", "price=0.6", "--weight", "load=0.4")  # fmt: skip
    for words in ("Lakeside is best", "It is being drained.", "Price aware 100 × 0.600"):
        assert words in told
    name, body = portal.asked[0]
    assert name == "placement_try"
    assert [task["resource_spec_id"] for task in body["tasks"]] == ["gpu-1", "gpu-2"]
    assert (body["tasks"][0]["replicas"], body["tasks"][0]["center_ids"]) == (2, ["lake"])
    assert (body["is_gang"], body["weights"]) == (True, {"price": "0.6", "load": "0.4"})


def test_without_weights_those_in_force_hold(portal):
    weir("placement", "try", "gpu-1")
    assert "weights" not in portal.asked[0][1]


def test_a_program_gets_the_answer_as_it_is(portal):
    assert json.loads(weir("--json", "placement", "try", "gpu-1")) == TRIAL


@pytest.mark.parametrize("weight", ["price", "=1", "price=1 price=1"])
def test_what_is_no_weight_is_not_asked(portal, weight):
    words = [part for text in weight.split() for part in ("--weight", text)]
    assert CliRunner().invoke(app, ["placement", "try", "gpu-1", *words]).exit_code != 0
    assert portal.asked == []


def test_operators_see_and_set_how_centres_are_chosen(portal):
    assert "price=0.600 load=0.400" in weir("placement", "settings")
    assert "ada" in weir("placement", "history")
    assert "version 3" in weir("placement", "set", "--weight", "price=1", "--rest", "0", "--version", "2")
    assert portal.asked[-1] == (
        "placement_settings_change",
        {"weights": {"price": "1"}, "cool_off_s": 0, "number": 2},
    )
