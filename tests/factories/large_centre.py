"""A large centre around a living one (`world`): many nodes, tenants, orders and records of use.

What there is agrees: each order has its work, its charge and its use; use is rated; what was used in past months is on
bills, which are paid; running work lies on devices, which say that it does. Two tenants, acme and globex, have a tenth
of the orders each and all of their tables; of the others there is what the provider keeps, and of their own schemas
what the operators' pages read.
"""

from dataclasses import dataclass

from django.db import connection

from apps.assets.models import Asset, AssetVersion
from apps.billing.models import (
    Account,
    Bill,
    BillPayment,
    Charge,
    LedgerAccount,
    LedgerTransaction,
    RatedItem,
    UsageRecord,
)
from apps.cases.models import Case
from apps.fleet.models import Device, Node, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orders.models import ApplicationForm, FormLine, Order
from apps.scheduling.models import TenantQuota, Workload
from apps.storage.models import Volume
from apps.telemetry.models import Alarm, LogEntry
from apps.telemetry.services.alarms import alarm_raise
from apps.tenancy.models import Domain, Tenant
from tests.harness.copied_rows import copied

NODES, DEVICES_PER_NODE, TENANTS, ORDERS, USE_PER_ORDER = 300, 8, 1000, 100_000, 10
DEVICES = NODES * DEVICES_PER_NODE
LOGS, ALARMS = 100_000, 2_000
# The newest orders run, one on each device; before them a few wait.
WAITING = 400
RUNNING_FROM, WAITING_FROM = ORDERS - DEVICES, ORDERS - DEVICES - WAITING
# Keys of what is added begin here, so that rows can name each other before they are there.
BASE = 10_000_000
_ORDERS = f"generate_series(1, {ORDERS}) AS n"
# A year of orders.
_AT = f"now() - ({ORDERS} + 1 - n) * interval '315 seconds'"
_MONTH = f"({ORDERS} - n) / {ORDERS // 12 + 1}"
_IS_RUNNING, _IS_WAITING = f"n > {RUNNING_FROM}", f"n > {WAITING_FROM} AND n <= {RUNNING_FROM}"
_DEVICE = f"{BASE} + n % {DEVICES}"
_NODE = f"{BASE} + (n % {DEVICES}) / {DEVICES_PER_NODE}"
_OF_THE_CENTRE = ("cash", "revenue")
_ENDED_AT = f"CASE WHEN n <= {WAITING_FROM} THEN {_AT} + interval '1 hour' END"


def _uid(what: str, number: str = "n") -> str:
    return f"md5('{what}' || {number})::uuid"


@dataclass(frozen=True, slots=True)
class Origin:
    """The tenant whose rows are copied, and the keys of the two tenants with tables of their own."""

    acme: Tenant
    globex: Tenant

    @property
    def tenant(self) -> str:
        """The key of the tenant of order `n`."""
        others = f"{BASE} + n % {TENANTS - 2}"
        return f"CASE n % 10 WHEN 0 THEN {self.acme.pk} WHEN 1 THEN {self.globex.pk} ELSE {others} END"

    @property
    def bill(self) -> str:
        """The key of the bill that the use of order `n` is on; none of this month's."""
        return f"CASE WHEN {_MONTH} > 0 THEN 5 * {BASE} + ({self.tenant}) * 100 + {_MONTH} END"


def centre_enlarge() -> None:
    """Fill the database of a `world` and bring its statistics up to date; commits as it goes."""
    origin = Origin(*Tenant.objects.filter(schema_name__in=("acme", "globex")).order_by("schema_name"))
    _nodes()
    _tenants(origin)
    _schemas()
    _work(origin)
    _money(origin)
    _cases(origin)
    for tenant, first in ((origin.acme, 10), (origin.globex, 1)):
        _orders_of(tenant, first)
    _watched()
    connection.set_schema_to_public()
    _run("VACUUM ANALYZE")


def _run(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


def _nodes() -> None:
    copied(
        Node.objects.get(), f"generate_series(0, {NODES - 1}) AS n",
        id=f"{BASE} + n", uid=_uid("node"), name="'gpu-' || lpad(n::text, 3, '0')", boot_id=_uid("boot"),
        last_seen_at="now()", state="CASE WHEN n % 100 = 99 THEN 'lost' ELSE 'ready' END",
        lost_at="CASE WHEN n % 100 = 99 THEN now() END",
    )  # fmt: skip
    copied(
        Device.objects.get(), f"generate_series(0, {DEVICES - 1}) AS n",
        id=f"{BASE} + n", uid="'gpu-' || n", node_id=f"{BASE} + n / {DEVICES_PER_NODE}",
        index=f"n % {DEVICES_PER_NODE}", vendor="'nvidia'", model="'NVIDIA H100 80GB HBM3'", memory_mib="81559",
        reported_mib="81559", held_percent="20", held_mib="512",
        health="CASE WHEN n % 400 = 7 THEN 'degraded' ELSE 'ok' END",
        created_at="now() - interval '1 year'",
    )  # fmt: skip


def _tenants(origin: Origin) -> None:
    others, acme = f"generate_series(0, {TENANTS - 3}) AS n", origin.acme
    tenant = f"{BASE} + n"
    copied(
        acme, others, id=tenant, schema_name="'t' || n", name="'Institute ' || n",
        created_at="now() - interval '1 year'",
    )  # fmt: skip
    copied(Domain.objects.get(tenant=acme), others, domain="'t' || n || '.localhost'", tenant_id=tenant)
    copied(Account.plain.get(tenant=acme), others, uid=_uid("account"), tenant_id=tenant)
    for row in TenantQuota.plain.filter(tenant=acme):
        copied(row, others, tenant_id=tenant)
    for row in LedgerAccount.objects.filter(tenant=acme):
        copied(row, others, code=f"'{row.kind}:t' || n", tenant_id=tenant)
    every = "tenancy_tenant AS of_all"
    deposit = LedgerTransaction.objects.get(tenant=acme, kind="deposit")
    copied(
        deposit, every, id=f"{BASE} + of_all.id", uid=_uid("deposit", "of_all.id"), tenant_id="of_all.id",
        idempotency_key="'many:' || of_all.id", reference="'contract'", created_at="now() - interval '366 days'",
    )  # fmt: skip
    _legs(f"{BASE} + t.id", "tenancy_tenant t", "t.id", {"cash": "1000000", "balance": "-1000000"})


def _legs(transaction: str, source: str, tenant: str, amounts: dict[str, str]) -> None:
    """The legs of transactions: by kind of account what is booked on it."""
    _run("SET session_replication_role = replica")
    for kind, amount in amounts.items():
        whose = "a.tenant_id IS NULL" if kind in _OF_THE_CENTRE else f"a.tenant_id = {tenant}"
        _run(
            f"INSERT INTO billing_ledgerleg (transaction_id, account_id, amount) SELECT {transaction}, a.id, {amount}"
            f" FROM {source}, billing_ledgeraccount a WHERE a.kind = '{kind}' AND {whose}"
        )
    _run("SET session_replication_role = origin")


def _schemas() -> None:
    """Of the other tenants' schemas the tables that the operators' pages read, with an asset in most of them."""
    tables = [model._meta.db_table for model in (Asset, AssetVersion, Volume)]
    with in_tenant("acme"):
        asset = Asset.objects.get()
    columns = ", ".join(f'"{field.column}"' for field in Asset._meta.concrete_fields)
    for first in range(0, TENANTS - 2, 50):
        parts = []
        for n in range(first, min(first + 50, TENANTS - 2)):
            parts.append(f"CREATE SCHEMA t{n}")
            parts += [f"CREATE TABLE t{n}.{table} (LIKE acme.{table} INCLUDING ALL)" for table in tables]
            if n % 4:
                parts.append(
                    f"INSERT INTO t{n}.{tables[0]} ({columns}) SELECT {columns} FROM acme.{tables[0]}"
                    f" WHERE id = {asset.pk}"
                )
        _run("; ".join(parts))


def _work(origin: Origin) -> None:
    """Workloads with the share that each holds or held, and the slice behind it."""
    origin_work = Workload.plain.get(tenant=origin.acme)
    is_acme = f"({origin.tenant}) = {origin.acme.pk}"
    copied(
        origin_work, _ORDERS,
        id=f"{BASE} + n", uid=_uid("work"), no="'W-O2026-' || lpad(n::text, 6, '0')", order_uid=_uid("order"),
        tenant_id=origin.tenant, created_at=_AT, placed_at=f"CASE WHEN {_IS_WAITING} THEN NULL ELSE {_AT} END",
        started_at=f"CASE WHEN {_IS_WAITING} THEN NULL ELSE {_AT} END", ended_at=_ENDED_AT,
        submitted_by_id=f"CASE WHEN {is_acme} THEN origin.submitted_by_id END",
        organization_id=f"CASE WHEN {is_acme} THEN origin.organization_id END", updated_at=_AT,
        state=f"CASE WHEN {_IS_RUNNING} THEN 'running' WHEN {_IS_WAITING} THEN 'pending'"
        " WHEN n % 20 = 0 THEN 'failed' ELSE 'finished' END",
        position=f"CASE WHEN {_IS_WAITING} THEN n - {WAITING_FROM} END",
    )  # fmt: skip
    placed = f"(SELECT n FROM {_ORDERS} WHERE NOT ({_IS_WAITING})) AS placed"
    share = origin_work.allocations.get()
    copied(
        share, placed, workload_id=f"{BASE} + n", device_id=_DEVICE, slice_uid=_uid("slice"), created_at=_AT,
        state=f"CASE WHEN {_IS_RUNNING} THEN 'active' ELSE 'released' END", released_at=_ENDED_AT,
    )  # fmt: skip
    copied(
        Slice.plain.get(uid=share.slice_uid), placed,
        uid=_uid("slice"), workload_uid=_uid("work"), tenant_id=origin.tenant, device_id=_DEVICE, node_id=_NODE,
        state=f"CASE WHEN {_IS_RUNNING} THEN 'running' ELSE 'exited' END",
        desired=f"CASE WHEN {_IS_RUNNING} THEN 'running' ELSE 'stopped' END",
        exit_code=f"CASE WHEN {_IS_RUNNING} THEN NULL ELSE 0 END", started_at=_AT, ended_at=_ENDED_AT,
        final_at=_ENDED_AT, closed_at=_ENDED_AT, created_at=_AT, measured_at="now()",
    )  # fmt: skip


def _money(origin: Origin) -> None:
    """Charges, their use, what that costs, and bills of past months, paid but for the last."""
    charge = Charge.plain.filter(tenant=origin.acme).earliest("pk")
    is_acme = f"({origin.tenant}) = {origin.acme.pk}"
    copied(
        charge, _ORDERS,
        id=f"{BASE} + n", uid=_uid("charge"), order_uid=_uid("order"), order_no="'O2026-' || lpad(n::text, 6, '0')",
        workload_uid=_uid("work"), tenant_id=origin.tenant, opened_at=_AT, closed_at=_ENDED_AT, created_at=_AT,
        state=f"CASE WHEN n <= {WAITING_FROM} THEN 'closed' ELSE 'open' END",
        **{name: f"CASE WHEN {is_acme} THEN origin.{name} END" for name in ("user_id", "organization_uid")},
        person=f"CASE WHEN {is_acme} THEN origin.person ELSE 'Person ' || n % 997 END",
    )  # fmt: skip
    use = f"{_ORDERS}, generate_series(1, {USE_PER_ORDER}) AS s"
    used = f"(SELECT n, s FROM {use} WHERE NOT ({_IS_WAITING})) AS used"
    key, end_at = f"{BASE} + n * {USE_PER_ORDER} + s", f"{_AT} + s * interval '6 minutes'"
    record = UsageRecord.plain.filter(charge=charge).earliest("pk")
    copied(
        record, used,
        id=key, uid=_uid("use", f"{key}"), workload_uid=_uid("work"), slice_uid=_uid("slice"), seq="s",
        start_at=f"{end_at} - interval '6 minutes'", end_at=end_at, seconds="360",
        node_uid=_uid("node", f"({_NODE} - {BASE})"),
        device_uid=f"'gpu-' || n % {DEVICES}", report_id=f"'many/' || {key}", received_at=end_at, rated_at=end_at,
        charge_id=f"{BASE} + n", tenant_id=origin.tenant,
    )  # fmt: skip
    rate = LedgerTransaction.objects.filter(tenant=origin.acme, kind="rate").earliest("pk")
    copied(
        rate, used, id=f"2 * {BASE} + {key}", uid=_uid("rate", f"{key}"), tenant_id=origin.tenant, created_at=end_at,
        idempotency_key=f"'rate-many:' || {key}", reference=f"'usage:' || {_uid('use', f'{key}')}",
    )  # fmt: skip
    for item in RatedItem.objects.filter(usage=record, component__in=("compute_share", "gpu_memory")):
        copied(
            item, used, usage_id=key, charge_id=f"{BASE} + n", transaction_id=f"2 * {BASE} + {key}",
            seconds="360", exact="origin.unit_amount / 10", bill_id=origin.bill, created_at=end_at,
        )  # fmt: skip
    _legs(f"2 * {BASE} + {key}", used, f"({origin.tenant})", {"accrued": "4.4", "revenue": "-4.4"})
    _bills(origin)


def _bills(origin: Origin) -> None:
    row = Bill.plain.get(tenant=origin.acme)
    every = "tenancy_tenant AS of_all, generate_series(1, 11) AS m"
    key, until = f"5 * {BASE} + of_all.id * 100 + m", "now() - m * interval '30 days'"
    paid = f"CASE WHEN m > 1 THEN {until} END"
    copied(
        row, every, id=key, uid=_uid("bill", f"({key})"), no="'B-' || upper(of_all.schema_name) || '-' || 20000 + m",
        tenant_id="of_all.id", state="CASE WHEN m > 1 THEN 'paid' ELSE 'made' END", period_until=until,
        period_from=f"{until} - interval '30 days'", made_at=until, confirmed_at=paid, paid_at=paid, created_at=until,
    )  # fmt: skip
    _run("SET session_replication_role = replica")
    _run(
        "INSERT INTO billing_billline (uid, bill_id, charge_id, price_line_id, component, quantity, unit_amount,"
        " share_seconds, exact, accrued, amount) SELECT gen_random_uuid(), bill_id, charge_id, price_line_id,"
        " component, min(quantity), min(unit_amount), sum(seconds), sum(exact), sum(exact), round(sum(exact), 2)"
        f" FROM billing_rateditem WHERE bill_id > {BASE} GROUP BY bill_id, charge_id, price_line_id, component"
    )
    _run(
        "UPDATE billing_bill b SET total = t.total FROM (SELECT bill_id, sum(amount) AS total FROM billing_billline"
        f" WHERE bill_id > {BASE} GROUP BY 1) t WHERE t.bill_id = b.id"
    )
    _run(f"DELETE FROM billing_bill WHERE id > {BASE} AND total = {row.total}")
    _run("SET session_replication_role = origin")
    _booked(origin)


def _booked(origin: Origin) -> None:
    """What bills and their payments book."""
    made, payment = f"4 * {BASE} + of_all.id", f"6 * {BASE} + of_all.id"
    bills = f"(SELECT * FROM billing_bill WHERE id > {BASE}) AS of_all"
    paid = f"(SELECT * FROM billing_bill WHERE id > {BASE} AND state = 'paid') AS of_all"
    tenant = "of_all.tenant_id"
    for kind, key, source, amounts in (
        ("bill", made, bills, {"receivable": "of_all.total", "accrued": "-of_all.total"}),
        ("payment", payment, paid, {"balance": "of_all.total", "receivable": "-of_all.total"}),
    ):
        copied(
            LedgerTransaction.objects.get(tenant=origin.acme, kind=kind), source,
            id=key, uid=_uid(kind, "of_all.id"), idempotency_key=f"'{kind}-many:' || of_all.id",
            reference="of_all.no", tenant_id=tenant, created_at="of_all.made_at",
        )  # fmt: skip
        _legs(key, source, tenant, amounts)
    copied(
        BillPayment.plain.get(tenant=origin.acme), paid,
        uid=_uid("paid", "of_all.id"), bill_id="of_all.id", coupon_uid="NULL", coupon_code="''", coupon_amount="0",
        balance_amount="of_all.total", transaction_id=payment, created_at="of_all.paid_at", tenant_id=tenant,
    )  # fmt: skip


def _cases(origin: Origin) -> None:
    """The operators' lines of forms and orders; of every tenth order's form a decision, the newest of which wait."""
    acme = Case.plain.filter(tenant=origin.acme)
    for kind, what in (("form", "F"), ("order", "O")):
        copied(
            acme.filter(kind=kind, state="completed").latest("pk"), _ORDERS,
            uid=_uid(kind), no=f"'{what}2026-' || lpad(n::text, 6, '0')", tenant_id=origin.tenant, created_at=_AT,
            updated_at=_AT, link=f"'/{kind}s/' || {_uid(kind)} || '/'",
            is_open=f"n > {WAITING_FROM}" if kind == "order" else "false",
            applicant_name="'Person ' || n % 997", applicant_id="NULL",
        )  # fmt: skip
    copied(
        acme.filter(kind="task", side="operator").latest("pk"), f"generate_series(10, {ORDERS}, 10) AS n",
        uid=_uid("task"), no="'F2026-' || lpad(n::text, 6, '0')", tenant_id=origin.tenant, created_at=_AT,
        updated_at=_AT, link=f"'/t/acme/tasks/' || {_uid('task')} || '/'", is_open=f"n > {ORDERS - 2000}",
        state=f"CASE WHEN n > {ORDERS - 2000} THEN 'waiting' ELSE 'done' END",
        worked_by_ids=f"CASE WHEN n > {ORDERS - 2000} THEN '{{}}'::bigint[] ELSE origin.worked_by_ids END",
    )  # fmt: skip


def _orders_of(tenant: Tenant, first: int) -> None:
    """What a tenant's own tables keep of its orders."""
    orders = f"generate_series({first}, {ORDERS}, 10) AS n"
    with in_tenant(tenant.schema_name):
        order = Order.objects.get()
        copied(
            order.form, orders, id=f"{BASE} + n", uid=_uid("form"), no="'F2026-' || lpad(n::text, 6, '0')",
            created_at=_AT, submitted_at=_AT, updated_at=_AT,
        )  # fmt: skip
        copied(
            order.line,
            orders,
            id=f"{BASE} + n",
            uid=_uid("line"),
            form_id=f"{BASE} + n",
            hold_uid=_uid("hold"),
        )
        copied(
            order, orders, uid=_uid("order"), no="'O2026-' || lpad(n::text, 6, '0')", form_id=f"{BASE} + n",
            line_id=f"{BASE} + n", workload_uid=_uid("work"), ticket_uid=_uid("ticket"), created_at=_AT,
            updated_at=_AT, started_at=_AT, ended_at=_ENDED_AT,
            state=f"CASE WHEN n <= {WAITING_FROM} THEN 'terminated' ELSE 'completed' END",
        )  # fmt: skip
        for model in (ApplicationForm, FormLine, Order):
            _run(f"ANALYZE {model._meta.db_table}")


def _watched() -> None:
    """Lines of the log, and alarms of which a few are open."""
    connection.set_schema_to_public()
    copied(
        LogEntry.objects.latest("pk"), f"generate_series(1, {LOGS}) AS n",
        at="now() - n * interval '60 seconds'", text="'line ' || n",
    )  # fmt: skip
    alarm_raise(actor=SYSTEM, key="many", level="minor", source="rules", msgid="Hot", params={})
    copied(
        Alarm.objects.latest("pk"), f"generate_series(1, {ALARMS}) AS n",
        uid=_uid("alarm"), key="'many:' || n", fired_at="now() - n * interval '1 hour'",
        state="CASE WHEN n <= 20 THEN 'firing' ELSE 'resolved' END",
        resolved_at="CASE WHEN n <= 20 THEN NULL ELSE now() END",
    )  # fmt: skip
