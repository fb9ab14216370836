"""Alarms told to a server: in the form of the Standard Webhooks specification, or as a chat's robot takes it."""

import base64
import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import quote_plus, urlsplit

import httpx
from django.conf import settings
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.kernel.control_characters import control_removed
from apps.kernel.errors import InvalidInput
from apps.kernel.network_addresses import is_local
from apps.kernel.sealing import seal, unseal
from apps.telemetry.models import Alarm, AlarmDelivery, AlarmRoute
from apps.telemetry.services.wording import lines_of
from apps.telemetry.states import HookKind

ADDRESS_LENGTH = 2000
SECRET_LENGTH = 200
_HOST_LENGTH = 253
_ADDRESS = b"webhook address:"
_SECRET = b"webhook secret:"
# To connect and between two pieces of an answer; and in all.
_PIECE_S = 10
_ANSWER_S = 20
_ANSWER_BYTES = 64 * 1024
# WeCom takes 2,048 bytes of text, the others more.
_TEXT_BYTES = 2000


class HookRefused(Exception):
    """The server answered, or has an address, that means the message was not taken; `str()` of it says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is posted: JSON, with what is added to the address and the headers to sign it."""

    content: bytes
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def hook_seal(row: AlarmRoute, *, address: str | None, secret: str | None) -> None:
    """Put a webhook's address and secret into the row, sealed; None leaves what there is.

    InvalidInput names an address that is none, or that leads to the portal's own machine or its link.
    """
    if address is not None:
        row.hook_host = _checked_host(address.strip())
        row.hook_sealed = seal(address.strip(), _ADDRESS)
    if secret is not None:
        row.hook_secret_sealed = seal(secret.strip(), _SECRET) if secret.strip() else ""


def _checked_host(address: str) -> str:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = _ascii(parts.hostname or "")
    if parts.scheme not in ("http", "https") or not host or len(address) > ADDRESS_LENGTH:
        raise InvalidInput(
            fields={"hook_url": _("Write the whole address that its server gave you: https://…")}
        )
    if parts.username or parts.password:
        raise InvalidInput(
            fields={"hook_url": _("Leave name and password out of the address: use a secret.")}
        )
    if _is_literal(host) and _is_closed(host):
        raise InvalidInput(
            fields={"hook_url": _("That is the portal's own machine or link, to which it sends nothing.")}
        )
    return host + (f":{port}" if port else "")


def _ascii(host: str) -> str:
    """A host's name as the network knows it; "" for what is none."""
    try:
        name = host if _is_literal(host) else host.encode("idna").decode()
    except UnicodeError:
        return ""
    return name if len(name) <= _HOST_LENGTH else ""


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_closed(address: str) -> bool:
    return not settings.WEIR_WEBHOOK_LOCAL_ADDRESSES and is_local(address)


def hook_send(delivery: AlarmDelivery) -> None:
    """Post an alarm, or that it is over, outside of any transaction.

    Raises HookRefused or httpx.HTTPError when it was not taken.
    """
    post(delivery.route, str(delivery.uid), delivery.alarm, is_over=delivery.is_over)


def hook_try(route: AlarmRoute, message_id: str) -> None:
    """Post a message that says it is a test. Raises HookRefused or httpx.HTTPError when it was not taken."""
    post(route, message_id, None, is_over=False)


def post(route: AlarmRoute, message_id: str, alarm: Alarm | None, *, is_over: bool) -> None:
    """Post one message over a route of the channel "webhook"; no alarm: a test. Raises as `hook_send`."""
    address = unseal(route.hook_sealed, _ADDRESS)
    if not address:
        raise HookRefused(_("Its address cannot be read with the portal's key: write it anew."))
    secret = unseal(route.hook_secret_sealed, _SECRET) if route.hook_secret_sealed else ""
    call = _FORMS[HookKind(route.hook_kind)](message_id, alarm, is_over, secret)
    if call.query:
        address += ("&" if urlsplit(address).query else "?") + call.query
    answer = _posted(address, call)
    _taken_check(HookKind(route.hook_kind), answer)


def _posted(address: str, call: Call) -> bytes:
    """The answer's body. The name is looked up once, and what it leads to is what is connected to."""
    parts = urlsplit(address)
    host = _ascii(parts.hostname or "")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise HookRefused(_("Nobody knows the address %(host)s.") % {"host": host}) from error
    target = str(found[0][4][0])
    if any(_is_closed(str(row[4][0])) for row in found):
        raise HookRefused(_("%(host)s leads to the portal's own machine or link.") % {"host": host})
    headers = {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        "Host": host + (f":{parts.port}" if parts.port else ""),
        "User-Agent": "Weir",
        **call.headers,
    }
    literal = f"[{target}]" if ":" in target else target
    url = httpx.URL(address).copy_with(host=literal)
    with (
        httpx.Client(timeout=_PIECE_S, trust_env=False) as client,
        client.stream(
            "POST", url, content=call.content, headers=headers, extensions={"sni_hostname": host}
        ) as answer,
    ):
        body, end_s = b"", monotonic() + _ANSWER_S
        for piece in answer.iter_raw():
            body += piece[: _ANSWER_BYTES - len(body)]
            if len(body) >= _ANSWER_BYTES:
                break
            if monotonic() > end_s:
                raise HookRefused(_("It did not end its answer within %(s)s s.") % {"s": _ANSWER_S})
        if not answer.is_success:
            said = control_removed(" ".join(body.decode(errors="replace").split()))[:200]
            raise HookRefused(f"HTTP {answer.status_code} {said}".strip())
        return body


def _taken_check(kind: HookKind, body: bytes) -> None:
    """Robots of chats answer 200 also where they take nothing, and say so by a code."""
    if kind not in (HookKind.WECOM, HookKind.DINGTALK, HookKind.FEISHU):
        return
    try:
        said = json.loads(body)
        code = said.get("errcode", said.get("code", said.get("StatusCode")))
    except (ValueError, AttributeError) as error:
        raise HookRefused(_("Its answer is not that of such a chat.")) from error
    if code != 0:
        # As JSON it may hold what no log and no database takes.
        raise HookRefused(control_removed(f"{code}: {said.get('errmsg', said.get('msg', ''))}"[:300]))


# --- forms ------------------------------------------------------------------------------------------------------


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _text(alarm: Alarm | None, *, is_over: bool) -> str:
    parts = []
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            parts.append("\n".join(lines_of(alarm, is_over=is_over)))
    return "\n\n".join(parts).encode()[:_TEXT_BYTES].decode(errors="ignore")


def _titles(alarm: Alarm | None, *, is_over: bool) -> dict[str, str]:
    titles = {}
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            titles[code] = lines_of(alarm, is_over=is_over)[0]
    return titles


def _standard(message_id: str, alarm: Alarm | None, is_over: bool, secret: str) -> Call:
    data: dict[str, Any] = {"titles": _titles(alarm, is_over=is_over)}
    if alarm is not None:
        data |= {
            "alarm": str(alarm.uid),
            "severity": alarm.level,
            "rule": alarm.rule.code if alarm.rule else "",
            "subject_kind": alarm.subject_kind,
            "subject_id": alarm.subject_id,
            "fired_at": alarm.fired_at.isoformat(),
            "resolved_at": alarm.resolved_at.isoformat() if alarm.resolved_at else None,
        }
    kind = "test" if alarm is None else "alarm.over" if is_over else "alarm.fired"
    now = timezone.now()
    content = _json({"type": kind, "timestamp": now.isoformat(), "data": data})
    headers = {"webhook-id": message_id, "webhook-timestamp": str(int(now.timestamp()))}
    if secret:
        signed = f"{message_id}.{int(now.timestamp())}.".encode() + content
        headers["webhook-signature"] = "v1," + _signed(_standard_key(secret), signed)
    return Call(content, headers=headers)


def _standard_key(secret: str) -> bytes:
    """The specification writes keys as base64 after `whsec_`; any other secret is its own key."""
    if secret.startswith("whsec_"):
        with suppress(ValueError):
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    return secret.encode()


def _slack(message_id: str, alarm: Alarm | None, is_over: bool, secret: str) -> Call:
    return Call(_json({"text": _text(alarm, is_over=is_over)}))


def _robot_text(alarm: Alarm | None, *, is_over: bool) -> bytes:
    return _json({"msgtype": "text", "text": {"content": _text(alarm, is_over=is_over)}})


def _wecom(message_id: str, alarm: Alarm | None, is_over: bool, secret: str) -> Call:
    return Call(_robot_text(alarm, is_over=is_over))


def _dingtalk(message_id: str, alarm: Alarm | None, is_over: bool, secret: str) -> Call:
    query = ""
    if secret:
        at_ms = int(timezone.now().timestamp() * 1000)
        sign = _signed(secret.encode(), f"{at_ms}\n{secret}".encode())
        query = f"timestamp={at_ms}&sign={quote_plus(sign)}"
    return Call(_robot_text(alarm, is_over=is_over), query)


def _feishu(message_id: str, alarm: Alarm | None, is_over: bool, secret: str) -> Call:
    body: dict[str, Any] = {"msg_type": "text", "content": {"text": _text(alarm, is_over=is_over)}}
    if secret:
        at_s = str(int(timezone.now().timestamp()))
        body |= {"timestamp": at_s, "sign": _signed(f"{at_s}\n{secret}".encode(), b"")}
    return Call(_json(body))


def _signed(key: bytes, text: bytes) -> str:
    return base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


_FORMS: dict[HookKind, Callable[[str, Alarm | None, bool, str], Call]] = {
    HookKind.STANDARD: _standard,
    HookKind.SLACK: _slack,
    HookKind.WECOM: _wecom,
    HookKind.DINGTALK: _dingtalk,
    HookKind.FEISHU: _feishu,
}
