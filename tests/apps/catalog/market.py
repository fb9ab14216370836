"""A small catalogue to test with: one GPU environment of four components, priced, listed, with its process."""

from decimal import Decimal
from pathlib import Path

from apps.catalog.models import Commodity, Component, ProcessApp, ProcessTemplate
from apps.catalog.services.categories import category_create
from apps.catalog.services.commodities import (
    commodity_create,
    commodity_list_,
)
from apps.catalog.services.components import component_create
from apps.catalog.services.form_templates import form_template_create
from apps.catalog.services.prices import price_publish
from apps.catalog.services.processes import (
    process_app_create,
    process_app_publish,
    process_template_import,
)
from apps.catalog.types import ComponentRange, PriceInput
from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind
from apps.identity.services.users import user_create
from apps.kernel.actor import SYSTEM

DEFINITIONS = Path(__file__).resolve().parents[3] / "workflows" / "definitions"
# What `tests.harness.money` charges direct work as: no part of this catalogue.
FREE = "FREE"
AMOUNTS = {"compute_share": 20, "gpu_memory": 10240, "cpu": 4, "memory": 8192}
# Per share and hour: 20 × 0.05 + (8 × 0.50 + 2 × 0.80) + 4 × 0.10 + 8 × 0.02 = 7.16
PER_HOUR = Decimal("7.16")
PRICES = [
    PriceInput("compute_share", [[None, "0.05"]]),
    PriceInput("gpu_memory", [["8", "0.50"], [None, "0.80"]], tier_method="progressive"),
    PriceInput("cpu", [[None, "0.10"]]),
    PriceInput("memory", [[None, "0.02"]]),
]
RANGES = [
    ComponentRange("compute_share", minimum=5, maximum=100, default=20, step=5),
    ComponentRange("gpu_memory", minimum=1024, maximum=81920, default=10240, step=1024),
    ComponentRange("cpu", minimum=1, maximum=32, default=4),
    ComponentRange("memory", minimum=1024, maximum=262144, default=8192, step=1024),
]


def template_make() -> ProcessTemplate:
    file = sorted(DEFINITIONS.glob("*.bpmn"))[0]
    return process_template_import(actor=SYSTEM, key=file.stem.replace("_", "-"), xml=file.read_bytes())


def process_app_make(code: str, category: object, kind: str = "new") -> ProcessApp:
    form = form_template_create(
        actor=SYSTEM, code=f"{code}-form", kind=kind, name_zh="表单", name_en="Form", fields=[]
    )
    app = process_app_create(
        actor=SYSTEM,
        code=code,
        name_zh="流程",
        name_en="Process",
        category=category,
        form_template=form,
        process_template=template_make(),
    )
    approver_make()
    return process_app_publish(actor=SYSTEM, process_app_uid=app.uid)


def approver_make() -> None:
    """The operator who can decide the centre's step of the shipped processes: none is published without."""
    if User.objects.filter(username="market.approver").exists():
        return
    user = user_create(
        actor=SYSTEM,
        username="market.approver",
        display_name="Approver of the market",
        password="correct-horse-9",
        is_operator=True,
    )
    operator_role_bind(actor=SYSTEM, user=user, role_code="operations_manager")


def commodity_make(number: str = "GPU-1", *, is_listed: bool = True, **changes: object) -> Commodity:
    """A commodity with prices in force; the parts it shares with others are made with the first."""
    existing = Commodity.objects.exclude(number=FREE).first()
    if existing is None:
        top = category_create(actor=SYSTEM, code="compute", name_zh="算力", name_en="Compute")
        category = category_create(actor=SYSTEM, code="gpu", name_zh="显卡", name_en="GPU", parent=top)
        for code, unit, amount_unit, per_unit in (
            ("compute_share", "%", "%", 1),
            ("gpu_memory", "GiB", "MiB", 1024),
            ("cpu", "core", "core", 1),
            ("memory", "GiB", "MiB", 1024),
        ):
            if not Component.objects.filter(code=code).exists():
                component_create(
                    actor=SYSTEM,
                    code=code,
                    name_zh="算力" if code == "compute_share" else code,
                    name_en="Compute share" if code == "compute_share" else code,
                    unit=unit,
                    amount_unit=amount_unit,
                    per_unit=per_unit,
                )
        new, end = process_app_make("new", category), process_app_make("end", category, "termination")
    else:
        category, new, end = existing.category, existing.process_app, existing.termination_app
    prices = changes.pop("prices", PRICES)
    arguments = {
        "components": RANGES,
        "name_zh": "GPU开发环境",
        "name_en": "GPU development environment",
        "supplier": "Weir",
        "work": {"argv": ["python", "train.py"], "env": {"STEPS": "10"}},
        **changes,
    }
    commodity = commodity_create(
        actor=SYSTEM,
        number=number,
        category=category,
        process_app=new,
        termination_app=end,
        **arguments,
    )
    if prices:
        price_publish(actor=SYSTEM, commodity_uid=commodity.uid, lines=prices)
    return commodity_list_(actor=SYSTEM, commodity_uid=commodity.uid) if is_listed else commodity
