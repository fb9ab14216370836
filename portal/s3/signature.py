"""Signature Version 4: who signed a request, whether all that counts of it is as it was signed, and when.

Pure: keys are looked up by who calls. The signature covers method, path, query, the signed headers and the digest of
the body, so that a request cannot be sent again as another one; it holds for a quarter of an hour, one in an address
for as long as it says, a week at most.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from django.utils.translation import gettext as _

from portal.s3.errors import S3Error, malformed
from portal.s3.requests import S3Request

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
SKEW = timedelta(minutes=15)
_WEEK_S = 7 * 86400
_INSTANT = "%Y%m%dT%H%M%SZ"
_CREDENTIAL = re.compile(r"([A-Za-z0-9_]{1,128})/(\d{8})/([A-Za-z0-9-]{1,64})/s3/aws4_request")
_PART = re.compile(r"\s*(Credential|SignedHeaders|Signature)=([^,\s]*)\s*")
_SIGNATURE = re.compile(r"[0-9a-f]{64}")
_SECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Signed:
    """What a request says of its signature. `payload`: the digest of its body, or what stands for it."""

    key_id: str
    at: datetime
    scope: str
    headers: tuple[str, ...]
    signature: str
    payload: str
    is_in_address: bool


def signed_read(request: S3Request, now: datetime) -> Signed:
    """Raises S3Error where there is no signature, it cannot be read, or it is not of this time."""
    found = _of_address(request) if request.has("X-Amz-Signature") else _of_header(request)
    if found.is_in_address:
        _fresh_check(request, found, now)
    elif abs(now - found.at) > SKEW:
        raise S3Error(
            "RequestTimeTooSkewed",
            403,
            _("The request was signed at %(at)s; here it is %(now)s: set the clock right.")
            % {"at": found.at.strftime(_INSTANT), "now": now.strftime(_INSTANT)},
        )
    # What S3 acts on must be signed: nobody on the way may add a header that changes what is done.
    loose = [name for name in request.headers if name.startswith("x-amz-") and name not in found.headers]
    if "host" not in found.headers or loose:
        raise S3Error(
            "AccessDenied",
            403,
            _("Headers were not signed: %(names)s.") % {"names": ", ".join(loose or ["host"])},
        )
    return found


def _of_header(request: S3Request) -> Signed:
    given = request.header("authorization")
    if not given:
        raise S3Error("AccessDenied", 403, _("Requests are signed with an access key; this one is not."))
    algorithm, _space, rest = given.partition(" ")
    if algorithm != ALGORITHM:
        raise S3Error("InvalidRequest", 400, _("Sign with %(name)s.") % {"name": ALGORITHM})
    matches = [_PART.fullmatch(part) for part in rest.split(",")]
    parts = {found[1]: found[2] for found in matches if found}
    if None in matches or set(parts) != {"Credential", "SignedHeaders", "Signature"}:
        raise S3Error("AuthorizationHeaderMalformed", 400, _("The header Authorization cannot be read."))
    payload = request.header("x-amz-content-sha256")
    if not payload:
        raise malformed(_("The header x-amz-content-sha256 is missing."))
    return _signed(parts, request.header("x-amz-date"), payload, is_in_address=False)


def _of_address(request: S3Request) -> Signed:
    if request.asked("X-Amz-Algorithm") != ALGORITHM or request.header("authorization"):
        raise S3Error(
            "AuthorizationQueryParametersError", 400, _("Sign with %(name)s, once.") % {"name": ALGORITHM}
        )
    names = ("Credential", "SignedHeaders", "Signature")
    if any(sum(given == f"X-Amz-{name}" for given, _value in request.query) != 1 for name in names):
        raise S3Error("AuthorizationQueryParametersError", 400, _("The signature cannot be read."))
    parts = {name: request.asked(f"X-Amz-{name}") for name in names}
    payload = request.header("x-amz-content-sha256") or UNSIGNED
    return _signed(parts, request.asked("X-Amz-Date"), payload, is_in_address=True)


def _signed(parts: dict[str, str], date: str, payload: str, *, is_in_address: bool) -> Signed:
    credential = _CREDENTIAL.fullmatch(parts["Credential"])
    try:
        at = datetime.strptime(date, _INSTANT).replace(tzinfo=UTC)
    except ValueError as error:
        raise S3Error("AccessDenied", 403, _("X-Amz-Date is missing, or no time.")) from error
    names = tuple(parts["SignedHeaders"].lower().split(";"))
    if (
        credential is None
        or not _SIGNATURE.fullmatch(parts["Signature"])
        or list(names) != sorted(set(names))
    ):
        raise S3Error("AuthorizationHeaderMalformed", 400, _("The signature cannot be read."))
    if credential[2] != date[:8]:
        raise S3Error("SignatureDoesNotMatch", 403, _("The signature is for another day."))
    scope = "/".join((credential[2], credential[3], "s3", "aws4_request"))
    return Signed(credential[1], at, scope, names, parts["Signature"], payload, is_in_address)


def _fresh_check(request: S3Request, found: Signed, now: datetime) -> None:
    given = request.asked("X-Amz-Expires")
    if not (_SECONDS.fullmatch(given) and 1 <= int(given) <= _WEEK_S):
        raise S3Error(
            "AuthorizationQueryParametersError",
            400,
            _("X-Amz-Expires is 1 to %(most)s seconds.") % {"most": _WEEK_S},
        )
    if found.at - now > SKEW:
        raise S3Error("AccessDenied", 403, _("The address is not valid yet."))
    if now > found.at + timedelta(seconds=int(given)):
        raise S3Error("AccessDenied", 403, _("The address has expired."))


def signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def is_right(request: S3Request, signed: Signed, key: bytes) -> bool:
    """Whether the request is as whoever holds the secret signed it."""
    canonical = _canonical(request, signed)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    told = "\n".join((ALGORITHM, signed.at.strftime(_INSTANT), signed.scope, digest))
    return hmac.compare_digest(_mac(key, told), signed.signature)


def chunk_signature(key: bytes, signed: Signed, previous: str, data_sha256: str) -> str:
    """The signature of a chunk of the body, which follows that of the one before."""
    told = (
        f"{ALGORITHM}-PAYLOAD",
        signed.at.strftime(_INSTANT),
        signed.scope,
        previous,
        EMPTY_SHA256,
        data_sha256,
    )
    return _mac(key, "\n".join(told))


def trailer_signature(key: bytes, signed: Signed, previous: str, trailer: bytes) -> str:
    digest = hashlib.sha256(trailer).hexdigest()
    told = (f"{ALGORITHM}-TRAILER", signed.at.strftime(_INSTANT), signed.scope, previous, digest)
    return _mac(key, "\n".join(told))


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _canonical(request: S3Request, signed: Signed) -> str:
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in request.query
        if name != "X-Amz-Signature"
    )
    headers = "".join(f"{name}:{' '.join(request.header(name).split())}\n" for name in signed.headers)
    return "\n".join(
        (
            request.method,
            quote(request.path, safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            headers,
            ";".join(signed.headers),
            signed.payload,
        )
    )
