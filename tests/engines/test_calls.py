"""Calls to centres over HTTP: whom they connect to, whom they believe, and that they leave nothing behind."""

from __future__ import annotations

import datetime
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apps.centers.adapters import http_client
from apps.centers.adapters.base import CallLimits, CenterBroken, CenterRefused, CenterUnreachable
from apps.centers.adapters.http_client import DEPTH, CenterClient, json_of


class Answerer(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(401 if self.path.startswith("/repeats") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Nothing."""


@contextmanager
def served(context: ssl.SSLContext | None = None) -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answerer)
    server.asked = []
    # A client that does not believe it breaks off.
    server.handle_error = lambda *_words: None
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with served() as started:
        yield started


@pytest.fixture
def authority(tmp_path: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate of its own for "localhost", and a server's side of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "centre")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "server.pem"
    file.write_bytes(pem + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return pem.decode(), context


def test_an_answer_comes_with_its_status(server):
    client = CenterClient(f"http://127.0.0.1:{server.server_port}/below/", local_addresses=True)
    answer = client.call("GET", "/jobs", query={"job_name": "a,b c"}, headers={"X-Who": "games"})
    assert (answer.status, answer.data["path"]) == (200, "/below/jobs?job_name=a%2Cb+c")
    assert answer.data["headers"]["X-Who"] == "games"
    assert answer.data["headers"]["Accept-Encoding"] == "identity"
    client.close()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1", "2130706433"]
)
def test_this_machine_is_not_asked(server, host):
    client = CenterClient(f"http://{host}:{server.server_port}")
    with pytest.raises((CenterRefused, CenterUnreachable)) as refusal:
        client.call("GET", "/jobs")
    assert server.asked == []
    # What a name leads to depends on the machine; an address is refused as one.
    assert isinstance(refusal.value, CenterRefused) or host == "2130706433"


def test_a_name_that_leads_elsewhere_the_second_time_is_not_asked(server, monkeypatch):
    """Whoever looks a name up before the connection sees an address that the connection does not go to."""
    looked_up = socket.getaddrinfo
    answers = iter(["10.255.255.1", "127.0.0.1"])

    def two_faced(host, *words, **more):
        name = next(answers, "127.0.0.1") if host == "two.example.org" else host
        return looked_up(name, *words, **more)

    monkeypatch.setattr(socket, "getaddrinfo", two_faced)
    assert socket.getaddrinfo("two.example.org", 1)[0][4][0] == "10.255.255.1"
    with pytest.raises(CenterRefused, match="127\\.0\\.0\\.1"):
        CenterClient(f"http://two.example.org:{server.server_port}").call("GET", "/jobs")
    assert server.asked == []


def test_a_proxy_of_the_portals_own_is_not_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
    with pytest.raises(CenterUnreachable):
        CenterClient("http://centre.invalid", limits=CallLimits(1, 1)).call("GET", "/jobs")
    assert server.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "", "centre", "ftp://centre/", "http://", "http://me:secret@centre/", "http://centre/?a=b", "http://centre/#a",
        "http://centre:99999", "http://centre:0", "http://cen tre/", "http://centre\r\nX: y/", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(address):
    with pytest.raises(CenterRefused):
        CenterClient(address)


def test_a_centre_is_believed_by_its_certificate_alone(authority):
    pem, context = authority
    with served(context) as server:
        at = f"https://localhost:{server.server_port}"
        assert CenterClient(at, authority=pem, local_addresses=True).call("GET", "/a").status == 200
        with pytest.raises(CenterUnreachable, match="certificate verify failed"):
            CenterClient(at, local_addresses=True).call("GET", "/b")
        # The certificate is of another name than the address.
        other = f"https://127.0.0.1:{server.server_port}"
        with pytest.raises(CenterUnreachable, match="certificate verify failed"):
            CenterClient(other, authority=pem, local_addresses=True).call("GET", "/c")
        assert server.asked == ["/a"]


@pytest.mark.parametrize(
    "pem", ["nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "ä"]
)
def test_what_is_no_authority_is_refused(pem):
    with pytest.raises(CenterRefused, match="PEM"):
        CenterClient("https://centre.example.org", authority=pem)


def test_calls_leave_neither_threads_nor_connections(server):
    client = CenterClient(f"http://127.0.0.1:{server.server_port}", local_addresses=True)
    client.call("GET", "/jobs")
    before = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        client.call("GET", "/jobs")
    refused = CenterClient(f"http://127.0.0.1:{server.server_port}")
    for _ in range(20):
        with pytest.raises(CenterRefused):
            refused.call("GET", "/jobs")
    refused.close()

    def is_left_clean() -> bool:
        files = len(list(Path("/proc/self/fd").iterdir()))
        return threading.active_count() <= before[0] + 3 and files <= before[1] + 3

    # The server's own threads end a moment later.
    end_s = time.monotonic() + 10
    while not is_left_clean() and time.monotonic() < end_s:
        time.sleep(0.05)
    assert is_left_clean()


def test_what_lets_us_in_is_not_kept_where_a_centre_repeats_it(server):
    client = CenterClient(f"http://127.0.0.1:{server.server_port}", local_addresses=True)
    with pytest.raises(CenterRefused) as refused:
        client.call("GET", "/repeats", headers={"X-SLURM-USER-TOKEN": "a-token-of-many-letters"})
    assert "a-token-of-many-letters" not in str(refused.value)
    assert "(...)" in str(refused.value)


def test_a_token_is_not_kept_where_a_centre_repeats_it_without_its_scheme(server):
    client = CenterClient(f"http://127.0.0.1:{server.server_port}", local_addresses=True)
    for repeated in ("/repeats", "/repeats?said=a-token-of-many-letters"):
        with pytest.raises(CenterRefused) as refused:
            client.call("GET", repeated, headers={"Authorization": "Bearer a-token-of-many-letters"})
        assert "many-letters" not in str(refused.value)


def test_bytes_are_taken_as_long_as_they_are_wanted(server):
    client = CenterClient(
        f"http://127.0.0.1:{server.server_port}", local_addresses=True, limits=CallLimits(answer_bytes=10)
    )
    blocks: list[bytes] = []

    def taken(block: bytes) -> bool:
        blocks.append(block)
        return False

    # However long an answer is: it is not kept.
    assert client.blocks("/long", taken).status == 200
    assert json.loads(blocks[0])["path"] == "/long"
    with pytest.raises(CenterBroken, match="10 bytes"):
        client.call("GET", "/long")


def test_depth_has_a_bound():
    assert json_of(b"[" * DEPTH + b"]" * DEPTH)
    with pytest.raises(http_client.CenterBroken, match="deep"):
        json_of(b"[" * (DEPTH + 2) + b"]" * (DEPTH + 2))
