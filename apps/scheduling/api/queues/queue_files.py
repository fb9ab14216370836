"""The queues as a file: exported, planned, applied; and opened and closed by command (ELA-1701, ELA-1703, ELA-1704)."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer, TextField
from apps.kernel.errors import InvalidInput
from apps.scheduling.api.serializers import queues as d
from apps.scheduling.api.work.workloads import read
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.queue_config.volcano import CARDS, NVIDIA
from apps.scheduling.queue_config.yaml_lines import MOST_BYTES
from apps.scheduling.selectors.queues.queue_state import queue_state, volcano_text
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.queues.files import Outcome, queue_file_apply, queue_file_plan
from apps.scheduling.services.queues.queue_settings import queue_close, queue_open

FORMS = ("queues", "volcano")


class QueueFileOut(serializers.Serializer):
    """`state` changes with any of it: sent back with a file, the file is applied to that and nothing else."""

    text = serializers.CharField()
    state = serializers.CharField()


class QueueFileIn(SoundSerializer):
    """`text`: queues.yaml, a ConfigMap that holds it, or manifests of Volcano's queues."""

    text = TextField(max_length=MOST_BYTES, trim_whitespace=False)
    prune = serializers.BooleanField(default=False)
    state = serializers.CharField(max_length=64, default="", allow_blank=True)


class SettingOut(serializers.Serializer):
    name = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class ChangeOut(serializers.Serializer):
    """`settings` in the words of the file; of `fairShare` too."""

    name = serializers.CharField()
    act = serializers.ChoiceField(choices=["make", "change", "remove"])
    settings = SettingOut(many=True)


class OutcomeOut(serializers.Serializer):
    """`kept`: queues that the file does not name; `notes`: what it says and nothing is made of."""

    changes = ChangeOut(many=True)
    kept = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    state = serializers.CharField()


def _response(found: Outcome) -> Response:
    changes = [
        {
            "name": each.name,
            "act": each.act,
            "settings": [
                {"name": name, "before": before, "after": after}
                for name, (before, after) in each.fields.items()
            ],
        }
        for each in found.changes
    ]
    return Response(
        OutcomeOut({"changes": changes, "kept": found.kept, "notes": found.notes, "state": found.state}).data
    )


class QueueFileView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(
        parameters=[OpenApiParameter("form", str, enum=FORMS), OpenApiParameter("resource", str, enum=CARDS)],
        responses=QueueFileOut,
    )
    def get(self, request: Request) -> Response:
        """The queues as they stand, as queues.yaml or as manifests of Volcano's queues, whose cards are `resource`."""
        form, resource = (
            request.query_params.get("form", FORMS[0]),
            request.query_params.get("resource", NVIDIA),
        )
        if form not in FORMS or resource not in CARDS:
            raise InvalidInput(fields={"form": ", ".join(FORMS), "resource": ", ".join(CARDS)})
        state = queue_state()
        text = state.text if form == FORMS[0] else volcano_text(resource=resource)
        return Response(QueueFileOut({"text": text, "state": state.digest}).data)

    @extend_schema(request=QueueFileIn, responses=OutcomeOut)
    def put(self, request: Request) -> Response:
        """Bring the queues to what the file says, all of it or nothing; `prune` removes those it does not name."""
        return _response(queue_file_apply(actor=self.actor, **read(QueueFileIn, request)))


class QueueFilePlanView(ApiView):
    no_key_because = "it changes nothing"
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=QueueFileIn, responses=OutcomeOut)
    def post(self, request: Request) -> Response:
        """What the file would change, and whether it would be refused; nothing is kept."""
        body = read(QueueFileIn, request)
        return _response(queue_file_plan(actor=self.actor, text=body["text"], prune=body["prune"]))


class QueueOpenView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=None, responses=d.QueueOut)
    def post(self, request: Request, code: str) -> Response:
        """Let it take and start work."""
        queue_open(actor=self.actor, queue=queue_get(code))
        return Response(d.QueueOut(queue_get(code)).data)


class QueueCloseView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.MANAGE

    @extend_schema(request=None, responses=d.QueueOut)
    def post(self, request: Request, code: str) -> Response:
        """Let it take and start none; what runs goes on to its end."""
        queue_close(actor=self.actor, queue=queue_get(code))
        return Response(d.QueueOut(queue_get(code)).data)
