"""Where node agents fetch releases: with their own credentials, in their own error shape (POOL-12.20)."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import override
from django.views.decorators.http import require_GET

from apps.identity.services.tokens import agent_authenticate
from apps.kernel.errors import NotFound, WeirError
from apps.kernel.planes import in_public
from apps.rollouts.models import Release
from apps.rollouts.selectors import agent_release_keys
from node_agent.protocol.errors import ErrorDetail, ErrorReply


def _for_agents(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For nodes of this pool only; agents' logs are in English, so are the words to them."""

    @require_GET
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with override("en"), in_public():
            try:
                agent_authenticate(request.headers.get("Authorization", "").partition("Bearer ")[2].strip())
                return view(request, *args, **kwargs)
            except WeirError as error:
                detail = ErrorDetail(code=error.code, message=str(error.message), cure=str(error.cure))
                return _json(error.status, ErrorReply(error=detail).model_dump_json())

    return answer


def _json(status: int, body: str) -> HttpResponse:
    return HttpResponse(body, status=status, content_type="application/json")


@_for_agents
def release_keys(request: HttpRequest) -> HttpResponse:
    """The public keys that this pool's operators sign with, and those they have revoked."""
    # An agent of before there was revoking refuses words that it does not know.
    return _json(200, agent_release_keys().model_dump_json(exclude_defaults=True))


@_for_agents
def release(request: HttpRequest, version: str) -> HttpResponse:
    """A release as it was signed."""
    row = Release.objects.filter(version=version).first()
    if row is None:
        raise NotFound()
    return HttpResponse(bytes(row.content), content_type="application/zip")
