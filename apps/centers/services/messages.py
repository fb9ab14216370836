"""What is sent for a remote task. Its command and environment are sealed: they may hold secrets."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, fields

from django.utils.translation import gettext as _

from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.models import ERROR_MOST, KEY_PATTERN, OWNER_MOST, RemoteMessage, RemoteTask
from apps.centers.services.checks import faults_raise
from apps.centers.types import SPEC_AMOUNT_MOST
from apps.kernel import sealing
from apps.kernel.control_characters import control_fault

_PURPOSE = b"weir messages of remote tasks\x00"
# Command and environment together, in bytes: well below what an engine takes for a script.
MESSAGE_MOST = 1024 * 1024
_TIME_MOST_S = 366 * 86_400


def message_check(key: str, owner: str, message: JobMessage) -> None:
    """InvalidInput naming each field with something wrong. Internal to the app's services."""
    faults = {"key": "", "owner": "", "image": "", "time_limit_s": ""}
    if not re.fullmatch(KEY_PATTERN, key):
        faults["key"] = _("Small letters, digits and dashes between them, at most 63.")
    faults["owner"] = _text_fault(owner, OWNER_MOST)
    faults["image"] = _text_fault(message.image, ERROR_MOST)
    for name, amount in asdict(message.quantities).items():
        if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= SPEC_AMOUNT_MOST:
            faults[f"quantities.{name}"] = _("A whole number of at most %(most)s.") % {
                "most": SPEC_AMOUNT_MOST
            }
    limit_s = message.time_limit_s
    if limit_s is not None and not 1 <= limit_s <= _TIME_MOST_S:
        faults["time_limit_s"] = _("A whole number from 1 to %(most)s.") % {"most": _TIME_MOST_S}
    faults |= _secret_faults(message)
    faults_raise(faults)


def open_part(message: JobMessage) -> dict[str, object]:
    """The columns of a remote task that say what is no secret of a message."""
    return {
        "quantities": asdict(message.quantities),
        "image": message.image,
        "time_limit_s": message.time_limit_s,
    }


def message_put(row: RemoteTask, message: JobMessage) -> None:
    """Keep the secret part for the call to the centre."""
    RemoteMessage.objects.create(task=row, sealed=sealing.seal(_secret_text(message), _PURPOSE))


def message_open(row: RemoteTask) -> JobMessage | None:
    """What is to be sent; None where the portal no longer has the key that it was sealed with."""
    kept = RemoteMessage.objects.filter(task=row).first()
    text = sealing.unseal(kept.sealed, _PURPOSE) if kept else ""
    if not text:
        return None
    secret = json.loads(text)
    names = {field.name for field in fields(Quantities)}
    return JobMessage(
        command=secret["command"],
        environment=secret["environment"],
        quantities=Quantities(**{name: row.quantities[name] for name in names & row.quantities.keys()}),
        image=row.image,
        time_limit_s=row.time_limit_s,
    )


def is_same(row: RemoteTask, message: JobMessage) -> bool:
    """Whether a task was made with this message. Of one that is over command and environment are no longer known."""
    if any(getattr(row, name) != value for name, value in open_part(message).items()):
        return False
    kept = message_open(row)
    return kept is None or (kept.command, dict(kept.environment)) == (
        message.command,
        dict(message.environment),
    )


def _secret_text(message: JobMessage) -> str:
    return json.dumps({"command": message.command, "environment": dict(message.environment)})


def _secret_faults(message: JobMessage) -> Mapping[str, str]:
    texts = [message.command, *message.environment, *message.environment.values()]
    if not all(isinstance(text, str) for text in texts):
        return {"environment": _("Variables and their values are texts.")}
    if not message.command.strip():
        return {"command": _("Fill this in.")}
    if any("\0" in text or not _is_unicode(text) for text in texts):
        return {"command": _("Command and environment are texts without NUL characters.")}
    if len(_secret_text(message)) > MESSAGE_MOST:
        return {
            "command": _("Command and environment have at most %(most)s bytes together.")
            % {"most": MESSAGE_MOST}
        }
    return {}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text_fault(text: str, most: int) -> str:
    if len(text) > most:
        return _("A text of at most %(most)s characters.") % {"most": most}
    return control_fault(text)
