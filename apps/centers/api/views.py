"""The operators' centres and network specifications."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from apps.centers.adapters.kinds import kinds
from apps.centers.api import serializers as s
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import (
    center_get,
    center_list,
    remote_task_list,
    resource_spec_get,
    resource_spec_list,
)
from apps.centers.services.centers import (
    center_change,
    center_credential_set,
    center_drain,
    center_join,
    center_remove,
    center_undrain,
)
from apps.centers.services.sampling import center_sample_now
from apps.centers.services.specs import (
    offer_remove,
    offer_set,
    resource_spec_change,
    resource_spec_make,
    resource_spec_remove,
)
from apps.centers.services.tenants import center_serves_set, center_tenant_remove, center_tenant_set
from apps.identity.api.base import ApiView


def _given(kind: type[Serializer[Any]], request: Request, *, partial: bool = False) -> dict[str, Any]:
    form = kind(data=request.data, partial=partial)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def _facts(given: dict[str, Any]) -> dict[str, Any]:
    """What is said of a centre, in the words of its services."""
    facts = {name: value for name, value in given.items() if name != "geometry"}
    if "geometry" in given:
        facts["longitude"], facts["latitude"] = given["geometry"] or (None, None)
    return facts


class CentersApiView(ApiView):
    """Reading wants `centers.view`, everything else `centers.manage`."""

    plane = "provider"
    permission = P.VIEW


def _center(ai_center_id: str, status: int = 200) -> Response:
    return Response(s.CenterOut(center_get(ai_center_id)).data, status=status)


class CenterKindsView(CentersApiView):
    pagination_class = None

    @extend_schema(responses=s.CenterKindOut(many=True))
    def get(self, request: Request) -> Response:
        """The kinds of centres that can be joined, and what is to be filled in for each."""
        return Response(s.CenterKindOut(list(kinds().values()), many=True).data)


class CentersView(CentersApiView):
    @extend_schema(responses=s.CenterOut(many=True))
    def get(self, request: Request) -> Response:
        """The AI computing centres of the network, newest first (tables 1, 2 and 4)."""
        return self.page(center_list(), s.CenterOut)

    @extend_schema(request=s.CenterIn, responses={201: s.CenterOut})
    def post(self, request: Request) -> Response:
        """Join a centre: it is asked first what it holds, and one that does not answer is not joined."""
        given = _given(s.CenterIn, request)
        row = center_join(
            actor=self.actor,
            ai_center_id=given.pop("ai_center_id"),
            kind=given.pop("kind"),
            settings=given.pop("settings"),
            secrets=given.pop("credential"),
            serves=given.pop("serves"),
            may_share=given.pop("may_share"),
            tenants=given.pop("tenants"),
            facts=_facts(given),
        )
        return _center(row.ai_center_id, status=201)


class CenterView(CentersApiView):
    @extend_schema(responses=s.CenterOut)
    def get(self, request: Request, ai_center_id: str) -> Response:
        """One centre."""
        return _center(ai_center_id)

    @extend_schema(request=s.CenterChangeIn, responses=s.CenterOut)
    def patch(self, request: Request, ai_center_id: str) -> Response:
        """Change what is given; with other `settings` the centre is tried first."""
        self.actor.require(P.MANAGE)
        given = _given(s.CenterChangeIn, request, partial=True)
        settings = given.pop("settings", None)
        secrets = given.pop("credential", None)
        center_change(
            actor=self.actor,
            ai_center_id=ai_center_id,
            facts=_facts(given),
            settings=settings,
            secrets=secrets,
        )
        return _center(ai_center_id)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ai_center_id: str) -> Response:
        """Take a centre off the network that offers nothing and has no work."""
        center_remove(actor=self.actor, ai_center_id=ai_center_id)
        return Response(status=204)


class CenterCredentialView(CentersApiView):
    permission = P.MANAGE

    @extend_schema(request=s.CredentialIn, responses=s.CenterOut)
    def put(self, request: Request, ai_center_id: str) -> Response:
        """Give it another credential; one that the centre does not take is refused."""
        secrets = _given(s.CredentialIn, request)["credential"]
        center_credential_set(actor=self.actor, ai_center_id=ai_center_id, secrets=secrets)
        return _center(ai_center_id)


class CenterServesView(CentersApiView):
    permission = P.MANAGE

    @extend_schema(request=s.CenterServesIn, responses=s.CenterOut)
    def put(self, request: Request, ai_center_id: str) -> Response:
        """Send it the work of all tenants, or of those that are named alone. What is there goes on."""
        given = _given(s.CenterServesIn, request)
        center_serves_set(actor=self.actor, ai_center_id=ai_center_id, **given)
        return _center(ai_center_id)


class CenterTenantView(CentersApiView):
    permission = P.MANAGE

    @extend_schema(request=s.CenterTenantIn, responses=s.CenterOut)
    def put(self, request: Request, ai_center_id: str, tenant: str) -> Response:
        """Have it serve a tenant, whose work runs there under `account`: the centre is asked first whether it takes
        that. What is there already goes on under the account it had."""
        account = _given(s.CenterTenantIn, request)["account"]
        center_tenant_set(actor=self.actor, ai_center_id=ai_center_id, tenant=tenant, account=account)
        return _center(ai_center_id)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ai_center_id: str, tenant: str) -> Response:
        """Take a tenant off it: nothing new of its is sent there, what is there goes on."""
        center_tenant_remove(actor=self.actor, ai_center_id=ai_center_id, tenant=tenant)
        return Response(status=204)


class CenterDrainView(CentersApiView):
    permission = P.MANAGE

    @extend_schema(request=None, responses=s.CenterOut)
    def post(self, request: Request, ai_center_id: str) -> Response:
        """Send no new work there; what is there goes on."""
        center_drain(actor=self.actor, ai_center_id=ai_center_id)
        return _center(ai_center_id)


class CenterUndrainView(CentersApiView):
    permission = P.MANAGE

    @extend_schema(request=None, responses=s.CenterOut)
    def post(self, request: Request, ai_center_id: str) -> Response:
        """Send work there again."""
        center_undrain(actor=self.actor, ai_center_id=ai_center_id)
        return _center(ai_center_id)


class CenterSampleView(CentersApiView):
    permission = P.MANAGE
    no_key_because = "asking a centre twice what it holds changes nothing there"

    @extend_schema(request=None, responses=s.CenterOut)
    def post(self, request: Request, ai_center_id: str) -> Response:
        """Ask it now what it holds."""
        center_sample_now(actor=self.actor, ai_center_id=ai_center_id)
        return _center(ai_center_id)


class CenterRemoteTasksView(CentersApiView):
    @extend_schema(responses=s.RemoteTaskOut(many=True))
    def get(self, request: Request, ai_center_id: str) -> Response:
        """The work that was sent to a centre, newest first: how far it is by what the centre told."""
        return self.page(remote_task_list(center_get(ai_center_id)), s.RemoteTaskOut)


def _spec(resource_spec_id: str, status: int = 200) -> Response:
    return Response(s.ResourceSpecOut(resource_spec_get(resource_spec_id)).data, status=status)


def _spec_words(given: dict[str, Any]) -> dict[str, Any]:
    """What is said of a specification, in the words of its services."""
    if "service_type" in given:
        given["service_types"] = [code.strip() for code in given.pop("service_type").split(",")]
    if "price" in given:
        given["price_minor"] = given.pop("price")
    return given


class ResourceSpecsView(CentersApiView):
    @extend_schema(responses=s.ResourceSpecOut(many=True))
    def get(self, request: Request) -> Response:
        """The specifications of the network, newest first, each with the centres that offer it (table 3)."""
        return self.page(resource_spec_list(), s.ResourceSpecOut)

    @extend_schema(request=s.ResourceSpecIn, responses={201: s.ResourceSpecOut})
    def post(self, request: Request) -> Response:
        """A specification that no centre offers yet."""
        row = resource_spec_make(actor=self.actor, **_spec_words(_given(s.ResourceSpecIn, request)))
        return _spec(row.resource_spec_id, status=201)


class ResourceSpecView(CentersApiView):
    @extend_schema(responses=s.ResourceSpecOut)
    def get(self, request: Request, resource_spec_id: str) -> Response:
        """One specification."""
        return _spec(resource_spec_id)

    @extend_schema(request=s.ResourceSpecChangeIn, responses=s.ResourceSpecOut)
    def patch(self, request: Request, resource_spec_id: str) -> Response:
        """Change what is given; its amounts only while no centre offers it."""
        given = _spec_words(_given(s.ResourceSpecChangeIn, request, partial=True))
        resource_spec_change(actor=self.actor, resource_spec_id=resource_spec_id, **given)
        return _spec(resource_spec_id)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, resource_spec_id: str) -> Response:
        """End a specification that no centre offers and no work holds."""
        resource_spec_remove(actor=self.actor, resource_spec_id=resource_spec_id)
        return Response(status=204)


class ResourceSpecOfferView(CentersApiView):
    permission = P.MANAGE

    @extend_schema(request=s.OfferIn, responses=s.SpecOfferOut)
    def put(self, request: Request, resource_spec_id: str, ai_center_id: str) -> Response:
        """Let a centre offer a specification, or change how it does."""
        given = _given(s.OfferIn, request)
        given["price_minor"], given["cost_minor"] = given.pop("price"), given.pop("cost")
        row = offer_set(
            actor=self.actor, resource_spec_id=resource_spec_id, ai_center_id=ai_center_id, **given
        )
        return Response(s.SpecOfferOut(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, resource_spec_id: str, ai_center_id: str) -> Response:
        """The centre offers it no more; work that is there goes on."""
        offer_remove(actor=self.actor, resource_spec_id=resource_spec_id, ai_center_id=ai_center_id)
        return Response(status=204)
