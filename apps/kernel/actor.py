"""Who acts, and what is kept of each act.

An `Actor` is resolved once at the edge (page, API, agent, task) and handed down by keyword to every service.
Each service leaves one `Act`; where acts are kept is wired in `portal/wiring.py`.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from django.db.models import Q

from apps.kernel.errors import Forbidden
from apps.kernel.reach import Reach, Records, Scope

ActorKind = Literal["user", "operator", "agent", "system", "anonymous"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody or something that may change state.

    `tenant` is the schema acted in ("" on the provider plane), `role` the active role's code (PLAT-TEN-28),
    `permissions` that role's codes, `is_read_only` whether it changes nothing but its holder's own account
    (PLAT-TEN-32), `reach` whose records of the tenant it reaches, `default_system` the business system that its work is
    for where it names none. An operator inside a tenant is kind "operator" with
    `tenant` set.
    """

    kind: ActorKind
    name: str
    user_id: int | None = None
    tenant: str = ""
    role: str = ""
    permissions: frozenset[str] = field(default_factory=frozenset)
    reach: Reach = field(default_factory=Reach)
    node_uid: str = ""
    request_id: str = ""
    is_read_only: bool = False
    default_system: UUID | None = None

    @property
    def organization(self) -> UUID | None:
        """The tenant's organization that a user belongs to."""
        return self.reach.organization

    def reaches(self, records: Records, *, own: Q, organization: str, system: str) -> Q:
        """The rows of a tenant that the actor reaches (PLAT-SEC-4): lists, details and acts all ask here. A user by the
        data permission of the active role; operators, who see whatever a tenant has, nodes and the system all of them.

        Args: see `Reach.rows`.
        """
        if self.kind in ("user", "anonymous"):
            return self.reach.rows(records, own=own, organization=organization, system=system)
        return ~Q(pk__in=[])

    def reaches_all(self, records: Records) -> bool:
        """Whether no row of the tenant is out of reach: asked for what is the whole tenant's, as its account is."""
        return self.kind not in ("user", "anonymous") or self.reach.permission.of(records) is Scope.ALL

    def may(self, permission: str) -> bool:
        return self.kind == "system" or permission in self.permissions

    def require(self, permission: str) -> None:
        """Raise Forbidden, naming the permission, unless the actor holds it."""
        if not self.may(permission):
            raise Forbidden(fields={"permission": permission})

    def may_any(self, *permissions: str) -> bool:
        return any(map(self.may, permissions))

    def require_any(self, *permissions: str) -> None:
        """Raise Forbidden, naming the first of the permissions, unless the actor holds one of them."""
        if not self.may_any(*permissions):
            self.require(permissions[0])

    @property
    def is_user(self) -> bool:
        return self.user_id is not None


SYSTEM = Actor(kind="system", name="system")
ANONYMOUS = Actor(kind="anonymous", name="anonymous")


@dataclass(slots=True)
class Act:
    """One thing done, or refused to who had no right to it: what the audit keeps (PLAT-LOG)."""

    name: str
    actor: Actor
    subject_kind: str = ""
    subject_id: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


CURRENT_ACT: ContextVar[Act | None] = ContextVar("weir_act", default=None)
"""The act of the service that runs here."""


def current_act() -> Act | None:
    """The act of the service that runs here, the innermost; None outside of services."""
    return CURRENT_ACT.get()


def act_subject(kind: str, uid: object, **detail: object) -> None:
    """Name what the running service acts on, and figures worth keeping beside it. Never secrets."""
    act = CURRENT_ACT.get()
    if act is None:
        return
    act.subject_kind, act.subject_id = kind, str(uid)
    act.detail.update({key: plain_value(value) for key, value in detail.items()})


def plain_value(value: object) -> object:
    """The value as JSON keeps it: itself, else its text."""
    return value if isinstance(value, (str, int, float, bool, type(None), list, dict)) else str(value)
