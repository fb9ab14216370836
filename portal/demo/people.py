"""Who is in the demo: operators and two tenants' people, one for each role of the journey."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """A demo account: its roles, and for tenants' people their organization."""

    username: str
    name: str
    roles: tuple[str, ...]
    schema: str = ""
    organization: str = ""


TENANTS = {"acme": ("Acme Research", "艾克米研究院"), "globex": ("Globex Labs", "环球实验室")}

OPERATORS = (
    DemoPerson("ops", "Mei Lin (operations)", ("operations_manager", "front_line")),
    DemoPerson("admin", "Wei Zhang (system)", ("system_administrator", "cluster_administrator")),
    DemoPerson("boss", "Hua Chen (executive)", ("executive",)),
)

MEMBERS = (
    DemoPerson("alice", "Alice Wang", ("tenant_front_line",), "acme", "AI Lab"),
    DemoPerson("dan", "Dan Liu", ("tenant_decision_maker",), "acme", "Head office"),
    DemoPerson(
        "olga", "Olga Sun", ("tenant_operations_manager", "tenant_decision_maker"), "acme", "Head office"
    ),
    DemoPerson("sam", "Sam Zhao", ("tenant_system_administrator",), "acme", "Head office"),
    DemoPerson("gina", "Gina Xu", ("tenant_front_line",), "globex", "Research"),
    DemoPerson("gil", "Gil Ma", ("tenant_decision_maker",), "globex", "Head office"),
    DemoPerson("greta", "Greta Hu", ("tenant_operations_manager",), "globex", "Head office"),
)
