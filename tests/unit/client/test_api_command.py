"""`weir api`: any call of the API, as it is."""

import json

import pytest
from typer.testing import CliRunner
from weir.api import Client
from weir.cli.main import app

from tests.unit.client.centre import Centre


class Answering(Centre):
    def call(self, method, path, body):
        self.asked.append((method, path, body))
        return {"name": "北方"} if method != "DELETE" else None


@pytest.fixture
def centre(monkeypatch):
    found = Answering()
    monkeypatch.setattr(Client, "from_config", lambda tenant="", context="": found)
    return found


def run(*words, text=""):
    return CliRunner().invoke(app, ["api", *words], input=text)


def test_it_gets_and_sends_what_it_is_told(centre, tmp_path):
    body = tmp_path / "tenant.json"
    body.write_text(json.dumps({"schema": "north"}))
    assert json.loads(run("/api/v1/tenants").output) == {"name": "北方"}
    assert run("tenants", "--input", str(body)).exit_code == 0
    assert run("-X", "patch", "centre", "--input", "-", text='{"name": "Lakeside"}').exit_code == 0
    assert run("-X", "DELETE", "tenants/north").output == ""
    assert run("-X", "POST", "commodities/7/list").exit_code == 0
    assert centre.asked == [
        ("GET", "tenants", None),
        ("POST", "tenants", {"schema": "north"}),
        ("PATCH", "centre", {"name": "Lakeside"}),
        ("DELETE", "tenants/north", None),
        ("POST", "commodities/7/list", None),
    ]


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["tenants", "--input", "-"], "{", "is no JSON"),
        (["-X", "TELL", "tenants"], "", "There is no method TELL"),
        (["tenants", "--input", "nowhere.json"], "", "nowhere.json"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(centre, words, text, said):
    found = run(*words, text=text)
    assert found.exit_code != 0
    assert said in found.output + str(found.exception)
    assert centre.asked == []
