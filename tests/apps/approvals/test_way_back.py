"""Where one who decided goes on to."""

from collections.abc import Iterator

import pytest
from django.urls import reverse, set_script_prefix, set_urlconf

from apps.approvals.views import _inbox_url


@pytest.fixture
def entered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Paths as the middleware leaves them for a request in a tenant's portal under the given prefix."""
    set_urlconf("portal.urls_tenant")
    set_script_prefix(request.param)
    yield
    set_script_prefix("/")
    set_urlconf(None)


@pytest.mark.req("PLAT-TODO-1")
@pytest.mark.usefixtures("entered")
@pytest.mark.parametrize(
    ("entered", "tenants_inbox"), [("/", "/inbox/"), ("/t/acme/", "/t/acme/inbox/")], indirect=["entered"]
)
def test_who_decided_goes_back_to_the_inbox_of_the_host(tenants_inbox: str) -> None:
    assert reverse("approvals:inbox") == tenants_inbox
    assert _inbox_url() == "/inbox/"
