"""Volcano's queues in a Kubernetes cluster: written to it, read from it, opened and closed (ELA-1703 to ELA-1706).

A centre needs no cluster; who has one keeps its queues there too. It is reached as `kubectl` reaches it, from where the
operator is: the centre holds no key of any cluster. Needs lightkube: `pip install "lightkube>=1,<2"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weir.errors import WeirClientError

if TYPE_CHECKING:
    from lightkube import Client

Json = dict[str, Any]
GROUP, VERSION = "scheduling.volcano.sh", "v1beta1"
KEEPER = "weir"
"""Who owns the fields that are written, and the label by which what was written is known again."""
LABEL = "app.kubernetes.io/managed-by"
COMMANDS_NAMESPACE = "default"
"""Where Volcano's own tool leaves commands about queues, which stand in no namespace themselves."""
OPEN, CLOSE = "OpenQueue", "CloseQueue"
_SHUT = {"Closed", "Closing"}


@dataclass(slots=True)
class Pushed:
    """What was done to a cluster, by the queues' names; `commanded`: queue and command."""

    applied: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    commanded: list[tuple[str, str]] = field(default_factory=list)


class Cluster:
    """The queues of one cluster.

    Raises WeirClientError where the library or the configuration is missing, the cluster does not answer, has no
    Volcano, or refuses.
    """

    def __init__(self, kubeconfig: str = "", context: str = "") -> None:
        try:
            import lightkube
            from lightkube.generic_resource import create_global_resource, create_namespaced_resource
        except ImportError as problem:
            raise WeirClientError(
                "What talks to a cluster is not installed.", 'Run: pip install "lightkube>=1,<2".'
            ) from problem
        self._queue: Any = create_global_resource(GROUP, VERSION, "Queue", "queues")
        self._command: Any = create_namespaced_resource("bus.volcano.sh", "v1alpha1", "Command", "commands")
        with self._explained():
            self._client: Client = lightkube.Client(config=_config(kubeconfig, context), field_manager=KEEPER)

    def pull(self) -> list[Json]:
        """The cluster's queues as manifests with their observed status, by name."""
        with self._explained():
            rows = [row.to_dict() for row in self._client.list(self._queue)]
        return sorted((_manifest(row) for row in rows), key=lambda each: str(each["metadata"]["name"]))

    def push(self, manifests: Sequence[Json], *, prune: bool = False, dry_run: bool = False) -> Pushed:
        """Write queues, parents first, and open or close those whose state is another than `status` says.

        Only what was written from here before is removed by `prune`. The cluster checks each queue by itself: where it
        refuses one, those before it are written. `dry_run`: it checks all and keeps nothing.
        """
        known = {each["metadata"]["name"]: each for each in self.pull()}
        done = Pushed()
        with self._explained():
            for each in _parents_first(manifests):
                name = each["metadata"]["name"]
                self._client.apply(self._queue(_labelled(each)), force=True, dry_run=dry_run)
                done.applied.append(name)
                wanted, seen = _state(each), _state(known.get(name, {})) or "Open"
                if wanted in {"Open", "Closed", "Closing"} and (wanted in _SHUT) != (seen in _SHUT):
                    done.commanded.append((name, CLOSE if wanted in _SHUT else OPEN))
            for name, action in done.commanded:
                self._say(name, action, dry_run)
            for each in reversed(_parents_first(list(known.values())) if prune else []):
                name = each["metadata"]["name"]
                if name not in done.applied and (each["metadata"].get("labels") or {}).get(LABEL) == KEEPER:
                    if not dry_run:
                        self._client.delete(self._queue, name)
                    done.removed.append(name)
        return done

    def _say(self, name: str, action: str, dry_run: bool) -> None:
        """A command to Volcano's controller: the state of a queue is observed, never set (ELA-1704)."""
        if dry_run:
            return
        queue = self._client.get(self._queue, name)
        target = {
            "apiVersion": f"{GROUP}/{VERSION}", "kind": "Queue", "name": name, "uid": queue.metadata.uid,
            "controller": True, "blockOwnerDeletion": True,
        }  # fmt: skip
        meta = {
            "generateName": f"{name}-{action.lower()}-",
            "namespace": COMMANDS_NAMESPACE,
            "ownerReferences": [target],
        }
        body = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": meta, "target": target,
                "action": action}  # fmt: skip
        self._client.create(self._command(body), namespace=COMMANDS_NAMESPACE)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever goes wrong between here and the cluster says its cause and its cure."""
        import httpx2
        from lightkube.core.exceptions import ApiError, ConfigError

        try:
            yield
        except ApiError as refused:
            status = refused.status
            cure = (
                "Ask whoever runs the cluster for the right to change queues." if status.code == 403 else ""
            )
            if status.code == 404:
                cure = "Install Volcano there, or choose another cluster with --context."
            raise WeirClientError(
                f"The cluster refused: {status.message}.".replace("..", "."), cure
            ) from refused
        except ConfigError as wrong:
            raise WeirClientError(
                f"No cluster is configured: {wrong}.", "Name a file with --kubeconfig."
            ) from wrong
        except (httpx2.TransportError, OSError) as silent:
            raise WeirClientError(
                f"The cluster does not answer: {silent}.", "Check the address in the kubeconfig."
            ) from silent


def _config(kubeconfig: str, context: str) -> Any:
    """The file named, else the pod's own, else $KUBECONFIG, else ~/.kube/config."""
    from lightkube import KubeConfig

    found = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
    return found.get(context or None)


def _state(manifest: Json) -> str:
    return str((manifest.get("status") or {}).get("state") or "")


def _manifest(row: Json) -> Json:
    """Of what a cluster answers that which a queue is made of, and its state."""
    meta = {
        key: row["metadata"][key] for key in ("name", "labels", "annotations") if row["metadata"].get(key)
    }
    found = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Queue",
        "metadata": meta,
        "spec": row.get("spec") or {},
    }
    return found | ({"status": {"state": _state(row)}} if _state(row) else {})


def _labelled(manifest: Json) -> Json:
    meta = manifest["metadata"]
    labels = {**(meta.get("labels") or {}), LABEL: KEEPER}
    written = {key: value for key, value in manifest.items() if key != "status"}
    return written | {"metadata": {**meta, "labels": labels}}


def _parents_first(manifests: Sequence[Json]) -> list[Json]:
    """Each after the queue that it is part of."""
    by_name = {each["metadata"]["name"]: each for each in manifests}
    found: dict[str, Json] = {}

    def add(name: str) -> None:
        if name in by_name and name not in found:
            each = by_name[name]
            by_name.pop(name)
            add(str((each.get("spec") or {}).get("parent") or ""))
            found[name] = each

    for name in list(by_name):
        add(name)
    return list(found.values())


def manifests_of(text: str) -> list[Json]:
    """The manifests that stand in a file of documents; what is empty is left out."""
    import yaml

    return [each for each in yaml.safe_load_all(text) if each]


def text_of(manifests: Sequence[Json]) -> str:
    """A document for each manifest."""
    import yaml

    return str(yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True, width=110))
