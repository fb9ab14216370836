"""A small real HTTP server that speaks the node protocol, for tests of the agent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from node_agent.protocol.containers import CONTAINERS_PATH, ContainerSave, ContainerSaved
from node_agent.protocol.folders import FOLDERS_PATH, FolderSend, FolderSent, FolderTaken
from node_agent.protocol.messages import (
    JOIN_PATH,
    AgentConfig,
    DesiredRelease,
    DesiredSlice,
    EventReport,
    JoinReply,
    JoinRequest,
    SliceReport,
    SyncReply,
    SyncRequest,
    UsageReport,
)
from node_agent.protocol.releases import KEYS_PATH

Answer = tuple[int, bytes]


class PortalServer:
    """Keeps what the agent tells, answers what the test desires. `answer` overrides one raw answer."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.desired: dict[str, DesiredSlice] = {}
        self.forget: tuple[str, ...] = ()
        self.unknown: tuple[str, ...] = ()
        self.answer: Callable[[], Answer] | None = None
        self.joins: list[JoinRequest] = []
        self.syncs: list[SyncRequest] = []
        self.reports: dict[str, SliceReport] = {}
        self.usage: dict[str, dict[int, UsageReport]] = {}
        self.logs: dict[str, bytes] = {}
        self.events: list[EventReport] = []
        self.config: AgentConfig | None = None
        self.clock = timedelta(0)
        self.credential = "secret-credential"
        self.url = ""
        self.release: DesiredRelease | None = None
        self.files: dict[str, bytes] = {KEYS_PATH: b"{}"}
        self.folders_over: tuple[str, ...] = ()
        self.folders_send: tuple[FolderSend, ...] = ()
        self.folders_sent: dict[str, FolderSent] = {}
        self.containers_save: tuple[ContainerSave, ...] = ()
        self.containers_saved: dict[str, ContainerSaved] = {}

    def handle(self, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        with self.lock:
            if self.answer is not None:
                return self.answer()
            if path == JOIN_PATH:
                self.joins.append(JoinRequest.model_validate_json(body))
                reply = JoinReply(protocol=1, node_uid="node-1", credential=self.credential, next_sync_s=0.1)
                return 200, reply.model_dump_json().encode()
            if headers.get("Authorization") != f"Bearer {self.credential}":
                return 401, error_body("credential_refused", "This credential is not valid.", "Join again.")
            if path.startswith(FOLDERS_PATH):
                sent = FolderSent.model_validate_json(body)
                self.folders_sent[sent.transfer] = sent
                return 200, FolderTaken(protocol=1).model_dump_json().encode()
            if path.startswith(CONTAINERS_PATH):
                saved = ContainerSaved.model_validate_json(body)
                self.containers_saved[path.split("/")[-2]] = saved
                return 200, FolderTaken(protocol=1).model_dump_json().encode()
            return 200, self._sync(SyncRequest.model_validate_json(body)).model_dump_json().encode()

    def _sync(self, request: SyncRequest) -> SyncReply:
        self.syncs.append(request)
        known = {(row.at, row.seq) for row in self.events}
        self.events += [row for row in request.events if (row.at, row.seq) not in known]
        self.reports = {report.slice_uid: report for report in request.slices}
        for row in request.usage:
            known = self.usage.setdefault(row.slice_uid, {})
            assert known.setdefault(row.seq, row) == row, "an interval was told in two ways"
        for chunk in request.logs:
            log = self.logs.setdefault(chunk.slice_uid, b"")
            if chunk.offset == len(log):
                self.logs[chunk.slice_uid] = log + chunk.text.encode()
        return SyncReply(
            protocol=1,
            server_time=datetime.now(UTC) + self.clock,
            next_sync_s=0.1,
            desired=tuple(self.desired.values()),
            usage_acks={uid: contiguous(rows) for uid, rows in self.usage.items()},
            log_acks={uid: len(log) for uid, log in self.logs.items()},
            forget=self.forget,
            unknown=self.unknown,
            event_ack=request.events[-1].seq if request.events else 0,
            config=self.config,
            release=self.release,
            folders_over=self.folders_over,
            folders_send=self.folders_send,
            containers_save=self.containers_save,
        )


def contiguous(rows: dict[int, UsageReport]) -> int:
    seq = 0
    while seq + 1 in rows:
        seq += 1
    return seq


def error_body(code: str, message: str, cure: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "cure": cure}}).encode()


@contextmanager
def portal_server() -> Iterator[PortalServer]:
    portal = PortalServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = portal.handle(self.path, body, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_PUT(self) -> None:
            portal.files[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            answer = FolderTaken(protocol=1).model_dump_json().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            body = portal.files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    portal.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield portal
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
