"""A client of the portal whose way there can be cut."""

import httpx
from django.test import Client as Browser
from weir.api import Client
from weir.files.copying import bring, fetch, place_of

from apps.identity.services.tokens import api_token_make
from apps.kernel.actor import SYSTEM
from apps.tenancy.models import Tenant

_OF_THE_LINE = ("host", "connection", "content-length", "content-type")


class Line(httpx.BaseTransport):
    """The way to the portal, which can be cut: `lose` says of a request whether it, or its answer, is lost."""

    def __init__(self) -> None:
        # Django's own test client leaves the test's transaction open.
        self._portal = Browser(headers={"host": "localhost"})
        self.lose = lambda _request, _number: ""
        self.requests: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        number = len(self.requests)
        self.requests.append(f"{request.method} {request.url.path.rpartition('/')[2]}")
        lost = self.lose(request, number)
        if lost == "request":
            raise httpx.ConnectError("cut")
        told = {name: value for name, value in request.headers.items() if name not in _OF_THE_LINE}
        answer = self._portal.generic(
            request.method,
            request.url.raw_path.decode(),
            request.content,
            content_type=request.headers.get("content-type", ""),
            headers=told,
        )
        if lost == "answer":
            raise httpx.ReadError("cut")
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=body)


def client_of(person, line: Line) -> Client:
    """A client signed in as a person, that calls over the line."""
    tenant = Tenant.objects.get(schema_name="acme")
    _token, secret = api_token_make(actor=SYSTEM, user=person.user, name="cp", tenant=tenant)
    made = Client("http://localhost", secret)
    made._http = httpx.Client(transport=line, base_url=made._http.base_url, headers=made._http.headers)
    return made


def silent(_path, _done, _size):
    pass


def up(client, source, to, **more):
    return bring(client, source, place_of(client, to), recursive=True, progress=silent, **more)


def down(client, source, to, **more):
    return fetch(client, place_of(client, source), to, recursive=True, progress=silent, **more)
