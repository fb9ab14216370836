"""A worker's own certificate: made at its start, never used again, known by its fingerprint."""

from __future__ import annotations

import datetime
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from weir_wire.transport_tcp import fingerprint_of


def context_make() -> tuple[ssl.SSLContext, str]:
    """TLS for a worker with a fresh key (ECDSA P-256), and the SHA-256 of its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "weir session")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _load(context, secret + certificate.public_bytes(serialization.Encoding.PEM))
    return context, fingerprint_of(certificate.public_bytes(serialization.Encoding.DER))


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """OpenSSL reads from files only: one that nobody else may read, and that is gone at once."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "worker.pem"
        path.touch(mode=0o600)
        path.write_bytes(pem)
        context.load_cert_chain(path)
