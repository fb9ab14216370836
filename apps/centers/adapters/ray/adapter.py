"""The adapter of centres that are Ray clusters, by the interface of jobs of Ray's dashboard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.answers import group, text
from apps.centers.adapters.base import (
    Ability,
    CallLimits,
    CenterBroken,
    CenterRefused,
    CenterResources,
    CenterUnreachable,
    JobMessage,
    JobSeen,
    Quantities,
    UsageRecord,
)
from apps.centers.adapters.http_client import AnswerTooLong, CenterClient
from apps.centers.adapters.ray.jobs import GPU, asked_resources, job_body
from apps.centers.adapters.ray.logs import LogWindow, log_name
from apps.centers.adapters.ray.records import (
    amount,
    at_most,
    is_submitted,
    job_seen,
    total,
    used_of_nodes,
    used_of_status,
)
from apps.centers.adapters.ray.rest import NoSuchJob, RayRest, last_line
from apps.centers.adapters.requests import device_names, key_check

# Ray's names of what the portal counts as a GPU, an NPU or an MLU.
_DEVICES = {"gpu": GPU, "npu": "NPU", "mlu": "MLU"}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# So many are asked for one by one: the list of all is long where a cluster is old.
_SINGLE = 2


class RayAdapter:
    """One cluster. Its jobs have the dispatch key as their submission id.

    Ray has no accounts and keeps when a job was submitted, not when it began: no use is told of it. A job that waits
    and is stopped ends when it would have begun.
    """

    # Ray names files by it.
    key_length = 200

    def __init__(
        self,
        settings: Mapping[str, str],
        secrets: Mapping[str, str],
        local_addresses: bool,
        *,
        limits: CallLimits | None = None,
    ) -> None:
        """Of the values of the kind's fields. Raises CenterRefused for one that cannot be."""
        self._devices = device_names(settings.get("devices", ""), _DEVICES)
        self.abilities = frozenset({Ability.JOBS, Ability.LOGS})
        limits = limits or CallLimits()
        self._create_s = limits.create_s
        self._client = CenterClient(
            settings.get("address", ""),
            authority=settings.get("authority", ""),
            local_addresses=local_addresses,
            limits=limits,
        )
        self._rest = RayRest(self._client, secrets.get("token", ""))

    def check(self) -> str:
        """See `base`. Also that what it holds and its jobs are told."""
        version = self._rest.version()
        self._nodes()
        self._rest.count("jobs", status="RUNNING")
        return version

    def resources(self) -> CenterResources:
        """See `base`. Ray's monitor says every few seconds what is in use."""
        version, nodes = self._rest.version(), self._nodes()
        held = total(nodes, self._devices)
        return CenterResources(
            total=held,
            used=at_most(self._used(), held),
            running_tasks=self._rest.count("jobs", status="RUNNING"),
            waiting_tasks=self._rest.count("jobs", status="PENDING"),
            nodes=len(nodes),
            version=version,
        )

    def job_create(self, message: JobMessage, key: str) -> str:
        """See `base`."""
        key_check(key, self.key_length)
        body = job_body(message, key, devices=self._devices)
        with self._client.together(self._create_s):
            if (found := self.job_find(key)) is not None:
                return found.native_id
            self._room_check(message.quantities)
            answer = self._rest.submit(body)
        if answer.status == 200:
            told = answer.data if isinstance(answer.data, dict) else {}
            if text(told, "submission_id") != key:
                raise CenterBroken(_("Ray has taken the job under another id than it was sent with."))
            return key
        # Ray says "500" and a traceback of one that there is: sent by another meanwhile.
        if answer.status == 500 and (found := self.job_find(key)) is not None:
            return found.native_id
        words = last_line(answer.end)
        if answer.status == 400:
            raise CenterRefused(_("Ray refuses the job: %(text)s") % {"text": words})
        raise CenterUnreachable(_("Ray could not do it now: %(text)s") % {"text": words})

    def job_find(self, key: str) -> JobSeen | None:
        """See `base`."""
        key_check(key, self.key_length)
        try:
            return job_seen(self._job(key))
        except NoSuchJob:
            return None

    def job_get(self, native_id: str) -> JobSeen:
        """See `base`."""
        return job_seen(self._job(native_id))

    def jobs(self, keys: Sequence[str]) -> Mapping[str, JobSeen]:
        """See `base`. One question for all, unless Ray remembers more jobs than an answer holds: it forgets none."""
        for key in keys:
            key_check(key, self.key_length)
        asked = set(keys)
        if len(asked) > _SINGLE:
            with suppress(AnswerTooLong):
                ours = [job for job in self._rest.jobs() if is_submitted(job)]
                return {seen.key: seen for job in ours if (seen := job_seen(job)).key in asked}
        return {key: found for key in asked if (found := self.job_find(key)) is not None}

    def job_stop(self, native_id: str) -> None:
        """See `base`. Ray answers before the job has ended."""
        self._job(native_id)
        self._rest.stop(native_id)

    def job_log(self, native_id: str, offset: int, limit: int = 1024 * 1024) -> bytes:
        """See `base`. Ray sends a log from its begin: what is before `offset` is passed over."""
        window = LogWindow(offset, limit)
        node = text(self._job(native_id), "driver_node_id")
        if not node or not limit:
            return b""
        answer = self._rest.log(node, log_name(native_id), window.take)
        if answer.status != 200:
            raise CenterUnreachable(
                _("Ray does not give the job's log: %(text)s") % {"text": last_line(answer.end)}
            )
        return window.read

    def usage(self, since: datetime) -> Iterator[UsageRecord]:
        """Refused: Ray keeps no accounts."""
        raise CenterRefused(_("Ray keeps no accounts of what jobs use."))

    def close(self) -> None:
        """See `base`."""
        self._client.close()

    def _job(self, native_id: str) -> dict[str, Any]:
        """A job by its submission id. Ray's own ids of other jobs, which it takes there as well, name none of ours."""
        if not _ID.fullmatch(native_id):
            raise CenterRefused(_("%(id)s is no id of a job of Ray's.") % {"id": repr(native_id[:40])})
        job = self._rest.job(native_id)
        if is_submitted(job) and text(job, "submission_id") == native_id:
            return job
        if native_id in (text(job, "job_id"), text(job, "submission_id")):
            raise NoSuchJob(_("The cluster knows no job %(id)s.") % {"id": native_id})
        raise CenterBroken(_("The answer is about another job than was asked for."))

    def _nodes(self) -> list[dict[str, Any]]:
        return self._rest.listed("nodes", state="ALIVE")

    def _used(self) -> Quantities:
        used = used_of_status(self._rest.data("/api/cluster_status"), self._devices)
        if used is None:
            used = used_of_nodes(self._rest.data("/nodes", {"view": "summary"}), self._devices)
        if used is None:
            raise CenterRefused(
                _(
                    "The cluster tells nobody what is in use: its monitor has to run (ray start without --no-monitor)."
                )
            )
        return used

    def _room_check(self, asked: Quantities) -> None:
        """What no node has Ray would let wait for a quarter of an hour, and fail."""
        wanted = asked_resources(asked, self._devices)
        nodes = [group(node, "resources_total") for node in self._nodes()]
        if not any(all(amount(node, name) >= count for name, count in wanted.items()) for node in nodes):
            raise CenterRefused(_("No node of the cluster has all that the job asks for."))
