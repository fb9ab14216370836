"""Management over TLS: the agent believes the portal's certificate or says nothing to it (POOL-8.1)."""

import ipaddress
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from portal.devstack.environment import tls_authority, tls_environment
from portal.devstack.options import Options
from portal.devstack.servers import ports
from portal.devstack.stack import Stack
from tests.harness.portal import own_environment, portal_folder

pytestmark = [
    pytest.mark.journey,
    pytest.mark.req("POOL-8.1-1"),
    pytest.mark.xdist_group("tls"),
]


def pem(path: Path, certificate: x509.Certificate) -> Path:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path


def certificate(name: str, key, issuer=None, issuer_key=None) -> x509.Certificate:
    """An authority's own, or one it signs for this machine."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return made.sign(issuer_key or key, hashes.SHA256())


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An authority, the portal's certificate and key, and an authority nobody asked."""
    folder = tmp_path_factory.mktemp("papers")
    authority_key, key, other_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    authority = certificate("Test authority", authority_key)
    private = folder / "key.pem"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return {
        "ca": pem(folder / "ca.pem", authority),
        "cert": pem(folder / "cert.pem", certificate("portal", key, authority, authority_key)),
        "key": private,
        "other": pem(folder / "other.pem", certificate("Nobody", other_key)),
    }


@pytest.mark.req("POOL-5-F2")
def test_a_portal_with_a_certificate_is_reached_by_tls_alone_and_its_agent_joins(
    tmp_path, tmp_path_factory, papers
):
    with own_environment():
        options = Options(
            var_dir=portal_folder(tmp_path_factory, "tls"), port=ports.any_free(),
            nodes=1, webs=1, worker_processes=1, simulate="",
            tls_cert=papers["cert"], tls_key=papers["key"], tls_ca=papers["ca"],
        )  # fmt: skip
        stack = Stack(options, durable=False)
        try:
            stack.start()
            assert stack.base_url.startswith("https://")
            assert httpx.get(f"{stack.base_url}/healthz", verify=str(papers["ca"])).text == "ok\n"
            with pytest.raises(httpx.ConnectError):
                httpx.get(f"{stack.base_url}/healthz", verify=str(papers["other"]))
            with pytest.raises(httpx.TransportError):
                httpx.get(f"http://localhost:{options.port}/healthz")
            joined(stack, "node-1")
            refused = stranger(stack, tmp_path / "distrusts", papers["other"])
            assert "CERTIFICATE_VERIFY_FAILED" in refused
        finally:
            stack.stop()


def joined(stack: Stack, name: str) -> None:
    """Wait for the agent's credential."""
    end_s = time.monotonic() + 120
    while not (stack.var_dir / "agents" / name / "credential.json").exists():
        assert time.monotonic() < end_s, stack.logs(name)
        time.sleep(0.2)


def stranger(stack: Stack, home: Path, authority: Path) -> str:
    """What an agent says that believes another authority; it must not have sent its token."""
    environment = {
        **os.environ,
        **stack.children["node-1"].environment,
        "WEIR_AGENT_CA": str(authority),
        "WEIR_AGENT_STATE_DIR": str(home),
        "WEIR_AGENT_JOIN_TOKEN": "a-token-that-nobody-hears",
    }
    with (home.with_suffix(".out")).open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "node_agent"], env=environment, stdout=output, stderr=output
        )
        end_s = time.monotonic() + 120
        while "CERTIFICATE_VERIFY_FAILED" not in (said := home.with_suffix(".out").read_text()):
            assert process.poll() is None, said
            assert time.monotonic() < end_s, said
            time.sleep(0.1)
        process.terminate()
        process.wait(60)
    return said


def test_without_both_certificate_and_key_nothing_is_said_of_tls(papers):
    half = Options(tls_cert=papers["cert"])
    assert tls_environment(half) == {}
    assert tls_authority(half) is None
    whole = Options(tls_cert=papers["cert"], tls_key=papers["key"])
    assert tls_authority(whole) == papers["cert"].resolve()
