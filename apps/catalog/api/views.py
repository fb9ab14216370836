"""Categories, prices, process templates and coupons."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.api import serializers as s
from apps.catalog.api.applying import CategoryNewIn
from apps.catalog.models import Commodity
from apps.catalog.permissions import CatalogPermission, CouponPermission
from apps.catalog.selectors.commodities import category_list, commodity_any_get, commodity_get
from apps.catalog.selectors.coupons import coupon_activity_list, coupon_list
from apps.catalog.selectors.prices import price_version_list
from apps.catalog.selectors.processes import process_template_list
from apps.catalog.services.categories import category_create
from apps.catalog.services.coupons import coupon_claim
from apps.catalog.services.prices import price_publish
from apps.catalog.services.processes import process_template_import
from apps.catalog.types import PriceInput
from apps.identity.api.base import ApiView
from apps.kernel.errors import Forbidden


class CatalogView(ApiView):
    """Sees what the entered tenant sees; an operator outside tenants sees every commodity."""

    plane = "both"
    permission = CatalogPermission.VIEW

    def commodity(self, uid: UUID) -> Commodity:
        if self.tenant is not None:
            return commodity_get(tenant=self.tenant, uid=uid)
        self.operator_only()
        return commodity_any_get(uid)

    def operator_only(self) -> None:
        if self.actor.kind != "operator":
            raise Forbidden()


class CategoriesView(CatalogView):
    ordering = ("position", "code")

    @extend_schema(responses=s.CategoryOut(many=True))
    def get(self, request: Request) -> Response:
        """Categories of both levels that are enabled; operators outside tenants see the disabled ones too."""
        is_operators = self.tenant is None and self.actor.kind == "operator"
        return self.page(category_list(is_enabled=None if is_operators else True), s.CategoryOut)

    @extend_schema(request=CategoryNewIn, responses={201: s.CategoryOut})
    def post(self, request: Request) -> Response:
        """A class of services, the last of those beside it."""
        self.operator_only()
        given = CategoryNewIn(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(s.CategoryOut(category_create(actor=self.actor, **given.said())).data, status=201)


class PricesView(CatalogView):
    ordering = ("-number",)

    @extend_schema(responses=s.PriceVersionOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """All price versions, the newest first: what was charged stays explainable."""
        return self.page(price_version_list(commodity=self.commodity(uid)), s.PriceVersionOut)

    @extend_schema(request=s.PricesIn, responses={201: s.PriceVersionOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Publish a price for every component, from now or later on."""
        self.operator_only()
        given = s.PricesIn(data=request.data)
        given.is_valid(raise_exception=True)
        lines = [PriceInput(**line) for line in given.validated_data["lines"]]
        start = given.validated_data["effective_from"]
        version = price_publish(actor=self.actor, commodity_uid=uid, lines=lines, effective_from=start)
        return Response(s.PriceVersionOut(version).data, status=201)


class ProcessTemplatesView(ApiView):
    plane = "provider"
    permission = CatalogPermission.MANAGE

    @extend_schema(responses=s.ProcessTemplateOut(many=True))
    def get(self, request: Request) -> Response:
        return self.page(process_template_list(), s.ProcessTemplateOut)

    @extend_schema(
        request={"multipart/form-data": s.ProcessTemplateIn}, responses={201: s.ProcessTemplateOut}
    )
    def post(self, request: Request) -> Response:
        """Import a BPMN file as a version of a process; code in it is refused with the element's name."""
        given = s.ProcessTemplateIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        row = process_template_import(actor=self.actor, xml=data.pop("file").read(), **data)
        return Response(s.ProcessTemplateOut(row).data, status=201)


class ActivitiesView(ApiView):
    permission = CatalogPermission.VIEW

    @extend_schema(
        parameters=[OpenApiParameter("search", str), OpenApiParameter("claimable", bool)],
        responses=s.ActivityOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The coupon centre: issued activities, or with `claimable=true` those with a coupon left for you."""
        query = request.query_params
        claimable = query.get("claimable", "").lower() in ("1", "true")
        rows = coupon_activity_list(tenant=self.tenant, search=query.get("search", ""), claimable=claimable)
        return self.page(rows, s.ActivityOut)


class ActivityClaimView(ApiView):
    permission = CouponPermission.CLAIM

    @extend_schema(request=None, responses={201: s.CouponOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Claim one coupon for the tenant."""
        coupon = coupon_claim(actor=self.actor, activity_uid=uid)
        return Response(s.CouponOut(coupon).data, status=201)


class CouponsView(ApiView):
    permission = CatalogPermission.VIEW

    @extend_schema(
        parameters=[OpenApiParameter("state", str), OpenApiParameter("search", str)],
        responses=s.CouponOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The tenant's coupons."""
        wanted = {name: request.query_params.get(name, "") for name in ("state", "search")}
        return self.page(coupon_list(tenant=self.tenant, **wanted), s.CouponOut)
