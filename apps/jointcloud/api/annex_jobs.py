"""The interfaces A.1 to A.3 of Annex A: a job is created, stopped and told.

Where `tasks` and `taskInfos` are several, they are arrays in the order of the tasks; A.1 takes an object with the keys
task1, task2 … too (JC-Q-1). A job that was stopped is told as failed, with the code STOPPED (JC-Q-5).
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.sound import SoundSerializer
from apps.jointcloud.api.jobs import tasks_read
from apps.jointcloud.api.wire import DONE, WireView, envelope, length_check
from apps.jointcloud.engine.outcome import RunState
from apps.jointcloud.models import Job, Replica
from apps.jointcloud.selectors.jobs import job_get, job_get_across, job_tasks
from apps.jointcloud.services.following import job_stop
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import WorkState
from apps.jointcloud.types import JobRequest, TaskRequest
from apps.kernel.errors import InvalidInput
from apps.scheduling.permissions import ResourcePermission as P

NAME_BYTES = 32
STOPPED = "STOPPED"


class WireJobIn(SoundSerializer):
    """Tables A.1-2 and A.1-3: each task has name, command, imageId ("" for none), resourceSpecId, replicaNumber."""

    name = serializers.CharField()
    tasks = serializers.JSONField()


class WireTaskInfo(serializers.Serializer[Any]):
    """Table A.1-5."""

    name = serializers.CharField()
    centerIDs = serializers.ListField(child=serializers.CharField())


class WireTaskWhole(WireTaskInfo):
    """Table A.3-4."""

    command = serializers.CharField()
    imageId = serializers.CharField(allow_blank=True)
    resourceSpecId = serializers.CharField()
    replicaNumber = serializers.IntegerField()
    replicaStatus = serializers.ListField(child=serializers.CharField())


class WireJobMade(serializers.Serializer[Any]):
    """`data` of A.1."""

    jobId = serializers.CharField()
    taskInfos = WireTaskInfo(many=True)


class WireJobData(serializers.Serializer[Any]):
    """`data` of A.3."""

    jobId = serializers.CharField()
    name = serializers.CharField()
    status = serializers.CharField()
    taskInfos = WireTaskWhole(many=True)


class WireOut(serializers.Serializer[Any]):
    """The envelope of Annex A without data."""

    status = serializers.IntegerField()
    code = serializers.CharField(max_length=256)
    errorMsg = serializers.CharField(max_length=128, allow_blank=True)


class WireJobMadeOut(WireOut):
    """The answer of A.1."""

    data = WireJobMade()  # type: ignore[assignment]


class WireJobOut(WireOut):
    """The answer of A.3."""

    data = WireJobData()  # type: ignore[assignment]


class WireJobsView(WireView):
    permission = P.OPERATE

    @extend_schema(operation_id="annex_job_create", request=WireJobIn, responses={200: WireJobMadeOut})
    def post(self, request: Request) -> Response:
        """A.1: submit a job. Which centres run its replicas A.3 tells once they are chosen."""
        if self.tenant is None:
            raise InvalidInput(
                _("This belongs to a tenant, and none is chosen."),
                cure=_("Send the header Weir-Tenant with the tenant's code."),
            )
        row = job_submit(actor=self.actor, tenant=self.tenant, asked=_asked(request.data))
        infos = [{"name": task.name, "centerIDs": _centers(task)} for task in job_tasks(row)]
        return self.answer({"jobId": row.job_id, "taskInfos": infos})


class WireJobView(WireView):
    permission = P.VIEW
    pagination_class = None

    @extend_schema(operation_id="annex_job_get", responses=WireJobOut)
    def get(self, request: Request, job_id: str) -> Response:
        """A.3: a job, its tasks, and the centre and the state of each replica, in one order: the first is replica 0.
        The centre of one that has none yet is ""."""
        row = wire_job(self, job_id)
        infos = [
            {
                "name": task.name,
                "command": task.command,
                "imageId": task.image_id,
                "resourceSpecId": task.resourcespec,
                "replicaNumber": task.replicas,
                "centerIDs": [each.ai_center_id if each else "" for each in replicas],
                "replicaStatus": [_shown(each.state if each else WorkState.PENDING) for each in replicas],
            }
            for task in job_tasks(row)
            for replicas in [_replicas(task)]
        ]
        told = {"jobId": row.job_id, "name": row.name, "status": _shown(row.state), "taskInfos": infos}
        code = STOPPED if row.state == WorkState.STOPPED else DONE
        return Response(envelope(told, code=code))


class WireJobStopView(WireView):
    permission = P.OPERATE

    @extend_schema(operation_id="annex_job_stop", request=None, responses={200: WireOut})
    def post(self, request: Request, job_id: str) -> Response:
        """A.2: stop a job."""
        row = wire_job(self, job_id)
        job_stop(actor=self.actor, tenant=row.tenant, job_id=job_id)
        return self.answer({})


def wire_job(view: WireView, job_id: str) -> Job:
    """The job that a call names, as far as the caller reaches. Raises NotFound."""
    if view.tenant is None:
        return job_get_across(job_id)
    return job_get(view.tenant, job_id, actor=view.actor)


def _centers(task: Any) -> list[str]:
    return [each.ai_center_id for each in task.current]


def _replicas(task: Any) -> list[Replica | None]:
    """The attempt of each replica in order: A.4 counts by their places, which therefore stay."""
    found: dict[int, Replica] = {each.number: each for each in task.current}
    return [found.get(number) for number in range(task.replicas)]


def _shown(state: str) -> str:
    return RunState(state).shown.value


def _asked(body: Any) -> JobRequest:
    """The job of a request by the printed names. Raises InvalidInput, by the field."""
    if not isinstance(body, Mapping):
        raise InvalidInput(fields={"name": _("It is needed.")})
    name = _text(body, "name", "name")
    if "tasks" not in body:
        raise InvalidInput(fields={"tasks": _("It is needed.")})
    tasks = [_task(number, each) for number, each in enumerate(tasks_read(body["tasks"]))]
    return JobRequest(name=name, tasks=tuple(tasks))


def _task(number: int, given: Any) -> TaskRequest:
    where = f"tasks[{number}]"
    if not isinstance(given, Mapping):
        raise InvalidInput(fields={where: _("It is needed.")})
    replicas = given.get("replicaNumber")
    if isinstance(replicas, bool) or not isinstance(replicas, int) or not 1 <= replicas < 2**31:
        raise InvalidInput(fields={f"{where}.replicaNumber": _("Give at least 1.")})
    image = given.get("imageId")
    if image != "":
        image = _text(given, "imageId", f"{where}.imageId")
    return TaskRequest(
        name=_text(given, "name", f"{where}.name"),
        command=_text(given, "command", f"{where}.command", most=None),
        image_id=image,
        resourcespec=_text(given, "resourceSpecId", f"{where}.resourceSpecId"),
        replicas=replicas,
        may_split=True,
    )


def _text(given: Mapping[str, Any], name: str, where: str, most: int | None = NAME_BYTES) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise InvalidInput(fields={where: _("It is needed.")})
    length_check({where: value}, most if most is not None else 2**30)
    return value
