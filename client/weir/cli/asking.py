"""What work may ask for: the options that `submit`, `run` and `eta` share, and the one body made of them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from weir.cli.words import command_words, cores_milli, duration_s, instant, pairs, signal_name

Json = dict[str, Any]


def _option(text: str, *names: str, env: str | None = None, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, envvar=env, metavar=metavar)


Share = Annotated[int | None, _option("Compute, in percent of one device.", env="WEIR_SHARE")]
Memory = Annotated[int | None, _option("Accelerator memory in MiB.", env="WEIR_MEMORY")]
Shares = Annotated[int | None, _option("How many such shares, all or none.")]
MinShares = Annotated[
    int | None, _option("Elastic: starts with so many shares, and grows to --shares while there is room.")
]
Replicas = Annotated[int | None, _option("How many replicas, of --per-replica shares each.")]
PerReplica = Annotated[int | None, _option("So many shares are a replica, on one node together.")]
MinReplicas = Annotated[
    int | None, _option("Elastic: starts with so many replicas, and grows to --replicas while there is room.")
]
Distinct = Annotated[bool, _option("Each share on a device of its own.", "--distinct")]
SingleNode = Annotated[bool, _option("All shares on one node.", "--single-node")]
Whole = Annotated[bool, _option("Whole physical cards.", "--whole")]
Env = Annotated[list[str], _option("NAME=value for the program, once for each.", "--env", "-e")]
Spec = Annotated[str, _option("A specification, instead of share and memory.")]
Environment = Annotated[str, _option("An environment; a fixed one decides the amounts.")]
Queue = Annotated[str, _option("The queue to wait in; left out: the default one.")]
Priority = Annotated[
    int | None, _option("Higher goes first where the queue is ordered by priority; else your own.")
]
Urgent = Annotated[bool, _option("Goes before all that is not urgent; only for who may.", "--urgent")]
Preemptible = Annotated[
    bool, _option("May be stopped for more important work, and goes on later.", "--preemptible")
]
Oversubscribe = Annotated[
    bool, _option("Shares its devices, where its queue leaves that to it.", "--oversubscribe")
]
CheckpointSignal = Annotated[
    str,
    _option("Sent to the program so that it saves itself before it is stopped to go on later: USR1, HUP."),
]
CheckpointCommand = Annotated[
    str, _option("Run beside the program instead; it ends with 0 once all is saved.")
]
Model = Annotated[str, _option("The card model wanted.")]
Vendor = Annotated[str, _option("The vendor wanted.")]
Node = Annotated[str, _option("The node wanted.")]
Device = Annotated[str, _option("The very device wanted.")]
Group = Annotated[str, _option("The resource group to use.")]
Placing = Annotated[str, _option("How it is placed, instead of the queue's way.")]
LocalNode = Annotated[str, _option("The node that counts as local.")]
Affinity = Annotated[str, _option("Share one device with work of the same word.")]
AntiAffinity = Annotated[str, _option("Keep off devices with work of this word.")]
Cpu = Annotated[str, _option("Processor cores beside each share: 2, 0.5.")]
HostMemory = Annotated[int | None, _option("Main memory beside each share, in MiB.")]
RunTimeout = Annotated[str, _option("Ended after so long: 30s, 2h.")]
IdleTimeout = Annotated[str, _option("Released after so long without use: 30s, 10m.")]
NotBefore = Annotated[str, _option("Starts no earlier: 18:00, 2026-12-01T08:00, or 2h from now.")]
Deadline = Annotated[str, _option("Must have ended by then: 18:00, 2026-12-01T08:00, or 2h from now.")]
Purpose = Annotated[str, _option("training, development, inference or visualization.")]
Requeue = Annotated[bool, _option("Queued again when its node is lost.", "--requeue")]
Reason = Annotated[str, _option("Kept beside the act.")]
WaitForQuota = Annotated[bool, _option("Wait where the quota is used up.", "--wait-for-quota")]


def _same(value: Any) -> Any:
    return value


# By option: what the API calls it, and how it is read.
_FIELDS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "name": ("name", _same),
    "share": ("compute_percent", _same),
    "memory": ("memory_mib", _same),
    "shares": ("shares", _same),
    "min_shares": ("min_shares", _same),
    "replicas": ("replicas", _same),
    "per_replica": ("shares_per_replica", _same),
    "min_replicas": ("min_replicas", _same),
    "distinct": ("distinct_devices", _same),
    "single_node": ("single_node", _same),
    "whole": ("whole_cards", _same),
    "env": ("env", pairs),
    "spec": ("spec", _same),
    "environment": ("environment", _same),
    "queue": ("queue", _same),
    "priority": ("priority", _same),
    "urgent": ("urgent", _same),
    "preemptible": ("preemptible", _same),
    "oversubscribe": ("oversubscribe", _same),
    "checkpoint_signal": ("checkpoint_signal", signal_name),
    "checkpoint_command": ("checkpoint_command", command_words),
    "model": ("model", _same),
    "vendor": ("vendor", _same),
    "node": ("node", _same),
    "device": ("device", _same),
    "group": ("resource_group", _same),
    "placing": ("placing", _same),
    "local_node": ("local_node", _same),
    "affinity": ("affinity", _same),
    "anti_affinity": ("anti_affinity", _same),
    "cpu": ("host_cpu_milli", cores_milli),
    "host_memory": ("host_memory_mib", _same),
    "run_timeout": ("run_timeout_s", duration_s),
    "idle_timeout": ("idle_timeout_s", duration_s),
    "not_before": ("earliest_start_at", instant),
    "deadline": ("deadline_at", instant),
    "purpose": ("purpose", _same),
    "requeue": ("requeue_on_loss", _same),
    "wait_for_quota": ("wait_for_quota", _same),
}


def wish_of(ctx: typer.Context, **more: Any) -> Json:
    """What `POST /workloads` takes, of the options that were given to a command; the rest is the centre's to say.

    Raises:
        WeirClientError: a duration, an instant, a variable or a number of cores that is none.
    """
    found = {}
    for name, value in ctx.params.items():
        # 0 is an answer, and equal to False.
        if name in _FIELDS and value is not None and value is not False and value not in ("", [], ()):
            field, read = _FIELDS[name]
            found[field] = read(value)
    return found | {name: value for name, value in more.items() if value not in (None, "")}
