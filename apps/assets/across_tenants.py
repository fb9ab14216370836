"""The assets of all tenants, for operators: what there is, whose, where and how much; never what is in it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import sql

from apps.assets.states import CENTRE, AssetKind, Reach, VersionState
from apps.kernel.actor import Actor
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list
from apps.tenancy.states import TenantState

VIEW = "assets.view"
# The rows of one tenant. What is ready counts: of a copy that is under way nobody knows whether it will be.
_OF_ONE = sql.SQL("""
    SELECT {schema}::text AS schema, a.uid, a.kind, a.name, a.introduction, a.reach, u.display_name AS owner,
           coalesce(max(v.number), 0) AS newest, coalesce(sum(v.size_bytes), 0)::bigint AS size_bytes,
           array_agg(DISTINCT coalesce(c.code, {centre})) FILTER (WHERE v.id IS NOT NULL) AS platforms
    FROM {tenant}.assets_asset a JOIN public.identity_user u ON u.id = a.owner_id
    LEFT JOIN {tenant}.assets_assetversion v ON v.asset_id = a.id AND v.state = {ready}
    LEFT JOIN {tenant}.storage_volume s ON s.id = v.volume_id
    LEFT JOIN public.centre_storageclass c ON c.id = s.storage_class_id
    GROUP BY a.id, u.display_name
""")

# As much of them as is needed to count them, where nobody asks how much they are or where.
_COUNTED = sql.SQL("SELECT {schema}::text AS schema, a.kind FROM {tenant}.assets_asset a")
_COUNTED_BY_WORDS = sql.SQL("""
    SELECT {schema}::text AS schema, a.kind, a.name, a.introduction, u.display_name AS owner
    FROM {tenant}.assets_asset a JOIN public.identity_user u ON u.id = a.owner_id
""")


def _somewhere(text: str) -> str:
    """The pattern of LIKE for what has the text in it."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"


@dataclass(slots=True)
class AssetRow:
    """An asset with all its ready versions together; `platforms` are the codes of where these lie, `places` their
    names for a reader."""

    tenant: Tenant
    uid: UUID
    kind: AssetKind
    name: str
    introduction: str
    reach: Reach
    owner: str
    newest: int
    size_bytes: int
    platforms: tuple[str, ...]
    places: str = ""


class AssetsAcross(Sequence[AssetRow]):
    """The rows that meet the conditions, by tenant and name: counted, and read page by page.

    Args:
        actor: an operator who may see them; Forbidden for any other.
        tenant: a schema; "" for all tenants, closed ones too.
        kind: an `AssetKind`, or "".
        platform: the code of a storage class, `CENTRE`, or "".
        least_bytes: how much its versions have together at least.
        search: a part of the name, the introduction or the owner's name.
    """

    def __init__(
        self,
        *,
        actor: Actor,
        tenant: str = "",
        kind: str = "",
        platform: str = "",
        least_bytes: int = 0,
        search: str = "",
    ) -> None:
        actor.require(VIEW)
        rows = tenant_list().exclude(state=TenantState.DELETED)
        self._tenants = {
            row.schema_name: row for row in (rows.filter(schema_name=tenant) if tenant else rows)
        }
        wanted = {
            "kind = %(kind)s": kind,
            "%(platform)s = ANY (platforms)": platform,
            "size_bytes >= %(least)s": least_bytes,
            "(name ILIKE %(words)s OR introduction ILIKE %(words)s OR owner ILIKE %(words)s)": search,
        }
        self._given: dict[str, str | int] = {
            "kind": kind,
            "platform": platform,
            "least": least_bytes,
            "words": _somewhere(search),
        }
        self._counted = _OF_ONE if platform or least_bytes else _COUNTED_BY_WORDS if search else _COUNTED
        self._where = " AND ".join(["TRUE", *(text for text, value in wanted.items() if value)])

    @cached_property
    def _counts(self) -> dict[str, int]:
        """By schema, in their order, how many rows there are; of many tenants to join all tables takes seconds."""
        if not self._tenants:
            return {}
        tail = "GROUP BY schema ORDER BY schema"
        return dict(self._asked(self._counted, self._tenants, "schema, count(*)", tail))

    def __len__(self) -> int:
        return sum(self._counts.values())

    def __getitem__(self, wanted: Any) -> Any:
        if not isinstance(wanted, slice):
            return self[wanted : wanted + 1][0]
        start, stop, _step = wanted.indices(len(self))
        if start >= stop:
            return []
        ends = dict(zip(self._counts, accumulate(self._counts.values()), strict=True))
        skipped = max((end for end in ends.values() if end <= start), default=0)
        schemas = [
            schema for schema, end in ends.items() if end > start and end - self._counts[schema] < stop
        ]
        tail = f"ORDER BY schema, name, uid LIMIT {stop - start} OFFSET {start - skipped}"
        return [self._row(*row) for row in self._asked(_OF_ONE, schemas, "*", tail)]

    def _row(
        self, schema: str, uid: UUID, kind: str, name: str, introduction: str, reach: str, *rest: Any
    ) -> AssetRow:
        owner, newest, size_bytes, platforms = rest
        return AssetRow(
            self._tenants[schema], uid, AssetKind(kind), name, introduction, Reach(reach), owner, newest,
            size_bytes, tuple(platforms or ()),
        )  # fmt: skip

    def _asked(self, one: sql.SQL, schemas: Iterable[str], what: str, tail: str) -> list[tuple[Any, ...]]:
        parts = [
            one.format(
                schema=sql.Literal(schema),
                tenant=sql.Identifier(schema),
                centre=sql.Literal(CENTRE),
                ready=sql.Literal(VersionState.READY.value),
            )
            for schema in schemas
        ]
        query = sql.SQL("SELECT {what} FROM ({rows}) asset WHERE {where} {tail}").format(
            what=sql.SQL(what),
            rows=sql.SQL(" UNION ALL ").join(parts),
            where=sql.SQL(self._where),
            tail=sql.SQL(tail),
        )
        with connection.cursor() as cursor:
            cursor.execute(query, self._given)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
