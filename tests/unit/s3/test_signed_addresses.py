"""Addresses that are signed: how long they hold."""

from datetime import UTC, datetime, timedelta

import pytest

from portal.s3.errors import S3Error
from portal.s3.requests import request_read
from portal.s3.signature import signed_read

pytestmark = pytest.mark.req("PLAT-ASSET-7")
AT = datetime(2026, 11, 26, 12, tzinfo=UTC)
CREDENTIAL = "acme_0123/20261126/us-east-1/s3/aws4_request"


def read(expires: str, now: datetime) -> None:
    query = "&".join(
        (
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            f"X-Amz-Credential={CREDENTIAL}",
            "X-Amz-Date=20261126T120000Z",
            f"X-Amz-Expires={expires}",
            "X-Amz-SignedHeaders=host",
            f"X-Amz-Signature={'0' * 64}",
        )
    )
    scope = {
        "method": "GET", "path": "/data/key", "raw_path": b"/data/key", "query_string": query.encode(),
        "headers": [(b"host", b"s3.localhost")],
    }  # fmt: skip
    signed_read(request_read(scope), now)


def test_it_holds_as_long_as_it_says_and_a_week_at_most() -> None:
    read("604800", AT + timedelta(days=7))
    for late in (AT + timedelta(days=7, seconds=1), AT - timedelta(minutes=16)):
        with pytest.raises(S3Error) as refused:
            read("604800", late)
        assert refused.value.code == "AccessDenied"


@pytest.mark.parametrize(
    "expires",
    ["0", "-1", "", "1.5", "604801", "0006048000", "000000001" + "9" * 40, "9" * 4000, "\u0661"],
)
def test_what_is_no_span_of_a_week_at_most_is_refused(expires: str) -> None:
    with pytest.raises(S3Error) as refused:
        read(expires, AT)
    assert refused.value.code == "AuthorizationQueryParametersError"
