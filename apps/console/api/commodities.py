"""Commodities: what tenants may apply for, and how operators make, change and list them."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.api.serializers import CommodityOut
from apps.catalog.api.views import CatalogView
from apps.catalog.models import Commodity
from apps.catalog.permissions import CatalogPermission
from apps.catalog.selectors.commodities import commodity_all, commodity_any_get, commodity_list
from apps.catalog.services import commodities
from apps.catalog.states import CardUse, CommodityKind
from apps.catalog.types import ICONS, ComponentRange
from apps.console.selling.forms.services import RESTARTS
from apps.console.selling.services import commodity_put
from apps.console.selling.types import CommodityDraft
from apps.identity.api.base import ApiView
from apps.identity.api.sound import ProgramField, SoundSerializer, TextField
from apps.kernel.errors import InvalidInput, NotFound
from apps.tenancy.selectors import tenant_get
from node_agent.protocol.services import HEALTH_PATH, PORT_LEAST, PORT_MOST, START_MOST_S

_TEXTS = ("name_zh", "name_en", "intro_zh", "intro_en", "supplier", "icon")
# The draft's own names of what the catalogue keeps elsewhere.
_PLAIN = (
    "kind", "number", "environment", "is_own_program", "image", "card_use", "vendor", "model", "spec", "mig_profile",
    "resource_group", "queue", "min_duration_s", "max_duration_s", "is_open_ended", "max_count",
)  # fmt: skip
_AMOUNT_MOST = 2**31 - 1
_DURATION_MOST = 10**6 * 86400


class ComponentRangeIn(SoundSerializer):
    """How much of a component may be ordered: of the share in per cent, of memory in MiB, of CPU in cores, of
    scratch disk and storage in GiB."""

    component = serializers.CharField(
        max_length=48,
        help_text="compute_share, gpu_memory, cpu, memory or scratch_disk; of a volume storage.",
    )
    minimum = serializers.IntegerField(min_value=1, max_value=_AMOUNT_MOST)
    maximum = serializers.IntegerField(min_value=1, max_value=_AMOUNT_MOST)
    default = serializers.IntegerField(min_value=1, max_value=_AMOUNT_MOST)
    step = serializers.IntegerField(min_value=1, max_value=_AMOUNT_MOST, default=1)


class ServiceDefinition(SoundSerializer):
    """How a service is reached, asked after its health, and started again where it has ended."""

    port = serializers.IntegerField(
        min_value=PORT_LEAST,
        max_value=PORT_MOST,
        allow_null=True,
        default=None,
        help_text="Where its program listens. Null: its node chooses; `$PORT` in its arguments stands for it.",
    )
    health_path = serializers.RegexField(HEALTH_PATH, default="/")
    interval_s = serializers.IntegerField(min_value=1, max_value=300, default=10)
    timeout_s = serializers.IntegerField(min_value=1, max_value=60, default=5)
    failures = serializers.IntegerField(
        min_value=1, max_value=20, default=3, help_text="Failed checks in a row that make it unhealthy."
    )
    start_s = serializers.IntegerField(
        min_value=1, max_value=START_MOST_S, default=60, help_text="How long it may take to become healthy."
    )
    restart = serializers.ChoiceField(choices=RESTARTS, default="always")
    max_restarts = serializers.IntegerField(
        min_value=0, max_value=100, default=5, help_text="In a row; after them the service has failed."
    )


class CommodityDefinition(SoundSerializer):
    """What operators say of a commodity. Things are named by their codes; empty is any of them, or none."""

    kind = serializers.ChoiceField(choices=CommodityKind.choices, help_text="What an order yields. It stays.")
    name_zh = serializers.CharField(max_length=120)
    name_en = serializers.CharField(max_length=120)
    intro_zh = TextField(max_length=4000, default="", allow_blank=True)
    intro_en = TextField(max_length=4000, default="", allow_blank=True)
    supplier = serializers.CharField(max_length=120, default="", allow_blank=True)
    icon = serializers.ChoiceField(choices=[(name, name) for name in ICONS], default="cpu")
    number = serializers.CharField(
        max_length=32, default="", allow_blank=True, help_text="Empty: the next one. It stays."
    )
    category = serializers.CharField(max_length=48)
    process_app = serializers.UUIDField(help_text="The process application by which it is applied for.")
    termination_app = serializers.UUIDField(help_text="The one by which an early end is applied for.")
    argv = serializers.ListField(
        child=ProgramField(max_length=4000, trim_whitespace=False),
        max_length=256,
        default=list,
        help_text="Of work and services: the program with its arguments.",
    )
    env = serializers.DictField(
        child=ProgramField(max_length=4000, allow_blank=True, trim_whitespace=False),
        default=dict,
        help_text="Of work and services: its environment variables.",
    )
    environment = serializers.CharField(
        max_length=36, default="", allow_blank=True, help_text="Of an environment: its template's name."
    )
    is_own_program = serializers.BooleanField(
        default=False, help_text="Of work: the buyer says what runs, and `argv` and `env` are empty."
    )
    image = serializers.CharField(
        max_length=36,
        default="",
        allow_blank=True,
        help_text="Of a service: the version of an image of the centre that it runs in, by its uid.",
    )
    service = ServiceDefinition(
        required=False, allow_null=True, default=None, help_text="How a service is reached and kept alive."
    )
    card_use = serializers.ChoiceField(choices=CardUse.choices, default=CardUse.SHARE)
    vendor = serializers.CharField(max_length=64, default="", allow_blank=True)
    model = serializers.CharField(max_length=200, default="", allow_blank=True)
    spec = serializers.CharField(max_length=64, default="", allow_blank=True)
    mig_profile = serializers.CharField(
        max_length=32,
        default="",
        allow_blank=True,
        help_text="Of a MIG slice: the profile by its name, 1g.10gb.",
    )
    resource_group = serializers.CharField(max_length=64, default="", allow_blank=True)
    queue = serializers.CharField(max_length=64, default="", allow_blank=True)
    components = ComponentRangeIn(many=True, default=list)
    min_duration_s = serializers.IntegerField(min_value=1, max_value=_DURATION_MOST, default=60)
    max_duration_s = serializers.IntegerField(min_value=1, max_value=_DURATION_MOST, default=30 * 86400)
    is_open_ended = serializers.BooleanField(
        default=False, help_text="Of what runs: it may be ordered without an end, and is billed as it runs."
    )
    max_count = serializers.IntegerField(min_value=1, max_value=512, default=1)

    def draft(self) -> CommodityDraft:
        given: dict[str, Any] = self.validated_data
        return CommodityDraft(
            **{name: given[name] for name in _PLAIN},
            texts={name: given[name] for name in _TEXTS},
            category=given["category"],
            process_app=str(given["process_app"]),
            termination_app=str(given["termination_app"]),
            argv=tuple(given["argv"]),
            env=given["env"],
            service=given["service"] or ({} if given["kind"] == CommodityKind.SERVICE else None),
            ranges=tuple(ComponentRange(**part) for part in given["components"]),
        )


class CommodityDefinitionIn(CommodityDefinition):
    version = serializers.IntegerField(min_value=1, max_value=10**9, help_text="The one that was read.")


class CommodityDefinitionOut(CommodityDefinition):
    uid = serializers.UUIDField()
    is_for_all = serializers.BooleanField(help_text="Whether every tenant may apply for it.")
    tenants = serializers.ListField(
        child=serializers.CharField(), help_text="Who else may: codes of tenants."
    )
    version = serializers.IntegerField()

    @classmethod
    def of(cls, row: Commodity) -> dict[str, Any]:
        said: dict[str, Any] = {name: getattr(row, name) for name in (*_TEXTS, *_PLAIN)}
        said |= {
            "uid": row.uid,
            "category": row.category.code,
            "process_app": row.process_app.uid,
            "termination_app": row.termination_app.uid,
            "argv": row.work.get("argv", []),
            "env": row.work.get("env", {}),
            "service": row.work.get("service"),
            "components": [
                {"component": part.component.code, "minimum": part.minimum, "maximum": part.maximum}
                | {"default": part.default, "step": part.step}
                for part in row.components.all()
            ],
            "is_for_all": row.is_for_all,
            "tenants": sorted(grant.tenant.schema_name for grant in row.grants.select_related("tenant")),
            "version": row.version,
        }
        return dict(cls(said).data)


class CommodityTenantsIn(SoundSerializer):
    is_for_all = serializers.BooleanField()
    tenants = serializers.ListField(
        child=serializers.CharField(max_length=31),
        max_length=1000,
        default=list,
        help_text="Codes of the tenants that may apply for it where it is not for all.",
    )


class CommoditiesView(CatalogView):
    ordering = ("number",)

    @extend_schema(
        parameters=[OpenApiParameter("search", str), OpenApiParameter("category", str)],
        responses=CommodityOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """What the tenant may apply for; `search` in names, `category` with what is below it."""
        wanted = {name: request.query_params.get(name, "") for name in ("search", "category")}
        if self.tenant is not None:
            return self.page(commodity_list(tenant=self.tenant, **wanted), CommodityOut)
        self.operator_only()
        return self.page(commodity_all(**wanted), CommodityOut)

    @extend_schema(request=CommodityDefinition, responses={201: CommodityDefinitionOut})
    def post(self, request: Request) -> Response:
        """Make a commodity, not listed yet: publish its price, then list it."""
        self.operator_only()
        given = CommodityDefinition(data=request.data)
        given.is_valid(raise_exception=True)
        row = commodity_put(actor=self.actor, draft=given.draft())
        return Response(CommodityDefinitionOut.of(row), status=201)


class CommodityView(CatalogView):
    @extend_schema(responses=CommodityOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return Response(CommodityOut(self.commodity(uid)).data)


class CommodityDefinitionView(ApiView):
    plane = "provider"
    permission = CatalogPermission.MANAGE

    @extend_schema(responses=CommodityDefinitionOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """What is delivered, how and where, and who may apply: as it is changed."""
        return Response(CommodityDefinitionOut.of(commodity_any_get(uid)))

    @extend_schema(request=CommodityDefinitionIn, responses=CommodityDefinitionOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """The commodity anew. Orders made before keep what they froze; refused where `version` is no longer the one."""
        given = CommodityDefinitionIn(data=request.data)
        given.is_valid(raise_exception=True)
        commodity_put(
            actor=self.actor,
            draft=given.draft(),
            commodity_uid=uid,
            version=given.validated_data["version"],
        )
        return Response(CommodityDefinitionOut.of(commodity_any_get(uid)))


class CommodityTenantsView(ApiView):
    plane = "provider"
    permission = CatalogPermission.MANAGE

    @extend_schema(request=CommodityTenantsIn, responses=CommodityDefinitionOut)
    def put(self, request: Request, uid: UUID) -> Response:
        """Who may apply for it: every tenant, or exactly those named."""
        given = CommodityTenantsIn(data=request.data)
        given.is_valid(raise_exception=True)
        said = given.validated_data
        tenants = []
        for code in said["tenants"]:
            try:
                tenants.append(tenant_get(code))
            except NotFound as error:
                raise InvalidInput(fields={"tenants": error.message}) from error
        commodities.commodity_tenants_set(
            actor=self.actor, commodity_uid=uid, is_for_all=said["is_for_all"], tenants=tenants
        )
        return Response(CommodityDefinitionOut.of(commodity_any_get(uid)))


class CommodityRetireIn(SoundSerializer):
    at = serializers.DateTimeField(help_text="When what runs of it without an end is ended.")


class CommodityRetireView(ApiView):
    plane = "provider"
    permission = CatalogPermission.MANAGE

    @extend_schema(request=CommodityRetireIn, responses=CommodityOut, operation_id="commodities_retire")
    def post(self, request: Request, uid: UUID) -> Response:
        """Sell it no more, and end at an instant what of it runs without an end; who ordered that is told."""
        given = CommodityRetireIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = commodities.commodity_retire(actor=self.actor, commodity_uid=uid, at=given.validated_data["at"])
        return Response(CommodityOut(commodity_any_get(row.uid)).data)


class CommodityActionView(ApiView):
    plane = "provider"
    permission = CatalogPermission.MANAGE
    ACTIONS: ClassVar[dict[str, Callable[..., Commodity]]] = {
        "list": commodities.commodity_list_,
        "delist": commodities.commodity_delist,
        "enable": commodities.commodity_enable,
        "disable": commodities.commodity_disable,
        "copy": commodities.commodity_copy,
    }

    @extend_schema(request=None, responses=CommodityOut, operation_id="commodities_act")
    def post(self, request: Request, uid: UUID, action: str) -> Response:
        """`list` it in the catalogue, `delist`, `enable` or `disable` it; of `copy` the answer is the new one."""
        if action not in self.ACTIONS:
            raise NotFound()
        row = self.ACTIONS[action](actor=self.actor, commodity_uid=uid)
        return Response(CommodityOut(commodity_any_get(row.uid)).data)
