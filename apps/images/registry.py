"""The registry that keeps images: spoken to by the protocol of OCI, filled by skopeo.

Only the portal knows its password. Nodes have what they need from the portal, which knows what they may have.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx
from django.conf import settings

from apps.images.archives import Kind
from apps.images.errors import ImageRefused, NoRegistry, RegistryAway

MANIFEST_MAX_BYTES = 4 * 2**20
_TIMEOUT_S, _PUSH_S = 30.0, 3600
# So many at once; registries allow a thousand at most.
_NAMES = 100
# A registry that names no file of another repository has it copied in pieces of this size.
_COPIED_BYTES = 8 * 2**20
# Nodes take no image of more, its configuration not counted.
LAYERS_MAX = 200
_OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
# By kind of a manifest: what a layer packed by gzip is called in it.
_LAYER_KINDS = {
    _OCI_MANIFEST: "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.distribution.manifest.v2+json": "application/vnd.docker.image.rootfs.diff.tar.gzip",
}
_MANIFESTS = ", ".join(_LAYER_KINDS)


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry at an address with name and password in it."""

    url: str

    def push(self, archive: Path, kind: Kind, repository: str, tag: str) -> str:
        """Put an archive's image under a tag; its digest. Raises ImageRefused for what skopeo does not take, and
        RegistryAway."""
        parts = urlsplit(self.url)
        with _authority(parts.netloc.rpartition("@")[2], self._secret) as auth:
            told = auth.with_name("digest")
            # In OCI's own format and by gzip, whatever the archive's are: nodes unpack no other.
            command = ["skopeo", "--insecure-policy", "copy", "--quiet", "--authfile", str(auth),
                       "--format", "oci", "--dest-compress-format", "gzip",
                       f"--dest-tls-verify={'false' if parts.scheme == 'http' else 'true'}", "--digestfile", str(told),
                       f"{kind}:{archive}", f"docker://{self._host}/{repository}:{tag}"]  # fmt: skip
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=_PUSH_S,
                    check=False,
                )
            except FileNotFoundError as error:
                raise RegistryAway(cure="Install skopeo beside the portal's worker.") from error
            except subprocess.TimeoutExpired as error:
                raise RegistryAway() from error
            if done.returncode == 0:
                return told.read_text().strip()
        self._call("GET", "")
        said = done.stderr.strip().splitlines() or ["skopeo refuses it"]
        raise ImageRefused(said[-1].partition('msg="')[2].removesuffix('"')[:400] or said[-1][:400])

    def manifest(self, repository: str, digest: str) -> bytes:
        """What an image is made of, as it was stored."""
        answer = self._call("GET", f"{repository}/manifests/{digest}", {"Accept": _MANIFESTS})
        if len(answer.content) > MANIFEST_MAX_BYTES:
            raise RegistryAway()
        return answer.content

    def blob(self, repository: str, digest: str, begin: int, end: int) -> bytes:
        """Bytes of a file of an image, `end` not among them; fewer at its end."""
        answer = self._call("GET", f"{repository}/blobs/{digest}", {"Range": f"bytes={begin}-{end - 1}"})
        return answer.content[: end - begin]

    def config(self, repository: str, manifest: bytes) -> dict[str, Any]:
        """What an image says of itself: how it runs under `config`, its layers under `rootfs`. Raises RegistryAway."""
        _size, (file, *_layers) = manifest_facts(manifest)
        if file["size_bytes"] > MANIFEST_MAX_BYTES:
            raise RegistryAway()
        found: dict[str, Any] = json.loads(self.blob(repository, file["digest"], 0, file["size_bytes"]))
        return found

    def blob_mount(self, repository: str, digest: str, source: str, size_bytes: int) -> None:
        """Have a file of another repository in this one: named where the registry does that, else copied. Raises
        RegistryAway."""
        if repository == source or self._has(repository, digest):
            return
        asked = f"{repository}/blobs/uploads/?mount={quote(digest, safe='')}&from={quote(source, safe='')}"
        answer = self._call("POST", asked)
        if answer.status_code != httpx.codes.CREATED:
            steps = range(0, size_bytes, _COPIED_BYTES)
            pieces = (self.blob(source, digest, at, min(at + _COPIED_BYTES, size_bytes)) for at in steps)
            self._upload(answer, digest, pieces, size_bytes)

    def blob_put(self, repository: str, digest: str, content: Iterator[bytes], size_bytes: int) -> None:
        """Store a file of an image; one that is there is left as it is. Raises RegistryAway."""
        if not self._has(repository, digest):
            self._upload(self._call("POST", f"{repository}/blobs/uploads/"), digest, content, size_bytes)

    def manifest_put(self, repository: str, tag: str, content: bytes) -> str:
        """Put an image whose files are all there under a tag; its digest. Raises RegistryAway."""
        kind = json.loads(content)["mediaType"]
        self._call("PUT", f"{repository}/manifests/{tag}", {"Content-Type": kind}, content=content)
        return f"sha256:{hashlib.sha256(content).hexdigest()}"

    def _has(self, repository: str, digest: str) -> bool:
        return self._call("HEAD", f"{repository}/blobs/{digest}", missing_is_fine=True).status_code == 200

    def _upload(self, begun: httpx.Response, digest: str, content: Iterator[bytes], size_bytes: int) -> None:
        """Send a file to where the registry has begun to take it, in one go."""
        place = urljoin(str(begun.url), begun.headers.get("Location", ""))
        if urlsplit(place).netloc != self._host:
            # Our name and password are for nobody else.
            raise RegistryAway()
        told = {"Content-Type": "application/octet-stream", "Content-Length": str(size_bytes)}
        sign = "&" if urlsplit(place).query else "?"
        self._call("PUT", f"{place}{sign}digest={quote(digest, safe='')}", told, content=content)

    def digest(self, repository: str, tag: str) -> str:
        """The digest under a tag; "" where there is none."""
        answer = self._call(
            "HEAD", f"{repository}/manifests/{tag}", {"Accept": _MANIFESTS}, missing_is_fine=True
        )
        return answer.headers.get("Docker-Content-Digest", "") if answer.status_code == 200 else ""

    def remove(self, repository: str, digest: str) -> None:
        """Forget an image; one that is not there is forgotten. Its room comes back with the registry's own clean-up."""
        self._call("DELETE", f"{repository}/manifests/{digest}", missing_is_fine=True)

    def repositories(self) -> Iterator[str]:
        """The names of what it holds."""
        last = ""
        while True:
            answer = self._call("GET", f"_catalog?n={_NAMES}&last={quote(last)}")
            names = list(answer.json().get("repositories") or ())
            yield from names
            if len(names) < _NAMES:
                return
            last = names[-1]

    def tags(self, repository: str) -> list[str]:
        answer = self._call("GET", f"{repository}/tags/list", missing_is_fine=True)
        return list(answer.json().get("tags") or ()) if answer.status_code == 200 else []

    @property
    def _host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def _secret(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.username or ''}:{parts.password or ''}"

    def _call(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        *,
        missing_is_fine: bool = False,
        content: bytes | Iterator[bytes] | None = None,
    ) -> httpx.Response:
        """`path`: below the registry's, or an address that it gave. Raises RegistryAway for every answer that is
        none."""
        token = base64.b64encode(self._secret.encode()).decode()
        told = {"Authorization": f"Basic {token}", **(headers or {})}
        url = path if "://" in path else f"{urlsplit(self.url).scheme}://{self._host}/v2/{path}"
        try:
            # Some registries lead to where the files of images lie.
            answer = httpx.request(
                method,
                url,
                headers=told,
                content=content,
                timeout=_TIMEOUT_S,
                follow_redirects=True,
                trust_env=False,
                verify=_authorities(),
            )
        except httpx.HTTPError as error:
            raise RegistryAway() from error
        if answer.is_success or (missing_is_fine and answer.status_code == 404):
            return answer
        raise RegistryAway()


@cache
def _authorities() -> ssl.SSLContext:
    """Whom to believe: read once, as each of an image's many pieces is a request of its own."""
    return httpx.create_ssl_context(trust_env=False)


def registry() -> Registry:
    """The centre's. Raises NoRegistry."""
    if not settings.WEIR_REGISTRY_URL:
        raise NoRegistry()
    return Registry(settings.WEIR_REGISTRY_URL)


def manifest_facts(content: bytes) -> tuple[int, list[dict[str, Any]]]:
    """Of a manifest: how many bytes the image takes, and the files that it is made of."""
    found = json.loads(content)
    rows = [found["config"], *found["layers"]]
    files = [{"digest": row["digest"], "size_bytes": int(row["size"])} for row in rows]
    return len(content) + sum(row["size_bytes"] for row in files), files


def manifest_grown(content: bytes, config: tuple[str, int], layer: tuple[str, int]) -> bytes:
    """The manifest of an image that has one layer more, packed by gzip, and another configuration."""
    found = json.loads(content)
    found["mediaType"] = found.get("mediaType") or _OCI_MANIFEST
    kind = _LAYER_KINDS[found["mediaType"]]
    found["config"] |= {"digest": config[0], "size": config[1]}
    found["layers"].append({"mediaType": kind, "digest": layer[0], "size": layer[1]})
    return json.dumps(found).encode()


@contextmanager
def _authority(host: str, secret: str) -> Iterator[Path]:
    """A file by which skopeo may write there: a command line can be read by every user of the machine."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "auth.json"
        token = base64.b64encode(secret.encode()).decode()
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with open(fd, "w") as file:
            json.dump({"auths": {host: {"auth": token}}}, file)
        yield path
