"""The addresses of work: its own page, and its web pages beside the portal that was asked."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.http import urlencode

from apps.scheduling.models import Workload
from apps.scheduling.services.web_pages import ENTER_PATH, web_host


def work_page(row: Workload) -> str:
    """The path of its page for an operator, who enters its tenant for it."""
    return f"/t/{row.tenant.schema_name}/resources/{row.uid}/"


def web_origin(request: HttpRequest, workload_uid: UUID) -> str:
    """The address of a service: by the scheme and at the port of the portal that was asked."""
    _name, colon, port = request.get_host().rpartition(":")
    at = f":{port}" if colon and port.isdigit() else ""
    return f"{request.scheme}://{web_host(workload_uid)}{at}"


def web_address(request: HttpRequest, workload_uid: UUID, ticket: str) -> str:
    """Where a ticket is changed for the pages."""
    return f"{web_origin(request, workload_uid)}{ENTER_PATH}?{urlencode({'ticket': ticket})}"
