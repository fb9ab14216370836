"""The operators' components, releases and roll-outs (POOL-12.20, 12.22)."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.fleet.permissions import FleetPermission as P
from apps.identity.api.base import ApiView
from apps.identity.api.row_action import ActView
from apps.rollouts.api.serializers import (
    ComponentOut,
    ReleaseIn,
    ReleaseKeyIn,
    ReleaseKeyOut,
    ReleaseOut,
    RolloutIn,
    RolloutOut,
)
from apps.rollouts.models import Rollout
from apps.rollouts.selectors import (
    component_list,
    release_get,
    release_key_list,
    release_list,
    rollout_get,
    rollout_list,
)
from apps.rollouts.services.releases import release_add, release_key_revoke, release_key_trust
from apps.rollouts.services.rollouts import (
    rollout_cancel,
    rollout_pause,
    rollout_resume,
    rollout_roll_back,
    rollout_start,
)


class ComponentsView(ApiView):
    plane = "provider"
    permission = P.VIEW
    pagination_class = None

    @extend_schema(responses=ComponentOut(many=True))
    def get(self, request: Request) -> Response:
        """Every part of the pool with host, version, state, configuration generation and last word."""
        return Response(ComponentOut(component_list(), many=True).data)


class ReleasesView(ApiView):
    plane = "provider"
    permission = P.VIEW
    parser_classes: ClassVar[list[Any]] = [MultiPartParser]

    @extend_schema(responses=ReleaseOut(many=True))
    def get(self, request: Request) -> Response:
        """The releases, newest first."""
        return self.page(release_list(), ReleaseOut)

    @extend_schema(request={"multipart/form-data": ReleaseIn}, responses={201: ReleaseOut})
    def post(self, request: Request) -> Response:
        """Add a signed release of the node agent."""
        given = ReleaseIn(data=request.data)
        given.is_valid(raise_exception=True)
        sound = given.validated_data
        row = release_add(
            actor=self.actor,
            content=sound["file"].read(),
            signature=sound["signature"].strip(),
            notes=sound["notes"],
        )
        return Response(ReleaseOut(row).data, status=201)


class ReleaseView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=ReleaseOut)
    def get(self, request: Request, version: str) -> Response:
        """One release."""
        return Response(ReleaseOut(release_get(version)).data)


class ReleaseKeysView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=ReleaseKeyOut(many=True))
    def get(self, request: Request) -> Response:
        """The keys that releases are or were signed with."""
        return self.page(release_key_list(), ReleaseKeyOut)

    @extend_schema(request=ReleaseKeyIn, responses={201: ReleaseKeyOut})
    def post(self, request: Request) -> Response:
        """Trust a public key from now on."""
        given = ReleaseKeyIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = release_key_trust(actor=self.actor, **given.validated_data)
        return Response(ReleaseKeyOut(row).data, status=201)


class ReleaseKeyRevokeView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=None, responses=ReleaseKeyOut)
    def post(self, request: Request, public_key: str) -> Response:
        """Take in nothing more that is signed with this key."""
        return Response(ReleaseKeyOut(release_key_revoke(actor=self.actor, public_key=public_key)).data)


class RolloutsView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=RolloutOut(many=True))
    def get(self, request: Request) -> Response:
        """The roll-outs with their steps, newest first."""
        return self.page(rollout_list(), RolloutOut)

    @extend_schema(request=RolloutIn, responses={201: RolloutOut})
    def post(self, request: Request) -> Response:
        """Bring a release or a configuration to nodes, or restart the server's processes, batch by batch."""
        given = RolloutIn(data=request.data)
        given.is_valid(raise_exception=True)
        sound = given.validated_data
        row = rollout_start(
            actor=self.actor,
            release=sound["release"],
            config=sound["config"],
            nodes=sound["nodes"],
            with_server=sound["server"],
            batch=sound["batch"],
            gate_s=sound["gate_s"],
        )
        return Response(RolloutOut(rollout_get(row.uid)).data, status=201)


class RolloutView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=RolloutOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One roll-out with its steps."""
        return Response(RolloutOut(rollout_get(uid)).data)


@extend_schema(request=None, responses=RolloutOut)
class RolloutActView(ActView):
    """One thing done to a roll-out; which, the route says."""

    permission = P.MANAGE
    shows = RolloutOut

    def row_of(self, row: Rollout) -> Rollout:
        """With its steps."""
        return rollout_get(row.uid)


class RolloutPauseView(RolloutActView):
    act = staticmethod(rollout_pause)


class RolloutResumeView(RolloutActView):
    act = staticmethod(rollout_resume)


class RolloutCancelView(RolloutActView):
    act = staticmethod(rollout_cancel)


class RolloutRollBackView(RolloutActView):
    act = staticmethod(rollout_roll_back)
