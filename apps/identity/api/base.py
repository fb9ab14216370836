"""What every API view stands on: the actor, the plane, idempotency, cursor paging, one error shape."""

import hashlib
import json
from typing import Any, ClassVar, Literal

from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import exceptions as drf
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from apps.identity.models import IdempotentCall
from apps.identity.pages.requests import inside
from apps.kernel.actor import Actor
from apps.kernel.errors import (
    Busy,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Unauthenticated,
    WeirError,
    busy_of,
)
from apps.kernel.service import refusal_record
from apps.tenancy.models import Tenant

Plane = Literal["tenant", "provider", "both"]


class ActorAuthentication(BaseAuthentication):
    """The actor was resolved by the middleware; a session (not a token) must also show its CSRF token."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        plain = request._request
        user = getattr(plain, "user", None)
        if user is None or not user.is_authenticated:
            return None
        if not getattr(plain, "by_token", False):
            check = CSRFCheck(lambda _request: None)
            check.process_request(plain)
            reason = check.process_view(plain, None, (), {})
            if reason:
                raise drf.PermissionDenied(_("CSRF check failed: %(reason)s") % {"reason": reason})
        return user, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BearerScheme(OpenApiAuthenticationExtension):
    """How the schema describes it."""

    target_class = ActorAuthentication
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from auth/login or tokens."}


class SignedIn(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return bool(request.user and request.user.is_authenticated)


class Cursor(CursorPagination):
    """Newest first, 50 a page, at most 200 (`page_size`)."""

    ordering = ("-created_at", "-pk")
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def decode_cursor(self, request: Request) -> Any:
        cursor = super().decode_cursor(request)
        if cursor is not None and "\x00" in (cursor.position or ""):
            raise drf.NotFound()
        return cursor


class ApiView(APIView):
    """A view that says which plane it is on and what it demands.

    Every POST takes an `Idempotency-Key`: a repeat by the same caller in the same tenant gets the first answer, also
    while the first still runs (it waits); another body under the key is refused. An answer that holds a secret is
    not kept (`shows_secret`): its repeat is refused. A POST that takes no key says why in `no_key_because`.
    """

    authentication_classes: ClassVar[list[type[BaseAuthentication]]] = [ActorAuthentication]
    permission_classes: ClassVar[list[type[BasePermission]]] = [SignedIn]
    plane: ClassVar[Plane] = "tenant"
    permission: ClassVar[str] = ""
    shows_secret: ClassVar[bool] = False
    no_key_because: ClassVar[str] = ""
    open_because: ClassVar[str] = ""
    counts_attempts: ClassVar[bool] = False
    # None where GET answers with the whole list.
    pagination_class: ClassVar[type[Cursor] | None] = Cursor
    ordering: ClassVar[tuple[str, ...]] = ("-created_at", "-pk")

    @property
    def actor(self) -> Actor:
        return inside(self.request._request).actor

    @property
    def tenant(self) -> Tenant | None:
        """The tenant entered, None on the provider plane."""
        return inside(self.request._request).entered_tenant

    @property
    def entered(self) -> Tenant:
        """The tenant of a call on the tenant plane, where there always is one."""
        tenant = self.tenant
        assert tenant is not None
        return tenant

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.plane == "tenant" and self.tenant is None:
            raise InvalidInput(
                _("This belongs to a tenant, and none is chosen."),
                cure=_("Send the header Weir-Tenant with the tenant's code."),
            )
        if self.plane == "provider" and self.actor.kind != "operator":
            raise Forbidden(_("This is for operators."))
        if self.permission:
            self.actor.require(self.permission)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        key = request.headers.get("Idempotency-Key", "")
        if not key or request.method != "POST" or self.no_key_because:
            return super().dispatch(request, *args, **kwargs)
        try:
            return self._once(key, request, *args, **kwargs)
        except WeirError as error:
            # Refused before the view ran: the same shape as any other refusal, rendered by hand.
            self.headers = self.default_response_headers
            self.request = self.initialize_request(request, *args, **kwargs)
            return self.finalize_response(self.request, Response(error.as_json(), status=error.status))

    def _once(self, key: str, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the call and keep its answer in one transaction: a repeat finds the answer or waits for it."""
        if len(key) > 128 or not key.isprintable():
            raise InvalidInput(_("An idempotency key has at most 128 characters, all of them printable."))
        caller = f"{request.actor.user_id or request.actor.name}@{request.actor.tenant}"
        digest = hashlib.sha256(request.body).hexdigest()
        where = f"{request.method} {request.path}"[:200]
        with transaction.atomic():
            call, is_new = self._claim(caller, key, where, digest)
            if not is_new:
                self._repeat_check(call, where, digest)
                self._secret_check()
                self.headers = self.default_response_headers
                self.request = self.initialize_request(request, *args, **kwargs)
                return self.finalize_response(self.request, Response(call.answer, status=call.status))
            response = super().dispatch(request, *args, **kwargs)
            if response.status_code >= 400:
                # Refusals are not kept: a corrected world may let the same key through.
                call.delete()
            else:
                body = b"" if self.shows_secret else _rendered(response)
                call.status, call.answer = response.status_code, json.loads(body) if body else None
                call.save(update_fields=["status", "answer"])
        return response

    @staticmethod
    def _claim(caller: str, key: str, where: str, digest: str) -> tuple[IdempotentCall, bool]:
        try:
            with transaction.atomic():
                fields = {"method_path": where, "body_digest": digest}
                # The unique key makes a parallel twin wait here until this call has committed.
                return IdempotentCall.objects.create(caller=caller, key=key, **fields), True
        except IntegrityError:
            return IdempotentCall.objects.get(caller=caller, key=key), False

    @staticmethod
    def _repeat_check(call: IdempotentCall, where: str, digest: str) -> None:
        if (call.method_path, call.body_digest) != (where, digest):
            raise Conflict(
                _("This idempotency key was used for another call."), cure=_("Use a new key for a new call.")
            )

    def _secret_check(self) -> None:
        if self.shows_secret:
            raise Conflict(
                _("This was done already. Its answer held a secret, which is kept nowhere."),
                cure=_("If the answer was lost, undo it and do it anew under a new key."),
            )

    def get_exception_handler(self) -> Any:
        return on_error

    def page(self, rows: QuerySet[Any], serializer: type[BaseSerializer]) -> Response:
        """One page of `rows`: {"next", "previous", "results"}."""
        assert self.pagination_class is not None, "the description says that this list is whole"
        pager = self.pagination_class()
        pager.ordering = self.ordering
        try:
            found = pager.paginate_queryset(rows, self.request, view=self)
        except (drf.NotFound, ValidationError, ValueError, TypeError) as error:
            if pager.cursor_query_param not in self.request.query_params:
                raise
            raise InvalidInput(
                fields={"cursor": _("This is no cursor of this list.")}, cure=_("Begin at the first page.")
            ) from error
        return pager.get_paginated_response(serializer(found, many=True, context={"view": self}).data)


class OpenView(ApiView):
    """A view that asks nobody who they are: what the body holds lets one in."""

    plane = "both"
    permission_classes: ClassVar[list[type[BasePermission]]] = [AllowAny]
    authentication_classes: ClassVar[list[type[BaseAuthentication]]] = []


def _rendered(response: Any) -> bytes:
    if hasattr(response, "render") and not response.is_rendered:
        response.render()
    return response.content


def on_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal in the one shape; anything else is a bug and becomes a 500 elsewhere."""
    known: WeirError | None
    if isinstance(error, WeirError):
        known = error
    elif isinstance(error, drf.ValidationError):
        known = InvalidInput(fields=_flat(error.detail))
    elif isinstance(error, (drf.NotAuthenticated, drf.AuthenticationFailed)):
        known = Unauthenticated()
    elif isinstance(error, (Http404, drf.NotFound)):
        known = NotFound()
    elif isinstance(error, (PermissionDenied, drf.PermissionDenied)):
        known = Forbidden(str(getattr(error, "detail", "")) or "")
    elif isinstance(error, (ValidationError, SuspiciousOperation)):
        known = InvalidInput(" ".join(getattr(error, "messages", [])))
    elif isinstance(error, drf.ParseError):
        known = InvalidInput(str(error.detail), cure=_("Correct the body and send it again."))
    elif isinstance(error, drf.APIException):
        known = WeirError(str(error.detail), cure=_("What this address takes is said under /api/schema/."))
        known.code, known.status = str(error.default_code), error.status_code
    else:
        known = busy_of(error)
        if known is None:
            return None
    if isinstance(known, Forbidden):
        plain = inside(context["request"]._request)
        refusal_record(plain.actor, plain.method or "", plain.path, known)
    return Response(known.as_json(), status=known.status, headers=_headers_of(known))


def _headers_of(error: WeirError) -> dict[str, str]:
    if isinstance(error, Busy):
        return {"Retry-After": str(error.retry_after_s)}
    return {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}


def _flat(detail: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(detail, dict):
        found: dict[str, str] = {}
        for name, inner in detail.items():
            found |= _flat(inner, f"{prefix}.{name}" if prefix else str(name))
        return found
    if isinstance(detail, list) and any(isinstance(item, (dict, list)) for item in detail):
        found = {}
        for index, inner in enumerate(detail):
            found |= _flat(inner, f"{prefix}[{index}]")
        return found
    text = " ".join(str(item) for item in detail) if isinstance(detail, list) else str(detail)
    return {prefix or "non_field_errors": text}
