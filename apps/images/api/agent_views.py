"""Where nodes fetch the images of the work that they are to run, and of no other: with their own credentials."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import override
from django.views.decorators.http import require_GET

from apps.fleet.selectors import node_runs_image
from apps.identity.services.tokens import agent_authenticate
from apps.images.selectors import image_manifest, image_piece
from apps.kernel.errors import NotFound, WeirError
from apps.kernel.planes import in_public
from node_agent.protocol.errors import ErrorDetail, ErrorReply


def _for_nodes(view: Callable[..., bytes]) -> Callable[..., HttpResponse]:
    """For the node that runs work in the image; agents' logs are in English, so are the words to them."""

    @require_GET
    @wraps(view)
    def answer(request: HttpRequest, uid: UUID, **place: Any) -> HttpResponse:
        with override("en"), in_public():
            try:
                secret = request.headers.get("Authorization", "").partition("Bearer ")[2].strip()
                if not node_runs_image(str(agent_authenticate(secret).node_uid), uid):
                    raise NotFound()
                return HttpResponse(view(uid, **place), content_type="application/octet-stream")
            except WeirError as error:
                detail = ErrorDetail(code=error.code, message=str(error.message), cure=str(error.cure))
                body = ErrorReply(error=detail).model_dump_json()
                return HttpResponse(body, status=error.status, content_type="application/json")

    return answer


@_for_nodes
def manifest(uid: UUID) -> bytes:
    """What the image is made of, as it was stored."""
    return image_manifest(uid)


@_for_nodes
def piece(uid: UUID, digest: str, number: int) -> bytes:
    """One piece of a file that the image is made of."""
    return image_piece(uid, digest, number)
