"""A centre's credential, sealed. No answer, record, log or error holds it: it is opened for the calls to the centre."""

import json
from collections.abc import Mapping

from django.utils import timezone

from apps.centers.models import Center, CenterCredential
from apps.kernel import sealing

_PURPOSE = b"weir credentials of centres\x00"


def credential_put(center: Center, secrets: Mapping[str, str], user_id: int | None) -> None:
    """Keep these secrets for the calls to a centre, instead of those it had. Internal to the app's services."""
    CenterCredential.objects.update_or_create(
        center=center,
        defaults={
            "sealed": sealing.seal(json.dumps(dict(secrets)), _PURPOSE),
            "changed_by_id": user_id,
            "changed_at": timezone.now(),
        },
    )


def credential_open(center: Center) -> dict[str, str]:
    """The secrets by their fields; none where the portal no longer has the key that they were sealed with."""
    row = CenterCredential.objects.filter(center=center).first()
    text = sealing.unseal(row.sealed, _PURPOSE) if row else ""
    found: dict[str, str] = json.loads(text) if text else {}
    return found
