"""Where node agents call: plain views with their own credentials and their own error shape (PLAT-OPS-22)."""

import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from pydantic import BaseModel, ValidationError

from apps.fleet.errors import IdentityTaken, UnknownProtocol
from apps.fleet.services.container_saves import container_piece_take, container_saved_take
from apps.fleet.services.folder_transfers import folder_piece_give, folder_piece_take, folder_sent_take
from apps.fleet.services.nodes.membership import node_join
from apps.fleet.services.sync import node_doubled, node_sync
from apps.identity.services.tokens import agent_authenticate
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.planes import in_public
from node_agent.protocol.containers import ContainerSaved
from node_agent.protocol.errors import ErrorDetail, ErrorReply
from node_agent.protocol.fields import PROTOCOL_VERSION, SUPPORTED
from node_agent.protocol.folders import FolderSent, FolderTaken
from node_agent.protocol.join import JoinRequest
from node_agent.protocol.sync import SyncRequest

log = logging.getLogger(__name__)
M = TypeVar("M", JoinRequest, SyncRequest, FolderSent, ContainerSaved)
View = Callable[..., BaseModel | HttpResponse]

# A deadlock's victim may simply try again: the sync is idempotent.
_ATTEMPTS = 3


def _answering(view: View, *methods: str) -> Callable[..., HttpResponse]:
    """The reply or the refusal as JSON. Agents' logs are in English, so are the words to them."""

    @csrf_exempt
    @require_http_methods(methods or ("POST",))
    @wraps(view)
    def answer(request: HttpRequest, **place: Any) -> HttpResponse:
        with override("en"), in_public():
            try:
                reply = _patiently(view, request, place)
                return reply if isinstance(reply, HttpResponse) else _json(200, reply)
            except WeirError as error:
                return _refusal(error.status, error.code, str(error.message), str(error.cure))
            except RequestDataTooBig:
                return _refusal(413, "too_large", _("The message is too large."), _("Send less at once."))
            except OperationalError:
                log.exception("an agent's message could not be taken in")
                return _refusal(503, "busy", _("The server is busy."), _("Send it again."))

    return answer


def _patiently(view: View, request: HttpRequest, place: dict[str, Any]) -> BaseModel | HttpResponse:
    for _attempt in range(_ATTEMPTS - 1):
        try:
            return view(request, **place)
        except OperationalError:
            log.warning("an agent's message is tried again", exc_info=True)
    return view(request, **place)


def _json(status: int, body: BaseModel) -> HttpResponse:
    return HttpResponse(body.model_dump_json(), status=status, content_type="application/json")


def _refusal(status: int, code: str, message: str, cure: str) -> HttpResponse:
    return _json(status, ErrorReply(error=ErrorDetail(code=code, message=message[:500], cure=cure[:500])))


def _read(request: HttpRequest, kind: type[M]) -> M:
    """The message. The version is looked at first: of an unknown one nothing else can be known."""
    try:
        raw = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(_("The message is not JSON.")) from error
    version = raw.get("protocol") if isinstance(raw, dict) else None
    if isinstance(version, int):
        _version_check(version)
    try:
        message = kind.model_validate_json(request.body)
    except ValidationError as error:
        raise InvalidInput(_problem(error), cure=_("Send a message that the protocol allows.")) from error
    # A version may also come as the text or the fraction that stands for its number.
    _version_check(message.protocol)
    return message


def _version_check(version: int) -> None:
    if version not in SUPPORTED:
        raise UnknownProtocol(
            _("The agent speaks protocol %(given)s, this server %(known)s.")
            % {"given": version, "known": ", ".join(map(str, SUPPORTED))}
        )


def _problem(error: ValidationError) -> str:
    first: dict[str, Any] = dict(error.errors(include_input=False, include_url=False)[0])
    place = ".".join(str(part) for part in first["loc"])
    return _("%(place)s: %(problem)s") % {"place": place or "message", "problem": first["msg"]}


@_answering
def join(request: HttpRequest) -> BaseModel:
    message = _read(request, JoinRequest)
    actor = Actor(kind="agent", name=message.node.name, request_id=getattr(request, "request_id", ""))
    return node_join(actor=actor, request=message)


@_answering
def sync(request: HttpRequest) -> BaseModel:
    node_uid = _authenticated(request)
    message = _read(request, SyncRequest)
    actor = _agent(request, node_uid, message.node.name)
    try:
        return node_sync(actor=actor, request=message)
    except IdentityTaken:
        node_doubled(actor=actor)
        raise


def _authenticated(request: HttpRequest) -> str:
    """The node that calls. Raises Unauthenticated."""
    secret = request.headers.get("Authorization", "").partition("Bearer ")[2].strip()
    return str(agent_authenticate(secret).node_uid)


def _agent(request: HttpRequest, node_uid: str, name: str) -> Actor:
    return Actor(kind="agent", name=name, node_uid=node_uid, request_id=getattr(request, "request_id", ""))


def _folder_piece(request: HttpRequest, key: str, transfer: UUID, number: int) -> BaseModel | HttpResponse:
    """One piece of a work folder's archive: put by the node where the folder lies, fetched by the next."""
    node_uid = _authenticated(request)
    if request.method == "GET":
        piece = folder_piece_give(node_uid=node_uid, key=key, transfer=transfer, number=number)
        return HttpResponse(piece, content_type="application/octet-stream")
    actor = _agent(request, node_uid, node_uid)
    folder_piece_take(actor=actor, key=key, transfer=transfer, number=number, piece=request.body)
    return FolderTaken(protocol=PROTOCOL_VERSION)


folder_piece = _answering(_folder_piece, "GET", "PUT")


@_answering
def folder_sent(request: HttpRequest, key: str) -> BaseModel:
    node_uid = _authenticated(request)
    message = _read(request, FolderSent)
    folder_sent_take(actor=_agent(request, node_uid, node_uid), key=key, message=message)
    return FolderTaken(protocol=PROTOCOL_VERSION)


def _container_piece(request: HttpRequest, transfer: UUID, number: int) -> BaseModel:
    """One piece of what work has changed over its image, put by the node that runs it."""
    node_uid = _authenticated(request)
    actor = _agent(request, node_uid, node_uid)
    container_piece_take(actor=actor, transfer=transfer, number=number, piece=request.body)
    return FolderTaken(protocol=PROTOCOL_VERSION)


container_piece = _answering(_container_piece, "PUT")


@_answering
def container_saved(request: HttpRequest, transfer: UUID) -> BaseModel:
    node_uid = _authenticated(request)
    message = _read(request, ContainerSaved)
    container_saved_take(actor=_agent(request, node_uid, node_uid), transfer=transfer, message=message)
    return FolderTaken(protocol=PROTOCOL_VERSION)
