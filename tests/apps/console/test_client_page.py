"""The page on which a data scientist finds the one line that installs the client from this portal."""

import hashlib
import html

import pytest

pytestmark = pytest.mark.django_db
NAME = "weir_client-1.2.3-py3-none-any.whl"


@pytest.fixture
def dist(settings, tmp_path):
    settings.WEIR_CLIENT_DIST = tmp_path
    return tmp_path


@pytest.mark.parametrize("path", ["/client/", "/t/acme/client/"])
def test_the_line_to_install_names_this_portal_and_the_digest(member, operator, dist, path):
    (dist / NAME).write_bytes(b"wheel")
    page = (
        operator("operations_manager") if path.startswith("/t/") else member("acme", "tenant_front_line")
    ).page()
    text = html.unescape(page.get(path).content.decode())
    host = "localhost" if path.startswith("/t/") else "acme.localhost"
    digest = hashlib.sha256(b"wheel").hexdigest()
    assert f'pip install "weir-client[torch] @ http://{host}/client/{NAME}#sha256={digest}"' in text
    assert f"weir login http://{host} --user" in text
    answer = page.get(f"/client/{NAME}")
    assert (answer.content, answer["Cache-Control"]) == (b"wheel", "no-cache")


def test_a_portal_without_a_wheel_says_so(member, operator, dist):
    for page in (member("acme", "tenant_front_line").page(), operator("operations_manager").page()):
        answer = page.get("/client/")
        assert answer.status_code == 200
        assert 'data-test="empty"' in answer.content.decode()
        assert page.get(f"/client/{NAME}").status_code == 404
