"""A page of the portal, filled in as a guide says: fields by their labels, a button by its text.

python -m tests.harness.guide_pages ADDRESS < LINES, with cookies kept in the current folder.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from lxml import html

_COOKIES = Path("cookies.json")


class Portal:
    """One person's browser: every host of the portal is this machine, each with cookies of its own."""

    def __init__(self) -> None:
        self._jars = json.loads(_COOKIES.read_text()) if _COOKIES.exists() else {}

    def ask(self, address: str, given: dict[str, str] | None = None) -> tuple[str, html.HtmlElement]:
        """Where a GET, or a POST of `given`, ends after its redirects, and the page there. A refusal ends the program
        with what the page says."""
        for _hop in range(5):
            parts = urlsplit(address)
            jar = self._jars.setdefault(parts.netloc, {})
            answer = httpx.request(
                "POST" if given else "GET",
                f"http://127.0.0.1:{parts.port}{parts.path}?{parts.query}",
                data=given,
                headers={"host": parts.netloc, "accept-language": "en", "referer": address},
                cookies=jar,
                timeout=60,
            )
            jar.update(answer.cookies)
            _COOKIES.write_text(json.dumps(self._jars))
            if answer.status_code != 302:
                break
            address, given = str(httpx.URL(address).join(answer.headers["location"])), None
        page = html.fromstring(answer.text)
        if answer.is_error:
            said = page.xpath("//*[@role='alert'] | //*[contains(@class, 'invalid-feedback')]")
            raise SystemExit(f"{address}: {answer.status_code}: {' '.join(map(_text, said))}")
        return address, page


def _text(node: html.HtmlElement) -> str:
    return " ".join(node.text_content().split())


def _fields(form: html.HtmlElement) -> dict[str, html.HtmlElement]:
    """The form's fields by their labels."""
    found = {}
    for field in form.xpath(".//input[@name] | .//select[@name] | .//textarea[@name]"):
        labels = [_text(label) for label in form.xpath(f".//label[@for='{field.get('id')}']")]
        for label in (field.get("aria-label"), *labels):
            found.setdefault(label or "", field)
    return found


def _filled(form: html.HtmlElement, lines: Iterable[str]) -> dict[str, str]:
    """What the form sends when these lines, a label and a value each, are filled in."""
    fields = _fields(form)
    for line in lines:
        label = max((one for one in fields if line.startswith(f"{one}: ")), key=len, default=None)
        if label is None:
            raise SystemExit(f"{line!r} names none of the fields {sorted(fields)}")
        field, text = fields[label], line.removeprefix(f"{label}: ")
        if field.tag == "select":
            options = {one.get("value"): _text(one) for one in field.xpath(".//option")}
            text = next((value for value, shown in options.items() if shown.startswith(text)), None)
            if text is None:
                raise SystemExit(f"{line!r} is none of {list(options.values())}")
        field.value = text
    return dict(form.form_values())


def visit(address: str, text: str) -> None:
    """Open the page, fill in its lines, and press the button that the last one names."""
    portal = Portal()
    address, page = portal.ask(address)
    *lines, button = text.strip().splitlines()
    known = [form for form in page.forms if button[1:-1] in map(_text, form.xpath(".//button"))]
    if not known:
        raise SystemExit(f"{address}: there is no button {button}")
    form = known[0]
    where, shown = portal.ask(str(httpx.URL(address).join(form.action or address)), _filled(form, lines))
    print(where, *map(_text, shown.xpath("//*[@data-test='message']")), sep="\n")


if __name__ == "__main__":
    visit(sys.argv[1], sys.stdin.read())
