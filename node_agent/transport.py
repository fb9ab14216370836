"""Talking to the server, and telling apart the ways in which that can fail."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from node_agent.protocol.containers import ContainerSaved, container_piece_path, container_saved_path
from node_agent.protocol.errors import ErrorReply
from node_agent.protocol.fields import JOIN_PATH, PROTOCOL_VERSION, SUPPORTED, SYNC_PATH
from node_agent.protocol.folders import PIECE_BYTES, FolderSent, FolderTaken, piece_path, sent_path
from node_agent.protocol.images import IMAGE_PIECE_BYTES, image_piece_path, manifest_path
from node_agent.protocol.join import JoinReply, JoinRequest
from node_agent.protocol.releases import KEYS_PATH, RELEASE_BYTES, ReleaseKeys
from node_agent.protocol.sync import SyncReply, SyncRequest

TIMEOUT_S = 10.0
TRIES, PAUSE_S = 6, 5.0
REPLY_BYTES = 32 * 1024 * 1024

Reply = TypeVar("Reply", bound=BaseModel)
T = TypeVar("T")


class TransportError(Exception):
    """No usable answer; the text says the cause."""


class Unauthorised(TransportError):
    """The server does not take our token or credential (401, 403)."""


class UnknownProtocol(TransportError):
    """The server and this agent speak different versions (426)."""


class RequestRefused(TransportError):
    """The server has understood and refused the message (other 4xx)."""


class NetworkTrouble(TransportError):
    """Nothing, nonsense or an error of the server's own came back: worth trying again."""


class Transport:
    """One server, one connection kept open. Every method raises TransportError and nothing else."""

    def __init__(self, server: str, ca: Path | None = None) -> None:
        """`ca`: the only authority whose certificates are believed; None: those this machine believes."""
        is_local = urlsplit(server).hostname in ("localhost", "127.0.0.1", "::1")
        trusted = ssl.create_default_context(cafile=str(ca) if ca else None)
        self._client = httpx.Client(
            base_url=server, timeout=TIMEOUT_S, trust_env=not is_local, verify=trusted
        )
        self._credential = ""

    def join(self, request: JoinRequest) -> JoinReply:
        """Exchange the join token for the node's own credential."""
        return self._post(JOIN_PATH, request, JoinReply, {})

    def sync(self, credential: str, request: SyncRequest) -> SyncReply:
        """Tell all, hear all."""
        self._credential = credential
        return self._post(SYNC_PATH, request, SyncReply, {"Authorization": f"Bearer {credential}"})

    def release_keys(self) -> ReleaseKeys:
        """The keys that the portal's operators sign releases with, and those they have revoked."""
        return self._read(self._exchange("GET", KEYS_PATH, None, self._bearer()), ReleaseKeys)

    def fetch(self, path: str, file: Path) -> None:
        """Write what the portal serves at a path into a file. Raises OSError too, where the disk does."""
        try:
            with (
                self._client.stream("GET", path, headers=self._bearer()) as response,
                file.open("wb") as written,
            ):
                if response.status_code != 200:
                    raise _error(response.status_code, response.read())
                for piece in response.iter_bytes():
                    written.write(piece)
                    if written.tell() > RELEASE_BYTES:
                        raise RequestRefused(f"what the server offers is longer than {RELEASE_BYTES} bytes")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
            raise NetworkTrouble(f"the server cannot be reached: {error or type(error).__name__}") from error

    def piece_put(self, key: str, transfer: str, number: int, piece: bytes) -> None:
        """Store one piece of a work folder's archive; putting it again replaces it."""
        headers = self._bearer() | {"Content-Type": "application/octet-stream"}
        self._read(self._exchange("PUT", piece_path(key, transfer, number), piece, headers), FolderTaken)

    def piece_get(self, key: str, transfer: str, number: int) -> bytes:
        """One piece of a work folder's archive."""
        return self._bytes(piece_path(key, transfer, number), PIECE_BYTES)

    def image_manifest(self, version: str) -> bytes:
        """What an image is made of, as it was stored."""
        return self._bytes(manifest_path(version), IMAGE_PIECE_BYTES)

    def image_piece(self, version: str, digest: str, number: int) -> bytes:
        """One piece of a file of an image."""
        return self._bytes(image_piece_path(version, digest, number), IMAGE_PIECE_BYTES)

    def folder_sent(self, key: str, message: FolderSent) -> None:
        """Say that a work folder's archive is whole, or that it cannot be made."""
        self._post(sent_path(key), message, FolderTaken, self._bearer())

    def container_piece_put(self, transfer: str, number: int, piece: bytes) -> None:
        """Store one piece of a container's layer; putting it again replaces it."""
        headers = self._bearer() | {"Content-Type": "application/octet-stream"}
        self._read(self._exchange("PUT", container_piece_path(transfer, number), piece, headers), FolderTaken)

    def container_saved(self, transfer: str, message: ContainerSaved) -> None:
        """Say that a container's layer is whole, or that it cannot be made."""
        self._post(container_saved_path(transfer), message, FolderTaken, self._bearer())

    def _bytes(self, path: str, most: int) -> bytes:
        status, body = self._exchange("GET", path, None, self._bearer())
        if status != 200:
            raise _error(status, body)
        if len(body) > most:
            raise RequestRefused(f"a piece is longer than {most} bytes")
        return body

    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._credential}"}

    def close(self) -> None:
        self._client.close()

    def _post(self, path: str, request: BaseModel, kind: type[Reply], headers: dict[str, str]) -> Reply:
        return self._read(self._exchange("POST", path, request.model_dump_json().encode(), headers), kind)

    @staticmethod
    def _read(answer: tuple[int, bytes], kind: type[Reply]) -> Reply:
        status, body = answer
        if status != 200:
            raise _error(status, body)
        try:
            reply = kind.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise NetworkTrouble(f"the server's answer makes no sense: {place}: {first['msg']}") from error
        if getattr(reply, "protocol", PROTOCOL_VERSION) not in SUPPORTED:
            raise UnknownProtocol("the server answers in an unknown protocol; update this agent")
        return reply

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        try:
            with self._client.stream(method, path, content=content, headers=headers) as response:
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > REPLY_BYTES:
                        raise NetworkTrouble("the server's answer is longer than 32 MiB")
                return response.status_code, bytes(body)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
            raise NetworkTrouble(f"the server cannot be reached: {error or type(error).__name__}") from error


def _error(status: int, body: bytes) -> TransportError:
    sentence = _sentence(status, body)
    if status in (401, 403):
        return Unauthorised(sentence)
    if status == 426:
        return UnknownProtocol(sentence)
    if 400 <= status < 500 and status not in (408, 425, 429):
        return RequestRefused(sentence)
    return NetworkTrouble(sentence)


def _sentence(status: int, body: bytes) -> str:
    try:
        detail = ErrorReply.model_validate_json(body).error
    except ValidationError:
        return f"the server answered with status {status}"
    return f"{detail.message} {detail.cure}".strip()


def patiently(ask: Callable[[], T]) -> T:
    """Ask again after trouble on the way, with growing pauses; what was refused is not asked again."""
    for turn in range(TRIES - 1):
        try:
            return ask()
        except NetworkTrouble:
            time.sleep(min(2.0**turn / 4, PAUSE_S))
    return ask()
