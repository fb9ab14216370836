"""Whose records somebody reaches: the data permission of a role, apart from its functions (PLAT-TEN-32, PLAT-SEC-4)."""

from dataclasses import dataclass, fields
from enum import StrEnum
from uuid import UUID

from django.db.models import Q


class Scope(StrEnum):
    """How far a data permission goes; one's own records are within each of them."""

    OWN = "own"
    ORGANIZATION = "organization"
    BELOW = "below"
    SYSTEMS = "systems"
    ALL = "all"

    def covers(self, other: "Scope") -> bool:
        """Whether whoever reaches this far reaches all that the other does."""
        return other in _WITHIN[self]


_WITHIN = {
    Scope.OWN: {Scope.OWN},
    Scope.ORGANIZATION: {Scope.OWN, Scope.ORGANIZATION},
    Scope.BELOW: {Scope.OWN, Scope.ORGANIZATION, Scope.BELOW},
    Scope.SYSTEMS: {Scope.OWN, Scope.SYSTEMS},
    Scope.ALL: set(Scope),
}


class Records(StrEnum):
    """What a data permission is given for."""

    ORDERS = "orders"
    RESOURCES = "resources"
    SYSTEMS = "systems"
    COSTS = "costs"
    PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class DataPermission:
    """How far a role reaches, by the kind of records.

    Attributes:
        orders: applications, orders, tickets and the processes that decide on them.
        resources: jobs, sessions and environments that run, volumes and assets for who manages storage.
        systems: business systems; one's own are those one takes part in.
        costs: what use has cost, and of each bill the lines of that; the account is the whole tenant's, for who reaches
            all.
        people: who belongs to the tenant, and who is invited.
    """

    orders: Scope = Scope.OWN
    resources: Scope = Scope.OWN
    systems: Scope = Scope.OWN
    costs: Scope = Scope.OWN
    people: Scope = Scope.OWN

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, Scope(getattr(self, field.name)))

    def of(self, records: Records) -> Scope:
        scope: Scope = getattr(self, records.value)
        return scope

    def beyond(self, other: "DataPermission") -> Records | None:
        """The first kind of records of which this one reaches some that the other does not."""
        return next((kind for kind in Records if not other.of(kind).covers(self.of(kind))), None)


EVERYTHING = DataPermission(*[Scope.ALL] * len(Records))


@dataclass(frozen=True, slots=True)
class Reach:
    """A data permission as it is for one person: which organizations and business systems its words stand for.

    Attributes:
        permission: the role's.
        organization: the one that the person belongs to.
        below: that one and all below it, where a scope asks for them.
        systems: the business systems that the person takes part in, where a scope asks for them.
    """

    permission: DataPermission = DataPermission()
    organization: UUID | None = None
    below: frozenset[UUID] = frozenset()
    systems: frozenset[UUID] = frozenset()

    def rows(self, records: Records, *, own: Q, organization: str, system: str) -> Q:
        """The rows that are reached.

        Args:
            records: what kind they are.
            own: those that are the person's own.
            organization, system: the columns in which a row has the uid of its organization and business system.
        """
        match self.permission.of(records):
            case Scope.ALL:
                # True of each row, also where it is joined to another condition.
                return ~Q(pk__in=[])
            case Scope.ORGANIZATION if self.organization is not None:
                return own | Q(**{organization: self.organization})
            case Scope.BELOW:
                return own | Q(**{f"{organization}__in": self.below})
            case Scope.SYSTEMS:
                return own | Q(**{f"{system}__in": self.systems})
            case _:
                return own
