"""The pages about one thing: each opens for its people, whole and in part, in both languages; and what the forms on
them send does what their buttons say."""

import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]
HTMX = {"HX-Request": "true"}
DETAILS = [
    ("alice", "/commodities/{commodity}/"),
    ("alice", "/catalogue/compare/?which={commodity}"),
    ("alice", "/forms/{form}/"),
    ("alice", "/forms/{form}/parts/"),
    ("alice", "/forms/{waiting_form}/"),
    ("alice", "/orders/{order}/"),
    ("alice", "/tickets/{ticket}/"),
    ("alice", "/tickets/{ticket}/parts/"),
    ("alice", "/tickets/{request}/"),
    ("alice", "/tickets/new/"),
    ("ops", "/t/acme/tickets/{request}/"),
    ("ops", "/t/acme/tickets/new/"),
    ("ops", "/tickets/?tab=todo&category=om"),
    ("ops", "/ticket-categories/"),
    ("ops", "/working-hours/"),
    ("alice", "/resources/{resource}/"),
    ("alice", "/files/{volume}/"),
    ("alice", "/files/{volume}/file/?path=plan.md"),
    ("alice", "/files/outputs/{resource}/"),
    ("alice", "/assets/{asset}/"),
    ("alice", "/images/{image}/"),
    ("alice", "/images/builds/"),
    ("alice", "/images/builds/new/"),
    ("alice", "/images/builds/{image_build}/"),
    ("admin", "/images/{image}/"),
    ("alice", "/resources/{resource}/brief/"),
    ("alice", "/resources/{resource}/log/?offset=0"),
    ("dan", "/tasks/{task}/"),
    ("dan", "/tasks/{waiting_task}/"),
    ("dan", "/forms/{waiting_form}/parts/"),
    ("olga", "/billing/bills/{bill}/"),
    ("olga", "/billing/bills/{bill}/lines/{bill_line}/"),
    ("olga", "/billing/costs/?span=year&dimension=person"),
    ("sam", "/organizations/business-systems/{business_system}/"),
    ("sam", "/people/{person}/"),
    ("alice", "/people/{person}/"),
    ("admin", "/t/acme/people/{person}/"),
    ("sam", "/people/import/"),
    ("admin", "/t/acme/people/import/"),
    ("admin", "/operators/import/"),
    ("admin", "/operators/organizations/"),
    ("admin", "/storage/"),
    ("ops", "/t/acme/tasks/{task}/"),
    ("ops", "/t/acme/resources/{resource}/"),
]


@pytest.mark.parametrize(("who", "path"), DETAILS)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_page_opens_for_its_people(world, who, path, language):
    page, path = world.page(who), world.fill(path)
    page.cookies["django_language"] = language
    for headers in ({}, HTMX):
        answer = page.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert "{%" not in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/resources/{resource}/", "weir logs "),
        ("/files/{volume}/", "weir cp data.csv "),
        ("/orders/{order}/", "weir order O"),
    ],
)
def test_a_thing_says_how_programs_reach_it(world, path, told):
    text = html.unescape(world.page("alice").get(world.fill(path)).content.decode())
    shown = text.partition('data-test="own-examples"')[2]
    assert world.fill(told) in shown
    assert "Authorization: Bearer $WEIR_TOKEN" in shown


def test_a_piece_of_a_log_ends_where_its_text_does(world):
    """It stands in a `pre`: a line break behind it would be a blank line on the page."""
    answer = world.page("alice").get(world.fill("/resources/{resource}/log/?offset=0"), headers=HTMX)
    assert answer.content.decode().endswith("</span>")


@pytest.mark.req("PLAT-APPLY-12", "PLAT-TODO-4")
def test_a_form_shows_its_parts(world):
    text = world.page("alice").get(world.fill("/forms/{form}/")).content.decode()
    for part in ("part-form", "part-orders", "part-tickets", "part-resources", "timeline", "attachments"):
        assert f'data-test="{part}"' in text, part


@pytest.mark.req("PLAT-TODO-10")
def test_a_delivery_ticket_shows_what_it_is_for(world):
    page = world.page("alice")
    assert 'data-test="order-parts"' in page.get(world.fill("/tickets/{ticket}/")).content.decode()
    text = page.get(world.fill("/tickets/{ticket}/parts/")).content.decode()
    for part in ("part-orders", "part-tickets", "part-resources", "timeline", "attachments"):
        assert f'data-test="{part}"' in text, part


@pytest.mark.req("PLAT-OPS-55")
def test_a_bill_line_opens_down_to_its_records(world):
    text = world.page("olga").get(world.fill("/billing/bills/{bill}/lines/{bill_line}/")).content.decode()
    assert text.count('data-test="usage-record"') >= 1


@pytest.fixture
def alice(world):
    page = world.page("alice")
    page.cookies["django_language"] = "en"
    return page


def configured(**changes: object) -> dict[str, object]:
    given = {
        "amount_compute_share": 20,
        "amount_gpu_memory": 512,
        "amount_cpu": 1,
        "amount_memory": 1024,
        "count": 1,
        "duration": 1,
        "duration_unit": 3600,
    }
    return given | changes


def test_the_quote_follows_what_is_configured_and_names_what_is_wrong(alice, world):
    path = world.fill("/commodities/{commodity}/quote/")
    text = alice.get(path, configured()).content.decode()
    assert 'data-test="quote-total"' in text
    assert 'data-test="expected-start"' in text
    for wrong in ({"amount_compute_share": 101}, {"count": 0}, {"duration": "x"}, {"amount_cpu": "-1"}):
        text = alice.get(path, configured(**wrong)).content.decode()
        assert 'data-test="problem"' in text, wrong


def draft_of(alice, world) -> str:
    """Cart, then application form: the address of the draft."""
    answer = alice.post(world.fill("/commodities/{commodity}/put-in-cart/"), configured())
    assert answer["Location"] == "/cart/"
    line = re.search(r'name="lines" value="([0-9a-f-]+)"', alice.get("/cart/").content.decode())[1]
    answer = alice.post("/cart/make-form/", {"lines": [line], "duration": 2, "duration_unit": 3600})
    return answer["Location"].removesuffix("edit/")


def test_the_cart_asks_for_as_long_as_was_asked_for_beside_the_quote(alice, world):
    wished = configured(duration=3, duration_unit=86400)
    alice.post(world.fill("/commodities/{commodity}/put-in-cart/"), wished)
    text = alice.get("/cart/").content.decode()
    assert 'name="duration" min="1" value="3"' in text
    assert '<option value="86400" selected>' in text


def filled(world, **changes: object) -> dict[str, object]:
    line = {f"line_0_{name}": value for name, value in configured().items() if "duration" not in name}
    given = {
        **line,
        "line_0_commodity": world.fill("{commodity}"),
        "duration": 90,
        "duration_unit": 60,
        "business_system": world.fill("{business_system}"),
        "remark": "by page",
    }
    return given | changes


@pytest.mark.req("PLAT-APPLY-3", "PLAT-APPLY-6", "PLAT-APPLY-14")
def test_a_form_is_made_kept_submitted_and_withdrawn(alice, world):
    form = draft_of(alice, world)
    assert alice.post(f"{form}save/", filled(world, act="save"))["Location"] == f"{form}edit/"
    text = alice.get(f"{form}edit/").content.decode()
    assert "by page" in text
    assert 'name="duration" min="1" value="90"' in text
    assert alice.post(f"{form}save/", filled(world, act="submit"))["Location"] == form
    assert 'data-test="withdraw"' in alice.get(form).content.decode()
    again = alice.post(f"{form}submit/", headers=HTMX)
    assert (again.status_code, again["HX-Retarget"]) == (409, "#problems")
    assert alice.post(f"{form}withdraw/").status_code == 302
    assert 'data-test="submit"' in alice.get(form).content.decode()


def test_a_refused_draft_keeps_what_it_said(alice, world):
    form = draft_of(alice, world)
    answer = alice.post(f"{form}save/", filled(world, line_0_count=0, act="submit"), headers=HTMX)
    assert answer.status_code == 400
    text = alice.get(form).content.decode()
    assert "by page" not in text
    assert 'data-state="draft"' in text


@pytest.mark.req("PLAT-APPLY-5", "PLAT-APPLY-7")
def test_files_are_taken_shown_harmlessly_and_go_with_the_draft(alice, world):
    form = draft_of(alice, world)
    text = SimpleUploadedFile("why.txt", b"<script>alert(1)</script>", "text/plain")
    part = alice.post(f"{form}attach/", {"file": text}, headers=HTMX).content.decode()
    path = re.search(r'href="(/attachments/[0-9a-f-]+/)"', part)[1]
    viewed = alice.get(f"{path}?view=1")
    assert viewed["Content-Type"].startswith("text/plain")
    assert "sandbox" in viewed["Content-Security-Policy"]
    assert alice.get(path)["Content-Disposition"].startswith("attachment")
    program = SimpleUploadedFile("run.exe", b"MZ", "application/octet-stream")
    assert alice.post(f"{form}attach/", {"file": program}, headers=HTMX).status_code == 400
    uid = form.strip("/").split("/")[-1]
    assert alice.post("/forms/delete/", {"chosen": [uid]}).status_code == 302
    assert alice.get(form).status_code == 404
    assert alice.get(path).status_code == 404


def test_deleting_drafts_is_all_or_none(alice, world):
    form = draft_of(alice, world)
    uids = [form.strip("/").split("/")[-1], world.fill("{form}")]
    assert alice.post("/forms/delete/", {"chosen": uids}, headers=HTMX).status_code == 409
    assert alice.get(form).status_code == 200


@pytest.mark.req("PLAT-TODO-5")
def test_an_approver_decides_once(world):
    dan, path = world.page("dan"), world.fill("/tasks/{waiting_task}/")
    assert 'data-test="decide-approve"' in dan.get(path).content.decode()
    assert dan.post(f"{path}decide/", {"decision": "maybe"}, headers=HTMX).status_code == 400
    assert dan.post(f"{path}decide/", {"decision": "approve", "comment": "Good"}).status_code == 302
    assert dan.post(f"{path}decide/", {"decision": "refuse"}, headers=HTMX).status_code == 409
    text = dan.get(path).content.decode()
    assert "Good" in text
    assert 'data-test="decide-approve"' not in text


@pytest.mark.req("PLAT-TEN-2")
def test_no_page_of_a_thing_opens_for_another_tenants_people(world):
    for who in ("gina", "gil", "greta"):
        page = world.page(who)
        for _owner, path in DETAILS:
            if "{" in path and "{commodity}" not in path and not path.startswith("/t/"):
                answer = page.get(world.fill(path))
                assert answer.status_code in {403, 404}, path
                assert "secret plan of acme" not in answer.content.decode()
