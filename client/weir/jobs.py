"""Jobs over several computing centres."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.calls import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Unpack

    from weir.api_types import JobLogOut, JobOut, JobRowOut, PatchedJobChangeIn


class Jobs(Calls):
    """The part of a client that runs jobs over the centres of the network."""

    def job_submit(self, name: str, tasks: Sequence[Mapping[str, Any]], **more: Any) -> JobOut:
        """Submit a job of one task or several; each has a `name`, a `command` and a `resourcespec`, the code of a
        network specification. What else a job and a task may say: `JobIn` and `JobTaskIn` of the API."""
        return self.post("jobs", {"name": name, "tasks": list(tasks), **more})

    def jobs(self, state: str = "", search: str = "") -> list[JobRowOut]:
        """The jobs over the centres, newest first."""
        return list(self.all("jobs", state=state, search=search))

    def job(self, job_id: str) -> JobOut:
        """One job: its tasks, where their replicas are, and why there."""
        return self.get(f"jobs/{job_id}")

    def job_stop(self, job_id: str) -> JobOut:
        """Stop a job: what waits is sent nowhere, what runs is asked to end."""
        return self.post(f"jobs/{job_id}/stop")

    def job_change(self, job_id: str, **changes: Unpack[PatchedJobChangeIn]) -> JobOut:
        """Change a job that has not ended: its `name`, `desc`, `priority`, `weights`, `deadline_at`; what is not given
        stays. With `revision` only that one."""
        return self.call("PATCH", f"jobs/{job_id}", changes)

    def job_delete(self, job_id: str) -> None:
        """Delete a job that is over, with all that is known of it."""
        self.call("DELETE", f"jobs/{job_id}")

    def job_log(self, job_id: str, task: int = 0, replica: int = 0, offset: int = 0) -> JobLogOut:
        """What a replica has printed from byte `offset` on, at most 1 MiB; tasks and replicas count from 0."""
        return self.get(f"jobs/{job_id}/tasks/{task}/replicas/{replica}/log", offset=offset)
