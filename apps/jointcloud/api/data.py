"""Data that jobs read, and at which centres it lies (table 6)."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.jointcloud.api import data_serializers as s
from apps.jointcloud.selectors.data import dataset_get, dataset_list
from apps.jointcloud.services.data import (
    dataset_change,
    dataset_copy_remove,
    dataset_copy_set,
    dataset_make,
    dataset_remove,
)
from apps.jointcloud.services.data_sources import dataset_sources
from apps.jointcloud.types import DatasetFacts
from apps.kernel.errors import InvalidInput
from apps.scheduling.permissions import ResourcePermission as P

_FILTERS = [
    OpenApiParameter("search", str, description="A part of the name."),
    OpenApiParameter("center", str, description="The code of a centre that holds a copy."),
]


class DataApiView(ApiView):
    """A tenant's data and the centre's; an operator who has entered no tenant finds everybody's and changes the
    centre's."""

    plane = "both"
    permission = P.VIEW

    def answer(self, data_id: str, status: int = 200) -> Response:
        row = dataset_get(self.tenant, data_id, actor=self.actor)
        return Response(s.DatasetOut(row).data, status=status)


class DatasetsView(DataApiView):
    @extend_schema(parameters=_FILTERS, responses=s.DatasetOut(many=True))
    def get(self, request: Request) -> Response:
        """Data that jobs can read, the newest first: the tenant's and the centre's; without a tenant, for operators,
        all tenants'."""
        chosen = {name: request.query_params.get(name, "").replace("\0", "") for name in ("search", "center")}
        return self.page(dataset_list(self.tenant, actor=self.actor, **chosen), s.DatasetOut)

    @extend_schema(request=s.DatasetIn, responses={201: s.DatasetOut})
    def post(self, request: Request) -> Response:
        """Enter data of the tenant, and where copies of it lie; without a tenant an operator enters the centre's."""
        form = s.DatasetIn(data=request.data)
        form.is_valid(raise_exception=True)
        given: dict[str, Any] = dict(form.validated_data)
        copies = [s.copy_facts(each, each["ai_center_id"]) for each in given.pop("location")]
        row = dataset_make(
            actor=self.actor,
            tenant=self.tenant,
            data_name=given.pop("data_name"),
            data_version=given.pop("data_version"),
            facts=DatasetFacts(**given),
            copies=copies,
        )
        return self.answer(row.data_id, status=201)


class DatasetView(DataApiView):
    @extend_schema(responses=s.DatasetOut)
    def get(self, request: Request, data_id: str) -> Response:
        """One dataset."""
        return self.answer(data_id)

    @extend_schema(request=s.DatasetChangeIn, responses=s.DatasetOut)
    def patch(self, request: Request, data_id: str) -> Response:
        """Change what is given of it."""
        form = s.DatasetChangeIn(data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        dataset_change(actor=self.actor, tenant=self.tenant, data_id=data_id, **form.validated_data)
        return self.answer(data_id)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, data_id: str) -> Response:
        """Forget it and where its copies lie; the files stay."""
        dataset_remove(actor=self.actor, tenant=self.tenant, data_id=data_id)
        return Response(status=204)


class DatasetSourcesView(DataApiView):
    pagination_class = None

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "center", str, required=True, description="The code of the centre that wants it."
            )
        ],
        responses=s.DataSourcesOut,
    )
    def get(self, request: Request, data_id: str) -> Response:
        """From where it would be copied to a centre, best first, for the storage that copies; refused for what does
        not move."""
        row = dataset_get(self.tenant, data_id, actor=self.actor)
        code = request.query_params.get("center", "")
        if not code:
            raise InvalidInput(fields={"center": _("Name the centre that wants the data.")})
        return Response(s.DataSourcesOut(dataset_sources(row, code, actor=self.actor)).data)


class DatasetCopyView(DataApiView):
    permission = P.OPERATE

    @extend_schema(request=s.DataPlaceChangeIn, responses=s.DatasetOut)
    def put(self, request: Request, data_id: str, ai_center_id: str) -> Response:
        """Say that a centre holds a copy, or what is otherwise about it now."""
        form = s.DataPlaceChangeIn(data=request.data)
        form.is_valid(raise_exception=True)
        copy = s.copy_facts(dict(form.validated_data), ai_center_id)
        dataset_copy_set(actor=self.actor, tenant=self.tenant, data_id=data_id, copy=copy)
        return self.answer(data_id)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, data_id: str, ai_center_id: str) -> Response:
        """The centre holds no copy of it any more; a file that is there stays."""
        dataset_copy_remove(actor=self.actor, tenant=self.tenant, data_id=data_id, ai_center_id=ai_center_id)
        return Response(status=204)
