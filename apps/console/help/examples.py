"""One call of the API written for the command line, for Python and for curl, to be copied."""

import json
import shlex
from dataclasses import dataclass

from django.utils.translation import gettext as _


@dataclass(frozen=True, slots=True)
class Example:
    """A text to copy and what it is for; `code` tells it apart on its page."""

    code: str
    label: str
    text: str


def call_examples(method: str, path: str, portal: str, body: str = "") -> list[Example]:
    """One call as each kind of program writes it.

    Args:
        method: lower-case, as the API's description has it.
        path: from the host on, `/api/v1/…`.
        portal: where the reader's portal is, without a slash at the end.
        body: the JSON that is sent; empty where nothing is.
    """
    return [
        Example("cli", _("Command line"), _cli(method, path, body)),
        Example("python", "Python", _python(method, path, body)),
        Example("curl", "curl", _curl(method, path, portal, body)),
    ]


def command_examples(cli: str, python: str, path: str, portal: str) -> list[Example]:
    """What reads one thing: by a command of its own, by a method of the client, and by curl."""
    return [
        Example("cli", _("Command line"), cli),
        Example("python", "Python", _in_client(python)),
        Example("curl", "curl", _curl("get", path, portal, "")),
    ]


def _cli(method: str, path: str, body: str) -> str:
    verb = "" if method == ("post" if body else "get") else f" -X {method.upper()}"
    short = path.removeprefix("/api/v1/")
    if not body:
        return f"weir api{verb} {short}"
    return f"weir api{verb} {short} --input - <<'JSON'\n{body}\nJSON"


def _python(method: str, path: str, body: str) -> str:
    short = path.removeprefix("/api/v1/")
    if not body:
        return _in_client(f'centre.call("{method.upper()}", "{short}")')
    # JSON's own words for nothing and for truth are not Python's.
    return _in_client(f'centre.call("{method.upper()}", "{short}", {json.loads(body)!r})')


def _in_client(call: str) -> str:
    return f"import weir\n\nwith weir.Client.from_config() as centre:\n    print({call})"


def _curl(method: str, path: str, portal: str, body: str) -> str:
    verb = "" if method == "get" else f" -X {method.upper()}"
    lines = [f'curl{verb} "{portal}{path}"', '  -H "Authorization: Bearer $WEIR_TOKEN"']
    if body:
        lines += ['  -H "Content-Type: application/json"', f"  -d {shlex.quote(body)}"]
    return " \\\n".join(lines)
