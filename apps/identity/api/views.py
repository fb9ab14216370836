"""Signing in for a token, who am I, the caller's tokens, and agents' join tokens."""

from uuid import UUID

from django.utils.translation import get_language
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api import serializers as s
from apps.identity.api.base import ApiView, OpenView
from apps.identity.errors import FirstPassword
from apps.identity.pages.addresses import address_of, portal_address
from apps.identity.pages.requests import inside
from apps.identity.selectors import agent_token_get, agent_token_list, api_token_get, api_token_list
from apps.identity.services.password_reset import password_reset_ask, password_reset_use
from apps.identity.services.password_sign_in import sign_in_check
from apps.identity.services.tokens import (
    agent_token_revoke,
    api_token_make,
    api_token_revoke,
    digest_of,
    join_token_make,
)
from apps.identity.services.users import password_change, present_password_check, tenants_of
from apps.kernel.actor import SYSTEM
from apps.tenancy.selectors import tenant_get, tenant_list


class SignInView(OpenView):
    no_key_because = "the caller is not known yet: a repeat is another sign-in"
    counts_attempts = True

    @extend_schema(request=s.SignInIn, responses=s.SignInOut, auth=[])
    def post(self, request: Request) -> Response:
        """Give account and password, get a token for them that lives `days` days."""
        given = s.SignInIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        schema = data["tenant"] or (self.tenant.schema_name if self.tenant else "")
        user = sign_in_check(
            username=data["username"],
            password=data["password"],
            schema=schema,
            address=address_of(request._request),
        )
        if user.must_change_password:
            raise FirstPassword()
        tenant = tenant_get(schema) if schema else None
        token, secret = api_token_make(
            actor=SYSTEM, user=user, name="sign-in", days=data["days"], tenant=tenant
        )
        body = {"token": secret, "expires_at": token.expires_at, "user": user, "tenants": tenants_of(user)}
        return Response(s.SignInOut(body).data)


class SignOutView(ApiView):
    plane = "both"

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """Revoke the token this call was made with."""
        secret = request.headers.get("Authorization", "").partition("Bearer ")[2].strip()
        token = api_token_list(self.actor).filter(digest=digest_of(secret)).first() if secret else None
        if token:
            api_token_revoke(actor=self.actor, token=token)
        return Response(status=204)


class PasswordView(ApiView):
    plane = "both"
    counts_attempts = True

    @extend_schema(request=s.PasswordIn, responses={204: None})
    def post(self, request: Request) -> Response:
        """Change one's own password; every token of the caller ends, this one too."""
        given = s.PasswordIn(data=request.data)
        given.is_valid(raise_exception=True)
        data, address = given.validated_data, address_of(request._request)
        present_password_check(
            user=request.user, password=data["old_password"], address=address, schema=self.actor.tenant
        )
        password_change(actor=self.actor, user=request.user, **data)
        return Response(status=204)


class PasswordForgottenView(OpenView):
    no_key_because = "the caller is not known yet: a repeat is another request, and counted"
    counts_attempts = True
    open_because = "who has forgotten the password cannot sign in; the answer tells nothing"

    @extend_schema(request=s.PasswordForgottenIn, responses={202: None}, auth=[])
    def post(self, request: Request) -> Response:
        """Have a link mailed to whoever has this account or e-mail, with which to choose a new password. The answer is
        the same where there is nobody."""
        given = s.PasswordForgottenIn(data=request.data)
        given.is_valid(raise_exception=True)
        schema = given.validated_data["tenant"] or (self.tenant.schema_name if self.tenant else "")
        tenant = tenant_list().filter(schema_name=schema).first()
        password_reset_ask(
            actor=self.actor,
            account=given.validated_data["account"],
            schema=schema,
            address=address_of(request._request),
            portal=portal_address(request._request, tenant),
            language=get_language() or "",
        )
        return Response(status=202)


class PasswordResetView(OpenView):
    no_key_because = "the link is spent once: a repeat finds it used"
    open_because = "the link's secret is what lets one in"

    @extend_schema(request=s.PasswordResetIn, responses={204: None}, auth=[])
    def post(self, request: Request) -> Response:
        """Choose a new password by a link; the old one, open sessions and every API token end."""
        given = s.PasswordResetIn(data=request.data)
        given.is_valid(raise_exception=True)
        password_reset_use(actor=self.actor, **given.validated_data)
        return Response(status=204)


class MeView(ApiView):
    plane = "both"

    @extend_schema(responses=s.MeOut)
    def get(self, request: Request) -> Response:
        """Who the caller is here, in which role, and what that role may do."""
        actor = self.actor
        body = {
            "user": request.user,
            "side": actor.kind,
            "tenant": actor.tenant,
            "role": actor.role,
            "roles": inside(request._request).held_roles,
            "permissions": sorted(actor.permissions),
            "tenants": tenants_of(request.user),
        }
        return Response(s.MeOut(body).data)


class TokensView(ApiView):
    shows_secret = True
    plane = "both"

    @extend_schema(responses=s.TokenOut(many=True))
    def get(self, request: Request) -> Response:
        return self.page(api_token_list(self.actor), s.TokenOut)

    @extend_schema(request=s.TokenIn, responses={201: s.TokenMadeOut})
    def post(self, request: Request) -> Response:
        """A new key of one's own. One that is made with another key expires with it at the latest."""
        given = s.TokenIn(data=request.data)
        given.is_valid(raise_exception=True)
        tenant = self.tenant if self.actor.kind == "user" else None
        token, secret = api_token_make(
            actor=self.actor,
            user=request.user,
            tenant=tenant,
            until=inside(request._request).token_expires_at,
            **given.validated_data,
        )
        token.secret = secret
        return Response(s.TokenMadeOut(token).data, status=201)


class TokenView(ApiView):
    plane = "both"

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        api_token_revoke(actor=self.actor, token=api_token_get(self.actor, uid))
        return Response(status=204)


class AgentTokensView(ApiView):
    shows_secret = True
    plane = "provider"
    permission = "fleet.manage"

    @extend_schema(responses=s.AgentTokenOut(many=True))
    def get(self, request: Request) -> Response:
        return self.page(agent_token_list(), s.AgentTokenOut)

    @extend_schema(request=s.AgentTokenIn, responses={201: s.AgentTokenMadeOut})
    def post(self, request: Request) -> Response:
        """A one-time token with which one node may join."""
        given = s.AgentTokenIn(data=request.data)
        given.is_valid(raise_exception=True)
        token, secret = join_token_make(actor=self.actor, **given.validated_data)
        token.secret = secret
        return Response(s.AgentTokenMadeOut(token).data, status=201)


class AgentTokenRevokeView(ApiView):
    plane = "provider"
    permission = "fleet.manage"

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, uid: UUID) -> Response:
        agent_token_revoke(actor=self.actor, token=agent_token_get(uid))
        return Response(status=204)
