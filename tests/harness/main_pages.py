"""The main pages of both sides: what pictures are taken of, and what is measured with a large centre behind it."""

from typing import NamedTuple


class MainPage(NamedTuple):
    """Who opens it, what it is called, where it is; `>` at the end goes on to the first row of that list."""

    username: str
    name: str
    path: str


MAIN_PAGES = tuple(
    MainPage(*each)
    for each in (
        ("alice", "home", "/"),
        ("alice", "catalogue", "/catalogue/"),
        ("alice", "commodity", "/catalogue/>"),
        ("alice", "applications", "/forms/"),
        ("alice", "application", "/forms/>"),
        ("alice", "orders", "/orders/"),
        ("alice", "order", "/orders/>"),
        ("alice", "resources", "/resources/"),
        ("alice", "resource", "/resources/>"),
        ("alice", "submit-work", "/resources/submit/"),
        ("alice", "environments", "/resources/environments/"),
        ("alice", "files", "/files/"),
        ("alice", "images", "/images/"),
        ("alice", "command-line", "/client/"),
        ("alice", "help", "/help/"),
        ("alice", "help-first-hour", "/help/engineers-first-hour/"),
        ("alice", "help-api", "/help/api/workloads/workloads_create/"),
        ("dan", "approvals", "/inbox/"),
        ("olga", "bills", "/billing/bills/"),
        ("olga", "bill", "/billing/bills/>"),
        ("olga", "costs", "/billing/costs/"),
        ("olga", "account", "/billing/account/"),
        ("sam", "people", "/people/"),
        ("sam", "organizations", "/organizations/"),
        ("ops", "operations", "/"),
        ("ops", "inbox", "/inbox/"),
        ("ops", "workloads", "/scheduling/workloads/"),
        ("ops", "tenants", "/tenants/"),
        ("ops", "tenant", "/tenants/acme/"),
        ("ops", "statistics", "/statistics/"),
        ("ops", "accounts", "/accounts/"),
        ("ops", "commodities", "/catalogue/"),
        ("ops", "assets", "/assets/"),
        ("admin", "alarms", "/alarms/"),
        ("admin", "pool", "/pool/"),
        ("admin", "nodes", "/pool/nodes/"),
        ("admin", "node", "/pool/nodes/?layout=table>"),
        ("admin", "devices", "/pool/devices/"),
        ("admin", "queues", "/scheduling/queues/"),
        ("admin", "policy", "/scheduling/policy/"),
        ("admin", "centre", "/centre/"),
        ("admin", "components", "/centre/components/"),
        ("admin", "log", "/logs/"),
    )
)
