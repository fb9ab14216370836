"""The REST API as Python methods. Answers are its JSON: dictionaries, by the types of `weir.api_types`, and lists."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import urlsplit

from weir.assets import Assets
from weir.components import Components
from weir.config import Config
from weir.conformance import Conformance
from weir.errors import ApiError, Unreachable, WeirClientError
from weir.images import Images
from weir.jobs import Jobs
from weir.network import Network
from weir.pool import Pool
from weir.scheduling import Scheduling
from weir.volumes import Volumes
from weir.watching import Watching

if TYPE_CHECKING:
    import httpx

    from weir.api_types import (
        AccountOut,
        ActivityOut,
        AttachmentOut,
        BillLineWholeOut,
        BillOut,
        BillWholeOut,
        BusinessSystemOut,
        CartOut,
        CommodityOut,
        CouponOut,
        DefaultSystemOut,
        FormIn,
        FormOut,
        FormRowOut,
        MeOut,
        MessageOut,
        OrderOut,
        OrderRowOut,
        QuotaOut,
        QuoteAndStartOut,
        SignInOut,
        TaskOut,
        TaskRowOut,
        TicketOut,
        TransactionOut,
        UsageOut,
        WorkloadLogOut,
    )

_RETRIES = 4
_BLOCK = 1024 * 1024
_LOCALTIME = Path("/etc/localtime")


def local_zone() -> str:
    """The name of this machine's time zone, in which sentences of the centre name times; "" where it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named and _LOCALTIME.is_symlink():
        named = os.readlink(_LOCALTIME).partition("zoneinfo/")[2]
    return named if re.fullmatch(r"[A-Za-z0-9_+/-]+", named) else ""


class Client(Scheduling, Watching, Pool, Components, Conformance, Volumes, Assets, Images, Network, Jobs):
    """A signed-in caller of one centre.

    Args:
        url: the centre's address, for example `http://localhost:8000`.
        token: an API token; "" only for `sign_in`.
        tenant: the tenant to act in, needed where the caller belongs to several or is an operator.
        role: the role to act in; the first one held when empty.
        agent: what it calls itself to the centre (the header User-Agent).
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        tenant: str = "",
        role: str = "",
        agent: str = "",
        timeout_s: float = 30,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise WeirClientError(f"{url!r} is no address.", "Write for example https://weir.example.com.")
        # Loaded with the first client: whoever asks for help only does not wait for it.
        import httpx

        headers = {"Accept-Language": "en"}
        if zone := local_zone():
            headers["Weir-Time-Zone"] = zone
        if agent:
            headers["User-Agent"] = agent
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if tenant:
            headers["Weir-Tenant"] = tenant
        if role:
            headers["Weir-Role"] = role
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=f"{self.url}/api/v1/", headers=headers, timeout=timeout_s)

    @classmethod
    def from_config(cls, *, tenant: str = "", context: str = "") -> Client:
        """The caller that `weir login` signed in, in the context of that name (see `weir context list`); without one
        that of `WEIR_URL` and `WEIR_TOKEN`, else of `WEIR_CONTEXT`, else the one in use."""
        kept = Config.load(context)
        return cls(kept.url, kept.token, tenant=tenant or kept.tenant, role=kept.role)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    # --- the wire -----------------------------------------------------------------------------------------

    def call(self, method: str, path: str, /, body: Any = None, **query: Any) -> Any:
        """One call. A POST carries an idempotency key, so it is safe to repeat when the answer was lost.

        Raises:
            ApiError: the centre refused.
            Unreachable: it did not answer after a few tries.
        """
        headers = {"Idempotency-Key": os.urandom(16).hex()} if method == "POST" else {}
        wanted = {name: value for name, value in query.items() if value not in (None, "")}
        return self._answer(self._try(method, path, headers=headers, json=body, params=wanted))

    def _try(self, method: str, path: str, **options: Any) -> httpx.Response:
        import httpx

        for attempt in range(_RETRIES):
            try:
                response = self._http.request(method, path, **options)
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
            else:
                if response.status_code not in (502, 503, 504):
                    return response
                reason = f"it answered {response.status_code}"
            time.sleep(0.3 * 2**attempt)
        raise Unreachable(
            f"{self.url} cannot be reached: {reason}.", "Check the address and that it is running."
        )

    @staticmethod
    def _answer(response: httpx.Response) -> Any:
        if response.is_success:
            return response.json() if response.content else None
        try:
            error = response.json()["error"]
        except (ValueError, KeyError, TypeError):
            error = {"message": f"The centre answered {response.status_code}.", "cure": "See its log."}
        raise ApiError(
            response.status_code,
            error.get("code", "unknown"),
            error.get("message", ""),
            error.get("cure", ""),
            error.get("fields", {}),
        )

    def download(self, path: str, /, **query: Any) -> bytes:
        """A file of the API."""
        wanted = {name: value for name, value in query.items() if value not in (None, "")}
        response = self._try("GET", path, params=wanted)
        return response.content if response.is_success else self._answer(response)

    def upload(self, path: str, file: Path, **fields: str) -> Any:
        """Send a file, with text beside it."""
        options = {"files": {"file": (file.name, file.read_bytes())}}
        return self._answer(self._try("POST", path, data=fields, **options))

    def put_bytes(self, path: str, content: bytes) -> None:
        """Send bytes as they are; safe to repeat."""
        headers = {"Content-Type": "application/octet-stream"}
        self._answer(self._try("PUT", path, content=content, headers=headers))

    def post_bytes(self, path: str, content: bytes, headers: Mapping[str, str]) -> Any:
        """Send bytes by POST; for what is safe to repeat."""
        return self._answer(self._try("POST", path, content=content, headers=dict(headers)))

    def read_bytes(self, path: str, body: Any) -> tuple[bytes, Mapping[str, str]]:
        """Ask by POST for bytes, which come with the answer's headers; for what only reads."""
        response = self._try("POST", path, json=body)
        return (response.content, response.headers) if response.is_success else self._answer(response)

    def piece(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], /, **query: Any
    ) -> Mapping[str, str]:
        """One call whose body is bytes, and whose answer is in its headers."""
        response = self._try(method, path, content=body, headers=dict(headers), params=query)
        return response.headers if response.is_success else self._answer(response)

    def stream(self, path: str, headers: Mapping[str, str], /, **query: Any) -> Iterator[bytes]:
        """A file of the API as it comes. Raises Unreachable where it breaks off."""
        import httpx

        try:
            with self._http.stream("GET", path, params=query, headers=dict(headers)) as response:
                if not response.is_success:
                    response.read()
                    self._answer(response)
                yield from response.iter_bytes(_BLOCK)
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url} broke off: {error}.", "Try again.") from error

    def all(self, path: str, /, **query: Any) -> Iterator[Any]:
        """Every row of a list, page after page."""
        answer = self.get(path, **query)
        while True:
            if isinstance(answer, list):
                yield from answer
                return
            yield from answer["results"]
            if not answer.get("next"):
                return
            answer = self._answer(self._try("GET", self._here(answer["next"])))

    def _here(self, address: str) -> str:
        """A page's address on the host this client was given, whatever name the centre has for itself."""
        found = urlsplit(address)
        return f"{self.url}{found.path}?{found.query}"

    # --- signing in ---------------------------------------------------------------------------------------

    @classmethod
    def sign_in(
        cls, url: str, username: str, password: str, *, tenant: str = "", days: int = 1
    ) -> tuple[Client, SignInOut]:
        """Give account and password; the client for them, and the API's answer with the token."""
        with cls(url) as stranger:
            body = {"username": username, "password": password, "tenant": tenant, "days": days}
            answer = stranger.post("auth/login", body)
        return cls(url, answer["token"], tenant=tenant), answer

    def me(self) -> MeOut:
        return self.get("auth/me")

    def sign_out(self) -> None:
        self.post("auth/logout")

    # --- catalogue, quote, application --------------------------------------------------------------------

    def commodities(self, search: str = "", category: str = "") -> list[CommodityOut]:
        return list(self.all("commodities", search=search, category=category))

    def commodity(self, uid: str) -> CommodityOut:
        return self.get(f"commodities/{uid}")

    def quote(
        self,
        commodity: str,
        amounts: Mapping[str, int],
        *,
        duration_s: int | None,
        count: int = 1,
        coupon: str | None = None,
    ) -> QuoteAndStartOut:
        """Price and expected start of what an application would ask for; nothing is changed."""
        body = {"commodity": commodity, "amounts": dict(amounts), "count": count, "duration_s": duration_s}
        return self.post("quotes", {**body, "coupon": coupon} if coupon else body)

    def cart_add(self, commodity: str, amounts: Mapping[str, int], count: int = 1) -> CartOut:
        return self.post("cart", {"commodity": commodity, "amounts": dict(amounts), "count": count})

    def cart(self) -> list[CartOut]:
        return list(self.all("cart"))

    def application_make(self, **form: Unpack[FormIn]) -> FormOut:
        """Make a draft of lines, a duration and a business system; it goes nowhere before it is submitted."""
        return self.post("application-forms", form)

    def application(self, uid: str) -> FormOut:
        return self.get(f"application-forms/{uid}")

    def applications(self, tab: str = "all") -> list[FormRowOut]:
        return list(self.all("application-forms", tab=tab))

    def application_submit(self, uid: str) -> FormOut:
        return self.post(f"application-forms/{uid}/submit")

    def application_withdraw(self, uid: str) -> FormOut:
        return self.post(f"application-forms/{uid}/withdraw")

    def attach(self, application: str, file: Path) -> AttachmentOut:
        """Add a file to a draft."""
        return self.upload(f"application-forms/{application}/attachments", file)

    # --- approvals, orders, tickets -----------------------------------------------------------------------

    def tasks(self, tab: str = "todo") -> list[TaskRowOut]:
        return list(self.all("tasks", tab=tab))

    def decide(self, task: str, decision: str, comment: str = "") -> TaskOut:
        """Decide a task: `approve`, `refuse` or `send_back`."""
        return self.post(f"tasks/{task}/decide", {"decision": decision, "comment": comment})

    def orders(self) -> list[OrderRowOut]:
        return list(self.all("orders"))

    def order(self, uid: str) -> OrderOut:
        return self.get(f"orders/{uid}")

    def order_change(
        self,
        uid: str,
        reason: str,
        *,
        amounts: Mapping[str, int] | None = None,
        duration_s: int | None = None,
    ) -> FormOut:
        """Apply for other amounts of what an order delivered, by component, or for it for so long in all."""
        return self.post(
            f"orders/{uid}/change",
            {"amounts": dict(amounts or {}), "duration_s": duration_s, "reason": reason},
        )

    def order_terminate(self, uid: str, reason: str) -> FormOut:
        return self.post(f"orders/{uid}/terminate", {"reason": reason})

    def tickets(self) -> list[TicketOut]:
        return list(self.all("tickets"))

    # --- workloads ----------------------------------------------------------------------------------------

    def log(
        self, workload: str, offset: int = 0, *, share: int | None = None, attempt: int | None = None
    ) -> WorkloadLogOut:
        """What the workload printed from `offset` on, of one share or attempt if named: text, share, attempt,
        next_offset, ended."""
        return self.get(f"workloads/{workload}/logs", offset=offset, share=share, attempt=attempt)

    def log_follow(
        self, workload: str, *, share: int | None = None, attempt: int | None = None, every_s: float = 1.0
    ) -> Iterator[str]:
        """The log as it grows, until the work has ended; of work with several shares name one."""
        offset = 0
        while True:
            part = self.log(workload, offset, share=share, attempt=attempt)
            if part["text"]:
                yield part["text"]
            elif part["ended"]:
                return
            else:
                time.sleep(every_s)
            offset = part["next_offset"]

    def usage(self, workload: str) -> list[UsageOut]:
        """The metered intervals of a workload, oldest first."""
        return list(self.all(f"workloads/{workload}/usage"))

    def quota(self) -> list[QuotaOut]:
        return self.get("quota")

    # --- money --------------------------------------------------------------------------------------------

    def account(self) -> AccountOut:
        return self.get("account")

    def transactions(self) -> list[TransactionOut]:
        return list(self.all("account/transactions"))

    def coupon_activities(self) -> list[ActivityOut]:
        return list(self.all("coupon-activities"))

    def coupon_claim(self, activity: str) -> CouponOut:
        return self.post(f"coupon-activities/{activity}/claim")

    def coupons(self) -> list[CouponOut]:
        return list(self.all("coupons"))

    def bills(self) -> list[BillOut]:
        return list(self.all("bills"))

    def bill_make(self) -> BillWholeOut:
        """Bill what was used and rated up to now, before the period is over."""
        return self.post("bills")

    def bill(self, uid: str) -> BillWholeOut:
        return self.get(f"bills/{uid}")

    def bill_file(self, uid: str, kind: str = "pdf") -> bytes:
        """The bill as a document to keep: `kind` is pdf or xlsx."""
        return self.download(f"bills/{uid}/{kind}")

    def bill_line(self, bill: str, line: str) -> BillLineWholeOut:
        return self.get(f"bills/{bill}/lines/{line}")

    def bill_confirm(self, uid: str) -> BillWholeOut:
        return self.post(f"bills/{uid}/confirm")

    def bill_pay(self, uid: str, coupon: str | None = None) -> BillWholeOut:
        return self.post(f"bills/{uid}/pay", {"coupon": coupon} if coupon else {})

    # --- messages ----------------------------------------------------------------------------------------

    def messages(self) -> list[MessageOut]:
        return list(self.all("messages"))

    def default_system(self) -> DefaultSystemOut:
        """The business system that work and applications are for where they name none."""
        return self.get("business-systems/default")

    def default_system_set(self, business_system: str | None) -> None:
        """Choose it by number or uid; None: have none."""
        if business_system is None:
            self.call("DELETE", "business-systems/default")
        else:
            self.call("PUT", "business-systems/default", {"business_system": business_system})

    def business_systems(self) -> list[BusinessSystemOut]:
        return list(self.all("business-systems"))
