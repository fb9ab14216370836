"""The help inside the portal: its documents, its search, the API's description, and what is new."""

import html
import re

import pytest

from apps.console.help import api_reference
from apps.console.help.documents import DOCUMENTS
from apps.console.help.rendering import rendered

pytestmark = pytest.mark.django_db
HREF = re.compile(r'href="([^"]+)"')


@pytest.fixture
def alice(member):
    return member("acme", "tenant_front_line")


def text_of(page, path, language="en"):
    page.cookies["django_language"] = language
    answer = page.get(path)
    assert answer.status_code == 200, path
    return html.unescape(answer.content.decode())


def test_html_in_a_document_is_shown_and_no_part_of_the_page():
    body = rendered(
        '# T\n\n<script>x</script> <img onerror=x> [a](javascript:alert(1)) [b](../secret.md) "q"',
        pages=frozenset(),
    ).body
    assert "<script" not in body
    assert "<img" not in body
    assert "href" not in body
    assert "&lt;script&gt;" in body


def test_headings_have_places_and_links_between_documents_lead_to_their_pages():
    found = rendered(
        "# T\n\n## A `b`, c\n\nsee [x](other.md#part), [y](#a-b-c), [gone](missing.md)\n\n## A `b`, c\n",
        pages=frozenset({"other"}),
    )
    assert [heading.anchor for heading in found.contents] == ["a-b-c", "a-b-c-1"]
    assert 'href="../other/#part"' in found.body
    assert 'href="#a-b-c"' in found.body
    assert "missing" not in found.body
    assert "gone" in found.body


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_document_opens_and_its_links_lead_somewhere(operator, language):
    page = operator("operations_manager").page()
    for document in DOCUMENTS:
        path = f"/help/{document.slug}/"
        text = text_of(page, path, language)
        body = text.partition("<article")[2].partition("</article>")[0]
        assert "](" not in re.sub(r"<pre.*?</pre>|<code>.*?</code>", "", body, flags=re.DOTALL)
        for address in HREF.findall(body):
            target, _hash, anchor = address.partition("#")
            if target.startswith("http"):
                continue
            there = text_of(page, f"/help/{target[3:]}", language) if target else text
            assert not anchor or f'id="{anchor}"' in there, f"{path}: {address}"


def test_what_is_for_operators_is_for_them_alone(alice, operator):
    page = alice.page()
    assert page.get("/help/operating/").status_code == 404
    assert "operating" not in text_of(page, "/help/")
    assert 'data-slug="operating"' in text_of(operator("operations_manager").page(), "/help/")


def test_examples_name_the_readers_portal_and_himself(alice):
    text = text_of(alice.page(), "/help/engineers-first-hour/")
    assert f"weir login http://acme.localhost -u {alice.user.username}" in text
    assert "localhost:8000" not in text


def test_who_reads_chinese_is_told_what_is_in_english_only(alice):
    page = alice.page()
    assert 'data-test="help-foreign"' in text_of(page, "/help/coming-from/", "zh-hans")
    assert 'data-test="help-foreign"' not in text_of(page, "/help/coming-from/")
    for slug, word in (("engineers-first-hour", "安装与登录"), ("glossary", "切片")):
        text = text_of(page, f"/help/{slug}/", "zh-hans")
        assert 'data-test="help-foreign"' not in text
        assert word in text


def test_the_glossary_is_shown_without_what_is_for_those_who_write_code(alice):
    text = text_of(alice.page(), "/help/glossary/")
    assert "gates.names" not in text
    assert "Retired" not in text
    assert "切片" in text


def test_the_search_finds_parts_of_documents_and_calls(alice):
    page = alice.page()
    text = text_of(page, "/help/?search=exit+status")
    assert "/help/engineers-first-hour/#exit-statuses" in text
    assert 'data-test="help-hit-api"' in text_of(page, "/help/?search=workloads/{uid}/extend")
    assert "存储卷" in text_of(page, "/help/?search=存储卷", "zh-hans")
    assert 'data-test="empty"' in text_of(page, "/help/?search=no-such-thing-anywhere")
    assert (
        "<script>"
        not in page.get("/help/?search=<script>alert(1)</script>").content.decode().partition("<main")[2]
    )


def test_every_call_of_the_api_has_a_page_with_its_fields_and_examples(alice):
    found = [one for group in api_reference.groups() for one in group.operations]
    assert len(found) > 400
    assert len({one.id for one in found}) == len(found)
    page = alice.page()
    for group in api_reference.groups()[:: len(api_reference.groups()) // 8]:
        assert group.title in text_of(page, f"/help/api/{group.name}/")
    text = text_of(page, "/help/api/workloads/workloads_create/")
    assert "memory_mib" in text
    assert "weir api workloads --input -" in text
    assert 'curl -X POST "http://acme.localhost/api/v1/workloads"' in text
    assert 'centre.call("POST", "workloads", {' in text
    assert "data-try-call" not in text
    assert "data-try-call" in text_of(page, "/help/api/workloads/workloads_list/")
    assert page.get("/help/api/nothing/").status_code == 404
    assert page.get("/help/api/workloads/nothing/").status_code == 404


def test_what_is_new_is_marked_until_it_is_read(alice):
    page = alice.page()
    assert "has-news" not in text_of(page, "/help/")
    alice.user.news_read = "0.0.1"
    alice.user.save()
    assert "has-news" in text_of(page, "/help/")
    assert 'hx-post="/help/whats-new/read/"' in text_of(page, "/help/whats-new/")
    assert page.post("/help/whats-new/read/").status_code == 204
    assert "has-news" not in text_of(page, "/help/")
    assert "hx-post" not in text_of(page, "/help/whats-new/").partition("<main")[2]


def test_rows_stand_as_close_as_their_reader_wants_on_every_machine_of_his(alice):
    page = alice.page()
    assert 'data-density="comfortable"' in text_of(page, "/help/")
    answer = page.post("/account/density/", {"density": "compact", "next": "/help/"})
    assert (answer.status_code, answer["Location"]) == (302, "/help/")
    assert 'data-density="compact"' in text_of(alice.page(), "/help/")
    assert (
        page.post("/account/density/", {"density": "huge"}, headers={"HX-Request": "true"}).status_code == 400
    )
    assert 'data-density="compact"' in text_of(page, "/help/")
