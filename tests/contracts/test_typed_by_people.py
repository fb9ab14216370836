"""What people type: names with emoji, texts far too long, figures with blanks and in wide digits. It is taken as it is
meant, or refused in words, and then changes nothing."""

import html

import pytest

from apps.identity.models import ApiToken

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]
HTMX = {"HX-Request": "true"}
FAR_TOO_LONG = "很长的文字 long text " * 500


@pytest.fixture
def alice(world):
    page = world.page("alice")
    page.cookies["django_language"] = "en"
    return page


@pytest.mark.parametrize("name", ["🚀 train 👩‍🔬", "模型一号", "naïve Δ ß", "<b>bold</b>", 'O\'Neil "x"'])
def test_a_name_stands_as_it_was_typed(alice, name):
    assert alice.post("/account/tokens/", {"name": name, "days": "30"}).status_code == 200
    assert ApiToken.objects.filter(name=name).count() == 1
    text = alice.get("/account/tokens/").content.decode()
    assert name in html.unescape(text)
    assert "<b>bold</b>" not in text


@pytest.mark.parametrize("days", [" 30 ", "３０", " ３０"])
def test_a_figure_counts_however_it_was_typed(alice, days):
    assert alice.post("/account/tokens/", {"name": "typed by hand", "days": days}).status_code == 200
    assert ApiToken.objects.filter(name="typed by hand").count() == 1


@pytest.mark.parametrize("days", ["-1", "1e3", "thirty", "三十", "", "9" * 40, "30; drop table"])
def test_what_is_no_figure_is_refused_in_words(alice, days):
    answer = alice.post("/account/tokens/", {"name": "never made", "days": days}, headers=HTMX)
    assert answer.status_code == 400
    assert 'data-test="problem"' in answer.content.decode() or "invalid-feedback" in answer.content.decode()
    assert not ApiToken.objects.filter(name="never made").exists()


def test_a_text_of_ten_thousand_characters_is_refused_by_the_name_of_its_field(alice):
    before = ApiToken.objects.count()
    answer = alice.post("/account/tokens/", {"name": FAR_TOO_LONG, "days": "30"}, headers=HTMX)
    assert answer.status_code == 400
    assert "80" in answer.content.decode()
    assert ApiToken.objects.count() == before


@pytest.mark.parametrize(
    ("who", "path"),
    [
        ("alice", "/help/?search={}"),
        ("alice", "/search/?q={}"),
        ("alice", "/resources/?search={}"),
        ("alice", "/catalogue/?search={}"),
        ("ops", "/cases/?search={}"),
        ("admin", "/logs/?search={}"),
    ],
)
@pytest.mark.parametrize("question", ["🚀", "很长" * 5000, "%00", "' OR 1=1 --", "  ", "算力"])
def test_whatever_is_searched_for_the_page_opens(world, who, path, question):
    answer = world.page(who).get(path.format(question))
    assert answer.status_code in {200, 400}
