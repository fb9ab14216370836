"""The pages of people's files, a tenant's and the operators' own: send a file, look at what it would do, confirm."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.identity.pages.access import show
from apps.identity.pages.requests import PortalRequest
from apps.identity.rules.people_file import Change, Outcome, PeopleFile, outcomes_count, outcomes_digest
from apps.kernel.errors import InvalidInput, TooLarge
from apps.kernel.spreadsheet import FILE_MAX_BYTES, csv_pieces

# Refused rows are all shown; of the others no more than somebody looks through.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class ImportPage:
    """One side's page: what tries a file, what takes it with what was seen, and what the page says besides.

    `way_in` is what a new person's secret is part of: the link up to it; "" where it is the password itself.
    """

    tried: Callable[[bytes], list[Outcome]]
    taken: Callable[[bytes, str], list[Outcome]]
    way_in: str
    context: dict[str, Any]


def import_page(request: PortalRequest, page: ImportPage) -> HttpResponse:
    """The form; with a file what it would do; with that confirmed what it did."""
    if request.method != "POST":
        return show(request, "identity/people_import", page.context)
    data = _sent(request)
    seen = request.POST.get("seen", "")
    outcomes = page.taken(data, seen) if seen else page.tried(data)
    refused = [one for one in outcomes if one.change == Change.REFUSED]
    others = [one for one in outcomes if one.change != Change.REFUSED]
    counts = outcomes_count(outcomes)
    context = {
        "is_done": bool(seen),
        "counts": counts,
        "outcomes": [*refused, *others[:SHOWN]],
        "unshown": max(len(others) - SHOWN, 0),
        "may_take": not seen and not refused and counts[Change.NEW] + counts[Change.CHANGED] > 0,
        "table": base64.b64encode(data).decode(),
        "seen": outcomes_digest(outcomes),
    }
    if seen:
        context |= _secrets(outcomes, page.way_in)
    return show(request, "identity/people_import", page.context | context)


def _secrets(outcomes: list[Outcome], way_in: str) -> dict[str, Any]:
    """What new people get in with, shown this once, on the page and as a file that the page itself holds."""
    made = [
        (
            one.row.display_name,
            one.row.username or one.row.email,
            f"{way_in}{one.secret}/" if way_in else one.secret,
        )
        for one in outcomes
        if one.secret
    ]
    head = (
        pgettext("person", "Name"),
        _("E-mail") if way_in else _("Login account"),
        _("Invitation link") if way_in else _("First password"),
    )
    file = b"".join(csv_pieces([head, *made]))
    return {"made": made, "made_head": head, "made_file": base64.b64encode(file).decode()}


def _sent(request: PortalRequest) -> bytes:
    """The file, or what was looked at of it before."""
    file = request.FILES.get("file")
    if file is None:
        try:
            data = base64.b64decode(request.POST.get("table", ""), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if not data:
            raise InvalidInput(_("No file was sent."), cure=_("Choose a file first."))
        return data
    if (file.size or 0) > FILE_MAX_BYTES:
        raise TooLarge(
            _("The file is larger than %(limit)s KiB.") % {"limit": FILE_MAX_BYTES // 1024},
            cure=_("Send it in parts."),
        )
    return bytes(file.read())


def file_response(file: PeopleFile) -> HttpResponse:
    """The file as a download."""
    headers = {"Content-Disposition": f'attachment; filename="weir-{file.name}"'}
    return HttpResponse(file.content, content_type=file.content_type, headers=headers)
