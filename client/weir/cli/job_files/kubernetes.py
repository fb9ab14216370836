"""A Kubernetes Job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir.cli.job_files import kubernetes_volumes
from weir.cli.job_files.figures import quantity, quantity_mib
from weir.cli.job_files.job import Job
from weir.cli.job_files.stored import take_image, take_secret
from weir.errors import WeirClientError

# Cards by their vendors' device plugins; and HAMi's words for shares of one.
_CARDS = (
    "nvidia.com/gpu", "amd.com/gpu", "huawei.com/Ascend910", "cambricon.com/mlu", "cambricon.com/vmlu",
    "hygon.com/dcunum", "metax-tech.com/gpu", "iluvatar.ai/vgpu", "mthreads.com/vgpu", "kunlunxin.com/xpu",
)  # fmt: skip
_CORES, _MEMORY = "nvidia.com/gpucores", "nvidia.com/gpumem"
_QUEUES = ("kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name")
_WHY = {
    "spec.ttlSecondsAfterFinished": "what has ended stays in the list",
    "spec.suspend": "submit it when it is to run",
    "spec.manualSelector": "there are no selectors",
    "spec.selector": "there are no selectors",
    "spec.podFailurePolicy": "retries follow the cause by themselves",
    "pod.tolerations": "name a resource --group",
    "pod.affinity": "give --affinity, --anti-affinity or --group",
    "pod.serviceAccountName": "work has no account of its own",
    "pod.priorityClassName": "give --priority",
    "pod.schedulerName": "there is one scheduler",
    "pod.imagePullSecrets": "images lie in the centre: none is fetched with a password",
    "pod.initContainers": "do it at the begin of the program",
    "container.ports": "give --web for pages that `weir open` opens",
    "container.securityContext": "work is a user without powers",
}
_TRIVIAL = {
    "pod.restartPolicy": "spec.backoffLimit counts the tries",
    "container.name": "the name of the job",
    "spec.completionMode": "each is told its number",
    "spec.parallelism": "so many at once",
    "container.imagePullPolicy": "a node fetches an image once, by its digest",
}
_VALUES = {
    "configMapKeyRef": "there are no ConfigMaps: give its value with -e",
    "fieldRef": "there is no pod: WEIR_SHARE, WEIR_SHARES and the like say what the program has",
    "resourceFieldRef": "there is no pod: WEIR_SHARE, WEIR_SHARES and the like say what the program has",
}
_UNKNOWN = "nothing here is like it"


def read(job: Job, given: Mapping[str, Any]) -> None:
    """Take a manifest into a job; each field is noted. Raises WeirClientError where it is none that can be run."""
    meta, spec = _part(given, "metadata"), _part(given, "spec")
    if given.get("kind") != "Job" or not str(given.get("apiVersion", "")).startswith("batch/v1"):
        raise WeirClientError(
            f"{given.get('kind') or 'This'} of {given.get('apiVersion') or 'no apiVersion'} is no Job.",
            "Bring a Job of batch/v1, with one container.",
        )
    _meta(job, meta)
    for name, value in spec.items():
        _spec(job, name, value)
    _completions(job, spec)
    template = _part(spec, "template")
    pod = _part(template, "spec")
    for name, value in pod.items():
        _pod(job, name, value)
    containers = pod.get("containers")
    if not (isinstance(containers, list) and len(containers) == 1 and isinstance(containers[0], Mapping)):
        raise WeirClientError("The Job has not one container.", "Bring one container; one program runs.")
    for name, value in containers[0].items():
        _container(job, name, value)
    kubernetes_volumes.take(job, pod.get("volumes") or [], containers[0].get("volumeMounts") or [])
    _program(job, containers[0])


def _program(job: Job, container: Mapping[str, Any]) -> None:
    """A command and its arguments; without either what the image runs."""
    argv = [str(word) for part in ("command", "args") for word in container.get(part) or []]
    if argv and not container.get("command"):
        raise WeirClientError(
            "The Job names arguments and no command.",
            "Write spec.template.spec.containers[0].command too: an image's own program takes none here.",
        )
    if argv:
        job.request["argv"] = job.started(argv)
    elif "image" not in job.request:
        raise WeirClientError(
            "The Job names no command.",
            "Write spec.template.spec.containers[0].command, or as image one of the centre that runs something.",
        )


def _part(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = given.get(name) or {}
    if not isinstance(found, Mapping):
        raise WeirClientError(f"{name} is no object.", "Write name: value lines below it.")
    return found


def _meta(job: Job, meta: Mapping[str, Any]) -> None:
    for name, value in meta.items():
        if name == "name":
            job.take("metadata.name", name=str(value))
        elif name in ("labels", "annotations") and isinstance(value, Mapping):
            for label, text in value.items():
                if label in _QUEUES:
                    job.take(f"{label}", queue=str(text))
                else:
                    job.leave(f"metadata.{name}.{label}", "work has no labels")
        elif name == "generateName":
            job.take("metadata.generateName", name=str(value).rstrip("-"))
        else:
            job.leave(f"metadata.{name}", _UNKNOWN)


def _spec(job: Job, name: str, value: Any) -> None:
    shown = f"spec.{name}"
    match name:
        case "template" | "completions":
            return
        case "backoffLimit":
            job.take(shown, max_attempts=int(value) + 1)
        case "activeDeadlineSeconds":
            job.take(shown, run_timeout_s=int(value))
        case _ if shown in _TRIVIAL:
            job.note(shown, _TRIVIAL[shown])
        case _:
            job.leave(shown, _WHY.get(shown, _UNKNOWN))


def _completions(job: Job, spec: Mapping[str, Any]) -> None:
    """So many runs of one program, so many at once, are the tasks of an array."""
    at_once = int(spec.get("parallelism") or 1)
    runs = int(spec.get("completions") or at_once)
    if runs > 1:
        job.take_array("spec.completions", f"0-{runs - 1}%{at_once}", "JOB_COMPLETION_INDEX")


def _pod(job: Job, name: str, value: Any) -> None:
    shown = f"pod.{name}"
    if name in ("containers", "volumes"):
        return
    if name == "nodeSelector" and isinstance(value, Mapping):
        for label, text in value.items():
            if label == "kubernetes.io/hostname":
                job.take(f"nodeSelector.{label}", node=str(text))
            elif label in ("nvidia.com/gpu.product", "gpu.product"):
                job.take(f"nodeSelector.{label}", model=str(text))
            else:
                job.leave(f"nodeSelector.{label}", "name a --node, a --model or a resource --group")
    elif name == "nodeName":
        job.take(shown, node=str(value))
    elif shown in _TRIVIAL:
        job.note(shown, _TRIVIAL[shown])
    else:
        job.leave(shown, _WHY.get(shown, _UNKNOWN))


def _container(job: Job, name: str, value: Any) -> None:
    shown = f"container.{name}"
    match name:
        case "command" | "args":
            job.note(shown, "argv")
        case "volumeMounts":
            return
        case "image":
            take_image(job, f"{shown}: {value}", str(value))
        case "env":
            _env(job, value)
        case "envFrom":
            _env_from(job, value)
        case "resources":
            _resources(job, value)
        case "workingDir":
            job.leave(shown, "the program starts in the folder of --workdir")
        case _ if shown in _TRIVIAL:
            job.note(shown, _TRIVIAL[shown])
        case _:
            job.leave(shown, _WHY.get(shown, _UNKNOWN))


def _env(job: Job, listed: Any) -> None:
    env = {}
    for each in listed:
        if "valueFrom" in each:
            _value_from(job, str(each["name"]), each["valueFrom"])
        else:
            env[str(each["name"])] = str(each.get("value", ""))
    if env:
        job.take("container.env", env=env)


def _value_from(job: Job, name: str, source: Mapping[str, Any]) -> None:
    """A key of a secret is the secret of the variable's own name here."""
    shown = f"env.{name}"
    if "secretKeyRef" not in source:
        kind = next(iter(source), "")
        job.leave(shown, _VALUES.get(kind, "give its value with -e"))
    elif (source["secretKeyRef"] or {}).get("optional"):
        job.leave(shown, f"no secret is optional here: give --secret {name} where there is one")
    else:
        take_secret(job, shown, name)


def _env_from(job: Job, listed: Any) -> None:
    for each in listed:
        kind = next((kind for kind in ("secretRef", "configMapRef") if kind in each), "")
        shown = f"envFrom.{(each.get(kind) or {}).get('name', '')}"
        if kind == "secretRef":
            job.leave(shown, "which variables it holds is not said here: give --secret NAME for each")
        else:
            job.leave(shown, "there are no ConfigMaps: give the variables with -e")


def _resources(job: Job, given: Mapping[str, Any]) -> None:
    asked = {**(given.get("requests") or {}), **(given.get("limits") or {})}
    shared = asked.keys() & {_CORES, _MEMORY}
    for name, value in asked.items():
        shown, text = f"resources {name}: {value}", str(value)
        if name in _CARDS:
            job.take(shown, shares=int(quantity(text)), **({} if shared else {"whole_cards": True}))
        elif name == _CORES:
            job.take(shown, compute_percent=int(quantity(text)))
        elif name == _MEMORY:
            job.take(shown, memory_mib=int(quantity(text)))
        elif name == "cpu":
            job.take(shown, host_cpu_milli=int(quantity(text) * 1000))
        elif name == "memory":
            job.take(shown, host_memory_mib=quantity_mib(text))
        elif name == "ephemeral-storage":
            job.take(shown, scratch_disk_mib=quantity_mib(text))
        else:
            job.leave(shown, _UNKNOWN)
    shares = job.request.get("shares", 1)
    for name in ("host_cpu_milli", "host_memory_mib", "scratch_disk_mib"):
        # A container's host amounts are for all its cards, ours are beside each share.
        if shares > 1 and name in job.request:
            job.request[name] = -(-job.request[name] // shares)
