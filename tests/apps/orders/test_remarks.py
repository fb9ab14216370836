"""What tenant and computing centre say to each other about an order (PLAT-APPLY-17)."""

from dataclasses import replace

import pytest
from django.urls import reverse

from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orders.models import Order, OrderRemark
from apps.orders.services import remarks
from apps.orders.services.remarks import order_remark
from tests.apps.orders.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-APPLY-17")]


@pytest.fixture
def order(scene: Scene) -> Order:
    return scene.ordered()


def told(person) -> list[tuple[str, str]]:
    rows = Message.objects.filter(user=person.user, msgid=remarks.SAID).order_by("pk")
    return [(row.params["text"], row.link) for row in rows]


def test_the_tenant_asks_and_the_centre_answers(scene: Scene, order: Order) -> None:
    order_remark(actor=scene.ann.actor, order_uid=order.uid, text=" Please with CUDA 12. ")
    under = f"/t/acme/orders/{order.uid}/"
    assert told(scene.manager) == told(scene.worker) == [("Please with CUDA 12.", under)]
    assert told(scene.ann) == []
    order_remark(actor=scene.worker.actor, order_uid=order.uid, text="It is there now.")
    assert told(scene.ann) == [("It is there now.", f"/orders/{order.uid}/")]
    assert told(scene.worker) == [("Please with CUDA 12.", under)]
    rows = list(OrderRemark.objects.values_list("author_name", "by_operator"))
    assert rows == [(str(scene.ann.user), False), (str(scene.worker.user), True)]
    before = order.state
    order.refresh_from_db()
    assert order.state == before


def test_who_does_not_see_the_order_says_and_reads_nothing(scene: Scene, order: Order, member) -> None:
    other = member("acme", "tenant_front_line", "olga")
    with pytest.raises(NotFound):
        order_remark(actor=other.actor, order_uid=order.uid, text="mine?")
    with pytest.raises(Forbidden):
        order_remark(actor=replace(scene.ann.actor, is_read_only=True), order_uid=order.uid, text="x")
    stranger = member("globex", "tenant_decision_maker", "gil")
    path = f"/api/v1/orders/{order.uid}/remarks"
    assert stranger.api().get(path).status_code == 404
    assert stranger.api().post(path, {"text": "x"}, format="json").status_code == 404
    with in_tenant("acme"):
        assert not OrderRemark.objects.exists()


def test_nothing_empty_or_endless_and_not_without_end(scene: Scene, order: Order, monkeypatch) -> None:
    for wrong in ("", "  ", "x" * 2001):
        with pytest.raises(InvalidInput) as refused:
            order_remark(actor=scene.ann.actor, order_uid=order.uid, text=wrong)
        assert set(refused.value.fields) == {"text"}
    monkeypatch.setattr(remarks, "REMARKS_MOST", 1)
    order_remark(actor=scene.ann.actor, order_uid=order.uid, text="one")
    with pytest.raises(Conflict):
        order_remark(actor=scene.ann.actor, order_uid=order.uid, text="two")
    assert OrderRemark.objects.count() == 1


def test_by_page_and_by_api(scene: Scene, order: Order) -> None:
    page, path = scene.ann.page(), f"/api/v1/orders/{order.uid}/remarks"
    url = reverse("orders:remark", args=[order.uid], urlconf="portal.urls_tenant")
    one = reverse("orders:order", args=[order.uid], urlconf="portal.urls_tenant")
    assert page.post(url, {"text": ""}).status_code == 400
    assert page.post(url, {"text": "<b>When</b>?"}).status_code == 302
    assert "&lt;b&gt;When&lt;/b&gt;?" in page.get(one).content.decode()
    made = scene.ann.api().post(path, {"text": "Today?\nAt noon?"}, format="json")
    assert (made.status_code, made.json()["by_operator"]) == (201, False)
    with in_tenant("acme"):
        order_remark(actor=scene.worker.actor, order_uid=order.uid, text="Today.")
    rows = scene.ann.api().get(path).json()["results"]
    assert [row["text"] for row in rows] == ["<b>When</b>?", "Today?\nAt noon?", "Today."]
    assert "Computing centre" in page.get(one).content.decode()
