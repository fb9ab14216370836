"""The adapter of centres that are Slurm clusters, by slurmrestd with tokens and the accounts of slurmdbd."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext as _

from apps.centers.adapters.answers import group, number, records, summed, text
from apps.centers.adapters.base import (
    Ability,
    CallLimits,
    CenterBroken,
    CenterRefused,
    CenterResources,
    JobMessage,
    JobSeen,
    UsageRecord,
)
from apps.centers.adapters.http_client import CenterClient
from apps.centers.adapters.requests import device_names, key_check
from apps.centers.adapters.slurm.accounts import administrator_check, private_folder_check, tenant_user
from apps.centers.adapters.slurm.jobs import job_body
from apps.centers.adapters.slurm.logs import folder_check, log_read
from apps.centers.adapters.slurm.records import (
    account_seen,
    is_serving,
    job_seen,
    node_total,
    node_used,
    usage_of,
)
from apps.centers.adapters.slurm.rest import ALREADY_OVER, NO_JOB, SlurmError, SlurmRest
from apps.centers.adapters.slurm.tokens import Credential

# Of one question to the accounts: servers take lines of 8 KiB.
_NAMES_BYTES = 6000
# slurmrestd reads times of ten digits after "uts": from 2001 on.
_FIRST_TIME_S = 10**9
_ID = re.compile(r"[1-9][0-9]{0,9}")
# Slurm's names of what the portal counts as a GPU, an NPU or an MLU.
_DEVICES = {"gpu": "gpu", "npu": "npu", "mlu": "mlu"}


class SlurmAdapter:
    """One cluster, as one of its users."""

    # Accounts keep so much of a name.
    key_length = 255

    def __init__(
        self,
        settings: Mapping[str, str],
        secrets: Mapping[str, str],
        local_addresses: bool,
        *,
        limits: CallLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Of the values of the kind's fields, and with `tenant_user` as that user: what is another's it neither sees
        nor touches. Raises CenterRefused for a value that cannot be."""
        self._credential = Credential(
            settings.get("user", ""), secrets.get("token", ""), secrets.get("key", ""), clock
        )
        self._partition = (
            settings.get("tenant_partition", "").strip() or settings.get("partition", "").strip()
        )
        self._account = settings.get("tenant_account", "").strip() or settings.get("account", "").strip()
        self._folder = _folder(settings.get("folder", ""))
        self._log_folder = _folder(settings["log_folder"]) if settings.get("log_folder", "").strip() else ""
        self._is_tenants = "tenant_user" in settings
        if self._is_tenants:
            key = secrets.get("key", "")
            user = tenant_user(settings["tenant_user"], own=self._credential.user, has_key=bool(key.strip()))
            self._credential = Credential(user, "", key, clock)
            self._folder = f"{self._folder}/{user}"
            self._log_folder = self._log_folder and f"{self._log_folder}/{user}"
        self._devices = device_names(settings.get("devices", ""), _DEVICES)
        logs = {Ability.LOGS} if self._log_folder else set()
        self.abilities = frozenset({Ability.JOBS, Ability.USAGE} | logs)
        self._is_user_known = False
        limits = limits or CallLimits()
        self._create_s = limits.create_s
        client = CenterClient(
            settings.get("address", ""),
            authority=settings.get("authority", ""),
            local_addresses=local_addresses,
            limits=limits,
        )
        self._client, self._rest = client, SlurmRest(client, self._credential)

    def check(self) -> str:
        """See `base`. The controller, the accounts and the folder of logs all have to be there."""
        told = self._rest.controller("GET", "ping")
        if not any(text(each, "ping") == "UP" for each in records(told, "pings")):
            raise CenterRefused(_("Slurm's controller is down."))
        user = self._credential.user
        known = records(self._rest.accounts(f"user/{quote(user, safe='')}"), "users")
        if not known:
            # Its jobs would run, and be in the accounts under nobody's name.
            raise CenterRefused(
                _("The accounts of the cluster know no user %(user)s: add it there by sacctmgr.")
                % {"user": user}
            )
        if self._is_tenants:
            administrator_check(known[0], user)
        if self._log_folder:
            folder_check(self._log_folder)
            if self._is_tenants:
                private_folder_check(self._log_folder)
        return _version(told)

    def resources(self) -> CenterResources:
        """See `base`. Nodes that give nothing to jobs now are not counted, nor those outside the partition."""
        told = self._rest.controller("GET", "nodes")
        nodes = [node for node in records(told, "nodes") if is_serving(node, self._partition)]
        states = [text(job, "job_state") for job in self._listed() if self._is_of_partition(job)]
        return CenterResources(
            total=summed(node_total(node, self._devices) for node in nodes),
            used=summed(node_used(node, self._devices) for node in nodes),
            running_tasks=states.count("RUNNING"),
            waiting_tasks=states.count("PENDING"),
            nodes=len(nodes),
            version=_version(told),
        )

    def job_create(self, message: JobMessage, key: str) -> str:
        """See `base`."""
        body = job_body(
            message,
            key,
            folder=self._folder,
            partition=self._partition,
            account=self._account,
            devices=self._devices,
            is_private=self._is_tenants,
        )
        with self._client.together(self._create_s):
            if (found := self.job_find(key)) is not None:
                return found.native_id
            told = self._rest.controller("POST", "job/submit", body)
        native_id = str(number(told, "job_id"))
        if not _ID.fullmatch(native_id):
            raise CenterBroken(_("Slurm has taken the job and tells no number of it."))
        self._user_check(native_id)
        return native_id

    def job_find(self, key: str) -> JobSeen | None:
        """See `base`."""
        return self.jobs([key]).get(key)

    def job_get(self, native_id: str) -> JobSeen:
        """See `base`."""
        job = self._known(native_id)
        if job is not None:
            return job_seen(job)
        return account_seen(self._accounted(native_id))

    def jobs(self, keys: Sequence[str]) -> Mapping[str, JobSeen]:
        """See `base`. One question to the controller, and one to the accounts for some dozen that it has forgotten."""
        for key in keys:
            key_check(key, self.key_length)
        asked = set(keys)
        if not asked:
            return {}
        ours = [job for job in self._listed() if self._is_ours(job, "user_name")]
        found = _by_key(asked, map(job_seen, ours))
        for names in _in_lines(sorted(asked - found.keys())):
            told = self._rest.accounts("jobs", {"job_name": ",".join(names), "skip_steps": "true"})
            ours = [job for job in records(told, "jobs") if self._is_ours(job, "user")]
            found |= _by_key(set(names), map(account_seen, ours))
        return found

    def job_stop(self, native_id: str) -> None:
        """See `base`."""
        if self._known(native_id) is None:
            # Over for so long that the controller has forgotten it, or never there.
            self._accounted(native_id)
            return
        try:
            self._rest.controller("DELETE", f"job/{native_id}")
        except SlurmError as error:
            if error.number not in (NO_JOB, ALREADY_OVER):
                raise

    def job_log(self, native_id: str, offset: int, limit: int = 1024 * 1024) -> bytes:
        """See `base`. Only where a folder of logs is set."""
        if not self._log_folder:
            raise CenterRefused(_("This centre has no folder of logs."))
        return log_read(self._log_folder, _id(native_id), offset, limit, is_private=self._is_tenants)

    def usage(self, since: datetime) -> Iterator[UsageRecord]:
        """See `base`. Of all jobs of the user, whatever they are named; one without a user is nobody's."""
        since_s = int(since.timestamp())
        query = {"skip_steps": "true"}
        if since_s >= _FIRST_TIME_S:
            query["start_time"] = f"uts{since_s}"
        told = self._rest.accounts("jobs", query)
        ours = [job for job in records(told, "jobs") if text(job, "user") == self._credential.user]
        used = [found for job in ours if (found := usage_of(job, self._devices)) is not None]
        used = [each for each in used if each.ended_at >= since]
        yield from sorted(used, key=lambda each: (each.ended_at, int(each.native_id)))

    def close(self) -> None:
        """See `base`."""
        self._client.close()

    def _listed(self) -> list[dict[str, Any]]:
        """All jobs that the controller knows: its interface has no narrower question."""
        return records(self._rest.controller("GET", "jobs"), "jobs")

    def _is_of_partition(self, job: Mapping[str, Any]) -> bool:
        # One that waits may name several.
        return not self._partition or self._partition in text(job, "partition").split(",")

    def _known(self, native_id: str) -> dict[str, Any] | None:
        """A job of ours as the controller knows it; None where it knows none of that number."""
        try:
            told = self._rest.controller("GET", f"job/{_id(native_id)}")
        except SlurmError as error:
            if error.number == NO_JOB:
                return None
            raise
        return self._ours(records(told, "jobs"), native_id, "user_name")

    def _accounted(self, native_id: str) -> dict[str, Any]:
        """A job of ours as the accounts know it. Raises CenterRefused where there is none."""
        told = self._rest.accounts(f"job/{_id(native_id)}")
        found = self._ours(records(told, "jobs"), native_id, "user")
        if found is None:
            raise CenterRefused(_("The cluster knows no job %(id)s.") % {"id": native_id})
        return found

    def _ours(self, jobs: Iterable[dict[str, Any]], native_id: str, user: str) -> dict[str, Any] | None:
        found = [job for job in jobs if str(number(job, "job_id")) == native_id]
        if found and not self._is_ours(found[0], user):
            raise CenterRefused(
                _("Job %(id)s is not of %(user)s.") % {"id": native_id, "user": self._credential.user}
            )
        return found[0] if found else None

    def _is_ours(self, job: Mapping[str, Any], user: str) -> bool:
        """Whether a job is of this user. slurmrestd tells no name where its own machine does not know the user: such a
        job counts as ours, so that none is made twice; not where tenants have users of their own, whose jobs could be
        given each other's names."""
        if user not in job or "name" not in job:
            raise CenterBroken(_("The answer has a job without %(field)s.") % {"field": user})
        named = text(job, user)
        return named == self._credential.user or (not named and not self._is_tenants)

    def _user_check(self, native_id: str) -> None:
        """Another name of root's is seen by the number that the first job has there, and another name of any user by
        the name that it has: that job is stopped."""
        if self._is_user_known:
            return
        # Whatever name the cluster has for it: of root's job it may say another than was asked with.
        found = records(self._rest.controller("GET", f"job/{native_id}"), "jobs")
        job = next((each for each in found if str(number(each, "job_id")) == native_id), None)
        if job is None:
            return
        if job.get("user_id") == 0:
            self._rest.controller("DELETE", f"job/{native_id}")
            raise CenterRefused(
                _("The cluster takes this user for root: the job was stopped. Name another user.")
            )
        named = text(job, "user_name")
        if self._is_tenants and named != self._credential.user:
            self._rest.controller("DELETE", f"job/{native_id}")
            raise CenterRefused(
                _(
                    "The job was stopped: its user is %(user)s, and slurmrestd calls it %(named)s. Name the user as the"
                    " machine of slurmrestd knows it."
                )
                % {"user": self._credential.user, "named": repr(named[:32])}
            )
        self._is_user_known = True


def _version(answer: Mapping[str, Any]) -> str:
    release = text(group(group(answer, "meta"), "Slurm"), "release")
    if not release:
        raise CenterBroken(_("The answer names no version of Slurm."))
    return f"slurm {release[:32]}"


def _id(native_id: str) -> str:
    """A number of Slurm's; it becomes part of an address and of a file's name."""
    if not _ID.fullmatch(native_id):
        raise CenterRefused(_("%(id)s is no number of a job of Slurm's.") % {"id": repr(native_id[:40])})
    return native_id


def _by_key(keys: set[str], seen: Iterable[JobSeen]) -> dict[str, JobSeen]:
    """Of several jobs of a name the first that was made is the one, and says that there are others."""
    found: dict[str, JobSeen] = {}
    numbers: dict[str, set[int]] = defaultdict(set)
    for job in seen:
        if job.key not in keys:
            continue
        numbers[job.key].add(int(job.native_id))
        if job.key not in found or int(job.native_id) < int(found[job.key].native_id):
            found[job.key] = job
    for key, all_of_it in numbers.items():
        if len(all_of_it) > 1:
            others = sorted(all_of_it - {int(found[key].native_id)})
            found[key] = replace(found[key], others=tuple(map(str, others)))
    return found


def _in_lines(names: Sequence[str]) -> Iterator[list[str]]:
    """The names in groups that fit into an address."""
    line: list[str] = []
    for name in names:
        if line and sum(map(len, line)) + 3 * len(line) + len(name) > _NAMES_BYTES:
            yield line
            line = []
        line.append(name)
    if line:
        yield line


def _folder(written: str) -> str:
    folder = written.strip().rstrip("/")
    if not folder.startswith("/") or ".." in folder.split("/") or "%" in folder or not folder.isprintable():
        raise CenterRefused(
            _("%(folder)s is no absolute path of a folder.") % {"folder": repr(written[:100])}
        )
    return folder
