"""Work that is submitted directly, the queues it waits in, and the operators' policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import (
        ArrayOut,
        BulkOut,
        DryRunOut,
        EnvironmentIn,
        EnvironmentOut,
        EnvironmentTemplateOut,
        ExplainOut,
        FolderUploadOut,
        HookCallOut,
        OutcomeOut,
        PatchedPolicyIn,
        PatchedQueueChangeIn,
        PolicyOut,
        QueueFileOut,
        QueueIn,
        QueueOut,
        QuotaOut,
        ReservationIn,
        ReservationOut,
        ScalingRuleIn,
        ScalingRuleOut,
        SecretOut,
        ServiceKeyMadeOut,
        ServiceKeyOut,
        ServiceOut,
        UserGroupOut,
        WorkloadExecOut,
        WorkloadIn,
        WorkloadMetricOut,
        WorkloadOut,
        WorkloadRowOut,
        WorkloadSessionOut,
        WorkloadWebOut,
    )
    from weir.working_folder import PackedFolder


class Scheduling(Calls):
    """The part of a client that submits and steers work."""

    # --- work ---------------------------------------------------------------------------------------------

    def workload_submit(self, **body: Unpack[WorkloadIn]) -> WorkloadOut:
        """Put a program or a session in a queue; the answer has its uid and number."""
        return self.post("workloads", body)

    def workloads_submit(self, jobs: Sequence[WorkloadIn]) -> BulkOut:
        """Put up to 10,000 in their queues in one call, all or none; each as for `workload_submit`."""
        return self.post("workloads/bulk", {"jobs": list(jobs)})

    def metrics(self, workload: str, name: str = "") -> list[WorkloadMetricOut]:
        """What a workload has written of itself, by metric and share, of metrics in whose names `name` occurs."""
        found: list[WorkloadMetricOut] = self.get(f"workloads/{workload}/metrics", name=name)
        return found

    def workload_dry_run(self, **body: Unpack[WorkloadIn]) -> DryRunOut:
        """When such work would start, and with how much it could start now; nothing is submitted."""
        return self.post("workloads/dry-run", body)

    def folder_send(
        self, packed: PackedFolder, *, progress: Callable[[int, int], object] | None = None
    ) -> str:
        """Send a folder that work is to begin in, where it is not here already; what a submission calls it (`folder`).

        Broken off and called again it goes on where it was. `progress` is told how many bytes of how many are there.
        """
        place: FolderUploadOut = self.post(
            "folder-uploads", {"sha256": packed.sha256, "size_bytes": packed.size_bytes}
        )
        if place["whole_at"] is not None:
            return packed.sha256
        there = place["pieces"] - len(place["missing"])
        for number in place["missing"]:
            piece = packed.piece(number, place["piece_bytes"])
            self.put_bytes(f"folder-uploads/{place['uid']}/pieces/{number}", piece)
            there += 1
            if progress is not None:
                progress(min(there * place["piece_bytes"], packed.size_bytes), packed.size_bytes)
        self.post(f"folder-uploads/{place['uid']}/finish")
        return packed.sha256

    def workload_explain(self, uid: str) -> ExplainOut:
        """Why it waits, its place, when it is expected to start and how sure that is, and every decision on it."""
        return self.get(f"workloads/{uid}/explain")

    def workload(self, uid: str) -> WorkloadOut:
        """State, reason, place in the queue, and what each share holds and really gets."""
        return self.get(f"workloads/{uid}")

    def workloads(
        self, *, state: str = "", queue: str = "", array: str = "", tasks: str = ""
    ) -> list[WorkloadRowOut]:
        """The tenant's workloads, newest first; all tenants' for an operator who has entered none. `array` is the
        number of one whose tasks are wanted; with `tasks="first"` each array stands for all of its tasks."""
        return list(self.all("workloads", state=state, queue=queue, array=array, tasks=tasks))

    def secrets(self) -> list[SecretOut]:
        """The names of your secrets and of those of all; what is in them nobody is shown."""
        return list(self.all("secrets"))

    def secret_set(self, name: str, value: str, *, is_shared: bool = False) -> SecretOut:
        """Set a secret, or replace it for work that starts from now on."""
        return self.post("secrets", {"name": name, "value": value, "is_shared": is_shared})

    def secret_delete(self, uid: str) -> None:
        self.call("DELETE", f"secrets/{uid}")

    def arrays(self) -> list[ArrayOut]:
        """The tenant's arrays with how far each is, newest first."""
        return list(self.all("arrays"))

    def array(self, uid: str) -> ArrayOut:
        return self.get(f"arrays/{uid}")

    def array_stop(self, uid: str, reason: str = "") -> ArrayOut:
        """End an array as one: nothing of it starts any more, and what waits or runs of it ends."""
        return self.post(f"arrays/{uid}/stop", {"reason": reason})

    def workload_stop(self, uid: str, reason: str = "") -> WorkloadOut:
        return self.post(f"workloads/{uid}/stop", {"reason": reason})

    def workload_act(self, uid: str, act: str, reason: str = "") -> WorkloadOut:
        """`suspend` (gives its room back), `resume` (waits again), or `requeue` (stopped, and waits again)."""
        return self.post(f"workloads/{uid}/{act}", {"reason": reason})

    def workload_extend(self, uid: str, more_s: int) -> WorkloadOut:
        """Let direct work run so many seconds longer than it may now; an order's by `order_change`."""
        return self.post(f"workloads/{uid}/extend", {"more_s": more_s})

    def workload_scale(
        self, uid: str, shares: int | None = None, *, replicas: int | None = None
    ) -> WorkloadOut:
        """Let elastic work have so many shares, or so many replicas, from now on at the most."""
        told = {"shares": shares, "replicas": replicas}
        return self.post(f"workloads/{uid}/scale", {name: n for name, n in told.items() if n is not None})

    def workload_rules(self, uid: str) -> list[ScalingRuleOut]:
        """The work's own scaling rules, each with its sentence."""
        return list(self.all(f"workloads/{uid}/scaling-rules"))

    def workload_rule_set(self, uid: str, **rule: Unpack[ScalingRuleIn]) -> ScalingRuleOut:
        """Scale elastic work by one more rule: by queue depth, utilisation or window."""
        return self.post(f"workloads/{uid}/scaling-rules", rule)

    def workload_rule_remove(self, uid: str, rule: str) -> None:
        self.call("DELETE", f"workloads/{uid}/scaling-rules/{rule}")

    def workload_resize(
        self, uid: str, *, compute_percent: int | None = None, memory_mib: int | None = None
    ) -> WorkloadOut:
        """Give each share other amounts while it runs; None leaves one as it is."""
        body = {"compute_percent": compute_percent, "memory_mib": memory_mib}
        return self.post(f"workloads/{uid}/resize", body)

    def workload_migrate(self, uid: str, *, node: str = "", device: str = "", share: int = 0) -> WorkloadOut:
        """Begin to move a share of a running session; with neither node nor device the pool chooses."""
        return self.post(f"workloads/{uid}/migrate", {"node": node, "device": device, "share": share})

    def workload_session(self, uid: str) -> WorkloadSessionOut:
        """State, reason and how to reach each share, with its key: for who submitted it."""
        return self.get(f"workloads/{uid}/session")

    def workload_web(self, uid: str) -> WorkloadWebOut:
        """An address that opens the web pages of your own work in one browser, once and within a minute."""
        return self.post(f"workloads/{uid}/web", {})

    def service(self, uid: str) -> ServiceOut:
        """A service's address, its health, and how often it was started again."""
        return self.get(f"workloads/{uid}/service")

    def service_keys(self, uid: str) -> list[ServiceKeyOut]:
        """The keys that open a service, without what is in them."""
        return self.get(f"workloads/{uid}/service-keys")

    def service_key_make(self, uid: str, name: str) -> ServiceKeyMadeOut:
        """A key by which programs reach your own service, as a bearer token; it is shown this once."""
        return self.post(f"workloads/{uid}/service-keys", {"name": name})

    def service_key_revoke(self, uid: str, key: str) -> None:
        """The key opens nothing any more."""
        self.call("DELETE", f"workloads/{uid}/service-keys/{key}")

    def workload_exec(
        self, uid: str, argv: Sequence[str], *, tty: bool = False, share: int = 0
    ) -> WorkloadExecOut:
        """A ticket to run a command beside a share of your own running work, once; without words a shell."""
        return self.post(f"workloads/{uid}/exec", {"argv": list(argv), "tty": tty, "share": share})

    def workload_port(self, uid: str, port: int, *, share: int = 0) -> WorkloadExecOut:
        """A key for connections to a port on which a share of your own running work listens."""
        return self.post(f"workloads/{uid}/port-forward", {"port": port, "share": share})

    def environment_templates(self) -> list[EnvironmentTemplateOut]:
        """What a development environment can be started from."""
        return list(self.all("environment-templates"))

    def environment_start(self, template: str, *, name: str = "", client_key: str = "") -> WorkloadOut:
        """Start a development environment from a template; `workload_web` opens it."""
        return self.post(f"environment-templates/{template}/start", {"name": name, "client_key": client_key})

    def environments(self) -> list[EnvironmentOut]:
        return list(self.all("environments"))

    def environment_make(self, **environment: Unpack[EnvironmentIn]) -> EnvironmentOut:
        """Put amounts under a name: those of a specification, or compute and memory by themselves."""
        return self.post("environments", environment)

    def environment_remove(self, uid: str) -> None:
        self.call("DELETE", f"environments/{uid}")

    # --- scheduling (operators) ---------------------------------------------------------------------------

    def queue_rules(self, code: str) -> list[ScalingRuleOut]:
        """The scaling rules of all elastic work of a queue."""
        return list(self.all(f"queues/{code}/scaling-rules"))

    def queue_rule_set(self, code: str, **rule: Unpack[ScalingRuleIn]) -> ScalingRuleOut:
        """Scale all elastic work of a queue by one more rule: by queue depth, utilisation or window."""
        return self.post(f"queues/{code}/scaling-rules", rule)

    def queue_rule_remove(self, code: str, rule: str) -> None:
        self.call("DELETE", f"queues/{code}/scaling-rules/{rule}")

    def queues(self) -> list[QueueOut]:
        """The queues in the order in which they are served."""
        return list(self.all("queues"))

    def queue_make(self, **queue: Unpack[QueueIn]) -> QueueOut:
        """A new queue with a code and names in both languages; it is open and without limits but for what is given."""
        return self.post("queues", queue)

    def queue_change(self, code: str, **settings: Unpack[PatchedQueueChangeIn]) -> QueueOut:
        """Change the settings that are given; a limit of None is taken away, what is not given stays."""
        return self.call("PATCH", f"queues/{code}", settings)

    def queue_remove(self, code: str) -> None:
        """Refused while work waits or runs in it, or queues are below it."""
        self.call("DELETE", f"queues/{code}")

    def queue_open(self, code: str) -> QueueOut:
        return self.post(f"queues/{code}/open", {})

    def queue_close(self, code: str) -> QueueOut:
        return self.post(f"queues/{code}/close", {})

    def queue_file(self, *, form: str = "queues", resource: str = "nvidia.com/gpu") -> QueueFileOut:
        """`text`, as queues.yaml or, with form "volcano", as manifests whose cards are `resource`; and `state`."""
        return self.get("queue-file", form=form, resource=resource)

    def queue_file_plan(self, text: str, *, prune: bool = False) -> OutcomeOut:
        """What the file would change; refused as its application would be."""
        return self.post("queue-file/plan", {"text": text, "prune": prune})

    def queue_file_apply(self, text: str, *, prune: bool = False, state: str = "") -> OutcomeOut:
        """All of the file or nothing; with `state` only where the queues are still as they were planned for."""
        return self.call("PUT", "queue-file", {"text": text, "prune": prune, "state": state})

    def reservations(self) -> list[ReservationOut]:
        """What is reserved now or later, what begins next first."""
        return list(self.all("reservations"))

    def reservation_make(self, **reservation: Unpack[ReservationIn]) -> ReservationOut:
        """Keep `device_uids` whole, or `compute_percent` and `memory_mib` of `count` devices (of a `model`), for a
        `tenant` or a `queue`, from one instant to another (ISO 8601)."""
        return self.post("reservations", reservation)

    def reservation_cancel(self, uid: str) -> None:
        self.call("DELETE", f"reservations/{uid}")

    def hook_calls(self) -> list[HookCallOut]:
        """The calls of the site's hooks that were not made, given up or still tried, newest first."""
        return list(self.all("hook-calls"))

    def hook_call_retry(self, uid: str) -> HookCallOut:
        """Try a call again that was given up."""
        return self.post(f"hook-calls/{uid}/retry", {})

    def user_groups(self) -> list[UserGroupOut]:
        """The groups of users, with the queues that are for them."""
        return list(self.all("user-groups"))

    def user_group_make(
        self, code: str, name_en: str, name_zh: str = "", users: Iterable[str] = ()
    ) -> UserGroupOut:
        """`users`: login accounts."""
        names = {"name_en": name_en, "name_zh": name_zh or name_en}
        return self.post("user-groups", {"code": code, **names, "users": list(users)})

    def user_group_change(self, code: str, name_en: str, name_zh: str, users: Iterable[str]) -> UserGroupOut:
        """Other names, and all the users that it is to have."""
        body = {"name_en": name_en, "name_zh": name_zh, "users": list(users)}
        return self.call("PUT", f"user-groups/{code}", body)

    def user_group_remove(self, code: str) -> None:
        """Refused while a queue is for it."""
        self.call("DELETE", f"user-groups/{code}")

    def scheduling_policy(self) -> PolicyOut:
        return self.get("scheduling-policy")

    def scheduling_policy_set(self, **settings: Unpack[PatchedPolicyIn]) -> PolicyOut:
        """Change the settings by which all queues are served; what is not given stays."""
        return self.call("PATCH", "scheduling-policy", settings)

    def tenant_quota(self, tenant: str) -> list[QuotaOut]:
        return self.get(f"quotas/{tenant}")

    def tenant_quota_set(self, tenant: str, item: str, total: int, *, model: str = "") -> list[QuotaOut]:
        """The most a tenant may hold of `instances`, `compute_percent`, `gpu_memory_mib`, `host_cpu_milli` (thousandths
        of cores) or `host_memory_mib`; with a `model` the most of one of the first three on devices of that model."""
        return self.call("PUT", f"quotas/{tenant}", {"item": item, "total": total, "model": model})
