"""Files of people by the API, a tenant's and the operators' own: what both sides' views share."""

from dataclasses import replace
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api import serializers as s
from apps.identity.rules.people_file import Outcome
from apps.kernel.errors import TooLarge
from apps.kernel.spreadsheet import FILE_MAX_BYTES
from apps.kernel.workbook import XLSX_TYPE

# How a file is described that may come in either form.
FILES = {
    (200, "text/csv"): OpenApiResponse(OpenApiTypes.BINARY),
    (200, XLSX_TYPE): OpenApiResponse(OpenApiTypes.BINARY),
}


def form_asked(request: Request) -> str:
    """`csv` unless the query says `xlsx`."""
    given = s.FileFormIn(data=request.query_params)
    given.is_valid(raise_exception=True)
    return str(given.validated_data["format"])


def file_sent(given: dict[str, Any]) -> bytes:
    """The bytes of the file; TooLarge before they are read."""
    file = given["file"]
    if file.size > FILE_MAX_BYTES:
        raise TooLarge()
    return bytes(file.read())


def imported(outcomes: list[Outcome], *, is_done: bool) -> Response:
    """What became of each row; of a try no secrets, which open nothing."""
    if not is_done:
        outcomes = [replace(outcome, secret="") for outcome in outcomes]
    rows = s.ImportRowOut(outcomes, many=True).data
    return Response({"is_done": is_done, "rows": rows})
