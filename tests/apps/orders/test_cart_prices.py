"""What is in the cart costs so much, line by line and together, before anything is applied for."""

from decimal import Decimal
from uuid import uuid4

import pytest
from lxml import html

from apps.catalog.models import Commodity
from apps.kernel.planes import in_tenant
from apps.orders.models import CartLine
from tests.apps.orders.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-APPLY-1", "PLAT-OPS-5")]


def put(scene: Scene, count: int = 1) -> CartLine:
    amounts = {f"amount_{part.component.code}": part.default for part in scene.commodity.components.all()}
    asked = {"count": count, "duration": 2, "duration_unit": "3600"}
    answer = scene.ann.page().post(f"/commodities/{scene.commodity.uid}/put-in-cart/", amounts | asked)
    assert answer.status_code == 302, answer.content.decode()
    with in_tenant("acme"):
        return CartLine.objects.select_related("commodity").order_by("-pk").first()


def figures(text: str) -> tuple[list[str], str]:
    """The price of each line, and the sum of those that are ticked."""
    page = html.fromstring(f"<div>{text}</div>")
    lines = [" ".join(part.text_content().split()) for part in page.xpath("//*[@data-test='cart-price']")]
    return lines, page.xpath("string(//*[@data-test='cart-total'])")


def quoted(scene: Scene, line: CartLine, hours: int) -> Decimal:
    """What the API quotes for the line."""
    body = {
        "commodity": str(scene.commodity.uid),
        "amounts": line.amounts,
        "count": line.count,
        "duration_s": hours * 3600,
    }
    answer = scene.ann.api().post("/api/v1/quotes", body, format="json")
    assert answer.status_code == 200, answer.content
    return Decimal(answer.json()["total"])


def shown(amount: Decimal) -> str:
    return f"¥{amount:,.2f}"


def test_each_line_has_its_price_and_all_their_sum(scene: Scene):
    one, three = put(scene), put(scene, count=3)
    prices = quoted(scene, one, 2), quoted(scene, three, 2)
    page = scene.ann.page()
    session = page.session
    session["weir_duration"] = ["2", "3600"]
    session.save()
    lines, total = figures(page.get("/cart/").content.decode())
    assert [line.split()[0] for line in lines] == [shown(prices[1]), shown(prices[0])]
    assert "an hour" in lines[0]
    assert total == shown(sum(prices))


def test_prices_follow_the_time_and_what_is_ticked(scene: Scene):
    one, three = put(scene), put(scene, count=3)
    page = scene.ann.page()
    asked = {"duration": 3, "duration_unit": "3600"}
    text = page.get("/cart/prices/", asked | {"lines": [one.uid, uuid4()]}).content.decode()
    lines, total = figures(text)
    assert len(lines) == 2
    assert text.count("hx-swap-oob") == 2
    assert total == shown(quoted(scene, one, 3))
    assert lines[0].startswith(shown(quoted(scene, three, 3)))
    assert figures(page.get("/cart/prices/", asked).content.decode())[1] == "¥0.00"
    refused = page.get("/cart/prices/", {"duration": "", "duration_unit": "3600", "lines": [one.uid]})
    assert 'data-test="problem"' in refused.content.decode()


def test_a_line_that_cannot_be_priced_says_why_and_is_not_counted(scene: Scene):
    one = put(scene)
    Commodity.objects.filter(pk=scene.commodity.pk).update(max_duration_s=7200)
    asked = {"duration": 3, "duration_unit": "3600", "lines": [one.uid]}
    text = scene.ann.page().get("/cart/prices/", asked).content.decode()
    lines, total = figures(text)
    assert not lines[0].startswith("¥")
    assert lines[0]
    assert total == "¥0.00"
    assert "cannot be priced" in text


def test_taking_a_line_out_asks_first(scene: Scene):
    put(scene)
    page = html.fromstring(scene.ann.page().get("/cart/").content.decode())
    (button,) = page.xpath("//button[@data-test='cart-remove']")
    assert scene.commodity.name in " ".join(button.get("hx-confirm").split())
