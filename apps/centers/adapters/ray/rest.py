"""Ray's dashboard spoken to: its credential, its two kinds of answers, and what its errors mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.answers import group, number, records, text
from apps.centers.adapters.base import CenterBroken, CenterRefused, CenterUnreachable
from apps.centers.adapters.http_client import Answer, CenterClient
from apps.kernel.control_characters import has_control

# More than this Ray tells of nothing in one answer.
ROWS_MAX = 10_000


class NoSuchJob(CenterRefused):
    """Ray has no job of that id."""


class RayRest:
    """Calls to one dashboard."""

    def __init__(self, client: CenterClient, token: str) -> None:
        """`token` is "" where the cluster asks for none. Raises CenterRefused for what can be no token."""
        token = token.strip()
        if has_control(token) or not token.isascii() or " " in token:
            raise CenterRefused(_("This is no token: it is one word of letters, digits and signs."))
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def version(self) -> str:
        """Ray's version, by the part that takes jobs."""
        answer = self._call("GET", "/api/version")
        release = text(_record(answer, answer.data), "ray_version") if answer.status == 200 else ""
        if not release:
            raise _strange(answer)
        return f"ray {release[:32]}"

    def job(self, job: str) -> dict[str, Any]:
        """One job. Raises NoSuchJob where Ray says itself that there is none: any other 404 may be a proxy's."""
        answer = self._call("GET", f"/api/jobs/{job}")
        self._job_check(answer, job)
        return _record(answer, answer.data)

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs that Ray remembers, also those that came by other ways than its interface of jobs."""
        answer = self._call("GET", "/api/jobs/")
        if answer.status != 200:
            raise _strange(answer)
        return records({"jobs": answer.data}, "jobs")

    def submit(self, body: Mapping[str, Any]) -> Answer:
        """Send a job; every answer is the caller's to judge."""
        return self._call("POST", "/api/jobs/", body=body)

    def stop(self, job: str) -> None:
        """Ask for a job's end; nothing is said of one that is over. Raises NoSuchJob."""
        answer = self._call("POST", f"/api/jobs/{job}/stop")
        self._job_check(answer, job)
        _record(answer, answer.data)

    def count(self, what: str, **equal: str) -> int:
        """How many rows a list of Ray's state has with these values."""
        return number(self._state(what, 1, equal), "num_filtered")

    def listed(self, what: str, **equal: str) -> list[dict[str, Any]]:
        """The rows of a list of Ray's state with these values. Raises CenterBroken where they are not all of them: the
        sum of the rest would be too small."""
        told = self._state(what, ROWS_MAX, equal)
        found = records(told, "result")
        if number(told, "num_filtered") != len(found):
            raise CenterBroken(_("Ray tells a part of its %(what)s only.") % {"what": what})
        return found

    def _state(self, what: str, limit: int, equal: Mapping[str, str]) -> Mapping[str, Any]:
        query = {"limit": str(limit), "detail": "true"}
        for name, value in equal.items():
            query |= {"filter_keys": name, "filter_predicates": "=", "filter_values": value}
        told = group(self.data(f"/api/v0/{what}", query), "result")
        records(told, "result")
        if "num_filtered" not in told or text(told, "partial_failure_warning"):
            raise CenterBroken(_("Ray tells a part of its %(what)s only.") % {"what": what})
        return told

    def data(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What an answer of the dashboard's own form says. Raises CenterBroken for another, CenterUnreachable where it
        says that it could not be done."""
        answer = self._call("GET", path, query=query)
        told = _record(answer, answer.data, any_status=True)
        if told.get("result") is True and answer.status == 200 and isinstance(told.get("data"), dict):
            found: dict[str, Any] = told["data"]
            return found
        if told.get("result") is False:
            raise CenterUnreachable(
                _("Ray could not tell it now: %(text)s") % {"text": text(told, "msg")[:300]}
            )
        raise _strange(answer)

    def log(self, node: str, name: str, taken: Callable[[bytes], bool]) -> Answer:
        """A file among the logs of a node, whole, block by block; 500 where there is no such node or file."""
        query = {"node_id": node, "filename": name, "lines": "-1"}
        return self._client.blocks("/api/v0/logs/file", taken, query=query, headers=self._headers)

    def _call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: object = None
    ) -> Answer:
        return self._client.call(method, path, query=query, body=body, headers=self._headers)

    def _job_check(self, answer: Answer, job: str) -> None:
        if answer.status == 404 and answer.data is None and answer.text == f"Job {job} does not exist":
            raise NoSuchJob(_("The cluster knows no job %(id)s.") % {"id": job})
        if answer.status == 500:
            raise CenterUnreachable(_("Ray could not do it now: %(text)s") % {"text": last_line(answer.end)})
        if answer.status != 200:
            raise _strange(answer)


def last_line(trace: str) -> str:
    """What a traceback comes to."""
    lines = [line.strip() for line in trace.splitlines() if line.strip(" .\t")]
    return lines[-1] if lines else "?"


def _record(answer: Answer, value: object, *, any_status: bool = False) -> dict[str, Any]:
    if not isinstance(value, dict) or (answer.status != 200 and not any_status):
        raise _strange(answer)
    return value


def _strange(answer: Answer) -> CenterBroken:
    return CenterBroken(
        _("The centre answers %(status)s without what Ray says: %(text)s")
        % {"status": answer.status, "text": answer.text}
    )
