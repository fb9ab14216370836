"""What somebody left behind who has gone is ended by others, by page and by API."""

import pytest

from apps.identity.services.users import membership_remove
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm
from tests.apps.orders.scene import Scene

pytestmark = pytest.mark.django_db


@pytest.mark.req("PLAT-APPLY-20")
@pytest.mark.parametrize("by_page", [True, False])
def test_what_a_leaver_left_is_ended_by_another(scene: Scene, member, by_page):
    order = scene.ordered()
    membership_remove(actor=SYSTEM, user=scene.ann.user, tenant=scene.tenant)
    front = member("acme", "tenant_front_line")
    assert front.api().post(f"/api/v1/orders/{order.uid}/terminate", {"reason": "gone"}).status_code == 404
    olga = member("acme", "tenant_operations_manager")
    if by_page:
        page = olga.page()
        assert 'data-test="terminate"' in page.get(f"/orders/{order.uid}/").content.decode()
        assert page.post(f"/orders/{order.uid}/terminate/", {"reason": "ann has left"}).status_code == 302
    else:
        path = f"/api/v1/orders/{order.uid}/terminate"
        assert olga.api().post(path, {"reason": "ann has left"}).status_code == 201
    with in_tenant("acme"):
        form = ApplicationForm.objects.get(kind="termination")
        assert (form.applicant_id, form.state) == (olga.user.pk, "submitted")
        scene.decide(form, "approve")
        order.refresh_from_db()
        assert order.state in ("terminated", "terminating")
