"""Fill an empty centre with what the journey needs, through the same services everybody uses.

Every step looks first whether it was done: running it again changes nothing and repairs what is missing.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.billing.selectors.accounts import account_get
from apps.billing.services.ledger import account_deposit, account_open, credit_limit_set
from apps.catalog.models import Category, Commodity, CouponActivity, FormTemplate, ProcessApp
from apps.catalog.services import (
    categories,
    commodities,
    components,
    coupons,
    form_templates,
    prices,
    processes,
)
from apps.catalog.states import CommodityKind
from apps.catalog.types import ComponentRange, PriceInput
from apps.centre.models import Centre
from apps.centre.selectors import centre_is_set_up, centre_shown
from apps.centre.services import centre_seller_set
from apps.console.centre.services import centre_setup
from apps.fleet.models import Spec
from apps.fleet.services.specs import spec_make
from apps.identity.models import User
from apps.identity.services.operators import operator_role_bind, operator_roles_sync
from apps.identity.services.users import membership_add, user_create
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.models import BusinessSystem, BusinessSystemUser, Member, Organization
from apps.orgs.selectors.roles import role_list_of, roles_named
from apps.orgs.services.business_systems import business_system_create, business_system_member_add
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.people import person_move, person_roles_set
from apps.orgs.services.roles import roles_sync
from apps.scheduling.selectors.environment_templates import environment_template_list
from apps.scheduling.selectors.workloads import policy_get
from apps.scheduling.services.environment_templates import TemplateDraft, environment_template_make
from apps.scheduling.services.queues.queue_settings import direct_commodity_set, queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.tenancy.models import Tenant
from apps.tenancy.services import tenant_provision
from apps.ticketing.selectors import category_builtin, category_list
from apps.ticketing.services import categories as ticket_categories
from apps.ticketing.states import Builtin
from portal.demo.people import MEMBERS, OPERATORS, TENANTS, DemoPerson
from portal.roles import OPERATOR_ROLES, TENANT_ROLES
from workflows.registry import definition_list

QUOTA = {
    "instances": 8,
    "compute_percent": 400,
    "gpu_memory_mib": 16384,
    "host_cpu_milli": 32_000,
    "host_memory_mib": 65536,
    "storage_mib": 20_480,
}
DEPOSIT = Decimal("500.00")
# What is set aside before a start counts by the demo's prices, which are ten times what a centre asks.
CREDIT = Decimal("100000.00")
# What most people ask for: code, names, percent of a device, MiB of its memory.
SPECS = (
    ("small", "Small", "小型", 10, 512),
    ("medium", "Medium", "中型", 25, 1024),
    ("large", "Large", "大型", 50, 2048),
)
WORK = {"argv": ["python", "-m", "node_agent.examples.train"], "env": {}}
NOTEBOOK = {"argv": ["python", "-m", "node_agent.web.jupyterlab"], "env": {}, "web": True}
TEMPLATE = TemplateDraft(
    name="jupyterlab",
    description="Notebooks, a terminal and an editor in the browser, on a third of a card.",
    compute_percent=30,
    memory_mib=1536,
    idle_timeout_s=4 * 3600,
)


def seed_all(password: str) -> None:
    """Everything, in the order in which one thing needs another."""
    if centre_is_set_up():
        # The code may say more of the roles than it did when the centre was set up.
        operator_roles_sync(actor=SYSTEM, roles=OPERATOR_ROLES)
    else:
        _centre(next(person for person in OPERATORS if "system_administrator" in person.roles), password)
    for person in OPERATORS:
        _operator(person, password)
    for schema, (name, _name_zh) in TENANTS.items():
        _tenant(schema, name)
    for person in MEMBERS:
        _member(person, password)
    for schema in TENANTS:
        _map(schema)
        _money(schema)
    _seller()
    catalogue_seed()
    ticket_categories_seed()
    _specs()
    _templates()
    _coupons()


def _centre(person: DemoPerson, password: str) -> None:
    """The centre, by the same door as the setup page's, with its first operator."""
    defaults = Centre()
    centre_setup(
        actor=SYSTEM,
        username=person.username,
        display_name=person.name,
        password=password,
        email=f"{person.username}@example.org",
        language=defaults.language,
        timezone=defaults.timezone,
        roles=person.roles,
    )


def _seller() -> None:
    """What bills of the demo say of who sells, until somebody says otherwise."""
    if centre_shown().legal_name:
        return
    centre_seller_set(
        actor=SYSTEM,
        legal_name="堰示范算力中心有限公司 Weir Demo Computing Centre Ltd.",
        address="上海市浦东新区堰路 1 号 (1 Weir Road, Pudong, Shanghai)",
        tax_number="91310000DEMO000001",
        bank="示范银行 Demo Bank, 6222 0000 0000 0001",
    )


def _user(person: DemoPerson, password: str, *, is_operator: bool) -> User:
    found = User.objects.filter(username=person.username).first()
    return found or user_create(
        actor=SYSTEM,
        username=person.username,
        display_name=person.name,
        password=password,
        email=f"{person.username}@example.org",
        is_operator=is_operator,
    )


def _operator(person: DemoPerson, password: str) -> None:
    user = _user(person, password, is_operator=True)
    for role in person.roles:
        operator_role_bind(actor=SYSTEM, user=user, role_code=role)


def _tenant(schema: str, name: str) -> None:
    if not Tenant.objects.filter(schema_name=schema).exists():
        tenant_provision(actor=SYSTEM, schema=schema, name=name)
    with in_tenant(schema):
        roles_sync(actor=SYSTEM, roles=TENANT_ROLES)
    tenant = Tenant.objects.get(schema_name=schema)
    queue_ensure(actor=SYSTEM)
    for item, total in QUOTA.items():
        quota_set(actor=SYSTEM, tenant=tenant, item=item, total=total)


def _member(person: DemoPerson, password: str) -> None:
    user = _user(person, password, is_operator=False)
    membership_add(actor=SYSTEM, user=user, tenant=Tenant.objects.get(schema_name=person.schema))
    with in_tenant(person.schema):
        if not role_list_of(user.pk):
            person_roles_set(actor=SYSTEM, user=user, roles=roles_named(person.roles))
        if not Member.objects.filter(user=user).exists():
            person_move(actor=SYSTEM, user=user, organization=_organization(person.organization))


def _organization(name: str) -> Organization:
    found = Organization.objects.filter(name=name).first()
    if found:
        return found
    parent = None if name == "Head office" else _organization("Head office")
    return organization_create(actor=SYSTEM, name=name, parent=parent)


def _map(schema: str) -> None:
    """Two business systems, the second below the first, and everybody of the tenant in them."""
    with in_tenant(schema):
        top = _system("Speech recognition", f"{schema.upper()}-01", None)
        lower = _system("Acoustic model training", f"{schema.upper()}-01-01", top)
        for member in Member.objects.select_related("user"):
            for system in (top, lower):
                if not BusinessSystemUser.objects.filter(content_object=system, user=member.user).exists():
                    business_system_member_add(actor=SYSTEM, business_system=system, user=member.user)


def _system(name: str, number: str, parent: BusinessSystem | None) -> BusinessSystem:
    found = BusinessSystem.objects.filter(number=number).first()
    organization = Organization.objects.filter(parent__isnull=False).first() or _organization("Head office")
    return found or business_system_create(
        actor=SYSTEM, name=name, number=number, organization=organization, parent=parent
    )


def _money(schema: str) -> None:
    tenant = Tenant.objects.get(schema_name=schema)
    if account_get(tenant) is None:
        account_open(actor=SYSTEM, tenant=tenant)
        account_deposit(actor=SYSTEM, tenant=tenant, amount=DEPOSIT, reference="opening balance of the demo")
        credit_limit_set(actor=SYSTEM, tenant=tenant, amount=CREDIT, reason="a customer of the demo")


# --- catalogue -------------------------------------------------------------------------------------------------

RANGES = (
    ComponentRange("compute_share", 1, 100, 25),
    ComponentRange("gpu_memory", 128, 204800, 512, 1),
    ComponentRange("cpu", 1, 64, 1),
    ComponentRange("memory", 256, 1048576, 1024, 1),
)
# CNY an hour, some ten times what a centre would ask: so that seconds show on the demo's bills.
PRICES = (
    PriceInput("compute_share", [[None, "1.20"]]),
    # The document's own ratio: 1 to 100 GiB at one price, above it at twice that, progressively.
    PriceInput("gpu_memory", [[100, "40.00"], [None, "80.00"]], tier_method="progressive"),
    PriceInput("cpu", [[None, "6.00"]]),
    PriceInput("memory", [[None, "2.00"]]),
)


REPAIR_FIELDS: list[dict[str, Any]] = [
    {"name": "resource", "label_zh": "资源编号", "label_en": "Number of the resource", "handling": "read_only"},
    {
        "name": "urgency",
        "label_zh": "紧急程度",
        "label_en": "Urgency",
        "kind": "choice",
        "choices": ["can wait / 不急", "hinders work / 影响业务", "work stands still / 业务中断"],
        "is_required": True,
        "handling": "read_only",
    },
    {"name": "cause", "label_zh": "故障原因", "label_en": "Cause", "kind": "long", "is_required": True,
     "opening": "hidden"},
]  # fmt: skip


def catalogue_seed() -> None:
    compute = _category("compute", "算力商品", "Compute", None)
    environments = _category("dev-env", "开发环境", "Development environments", compute)
    components.components_ensure(actor=SYSTEM)
    for definition in definition_list():
        processes.process_template_import(
            actor=SYSTEM,
            key=definition.key,
            xml=definition.xml,
            name_zh=definition.name_zh,
            name_en=definition.name,
        )
    apply = _process_app(
        "new-resource", "资源申请", "Resource application", "new", "application_approval", compute
    )
    end = _process_app(
        "end-resource", "资源终止", "Resource termination", "termination", "termination_approval", compute
    )
    _commodities(environments, apply, end)


def ticket_categories_seed() -> None:
    """Below O&M: repairs, with a form, a target, and a rule of its own for what is urgent."""
    if any(row.name_en == "Repair" for row in category_list()):
        return
    row = ticket_categories.category_create(
        actor=SYSTEM,
        parent=category_builtin(Builtin.OPERATIONS),
        name_zh="故障报修",
        name_en="Repair",
        fields=REPAIR_FIELDS,
        changes={
            "hint_zh": "资源无法使用、变慢或报错。",
            "hint_en": "A resource that does not work, is slow or reports errors.",
            "answer_minutes": 60,
            "solve_minutes": 8 * 60,
        },
    )
    ticket_categories.rule_add(actor=SYSTEM, category_uid=row.uid, kind="role", receiver="front_line")
    ticket_categories.rule_add(
        actor=SYSTEM,
        category_uid=row.uid,
        kind="role",
        receiver="operations_manager",
        field="urgency",
        value="work stands still / 业务中断",
    )


def _category(code: str, name_zh: str, name_en: str, parent: Category | None) -> Category:
    found = Category.objects.filter(code=code).first()
    return found or categories.category_create(
        actor=SYSTEM, code=code, name_zh=name_zh, name_en=name_en, parent=parent
    )


def _process_app(
    code: str, name_zh: str, name_en: str, kind: str, key: str, category: Category
) -> ProcessApp:
    found = ProcessApp.objects.filter(code=code).first()
    if found:
        return found
    form = FormTemplate.objects.filter(code=code).first() or form_templates.form_template_create(
        actor=SYSTEM, code=code, kind=kind, name_zh=name_zh, name_en=name_en, fields=[]
    )
    definition = next(row for row in definition_list() if row.key == key)
    template = processes.process_template_import(actor=SYSTEM, key=key, xml=definition.xml)
    row = processes.process_app_create(
        actor=SYSTEM,
        code=code,
        name_zh=name_zh,
        name_en=name_en,
        category=category,
        form_template=form,
        process_template=template,
    )
    return processes.process_app_publish(actor=SYSTEM, process_app_uid=row.uid)


def _commodities(category: Category, apply: ProcessApp, end: ProcessApp) -> None:
    training = _commodity(
        "ENV-0001",
        ("GPU 算力份额（训练示例）", "GPU share with a training example"),
        (
            "按 1% 算力与 1 MiB 显存切分的加速卡份额，运行中心提供的训练示例，按秒计量。",
            "A slice of an accelerator, by 1 % of compute and 1 MiB of memory, on which a training example of the "
            "centre's runs; metered by the second.",
        ),
        {"work": WORK},
        (category, apply, end),
    )
    _commodity(
        "ENV-0002",
        ("GPU 开发环境（JupyterLab）", "GPU development environment (JupyterLab)"),
        (
            "在浏览器中打开的 JupyterLab，运行在加速卡份额上，按秒计量，即开即用。",
            "JupyterLab in the browser on a slice of an accelerator: notebooks, a terminal and an editor, metered by "
            "the second.",
        ),
        {"kind": CommodityKind.ENVIRONMENT, "work": NOTEBOOK, "where": {"environment": TEMPLATE.name}},
        (category, apply, end),
    )
    if policy_get().direct_commodity is None:
        direct_commodity_set(actor=SYSTEM, commodity=training)


def _commodity(
    number: str,
    names: tuple[str, str],
    intros: tuple[str, str],
    yields: dict[str, Any],
    place: tuple[Category, ProcessApp, ProcessApp],
) -> Commodity:
    """A listed commodity; names and introductions in Chinese and English."""
    category, apply, end = place
    row = Commodity.objects.filter(number=number).first()
    if row is None:
        row = commodities.commodity_create(
            actor=SYSTEM,
            number=number,
            name_zh=names[0],
            name_en=names[1],
            intro_zh=intros[0],
            intro_en=intros[1],
            icon="cpu",
            supplier="Weir Computing Centre",
            category=category,
            **yields,
            process_app=apply,
            termination_app=end,
            components=RANGES,
            min_duration_s=10,
        )
        prices.price_publish(actor=SYSTEM, commodity_uid=row.uid, lines=PRICES)
    if not row.is_listed:
        commodities.commodity_list_(actor=SYSTEM, commodity_uid=row.uid)
    return row


def _templates() -> None:
    if not environment_template_list().filter(name=TEMPLATE.name).exists():
        environment_template_make(actor=SYSTEM, draft=TEMPLATE)


def _specs() -> None:
    for code, name_en, name_zh, compute_percent, memory_mib in SPECS:
        if not Spec.objects.filter(code=code).exists():
            spec_make(
                actor=SYSTEM,
                code=code,
                name_en=name_en,
                name_zh=name_zh,
                compute_percent=compute_percent,
                memory_mib=memory_mib,
            )


def _coupons() -> None:
    now = timezone.now()
    coupons.coupon_budget_set(actor=SYSTEM, year=now.year, amount=Decimal("100000.00"))
    if CouponActivity.objects.exists():
        return
    activity = coupons.coupon_activity_create(
        actor=SYSTEM,
        name_zh="新用户算力券",
        name_en="Welcome compute coupon",
        face_value=Decimal("20.00"),
        quantity=1000,
        valid_from=now,
        valid_until=now + timedelta(days=180),
        per_tenant_limit=20,
        ratio_percent=50,
    )
    coupons.coupon_activity_issue(actor=SYSTEM, activity_uid=activity.uid)
