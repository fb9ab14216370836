"""Where work would go, and how centres are chosen."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.jointcloud.api import serializers as s
from apps.jointcloud.engine.types import Settings
from apps.jointcloud.permissions import PlacementPermission as P
from apps.jointcloud.selectors.settings import settings_history, settings_last
from apps.jointcloud.services.settings import jointcloud_settings_set
from apps.jointcloud.services.tries import placement_try


class PlacementTryView(ApiView):
    plane = "both"
    permission = P.TRY
    no_key_because = "trying twice changes nothing"

    @extend_schema(request=s.PlacementTryIn, responses=s.TrialOut)
    def post(self, request: Request) -> Response:
        """Try where a job would go now: every centre with its scores, or with the reasons why it is refused. Nothing is
        kept."""
        form = s.PlacementTryIn(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        trial = placement_try(actor=self.actor, **given)
        names = [task["name"] for task in given["tasks"]]
        return Response(s.TrialOut(s.trial_rows(trial, names)).data)


def _settings() -> Response:
    last = settings_last()
    if last is not None:
        return Response(s.PlacementSettingsOut(last).data)
    return Response(s.PlacementSettingsOut(_Row(s.usual_row(Settings()))).data)


class _Row:
    """The usual settings, read like a version."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


class PlacementSettingsView(ApiView):
    plane = "provider"
    permission = P.SEE_SETTINGS
    pagination_class = None

    @extend_schema(responses=s.PlacementSettingsOut)
    def get(self, request: Request) -> Response:
        """How centres are chosen now."""
        return _settings()

    @extend_schema(request=s.PlacementSettingsIn, responses=s.PlacementSettingsOut)
    def patch(self, request: Request) -> Response:
        """Change what is given; the next cycle follows it."""
        self.actor.require(P.SET)
        form = s.PlacementSettingsIn(data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        number = given.pop("number", None)
        unknown = set(request.data) - set(form.fields) if isinstance(request.data, dict) else set()
        changes = given | {str(name): None for name in unknown}
        jointcloud_settings_set(actor=self.actor, changes=changes, number=number)
        return _settings()


class PlacementSettingsHistoryView(ApiView):
    plane = "provider"
    permission = P.SEE_SETTINGS

    @extend_schema(responses=s.PlacementSettingsOut(many=True))
    def get(self, request: Request) -> Response:
        """All versions of how centres are chosen, the one in force first."""
        return self.page(settings_history(), s.PlacementSettingsOut)
