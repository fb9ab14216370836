"""Work that a commodity sells without a program: the buyer says what runs, and the order delivers precisely that."""

from typing import Any

import pytest
from django.urls import reverse

from apps.catalog.models import Commodity
from apps.fleet.services.secrets import secret_delete, secret_set
from apps.images.models import Image, ImageVersion
from apps.images.states import Owner, VersionState
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm, FormLine
from apps.orders.services.carts import cart_add
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from apps.scheduling.models import Workload
from tests.apps.catalog.market import AMOUNTS, commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.orders.test_kinds import sold

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-SVC-8")]


@pytest.fixture
def shop(scene: Scene) -> Scene:
    """The scene with a share of a card on which the buyer's own program runs."""
    return sold(scene, "OWN-1", work={}, where={"is_own_program": True})


def drafted(shop: Scene, **program: Any) -> ApplicationForm:
    return shop.draft(lines=[LineInput(shop.commodity.uid, dict(AMOUNTS), 1, program)])


def delivered(shop: Scene, **program: Any) -> Workload:
    form = form_submit(actor=shop.ann.actor, form_uid=drafted(shop, **program).uid)
    order = shop.decide(form, "approve", "approve").orders.get()
    return workload_of(order_deliver(actor=SYSTEM, order_uid=order.uid))


def test_a_command_with_its_variables_runs_on_the_sold_share(shop: Scene):
    row = delivered(shop, argv=["python", "mine.py"], env={"LR": "0.1"})
    assert (row.work["argv"], row.work["env"]) == (["python", "mine.py"], {"LR": "0.1"})
    assert (row.compute_percent, row.memory_mib, row.host_cpu_milli) == (20, 10240, 4000)


def test_a_script_is_run_by_the_shell_as_it_stands(shop: Scene):
    script = "set -e\necho 'two words' > out\n"
    assert delivered(shop, script=script).work["argv"] == ["sh", "-c", script]


def image_make(**whose: Any) -> ImageVersion:
    image = Image.objects.create(name="mine", **whose)
    return ImageVersion.objects.create(
        image=image, tag="1", state=VersionState.READY, repository=f"x/{image.uid.hex}",
        digest=f"sha256:{image.uid.hex * 2}", architecture="amd64", size_bytes=1, unpacked_bytes=1,
        entry_point=["/run"], layers=[],
    )  # fmt: skip


def test_it_runs_in_an_image_that_the_buyer_may_run_and_in_no_other(shop: Scene, globex):
    version = image_make(tenant=shop.tenant, owner=Owner.PERSON, person=shop.ann.user)
    row = delivered(shop, image="mine:1")
    assert (row.work["argv"], row.work["image"]["digest"]) == (["/run"], version.digest)
    image_make(tenant=globex, owner=Owner.TENANT)
    version.delete()
    with pytest.raises(InvalidInput) as caught:
        form_submit(actor=shop.ann.actor, form_uid=drafted(shop, image="mine:1").uid)
    assert set(caught.value.fields) == {"lines.0.image"}


@pytest.mark.parametrize(
    "program",
    [
        {},
        {"argv": ["a"], "script": "b"},
        {"script": "x" * 33_000},
        {"user": "root"},
        {"argv": ["a"], "assets": ["none"]},
    ],
)
def test_what_is_no_program_is_refused_of_its_line(shop: Scene, program: dict[str, Any]):
    with pytest.raises(InvalidInput) as caught:
        form_submit(actor=shop.ann.actor, form_uid=drafted(shop, **program).uid)
    assert all(name.startswith("lines.0.") for name in caught.value.fields)
    assert shop.held() == (0, 0)


def test_a_variable_without_a_name_never_reaches_a_node(shop: Scene):
    with pytest.raises(InvalidInput):
        form_submit(actor=shop.ann.actor, form_uid=drafted(shop, argv=["a"], env={"1 2": "x"}).uid)


def test_where_the_centres_program_runs_nobody_brings_another(scene: Scene):
    with pytest.raises(InvalidInput) as caught:
        drafted(scene, argv=["rm"])
    assert set(caught.value.fields) == {"lines.0.program"}


def test_a_commodity_runs_the_one_program_or_the_other(scene: Scene):
    for changes in ({"work": {"argv": ["true"], "env": {}}}, {"work": {}, "kind": "environment"}):
        with pytest.raises(InvalidInput):
            commodity_make("OWN-2", where={"is_own_program": True}, **changes)


def test_by_its_page_from_the_cart_to_the_approvers(shop: Scene):
    cart_add(actor=shop.ann.actor, commodity_uid=shop.commodity.uid)
    form, page = drafted(shop), shop.ann.page()
    given = {f"line_0_amount_{code}": amount for code, amount in AMOUNTS.items()} | {
        "line_0_commodity": shop.commodity.uid, "line_0_count": 1, "duration": 1, "duration_unit": 3600,
        "line_0_program_command": "python mine.py --name 'two words'", "line_0_program_variables": "LR=0.1\r\nA=b=c",
    }  # fmt: skip
    save = reverse("orders:form_save", args=[form.uid], urlconf="portal.urls_tenant")
    assert page.post(save, given | {"line_0_program_command": "python 'open"}).status_code == 400
    assert page.post(save, given).status_code == 302
    with in_tenant("acme"):
        line = FormLine.objects.get(form__uid=form.uid)
    assert line.program == {
        "argv": ["python", "mine.py", "--name", "two words"],
        "env": {"LR": "0.1", "A": "b=c"},
    }
    edit = reverse("orders:form_edit", args=[form.uid], urlconf="portal.urls_tenant")
    assert "python mine.py --name &#x27;two words&#x27;" in page.get(edit).content.decode()
    with in_tenant("acme"):
        form_submit(actor=shop.ann.actor, form_uid=form.uid)
    parts = reverse("orders:form", args=[form.uid], urlconf="portal.urls_tenant")
    seen = shop.boss.page().get(parts).content.decode()
    assert "python mine.py --name two words" in seen
    assert "LR=0.1" in seen  # who decides sees what it is told


def test_its_page_proposes_the_images_that_the_buyer_may_run(shop: Scene):
    image_make(tenant=shop.tenant, owner=Owner.PERSON, person=shop.ann.user)
    edit = reverse("orders:form_edit", args=[drafted(shop).uid], urlconf="portal.urls_tenant")
    assert '<option value="mine:1">' in shop.ann.page().get(edit).content.decode()


def test_by_the_api(shop: Scene):
    line = {"commodity": str(shop.commodity.uid), "amounts": AMOUNTS, "program": {"script": "echo hello\n"}}
    body = {"lines": [line], "duration_s": 3600}
    answer = shop.ann.api().post("/api/v1/application-forms", body, format="json")
    assert answer.status_code == 201, answer.json()
    assert answer.json()["lines"][0]["program"] == {"script": "echo hello\n"}
    assert Commodity.objects.get(number="OWN-1").work == {}


def test_it_is_given_secrets_by_name_and_nobody_who_decides_sees_a_value(shop: Scene):
    value = "correct-horse-battery"
    keep = {"actor": shop.ann.actor, "tenant": shop.tenant}
    mine = secret_set(**keep, name="HF_TOKEN", secret_value=value)
    secret_set(actor=shop.boss.actor, tenant=shop.tenant, name="OF_THE_BOSS", secret_value="x")
    row = delivered(shop, argv=["true"], env={"LR": "0.1"}, secrets=["HF_TOKEN"])
    assert row.secrets == {"HF_TOKEN": str(mine.uid)}
    assert "HF_TOKEN" not in row.work["env"]
    form = ApplicationForm.objects.get(lines__order__uid=row.order_uid)
    uid, number = form.uid, form.no
    for who in (shop.ann, shop.boss):
        shown = who.page().get(f"/forms/{uid}/").content.decode()
        assert number in shown
        assert "Secrets: HF_TOKEN" in shown
        assert value not in shown
        assert value not in str(who.api().get(f"/api/v1/application-forms/{uid}").json())
    with in_tenant("acme"):
        secret_delete(**keep, secret_uid=mine.uid)
        with pytest.raises(InvalidInput) as caught:
            form_submit(actor=shop.ann.actor, form_uid=drafted(shop, argv=["a"], secrets=["HF_TOKEN"]).uid)
        assert set(caught.value.fields) == {"lines.0.secrets"}
        # Others' are none of his, and a name stands for one thing.
        for said in ({"secrets": ["OF_THE_BOSS"]}, {"secrets": ["LR"], "env": {"LR": "1"}}):
            with pytest.raises(InvalidInput) as caught:
                form_submit(actor=shop.ann.actor, form_uid=drafted(shop, argv=["a"], **said).uid)
            assert set(caught.value.fields) == {"lines.0.secrets"}
