"""A centre of its own, in real processes: nothing is in it, somebody sets it up over HTTP, and signs in."""

import re
from pathlib import Path

import httpx
import pytest

from portal.devstack.errors import LocalError
from portal.devstack.options import Options
from portal.devstack.stack import Stack
from tests.harness.portal import empty_centre

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("empty centre")]
PASSWORD = "correct-horse-9"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory):
    """From the very first start: nothing is prepared."""
    with empty_centre(tmp_path_factory, "empty", is_prepared=False) as found:
        yield found


def csrf(page: httpx.Response) -> str:
    return re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)[1]


def test_an_empty_centre_is_set_up_once_and_its_operator_signs_in(stack: Stack, tmp_path: Path) -> None:
    link = re.search(r"http://\S+token=\S+", stack.welcome)[0]
    token = stack.var_dir / "run" / "setup.token"
    assert token.stat().st_mode & 0o777 == 0o600
    with httpx.Client(base_url=stack.base_url, timeout=60, headers={"accept-language": "en"}) as browser:
        assert browser.get("/").headers["location"] == "/setup/"
        refused = browser.get("/api/v1/me")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_set_up")
        form = browser.get(link)
        given = {
            "csrfmiddlewaretoken": csrf(form),
            "token": token.read_text().strip(),
            "name": "Lakeside Centre",
            "language": "en",
            "timezone": "Europe/Berlin",
            "display_name": "Ada First",
            "username": "ada",
            "password": PASSWORD,
            "password_again": PASSWORD,
        }
        opened = browser.post("/setup/", data=given)
        assert (opened.status_code, opened.headers["location"]) == (302, "/")
        home = browser.get("/").text
        assert "Lakeside Centre" in home
        assert 'data-test="nav-operator-centre"' in home
    assert not token.exists()
    with httpx.Client(base_url=stack.base_url, timeout=60) as other:
        assert other.get(link).headers["location"] == "/login/"
        answer = other.post("/api/v1/auth/login", json={"username": "ada", "password": PASSWORD})
        bearer = {"authorization": f"Bearer {answer.json()['token']}"}
        for path in ("tenants", "nodes", "commodities"):
            assert other.get(f"/api/v1/{path}", headers=bearer).json()["results"] == []
        assert other.get("/api/v1/centre", headers=bearer).json()["timezone"] == "Europe/Berlin"
    stack.stop()
    # The demo is not poured into it, and it goes on where it was.
    with pytest.raises(LocalError, match="make serve"):
        Stack(
            Options(var_dir=stack.var_dir, port=stack.options.port, nodes=0, simulate=""), durable=False
        ).start()
    stack.start()
    assert "is set up" in stack.welcome
    assert not token.exists()
