"""What the API takes and answers, by the names of its description. Written by `make openapi`: not by hand."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AccessKeyIn(TypedDict):
    name: str
    days: NotRequired[int]
    is_read_only: NotRequired[bool]


class AccessKeyMadeOut(TypedDict):
    """A new key with its secret; no other answer shows it."""

    uid: str
    key_id: str
    name: str
    is_read_only: bool
    is_usable: bool
    created_at: str
    expires_at: str
    used_at: str | None
    secret: str
    address: str


class AccessKeyOut(TypedDict):
    """An access key, by its id; its secret is shown once, when it is made."""

    uid: str
    key_id: str
    name: str
    is_read_only: bool
    is_usable: bool
    created_at: str
    expires_at: str
    used_at: str | None


class ActivityOut(TypedDict):
    uid: str
    name_zh: str
    name_en: str
    face_value: str
    quantity: int
    left_count: int
    per_tenant_limit: int
    claimed_by_tenant: int
    minimum_spend: str
    ratio_percent: int
    valid_from: str
    valid_until: str
    created_at: str


class AdministratorIn(TypedDict):
    """
    With a `username` he gets that account and a first password, without one an invitation link: shown once, or by
    mail.
    """

    display_name: str
    email: NotRequired[str]
    username: NotRequired[str]
    by_mail: NotRequired[bool]


class AgentTokenIn(TypedDict):
    note: str
    ttl_s: NotRequired[int]


class AgentTokenMadeOut(TypedDict):
    uid: str
    kind: Literal["join", "node"]
    node_uid: str
    note: str
    expires_at: str | None
    used_at: str | None
    revoked_at: str | None
    created_at: str
    secret: str


class AgentTokenOut(TypedDict):
    uid: str
    kind: Literal["join", "node"]
    node_uid: str
    note: str
    expires_at: str | None
    used_at: str | None
    revoked_at: str | None
    created_at: str


class AheadOut(TypedDict):
    """A day to come, in percent of devices; `low` to `high` holds nine of ten such days."""

    day: str
    mid: float
    low: float
    high: float


class Amounts(TypedDict):
    """The most of each; null says nothing of it."""

    instances: NotRequired[int | None]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]


class ArrayOfTaskOut(TypedDict):
    """The array that work is a task of."""

    uid: str
    no: str
    name: str
    spec: str
    size: int
    at_once: int | None


class AssetFileOut(TypedDict):
    path: str
    size_bytes: int
    sha256: str


class AssetVersionIn(TypedDict):
    """A folder of a volume, "" for all of it; it is copied, and later changes there change nothing here."""

    volume: str
    path: NotRequired[str]
    note: NotRequired[str]


class AttachmentIn(TypedDict):
    file: str


class AttachmentOut(TypedDict):
    uid: str
    name: str
    size: int
    content_type: str
    sha256: str
    created_at: str


class BillIn(TypedDict):
    until: NotRequired[str | None]


class BillItemOut(TypedDict):
    """One usage record's part of a bill line, with what vouches for it."""

    usage: str
    slice_uid: str
    seq: int
    start_at: str
    end_at: str
    seconds: int
    compute_percent: int
    memory_mib: int
    cpu_seconds: str
    memory_peak_mib: int
    node_uid: str
    device_uid: str
    report_id: str
    received_at: str
    rated_at: str
    ledger_transaction: str | None
    unit_amount: str
    exact: str


class BillItemsOut(TypedDict):
    next: str | None
    previous: str | None
    results: list[BillItemOut]


class BulkRowOut(TypedDict):
    uid: str
    no: str


class BundleReadIn(TypedDict):
    paths: list[str]


class BusinessSystemGivenIn(TypedDict):
    name: str
    number: str


class BusinessSystemIn(TypedDict):
    name: str
    number: str
    organization: str
    parent: NotRequired[str | None]


class BusinessSystemsIn(TypedDict):
    business_systems: list[str]


class BuyerOut(TypedDict):
    legal_name: str
    address: str
    tax_number: str


class CalibrationOut(TypedDict):
    """How the start estimates of the last days came true: 90 percent are to start inside their interval."""

    scored: int
    inside_percent: int | None
    median_error_s: int | None
    without_start: int


class CartIn(TypedDict):
    commodity: str
    amounts: NotRequired[dict[str, int]]
    count: NotRequired[int]


class CartOut(TypedDict):
    uid: str
    commodity: str
    commodity_name: str
    amounts: Any
    count: int
    created_at: str


class CategoryIn(TypedDict):
    name_zh: str
    name_en: str
    parent: NotRequired[str]


class CategoryNewIn(TypedDict):
    name_zh: str
    name_en: str
    parent: NotRequired[str]
    code: NotRequired[str]


class CategoryOut(TypedDict):
    code: str
    name_zh: str
    name_en: str
    parent: str | None
    position: int
    is_enabled: bool


class CenterTenantIn(TypedDict):
    account: NotRequired[dict[str, str]]


class CenterTenantOut(TypedDict):
    """
    A tenant that a centre serves by name. `account`: the account there that its work runs under; empty: the
    centre's own.
    """

    tenant: str
    name: str
    account: dict[str, str]
    changed_at: str


class ChangeIn(TypedDict):
    amounts: NotRequired[dict[str, int]]
    duration_s: NotRequired[int | None]
    reason: str


class ColleagueOut(TypedDict):
    uid: str
    name: str


class CommodityRetireIn(TypedDict):
    at: str


class CommodityTenantsIn(TypedDict):
    is_for_all: bool
    tenants: NotRequired[list[str]]


class ComponentOut(TypedDict):
    component: str
    host: str
    name: str
    node_uid: str
    version: str
    wanted_version: str
    state: str
    is_upgrading: bool
    config_generation: int
    wanted_generation: int
    config: dict[str, Any]
    problem: str
    seen_at: str | None
    started_at: str | None


class ComponentRangeIn(TypedDict):
    """
    How much of a component may be ordered: of the share in per cent, of memory in MiB, of CPU in cores, of
    scratch disk and storage in GiB.
    """

    component: str
    minimum: int
    maximum: int
    default: int
    step: NotRequired[int]


class ComponentRangeOut(TypedDict):
    component: str
    name_zh: str
    name_en: str
    amount_unit: str
    minimum: int
    maximum: int
    step: int
    default: int


class ConnectionOut(TypedDict):
    index: int
    slice: str
    state: str
    host: str
    port: int | None
    fingerprint: str
    token: str
    node: str
    device: str
    model: str
    compute_percent: int
    memory_mib: int


class CostOut(TypedDict):
    key: str
    label_zh: str
    label_en: str
    exact: str
    share_seconds: int


class CostsOut(TypedDict):
    dimension: str
    total: str
    rows: list[CostOut]


class CountOut(TypedDict):
    count: int


class CredentialIn(TypedDict):
    credential: dict[str, str]


class CreditIn(TypedDict):
    amount: str
    reason: str


class DataNoSourceOut(TypedDict):
    """A copy that is no source, and why."""

    ai_center_id: str
    code: str
    message: str


class DataPlaceChangeIn(TypedDict):
    """What a centre holds of data."""

    dataset_url: str
    access: NotRequired[Literal["r", "rw"]]
    digest: NotRequired[str]
    download_state: NotRequired[str]
    download_rate_limit: NotRequired[str | None]
    concurrency_limit: NotRequired[str | None]
    current_downloads: NotRequired[str | None]
    network_topology: NotRequired[str]
    download_cost: NotRequired[str | None]


class DataPlaceIn(TypedDict):
    """What a centre holds of data, and which."""

    dataset_url: str
    access: NotRequired[Literal["r", "rw"]]
    digest: NotRequired[str]
    download_state: NotRequired[str]
    download_rate_limit: NotRequired[str | None]
    concurrency_limit: NotRequired[str | None]
    current_downloads: NotRequired[str | None]
    network_topology: NotRequired[str]
    download_cost: NotRequired[str | None]
    ai_center_id: str


class DataPlaceOut(TypedDict):
    """A place of data (table 6). `is_of_it`: whether its digest is that of the data, as far as both are known."""

    dataset_url: str
    access: Literal["r", "rw"]
    ai_center_id: str
    download_state: str
    download_rate_limit: str
    concurrency_limit: str
    current_downloads: str
    network_topology: str
    download_cost: str
    digest: str
    is_of_it: bool
    seen_at: str


class DataSourceOut(TypedDict):
    """
    A copy that data may be copied from. `score`: 0 to 100, that by which the list is in order; `scores`: under each
    evaluator (load, time, topology, state, rate), null where it knows no figure.
    """

    ai_center_id: str
    dataset_url: str
    score: int
    scores: dict[str, int | None]


class DataSourcesOut(TypedDict):
    """From where data would be copied to a centre, best first. `is_there`: the centre has a copy itself."""

    is_there: bool
    sources: list[DataSourceOut]
    refused: list[DataNoSourceOut]


class DatasetIn(TypedDict):
    size_bytes: int
    files: NotRequired[int]
    digest: NotRequired[str]
    may_move: NotRequired[bool]
    data_name: str
    data_version: NotRequired[str]
    location: NotRequired[list[DataPlaceIn]]


class DatasetOut(TypedDict):
    """
    Data that jobs read (table 6), with a place for each centre that holds it. `tenant`: whose it is; "" for the
    centre's, which all tenants read.
    """

    data_id: str
    tenant: str
    data_name: str
    data_version: str
    created_at: str
    updated_at: str
    created_user: str
    size_bytes: int
    files: int
    digest: str
    may_move: bool
    location: list[DataPlaceOut]


class DefaultSystemIn(TypedDict):
    business_system: str


class DepositIn(TypedDict):
    amount: str
    reference: str


class DevicesIn(TypedDict):
    devices: list[str]


class EnvironmentIn(TypedDict):
    """Amounts under a name."""

    name: str
    is_fixed: NotRequired[bool]
    spec: NotRequired[str]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]
    shares: NotRequired[int]


class EnvironmentOut(TypedDict):
    uid: str
    name: str
    is_fixed: bool
    spec: str
    shares: int
    compute_percent: int
    memory_mib: int
    made_by: str
    created_at: str


class EnvironmentStartIn(TypedDict):
    """What the environment is called; empty: as its template. Asked twice with one `client_key` it is one."""

    name: NotRequired[str]
    client_key: NotRequired[str]
    volumes: NotRequired[list[str]]


class ExpectationOut(TypedDict):
    """An expected start; nine of ten fall between `low_at` and `high_at`. All null: nobody can say."""

    start_at: str | None
    low_at: str | None
    high_at: str | None
    basis: str
    basis_text: str
    sentence: str
    why: str


class ExtendIn(TypedDict):
    more_s: int


class FileMoveIn(TypedDict):
    path: str
    to: str


class FileRefusedOut(TypedDict):
    path: str
    code: str
    message: str


class FolderIn(TypedDict):
    path: str


class FolderUploadIn(TypedDict):
    """A folder's archive: a plain tar."""

    sha256: str
    size_bytes: int


class FolderUploadOut(TypedDict):
    """`missing`: the numbers of the pieces that are still to be sent, each of `piece_bytes` but the last."""

    uid: str
    sha256: str
    size_bytes: int
    pieces: int
    whole_at: str | None
    piece_bytes: int
    missing: list[int]


class FormFieldOut(TypedDict):
    """A field of a form, as it is kept: durations in seconds, memory in MiB."""

    kind: str
    label_zh: str
    label_en: str
    is_required: NotRequired[bool]
    help_zh: NotRequired[str]
    help_en: NotRequired[str]
    unit: NotRequired[str]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    choices: NotRequired[list[str]]
    default: NotRequired[Any | None]
    name: str


class FormTemplateIn(TypedDict):
    name_zh: str
    name_en: str
    kind: Literal["new", "change", "termination", "regularization"]
    code: NotRequired[str]


class FormTemplateOut(TypedDict):
    code: str
    name_zh: str
    name_en: str
    kind: Literal["new", "change", "termination", "regularization"]
    fields_asked: list[FormFieldOut]
    version: int
    created_at: str


class FormVersionIn(TypedDict):
    version: int


class GrantIn(TypedDict):
    tenant: str
    members: NotRequired[list[str] | None]


class GrantOut(TypedDict):
    """`members` are login accounts; null: all members of the tenant."""

    tenant: str
    members: list[str] | None
    created_at: str


class GroupQueueOut(TypedDict):
    """The queue of a resource group: what its usable devices can give, what the queue may use of it, what is used."""

    code: str
    nodes: int
    devices: int
    models: list[str]
    room_percent: int
    room_mib: int
    most_percent: int
    most_mib: int
    compute_percent: int
    memory_mib: int
    running: int
    waiting: int


class HardwareOut(TypedDict):
    """A kind of device that a test ran on."""

    vendor: str
    model: str
    is_simulated: bool


class ImageFileOut(TypedDict):
    digest: str
    size_bytes: int


class ImageVersionOut(TypedDict):
    """One image under a tag; `problem` says why it was refused, `layers` which files it is made of."""

    uid: str
    image: str
    name: str
    tag: str
    state: Literal["building", "saving", "checking", "ready", "refused"]
    problem: str
    digest: str
    architecture: str
    size_bytes: int
    unpacked_bytes: int
    entry_point: list[str]
    layers: list[ImageFileOut]
    source: str
    workload: str | None
    base: str | None
    left_out: int
    made_by: str
    created_at: str


class ImportRowOut(TypedDict):
    """What became, or would become, of a row."""

    row: int
    username: str
    display_name: str
    email: str
    change: Literal["new", "changed", "same", "refused"]
    changes: list[str]
    fault: str
    cure: str
    secret: str


class InvitationAcceptIn(TypedDict):
    tenant: str
    secret: str
    username: str
    password: str
    display_name: NotRequired[str]


class InvitationIn(TypedDict):
    """Where a person comes to: an organization and roles."""

    organization: NotRequired[str | None]
    roles: NotRequired[list[str]]
    display_name: str
    email: NotRequired[str]
    days: NotRequired[int]
    by_mail: NotRequired[bool]


class InvitationMadeOut(TypedDict):
    uid: str
    display_name: str
    email: str
    organization: str | None
    roles: list[str]
    state: str
    mail: str
    mailed_at: str | None
    expires_at: str
    created_at: str
    secret: str


class InvitationOut(TypedDict):
    uid: str
    display_name: str
    email: str
    organization: str | None
    roles: list[str]
    state: str
    mail: str
    mailed_at: str | None
    expires_at: str
    created_at: str


class JobCostOut(TypedDict):
    """
    What a job has cost so far, in CNY. `charged` is settled; `expected` is what runs or is not settled yet, by what
    the portal saw; `own_pool` what the portal's own pool charged for it.
    """

    charged: str
    expected: str
    own_pool: str
    total: str


class JobDecisionOut(TypedDict):
    """What was decided on a task, in a sentence."""

    task: int
    kind: Literal["placed", "waits", "refused", "taken_back", "lost", "retried"]
    at: str
    ai_center_id: str
    score: int | None
    replicas: int
    text: str


class JobDecisionWholeOut(TypedDict):
    """What was decided on a task, in a sentence, and how the centres stood then."""

    task: int
    kind: Literal["placed", "waits", "refused", "taken_back", "lost", "retried"]
    at: str
    ai_center_id: str
    score: int | None
    replicas: int
    text: str
    standings: Any


class JobLogOut(TypedDict):
    """A part of what a replica has printed: bytes `offset` to `next_offset`, as text of UTF-8."""

    text: str
    offset: int
    next_offset: int
    is_whole: bool


class JoinedOut(TypedDict):
    tenant: str
    username: str


class KindFieldOut(TypedDict):
    name: str
    label: str
    help: str
    is_secret: bool
    is_required: bool
    is_long: bool


class LackOut(TypedDict):
    code: Literal[
        "node",
        "category",
        "form",
        "process",
        "environment",
        "commodity",
        "price",
        "listing",
        "direct",
        "tenant",
        "account",
        "decider",
        "seller",
    ]
    sentence: str
    link: str


class LevelCountOut(TypedDict):
    level: str
    count: int


class LogOut(TypedDict):
    id: int
    at: str
    level: Literal["debug", "info", "warning", "error", "critical"]
    component: str
    node: str
    task: str
    tenant: str
    priority: int | None
    text: str


class MailTryIn(TypedDict):
    to: str


class MemberIn(TypedDict):
    username: str
    organization: str


class MemberOut(TypedDict):
    uid: str
    username: str
    display_name: str
    organization: str
    organization_name: str
    post: str
    created_at: str


class MessageOut(TypedDict):
    uid: str
    title: str
    link: str
    read_at: str | None
    created_at: str


class MigrateIn(TypedDict):
    """Where to; with neither the best other device of the same model."""

    node: NotRequired[str]
    device: NotRequired[str]
    share: NotRequired[int]


class MonitoringOut(TypedDict):
    """Table 4, in the units of table 2, and when it was so."""

    center_name: str
    running_task_num: int
    waiting_task_num: int
    cpu_used: int
    cpu_free: int
    npu_used: int
    npu_free: int
    gpu_used: int
    gpu_free: int
    mlu_used: int
    mlu_free: int
    memory_used: int
    memory_free: int
    storage_used: int
    storage_free: int
    defineres_used: int
    defineres_free: int
    node_num: int
    version: str
    answered_at: str


class MoveIn(TypedDict):
    device: str


class NameIn(TypedDict):
    code: str
    name_en: str
    name_zh: NotRequired[str]


class NamesIn(TypedDict):
    name_zh: str
    name_en: str


class NodeCountOut(TypedDict):
    state: str
    count: int


class NowOut(TypedDict):
    """With how much the same work could start at once; 0 is none."""

    percent: int
    shares: int
    sentence: str


class OfferIn(TypedDict):
    price: NotRequired[int | None]
    cost: NotRequired[int | None]
    performance: NotRequired[float | None]
    idle_power_w: NotRequired[float | None]
    running_power_w: NotRequired[float | None]


class OperatorIn(TypedDict):
    username: str
    display_name: str
    email: NotRequired[str]
    roles: NotRequired[list[str]]


class OperatorOrganizationOut(TypedDict):
    uid: str
    name: str
    parent: str | None
    description: str
    attributes: Any
    is_enabled: bool
    created_at: str


class OperatorOrganizationRowOut(TypedDict):
    organization: OperatorOrganizationOut
    depth: int
    head_count: int


class OperatorOut(TypedDict):
    uid: str
    username: str
    display_name: str
    email: str
    is_active: bool
    must_change_password: bool
    organization: str | None
    post: str
    roles: list[str]
    created_at: str


class OperatorPlaceIn(TypedDict):
    organization: str | None


class OperatorRoleOut(TypedDict):
    code: str
    name_en: str
    name_zh: str
    description: str
    permissions: list[str]
    is_read_only: bool
    is_builtin: bool
    created_at: str


class OperatorRolesIn(TypedDict):
    roles: list[str]


class OrderRemarkIn(TypedDict):
    text: str


class OrderRemarkOut(TypedDict):
    uid: str
    author_name: str
    by_operator: bool
    text: str
    created_at: str


class OrganizationIn(TypedDict):
    name: str
    parent: NotRequired[str | None]
    description: NotRequired[str]
    attributes: NotRequired[dict[str, str]]


class OrganizationOut(TypedDict):
    uid: str
    name: str
    parent: str | None
    description: str
    attributes: Any
    is_enabled: bool
    created_at: str


class OrganizationQuotaIn(TypedDict):
    """Totals by item, null for no quota of its own; what is not named stays as it is."""

    instances: NotRequired[int | None]
    compute_percent: NotRequired[int | None]
    gpu_memory_mib: NotRequired[int | None]
    host_cpu_milli: NotRequired[int | None]
    host_memory_mib: NotRequired[int | None]
    storage_mib: NotRequired[int | None]


class OrganizationQuotaOut(TypedDict):
    """What an organization and all below it may hold, hold and have in process of an item."""

    item: str
    total: NotRequired[int | None]
    allocated: NotRequired[int | None]
    allocatable: NotRequired[int | None]
    used: int
    in_process: int
    left: NotRequired[int | None]
    most: int


class OrganizationRowOut(TypedDict):
    organization: OrganizationOut
    depth: int
    head_count: int


class OrganizationsIn(TypedDict):
    organizations: list[str]


class OutlookOut(TypedDict):
    """
    `pool` "*": all devices. `full_*`: when demand passes the capacity of now; null: not within the days forecast,
    or not known yet, which `method` null tells.
    """

    pool: str
    name: str
    capacity_percent: float
    demand_percent: float | None
    days_known: int
    days_wanted: int
    method: NotRequired[Literal["weeks", "trend"] | None]
    off_by_percent: NotRequired[float | None]
    full_on: str | None
    full_from: str | None
    full_until: str | None


class OversubscribeIn(TypedDict):
    compute_permille: int
    memory_permille: NotRequired[int]


class PaginatedAccessKeyOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AccessKeyOut]


class PaginatedActivityOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ActivityOut]


class PaginatedAgentTokenOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AgentTokenOut]


class PaginatedAttachmentOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AttachmentOut]


class PaginatedCartOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CartOut]


class PaginatedCategoryOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CategoryOut]


class PaginatedDatasetOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[DatasetOut]


class PaginatedEnvironmentOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[EnvironmentOut]


class PaginatedFormTemplateOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[FormTemplateOut]


class PaginatedInvitationOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[InvitationOut]


class PaginatedJobDecisionWholeOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[JobDecisionWholeOut]


class PaginatedLogOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[LogOut]


class PaginatedMemberOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[MemberOut]


class PaginatedMessageOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[MessageOut]


class PaginatedOperatorOrganizationOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OperatorOrganizationOut]


class PaginatedOperatorOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OperatorOut]


class PaginatedOperatorRoleOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OperatorRoleOut]


class PaginatedOrderRemarkOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OrderRemarkOut]


class PaginatedOrganizationOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OrganizationOut]


class PartyOut(TypedDict):
    """Seller or buyer, as they were when the bill was made."""

    name: str
    address: str
    tax_number: str
    bank: str


class PasswordForgottenIn(TypedDict):
    account: str
    tenant: NotRequired[str]


class PasswordIn(TypedDict):
    old_password: str
    new_password: str


class PasswordResetIn(TypedDict):
    secret: str
    new_password: str


class PastDayOut(TypedDict):
    """A day that was seen, in percent of devices."""

    day: str
    demand: float
    capacity: float | None


class PatchedBuyerIn(TypedDict):
    """What bills say of their buyer. What is not named stays as it is."""

    legal_name: NotRequired[str]
    address: NotRequired[str]
    tax_number: NotRequired[str]


class PatchedCenterChangeIn(TypedDict):
    name: NotRequired[str]
    region: NotRequired[str]
    geometry: NotRequired[list[float] | None]
    security_grade: NotRequired[int]
    stale_after_s: NotRequired[int]
    lost_after_s: NotRequired[int]
    settings: NotRequired[dict[str, str]]
    credential: NotRequired[dict[str, str]]


class PatchedCentreIn(TypedDict):
    """What is not named stays as it is."""

    name: NotRequired[str]
    language: NotRequired[Literal["zh-hans", "en"]]
    timezone: NotRequired[str]
    sends_tickets: NotRequired[bool]
    keeps_quotas: NotRequired[bool]
    legal_name: NotRequired[str]
    address: NotRequired[str]
    tax_number: NotRequired[str]
    bank: NotRequired[str]


class PatchedDatasetChangeIn(TypedDict):
    size_bytes: NotRequired[int]
    files: NotRequired[int]
    digest: NotRequired[str]
    may_move: NotRequired[bool]


class PatchedImageChangeIn(TypedDict):
    name: NotRequired[str]
    introduction: NotRequired[str]


class PatchedJobChangeIn(TypedDict):
    """What changes of a job that has not ended; what is not given stays."""

    name: NotRequired[str]
    desc: NotRequired[str]
    priority: NotRequired[int]
    weights: NotRequired[dict[str, str] | None]
    deadline_at: NotRequired[str | None]
    revision: NotRequired[int]


class PatchedPlacementSettingsIn(TypedDict):
    number: NotRequired[int]
    weights: NotRequired[dict[str, str]]
    model: NotRequired[str]
    stale_s: NotRequired[int]
    cool_off_failures: NotRequired[int]
    cool_off_s: NotRequired[int]
    move_bytes: NotRequired[int]
    usual_duration_s: NotRequired[int]


class PatchedPostIn(TypedDict):
    name: NotRequired[str]


class PatchedResourceSpecChangeIn(TypedDict):
    resource_spec_name: NotRequired[str]
    resource_quantity: NotRequired[dict[str, str]]
    service_type: NotRequired[str]
    price: NotRequired[int]


class PatchedRouteEditIn(TypedDict):
    """What is named changes; the rest stays."""

    name: NotRequired[str]
    severities: NotRequired[list[Literal["critical", "major", "minor", "notice"]]]
    addresses: NotRequired[list[str]]
    roles: NotRequired[list[str]]
    hook_kind: NotRequired[Literal["standard", "slack", "wecom", "dingtalk", "feishu"]]
    hook_url: NotRequired[str]
    hook_secret: NotRequired[str]
    is_enabled: NotRequired[bool]


class PatchedRuleEditIn(TypedDict):
    """What is named changes; the rest stays."""

    comparison: NotRequired[Literal["gt", "ge", "lt", "le"]]
    threshold: NotRequired[float]
    for_s: NotRequired[int]
    severity: NotRequired[Literal["critical", "major", "minor", "notice"]]
    subject: NotRequired[str]
    ends_after_s: NotRequired[int | None]
    is_enabled: NotRequired[bool]


class PatchedStorageClassChangeIn(TypedDict):
    name_zh: NotRequired[str]
    name_en: NotRequired[str]
    access_key: NotRequired[str]
    secret: NotRequired[str]
    is_enabled: NotRequired[bool | None]
    is_default: NotRequired[bool | None]


class PatchedTenantNameIn(TypedDict):
    name: NotRequired[str]
    timezone: NotRequired[str]


class PatchedVolumeChangeIn(TypedDict):
    name: NotRequired[str]
    size_mib: NotRequired[int]


class PayIn(TypedDict):
    coupon: NotRequired[str | None]


class PaymentOut(TypedDict):
    uid: str
    coupon_uid: str | None
    coupon_code: str
    coupon_amount: str
    balance_amount: str
    created_at: str


class PeopleImportIn(TypedDict):
    file: str
    dry_run: NotRequired[bool]


class PeopleImportOut(TypedDict):
    is_done: bool
    rows: list[ImportRowOut]


class PersonAddIn(TypedDict):
    """Where a person comes to: an organization and roles."""

    organization: NotRequired[str | None]
    roles: NotRequired[list[str]]
    username: str


class PersonEditIn(TypedDict):
    display_name: str
    email: NotRequired[str]


class PersonIn(TypedDict):
    """Where a person comes to: an organization and roles."""

    organization: NotRequired[str | None]
    roles: NotRequired[list[str]]
    username: str
    display_name: str
    email: NotRequired[str]


class PersonMoveIn(TypedDict):
    organization: str


class PersonOut(TypedDict):
    """A person of the tenant: account, state, place in the organization and roles."""

    uid: str
    username: str
    display_name: str
    email: str
    state: str
    must_change_password: bool
    organization: NotRequired[str | None]
    organization_name: NotRequired[str]
    post: NotRequired[str]
    roles: list[str]
    created_at: str


class PersonRolesIn(TypedDict):
    roles: list[str]


class PersonRowOut(TypedDict):
    """A person of the tenant: account, state, place in the organization and roles."""

    uid: str
    username: str
    display_name: str
    email: str
    state: str
    must_change_password: bool
    organization: NotRequired[str | None]
    organization_name: NotRequired[str]
    post: NotRequired[str]
    roles: list[str]
    created_at: str


class PersonSystemOut(TypedDict):
    uid: str
    name: str
    number: str


class PlacedOut(TypedDict):
    """So many replicas would go to this centre."""

    ai_center_id: str
    center_name: str
    replicas: int


class PlacementSettingsOut(TypedDict):
    """
    How centres are chosen. `number`: the version, 0 where nobody has changed anything yet; `weights`: parts of 1 by
    policy. Spans in seconds.
    """

    number: int
    weights: dict[str, str]
    model: str
    stale_s: int
    cool_off_failures: int
    cool_off_s: int
    move_bytes: int
    usual_duration_s: int
    changed_by: str
    created_at: str | None


class PolicyIn(TypedDict):
    """What is not sent stays; null: a head waits for ever, no aging, no memory of past use."""

    placing: NotRequired[
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
    ]
    ordering: NotRequired[Literal["first_come", "priority", "fair_share", "dominant_share"]]
    has_backfill: NotRequired[bool]
    reserved_starts: NotRequired[int]
    patience_s: NotRequired[int | None]
    aging_s: NotRequired[int | None]
    half_life_s: NotRequired[int | None]
    ahead_s: NotRequired[int]
    has_preemption: NotRequired[bool]
    has_reclaim: NotRequired[bool]
    grace_s: NotRequired[int]
    min_run_s: NotRequired[int]
    max_preemptions: NotRequired[int]
    fair_share_preempts: NotRequired[bool]
    consolidates: NotRequired[bool]
    max_moves: NotRequired[int]
    grows_elastic: NotRequired[bool]
    hysteresis_s: NotRequired[int]
    max_open_per_user: NotRequired[int]
    max_open_per_tenant: NotRequired[int]
    direct_commodity: NotRequired[str | None]


class PolicyOut(TypedDict):
    placing: Literal[
        "spread",
        "best_fit",
        "local",
        "local_first",
        "node_balanced",
        "node_compact",
        "device_balanced",
        "device_compact",
        "fragmentation",
    ]
    ordering: Literal["first_come", "priority", "fair_share", "dominant_share"]
    has_backfill: bool
    reserved_starts: int
    patience_s: int | None
    aging_s: int | None
    half_life_s: int | None
    ahead_s: int
    has_preemption: bool
    has_reclaim: bool
    grace_s: int
    min_run_s: int
    max_preemptions: int
    fair_share_preempts: bool
    consolidates: bool
    max_moves: int
    grows_elastic: bool
    hysteresis_s: int
    max_open_per_user: int
    max_open_per_tenant: int
    direct_commodity: str


class PolicyScoreOut(TypedDict):
    """
    The score of a centre under a policy, 0 to 100. `is_known`: whether the policy has a figure of it.
    `milli_points`: score times weight, in thousandths of a point; they add up to the weighted sum.
    """

    policy: str
    name: str
    score: int
    is_known: bool
    weight: str
    milli_points: int


class PoolQueueOut(TypedDict):
    code: str
    max_percent: int | None
    guaranteed_percent: int


class PostGivenIn(TypedDict):
    post: str | None


class PostIn(TypedDict):
    name: str


class PostOut(TypedDict):
    uid: str
    name: str
    held: int
    created_at: str


class PriceLineIn(TypedDict):
    component: str
    tiers: list[list[str | None]]
    mode: NotRequired[str]
    unit: NotRequired[str]
    tier_method: NotRequired[str]


class PriceStepOut(TypedDict):
    """A tier of a price that a quantity went through: so much of it, at this price."""

    above: str
    upto: str | None
    quantity: str
    price: str
    amount: str


class PricesIn(TypedDict):
    lines: list[PriceLineIn]
    effective_from: NotRequired[str | None]


class PriorityIn(TypedDict):
    priority: int
    most_priority: int
    may_urgent: NotRequired[bool]


class PriorityOut(TypedDict):
    user: str
    name: str
    groups: list[str]
    priority: int
    most_priority: int
    may_urgent: bool


class Error(TypedDict):
    code: str
    message: str
    cure: str
    fields: NotRequired[dict[str, str]]


class Problem(TypedDict):
    """Why something was refused, and what to do about it. `code` is for programs."""

    error: Error


class ProcessAppIn(TypedDict):
    name_zh: str
    name_en: str
    form_template: str
    process_template: str
    category: str
    code: NotRequired[str]


class ProcessBindIn(TypedDict):
    form_template: str
    process_template: str


class ProcessTemplateIn(TypedDict):
    key: str
    name_zh: NotRequired[str]
    name_en: NotRequired[str]
    file: str


class ProcessTemplateOut(TypedDict):
    uid: str
    key: str
    version: str
    name_zh: str
    name_en: str
    created_at: str


class ProgramIn(TypedDict):
    """
    The buyer's own program, of a commodity that runs that: a command or a script for `sh`, with its variables, in an
    image that he may run, with assets mounted read-only and secrets by their names.
    """

    argv: NotRequired[list[str]]
    script: NotRequired[str]
    env: NotRequired[dict[str, str]]
    image: NotRequired[str]
    assets: NotRequired[list[str]]
    secrets: NotRequired[list[str]]


class ProgressOut(TypedDict):
    """How many of an array's tasks wait, run, have finished, and have failed or were lost."""

    waiting: int
    running: int
    finished: int
    failed: int


class QuantitiesOut(TypedDict):
    """Table 2: memory in MB, storage in GB."""

    cpu: int
    gpu: int
    npu: int
    mlu: int
    memory: int
    storage: int
    user_define: int


class QueueFileIn(TypedDict):
    """`text`: queues.yaml, a ConfigMap that holds it, or manifests of Volcano's queues."""

    text: str
    prune: NotRequired[bool]
    state: NotRequired[str]


class QueueFileOut(TypedDict):
    """`state` changes with any of it: sent back with a file, the file is applied to that and nothing else."""

    text: str
    state: str


class QuotaIn(TypedDict):
    item: str
    model: NotRequired[str]
    total: int


class QuotaOut(TypedDict):
    """With a `model` of what lies on devices of that model alone; there `in_process` waits for just that model."""

    item: str
    model: str
    total: int
    allocated: int
    allocatable: int
    used: int
    in_process: int
    left: int


class QuoteCouponOut(TypedDict):
    """What a coupon takes off a quote."""

    uid: str
    name_zh: str
    name_en: str
    amount: str


class QuoteIn(TypedDict):
    commodity: str
    amounts: dict[str, int]
    count: NotRequired[int]
    duration_s: int | None
    coupon: NotRequired[str | None]


class QuoteLineOut(TypedDict):
    """What one component costs: `unit_amount` for an hour of it all, `exact` for the whole duration, in CNY."""

    component: str
    name_zh: str
    name_en: str
    amount: int
    amount_unit: str
    quantity: str
    unit: str
    mode: str
    price_unit: str
    tier_method: str
    steps: list[PriceStepOut]
    unit_amount: str
    exact: str


class QuoteOut(TypedDict):
    """
    The price of amounts and a duration at one price version: `per_hour` exact, `total` an estimate for all of it,
    `payable` what is left of that beside the coupon, in `currency`.
    """

    commodity: str
    commodity_number: str
    commodity_name_zh: str
    commodity_name_en: str
    commodity_version: int
    supplier: str
    price_version: str
    price_number: int
    amounts: dict[str, int]
    count: int
    duration_s: int | None
    lines: list[QuoteLineOut]
    per_hour: str
    total: str
    coupon: QuoteCouponOut | None
    payable: str
    currency: str
    at: str


class QuoteStartOut(TypedDict):
    """When what is quoted would start if it were submitted now; null: nobody can say."""

    start_at: str | None
    basis: str
    sentence: str


class ReasonIn(TypedDict):
    reason: NotRequired[str]


class RecordOut(TypedDict):
    uid: str
    name: str
    actor_kind: str
    actor_name: str
    role: str
    schema: str
    request_id: str
    subject_kind: str
    subject_id: str
    detail: Any
    at: str


class RefundIn(TypedDict):
    amount: str
    reference: str
    reason: str


class ReleaseIn(TypedDict):
    file: str
    signature: str
    notes: NotRequired[str]


class ReleaseKeyIn(TypedDict):
    public_key: str
    name: str


class ReleaseKeyOut(TypedDict):
    public_key: str
    name: str
    created_at: str
    revoked_at: str | None


class ReleaseOut(TypedDict):
    version: str
    size: int
    file_count: int
    sha256: str
    signature: str
    signed_by: str
    public_key: str
    notes: str
    created_by: str
    created_at: str


class RemovedOut(TypedDict):
    count: int


ReportOut = TypedDict(
    "ReportOut",
    {
        "report": str,
        "totals": dict[str, Any],
        "sections": dict[str, list[dict[str, Any]]],
        "from": str,
        "to": str,
    },
)


class ReservationIn(TypedDict):
    """Named devices, which it keeps whole, or a number of devices with so much of each."""

    name: str
    tenant: NotRequired[str]
    queue: NotRequired[str]
    device_uids: NotRequired[list[str]]
    count: NotRequired[int]
    compute_percent: NotRequired[int]
    memory_mib: NotRequired[int]
    model: NotRequired[str]
    from_at: str
    to_at: str


class ReservationOut(TypedDict):
    uid: str
    name: str
    tenant: str
    queue: str
    device_uids: Any
    count: int
    compute_percent: int
    memory_mib: int
    model: str
    from_at: str
    to_at: str
    cancelled_at: str | None
    created_at: str


class ResetLinkOut(TypedDict):
    secret: str
    expires_at: str


class ResizeIn(TypedDict):
    """Other amounts for each share; what is left out stays."""

    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]


class ResourceGroupOut(TypedDict):
    code: str
    name_en: str
    name_zh: str
    devices: list[str]
    grants: list[GrantOut]
    created_at: str


class ResourceSpecIn(TypedDict):
    resource_spec_name: str
    resource_quantity: dict[str, str]
    service_type: NotRequired[str]
    price: NotRequired[int]
    resource_spec_id: str


class ResourceTicketIn(TypedDict):
    """The most of each; null says nothing of it."""

    instances: NotRequired[int | None]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]
    reason: str
    from_at: str
    until_at: str
    for_all: NotRequired[bool]


class ResultOut(TypedDict):
    number: str
    outcome: Literal["waiting", "running", "passed", "failed", "not_run"]
    reason: str
    hardware: list[HardwareOut]
    is_simulated: bool
    steps: Any
    expectations: Any
    started_at: str | None
    ended_at: str | None


class RoleFunctionOut(TypedDict):
    permission: str
    group: str
    name: str
    is_change: bool
    needs: list[str]


class RoleIn(TypedDict):
    name: str
    permissions: list[str]
    description: NotRequired[str]
    is_read_only: NotRequired[bool]


class RoleOut(TypedDict):
    code: str
    name_en: str
    name_zh: str


class RolloutIn(TypedDict):
    release: NotRequired[str]
    config: NotRequired[dict[str, Any] | None]
    nodes: NotRequired[list[str]]
    server: NotRequired[bool]
    batch: NotRequired[int]
    gate_s: NotRequired[int]


class RouteIn(TypedDict):
    """What is named changes; the rest stays."""

    name: NotRequired[str]
    severities: NotRequired[list[Literal["critical", "major", "minor", "notice"]]]
    addresses: NotRequired[list[str]]
    roles: NotRequired[list[str]]
    hook_kind: NotRequired[Literal["standard", "slack", "wecom", "dingtalk", "feishu"]]
    hook_url: NotRequired[str]
    hook_secret: NotRequired[str]
    is_enabled: NotRequired[bool]
    channel: Literal["in_site", "email", "webhook"]


class RouteOut(TypedDict):
    uid: str
    name: str
    channel: Literal["in_site", "email", "webhook"]
    severities: list[Literal["critical", "major", "minor", "notice"]]
    addresses: list[str]
    roles: list[str]
    hook_kind: Literal["standard", "slack", "wecom", "dingtalk", "feishu"] | Literal[""]
    hook_host: str
    is_enabled: bool
    created_at: str
    updated_at: str


class ScaleIn(TypedDict):
    """Another most number, in shares or in replicas."""

    shares: NotRequired[int | None]
    replicas: NotRequired[int | None]


class ScoreOut(TypedDict):
    score: int


class SecretIn(TypedDict):
    """A name, as of a variable, and what is in it; `is_shared`: of all people of the tenant."""

    name: str
    value: str
    is_shared: NotRequired[bool]


class SecretOut(TypedDict):
    """A secret without what is in it: its name, whose it is, who set it when, and when work last started with it."""

    uid: str
    name: str
    is_shared: bool
    changed_by: str
    changed_at: str
    used_at: str | None


class SentenceOut(TypedDict):
    """A sentence in the reader's language, and its code for programs."""

    code: str
    message: str


class ServiceDefinition(TypedDict):
    """How a service is reached, asked after its health, and started again where it has ended."""

    port: NotRequired[int | None]
    health_path: NotRequired[str]
    interval_s: NotRequired[int]
    timeout_s: NotRequired[int]
    failures: NotRequired[int]
    start_s: NotRequired[int]
    restart: NotRequired[Literal["always", "failure", "never"]]
    max_restarts: NotRequired[int]


class ServiceKeyIn(TypedDict):
    """Refuses a field it does not know by its name: a misspelt field is not silently dropped."""

    name: str


class ServiceKeyMadeOut(TypedDict):
    """A new key with what programs send, `Authorization: Bearer …`; no other answer shows it."""

    uid: str
    name: str
    made_by: str
    created_at: str
    used_at: str | None
    key: str


class ServiceKeyOut(TypedDict):
    uid: str
    name: str
    made_by: str
    created_at: str
    used_at: str | None


class SettingOut(TypedDict):
    name: str
    before: Any | None
    after: Any | None


class SetupOut(TypedDict):
    username: str
    name: str


class SignInAttemptOut(TypedDict):
    at: str
    address: str | None
    is_accepted: bool


class SignInIn(TypedDict):
    username: str
    password: str
    tenant: NotRequired[str]
    days: NotRequired[int]


class SignInWayOut(TypedDict):
    """How somebody signs in here."""

    password: str
    tokens: int
    attempts: list[SignInAttemptOut]


class SizeOut(TypedDict):
    """What elastic work was told of its size last: `shares` at `step`; `confirmed` is what it goes by (ELA-906)."""

    shares: int
    confirmed: int
    step: int
    is_open: bool
    due_at: str | None


class SpecIn(TypedDict):
    code: str
    name_en: str
    name_zh: NotRequired[str]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]
    mig_profile: NotRequired[str]


class SpecOfferOut(TypedDict):
    """
    A row of the mapping: a specification at a centre. `price`: minor currency per hour; `cost`: what the centre gets
    for one, null where nothing was agreed. `free_count`: how many replicas fit there by its last answer; null where
    nothing is known now. Power in watts.
    """

    resource_spec_id: str
    ai_center_id: str
    center_name: str
    center_status: int
    price: int
    cost: int | None
    free_count: int | None
    performance: float | None
    idle_power_w: float | None
    running_power_w: float | None
    created_at: str
    updated_at: str


class SpecOut(TypedDict):
    code: str
    name_en: str
    name_zh: str
    compute_percent: int
    memory_mib: int
    mig_profile: str
    is_enabled: bool
    created_at: str


class SpecialDayOut(TypedDict):
    day: str
    name: str
    weekday: int | None


class SpecialDaysIn(TypedDict):
    first: str
    last: NotRequired[str]
    name: str
    weekday: NotRequired[int | None]


class SpecialSpecChangeIn(TypedDict):
    """The most of each; null says nothing of it."""

    instances: NotRequired[int | None]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]
    name: str
    from_at: str
    until_at: str


class SpecialSpecIn(TypedDict):
    """No users: one rule for each user of the tenant."""

    instances: NotRequired[int | None]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]
    name: str
    from_at: str
    until_at: str
    tenant: str
    users: NotRequired[list[str]]


class SpecialSpecOut(TypedDict):
    """`user` empty: it is for each user of the tenant. `phase`: coming, now or over."""

    id: int
    name: str
    tenant: str
    user: str
    instances: int | None
    compute_percent: int | None
    memory_mib: int | None
    from_at: str
    until_at: str
    phase: Literal["coming", "now", "over"]
    is_enabled: bool
    created_at: str


class StartEstimateOut(TypedDict):
    made_at: str
    basis: str
    start_at: str | None
    low_at: str | None
    high_at: str | None
    started_at: str | None
    is_kept: bool | None


class StateCountOut(TypedDict):
    kind: str
    state: str
    count: int


class StopIn(TypedDict):
    reason: NotRequired[str]


class TaskRowOut(TypedDict):
    """A task in an inbox, of one tenant or of all."""

    uid: str
    no: str
    tenant: str
    title: str
    step: str
    applicant_name: str
    state: str
    due_at: str | None
    urged_at: str | None
    created_at: str
    amount: str | None


class TenantIn(TypedDict):
    schema: str
    name: str
    timezone: NotRequired[str]
    administrator: AdministratorIn
    quota: NotRequired[dict[str, int]]
    has_account: NotRequired[bool]
    credit_limit: NotRequired[str]
    has_queue: NotRequired[bool]
    business_system: NotRequired[BusinessSystemGivenIn | None]


class TenantOut(TypedDict):
    schema: str
    name: str


class TenantPeopleImportIn(TypedDict):
    file: str
    dry_run: NotRequired[bool]
    days: NotRequired[int]
    by_mail: NotRequired[bool]


class TenantQuotaIn(TypedDict):
    """Totals by item; what is not named stays as it is."""

    instances: NotRequired[int]
    compute_percent: NotRequired[int]
    gpu_memory_mib: NotRequired[int]
    host_cpu_milli: NotRequired[int]
    host_memory_mib: NotRequired[int]
    storage_mib: NotRequired[int]


class TerminateIn(TypedDict):
    reason: str


class TextOut(TypedDict):
    en: str
    zh: str


class TicketAnswerIn(TypedDict):
    text: str
    data: NotRequired[dict[str, Any]]


class TicketDataIn(TypedDict):
    data: dict[str, Any]


class TicketEntryOut(TypedDict):
    uid: str
    kind: Literal[
        "opened",
        "claimed",
        "handed_over",
        "returned",
        "asked",
        "replied",
        "commented",
        "executed",
        "passed_on",
        "sent_back",
        "done",
        "failed",
        "closed",
        "reopened",
        "rated",
    ]
    text: str
    user_name: str
    created_at: str


class TicketExecuteIn(TypedDict):
    text: NotRequired[str]


class TicketFileIn(TypedDict):
    file: str


class TicketFileOut(TypedDict):
    uid: str
    name: str
    size: int
    content_type: str
    sha256: str
    created_at: str


class TicketHandOverIn(TypedDict):
    user: str
    text: NotRequired[str]


class TicketIn(TypedDict):
    category: str
    title: str
    text: NotRequired[str]
    data: NotRequired[dict[str, Any]]


class TicketRateIn(TypedDict):
    rating: int
    text: NotRequired[str]


class TicketStepData(TypedDict):
    """A step that tickets of a category go through."""

    key: NotRequired[str]
    name_zh: NotRequired[str]
    name_en: NotRequired[str]


class TicketStepShown(TypedDict):
    key: str
    name: str
    is_present: bool


class TicketTextIn(TypedDict):
    text: str


class TicketValue(TypedDict):
    name: str
    label: str
    value: Any
    is_writable: bool


class TicketWholeOut(TypedDict):
    """A ticket with what was said on it, and its form as far as its reader sees it."""

    uid: str
    no: str
    category: str
    category_name: str
    title: str
    subject_kind: str
    subject: str | None
    subject_no: str
    side: Literal["operator", "tenant"]
    state: Literal["waiting", "delivering", "asked", "done", "failed", "closed"]
    is_manual: bool
    submitter_name: str
    organization: str
    business_system: str
    assignee: str
    result: Any
    created_at: str
    claimed_at: str | None
    done_at: str | None
    answer_due_at: str | None
    solve_due_at: str | None
    is_answer_overdue: bool
    is_solve_overdue: bool
    rating: int | None
    text: str
    receiver: str
    steps: list[TicketStepShown]
    form: list[TicketValue]
    entries: list[TicketEntryOut]
    files: list[TicketFileOut]
    rating_text: str


class TimelineOut(TypedDict):
    at: str
    kind: str
    what: str
    sentence: str
    actor: str


class TokenIn(TypedDict):
    name: str
    days: NotRequired[int]


class TokenMadeOut(TypedDict):
    uid: str
    name: str
    hint: str
    expires_at: str
    revoked_at: str | None
    used_at: str | None
    created_at: str
    secret: str


class TokenOut(TypedDict):
    uid: str
    name: str
    hint: str
    expires_at: str
    revoked_at: str | None
    used_at: str | None
    created_at: str


class TriedCenterOut(TypedDict):
    """
    A centre before a task: refused for `reasons`, or a candidate with its scores, the final one and its rank from
    1. `price`: of an hour and replica, in minor currency.
    """

    ai_center_id: str
    center_name: str
    is_candidate: bool
    rank: int | None
    final_score: int | None
    price: int | None
    scores: list[PolicyScoreOut]
    reasons: list[SentenceOut]


class TriedQueueIn(TypedDict):
    """
    A queue's settings but for whose it is, when, how long its work runs and with whom it shares devices: those stay
    as they are.
    """

    name_en: NotRequired[str]
    name_zh: NotRequired[str]
    state: NotRequired[Literal["up", "down", "drain", "inactive"]]
    parent: NotRequired[str | None]
    priority: NotRequired[int]
    weight: NotRequired[int]
    ordering: NotRequired[Literal["first_come", "priority", "fair_share", "dominant_share"] | Literal[""]]
    placing: NotRequired[
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
        | Literal[""]
    ]
    resource_group: NotRequired[str]
    max_compute_percent: NotRequired[int | None]
    max_memory_mib: NotRequired[int | None]
    borrow_compute_percent: NotRequired[int]
    borrow_memory_mib: NotRequired[int]
    guaranteed_compute_percent: NotRequired[int]
    guaranteed_memory_mib: NotRequired[int]
    lend_compute_percent: NotRequired[int | None]
    lend_memory_mib: NotRequired[int | None]
    preempts: NotRequired[bool]
    reclaims: NotRequired[bool]


class TriedTaskIn(TypedDict):
    name: NotRequired[str]
    resource_spec_id: str
    image_id: NotRequired[str]
    data: NotRequired[list[str]]
    replicas: NotRequired[int]
    center_ids: NotRequired[list[str]]
    deadline: NotRequired[str | None]
    duration_s: NotRequired[int | None]
    latency_us: NotRequired[int | None]
    security_grade: NotRequired[int]
    may_split: NotRequired[bool]


class TriedTaskOut(TypedDict):
    """One task: where it would go (nowhere: it would wait), why, and how every centre stands before it."""

    name: str
    placed: list[PlacedOut]
    sentences: list[SentenceOut]
    centers: list[TriedCenterOut]


class TroubleOut(TypedDict):
    """Why the centre's last call came to nothing."""

    kind: str
    message: str
    at: str


class UploadOut(TypedDict):
    uid: str
    path: str
    size_bytes: int
    received_bytes: int
    fingerprint: str
    created_at: str
    moved_at: str
    finished_at: str | None


class UsageOut(TypedDict):
    slice_uid: str
    seq: int
    start_at: str
    end_at: str
    seconds: int
    compute_percent: int
    memory_mib: int
    cpu_seconds: float
    memory_peak_mib: int


class UserGroupChangeIn(TypedDict):
    """`users` are login accounts, of any tenants: all of the group."""

    name_en: str
    name_zh: str
    users: NotRequired[list[str]]


class UserGroupIn(TypedDict):
    """`users` are login accounts, of any tenants: all of the group."""

    name_en: str
    name_zh: str
    users: NotRequired[list[str]]
    code: str


class UserGroupOut(TypedDict):
    code: str
    name_en: str
    name_zh: str
    users: list[str]
    queues: list[str]


class UserOut(TypedDict):
    uid: str
    username: str
    display_name: str
    email: str
    is_operator: bool
    must_change_password: bool


class UsernameIn(TypedDict):
    username: str


class ValidityRemoveIn(TypedDict):
    ids: list[int]


class VerdictOut(TypedDict):
    """What can be said of a report."""

    is_sound: bool
    is_own: bool
    public_key: str


class VolumeIn(TypedDict):
    name: str
    size_mib: int
    owner: NotRequired[Literal["person", "organization", "tenant"]]
    organization: NotRequired[str | None]
    storage_class: NotRequired[str]


class VolumeOut(TypedDict):
    """`piece_bytes`: how much one request of an upload may bring."""

    uid: str
    name: str
    owner: Literal["person", "organization", "tenant"]
    person: str
    organization: str
    storage_class: str
    size_mib: int
    used_bytes: int
    free_bytes: int
    piece_bytes: int
    measured_at: str | None
    may_open: bool
    may_keep: bool
    order_no: str
    kept_until: str | None
    created_at: str


class WayInOut(TypedDict):
    """How the administrator comes in: an account with its first password, or an invitation."""

    username: str
    password: str
    secret: str
    mailed_to: str
    expires_at: str | None


class WhatIfIn(TypedDict):
    """
    Settings to try on the submissions of the last days. `policy`: as for the scheduling policy; `queues`: by code,
    as for a queue; `quotas`: by tenant, its totals by item.
    """

    name: str
    days: NotRequired[int]
    policy: NotRequired[PolicyIn]
    queues: NotRequired[dict[str, TriedQueueIn]]
    quotas: NotRequired[dict[str, dict[str, int]]]


class Window(TypedDict):
    """A span of a weekday (Monday is 0) in which work may start, in minutes of the centre's day."""

    weekday: int
    from_minute: int
    to_minute: int


class WireJobIn(TypedDict):
    """Tables A.1-2 and A.1-3: each task has name, command, imageId ("" for none), resourceSpecId, replicaNumber."""

    name: str
    tasks: Any


class WireLogData(TypedDict):
    """`data` of A.4."""

    logUrl: str


class WireLogOut(TypedDict):
    """The answer of A.4."""

    status: int
    code: str
    errorMsg: str
    data: WireLogData


class WireOut(TypedDict):
    """The envelope of Annex A without data."""

    status: int
    code: str
    errorMsg: str


class WireScoreOut(TypedDict):
    """The envelope of Annex A with a score from 0 to 100."""

    status: int
    code: str
    errorMsg: str
    data: ScoreOut


class WireTaskInfo(TypedDict):
    """Table A.1-5."""

    name: str
    centerIDs: list[str]


class WireTaskWhole(TypedDict):
    """Table A.3-4."""

    name: str
    centerIDs: list[str]
    command: str
    imageId: str
    resourceSpecId: str
    replicaNumber: int
    replicaStatus: list[str]


class WorkingSpan(TypedDict):
    weekday: int
    opens: str
    closes: str


class WorkloadExecIn(TypedDict):
    """The words of a command, none for a shell; `tty`: with a terminal; `share` counts from 0."""

    argv: NotRequired[list[str]]
    tty: NotRequired[bool]
    share: NotRequired[int]


class WorkloadExecOut(TypedDict):
    """What is brought to the WebSocket at `path`, and how long it waits for that."""

    ticket: str
    seconds: int
    path: str


class WorkloadGrantOut(TypedDict):
    """
    A share that the resource holds now: where, how much, by which driver, and what is really given.

    `mounted` is false until the work has really begun to use the device. `moving`: the session is on its way here.
    """

    slice: str
    node: str
    node_uid: str
    device: int
    device_uid: str
    model: str
    vendor: str
    is_simulated: bool
    compute_percent: int
    memory_mib: int
    delivered_percent: float | None
    memory_used_mib: int | None
    host_cpu_used_milli: int | None
    host_memory_used_mib: int | None
    disk_used_mib: int | None
    disk_limit_mib: int | None
    driver: str
    memory_enforced_by: str
    compute_enforced_by: str
    mounted: bool
    moving: bool
    state: str


class WorkloadLogOut(TypedDict):
    """A piece of what the work printed, and of which share and attempt it is; treat `next_offset` as a ticket."""

    share: int
    attempt: int
    text: str
    next_offset: int
    ended: bool


class WorkloadMetricOut(TypedDict):
    """
    A metric that a share of the work has written: at each step its value, and when, in seconds since 1970. Of a
    long one points are left out evenly.
    """

    name: str
    share: int
    steps: list[int]
    values: list[float]
    times: list[float]
    updated_at: str


class WorkloadPortIn(TypedDict):
    """A port on which the work listens on its own machine; `share` counts from 0."""

    port: int
    share: NotRequired[int]


class WorkloadSessionOut(TypedDict):
    """`shares` lists those that a worker serves or is about to; empty host or port: its worker does not listen yet."""

    state: str
    reason_code: str
    reason: str
    shares: list[ConnectionOut]


class WorkloadSliceOut(TypedDict):
    """A share of a resource on one device, as sold and as measured."""

    uid: str
    node: str
    device: str
    device_model: str
    vendor: str
    is_simulated: bool
    state: str
    exit_code: int | None
    compute_percent: int
    memory_mib: int
    delivered_percent: float | None
    memory_used_mib: int | None
    host_cpu_used_milli: int | None
    host_memory_used_mib: int | None
    disk_used_mib: int | None
    disk_limit_mib: int | None
    compute_enforced_by: str
    memory_enforced_by: str
    started_at: str | None
    ended_at: str | None


class WorkloadWebOut(TypedDict):
    """Where a browser opens the web pages of work; `seconds` is how long the address waits for it."""

    url: str
    seconds: int


class WriteOffIn(TypedDict):
    reason: str


class AccountOut(TypedDict):
    is_open: bool
    opened_at: str | None
    balance: str
    credit_limit: str
    reserved: str
    spendable: str
    funds_level: Literal["enough", "low", "empty"]
    unbilled: str
    unpaid: str
    coupon_count: int
    coupon_remaining: str
    month_cost: str
    year_cost: str


class AlarmOut(TypedDict):
    uid: str
    key: str
    level: Literal["critical", "major", "minor", "notice"]
    state: Literal["firing", "acknowledged", "resolved"]
    source: str
    rule: str
    subject_kind: str
    subject_id: str
    title: str
    params: Any
    count: int
    fired_at: str
    raised_at: str
    acknowledged_at: str | None
    acknowledged_by: str
    resolved_at: str | None
    created_at: str


class ArrayOut(TypedDict):
    uid: str
    no: str
    name: str
    spec: str
    size: int
    at_once: int | None
    created_at: str
    stopped_at: str | None
    progress: ProgressOut


class AssetIn(TypedDict):
    introduction: NotRequired[str]
    tags: NotRequired[list[str]]
    reach: NotRequired[Literal["person", "organization", "tenant"]]
    kind: Literal["model", "dataset", "algorithm"]
    name: str


class AssetOut(TypedDict):
    uid: str
    kind: Literal["model", "dataset", "algorithm"]
    name: str
    introduction: str
    tags: list[str]
    owner: str
    reach: Literal["person", "organization", "tenant"]
    organization: str
    newest: int | None
    created_at: str
    updated_at: str


class AssetVersionOut(TypedDict):
    """`sha256`: of the lines that `sha256sum` prints of its files, in the order of their paths."""

    number: int
    note: str
    state: Literal["copying", "ready", "failed"]
    problem: str
    files: int
    size_bytes: int
    sha256: str
    made_by: str
    created_at: str


class BillLineOut(TypedDict):
    """`unit_amount` × `share_seconds` ÷ the seconds of `price_unit` = `exact`, rounded half up to `amount`."""

    uid: str
    order_no: str
    order_uid: str | None
    workload_uid: str
    job_id: str
    commodity_zh: str
    commodity_en: str
    business_system: str
    organization: str
    person: str
    work_name: str
    component: str
    name_zh: str
    name_en: str
    quantity: str
    unit: str
    mode: str
    price_unit: str
    tier_method: str
    price_number: int
    steps: list[PriceStepOut]
    unit_amount: str
    share_seconds: int
    exact: str
    accrued: str
    amount: str


class BillOut(TypedDict):
    """`total` is of what the reader reaches: of all of it where `is_whole`."""

    uid: str
    no: str
    tenant: str
    state: Literal["made", "confirmed", "paid", "written_off"]
    period_from: str
    period_until: str
    total: str
    made_at: str
    confirmed_at: str | None
    paid_at: str | None
    written_off_at: str | None
    created_at: str
    is_whole: bool


class BillWholeOut(TypedDict):
    """`total` is of what the reader reaches: of all of it where `is_whole`."""

    uid: str
    no: str
    tenant: str
    state: Literal["made", "confirmed", "paid", "written_off"]
    period_from: str
    period_until: str
    total: str
    made_at: str
    confirmed_at: str | None
    paid_at: str | None
    written_off_at: str | None
    created_at: str
    is_whole: bool
    seller: PartyOut
    buyer: PartyOut
    lines: list[BillLineOut]
    payment: PaymentOut | None


class BulkOut(TypedDict):
    count: int
    workloads: list[BulkRowOut]


class BundleTakenOut(TypedDict):
    """How many files were taken, and which were refused."""

    taken: int
    refused: list[FileRefusedOut]


class BusinessSystemOut(TypedDict):
    uid: str
    name: str
    number: str
    organization: str
    organization_name: str
    parent: str | None
    is_enabled: bool
    stage: Literal["planning", "building", "trial", "in_use", "retired"]
    done_percent: int
    created_at: str


class CaseOut(TypedDict):
    kind: Literal["form", "order", "ticket", "task"]
    uid: str
    no: str
    title: str
    state: str
    tenant: str
    tenant_name: str
    applicant_name: str
    organization: str
    business_system: str
    side: str
    roles: list[str]
    due_at: str | None
    urged_at: str | None
    is_open: bool
    link: str
    created_at: str
    updated_at: str


class CenterIn(TypedDict):
    name: str
    region: NotRequired[str]
    geometry: NotRequired[list[float] | None]
    security_grade: NotRequired[int]
    stale_after_s: NotRequired[int]
    lost_after_s: NotRequired[int]
    settings: NotRequired[dict[str, str]]
    credential: NotRequired[dict[str, str]]
    ai_center_id: str
    kind: str
    serves: NotRequired[Literal["named", "all"] | None]
    may_share: NotRequired[bool]
    tenants: NotRequired[list[str]]


class CenterKindOut(TypedDict):
    """
    A kind of centre, and what is to be filled in for one of it. `keeps_apart`: whether it keeps tenants' work apart
    by itself; `sharing`: what tenants that share one can do to each other's work; `account_inputs`: what is filled in
    for the account there of a tenant's own.
    """

    code: str
    label: str
    inputs: list[KindFieldOut]
    keeps_apart: bool
    sharing: str
    account_inputs: list[KindFieldOut]


class CenterOut(TypedDict):
    """
    Table 1, what is set of the centre beside it, and its last answer. `status`: 0 unavailable, 1 available,
    2 unknown. `geometry`: [longitude, latitude]. `disbelieved_count`: reports of its jobs that could not be true.
    `serves`: "all" tenants, or those "named" in `tenants` alone.
    """

    ai_center_id: str
    name: str
    region: str
    status: Literal[0, 1, 2]
    geometry: list[float] | None
    created_at: str
    updated_at: str
    kind: str
    settings: dict[str, str]
    is_drained: bool
    security_grade: int
    stale_after_s: int
    lost_after_s: int
    answered_at: str | None
    resources: QuantitiesOut | None
    monitoring: MonitoringOut | None
    trouble: TroubleOut | None
    disbelieved_count: int
    serves: Literal["named", "all"]
    tenants: list[CenterTenantOut]


class CenterServesIn(TypedDict):
    serves: Literal["named", "all"]
    may_share: NotRequired[bool]


class ChangeOut(TypedDict):
    """`settings` in the words of the file; of `fairShare` too."""

    name: str
    act: Literal["make", "change", "remove"]
    settings: list[SettingOut]


class CommodityDefinition(TypedDict):
    """What operators say of a commodity. Things are named by their codes; empty is any of them, or none."""

    kind: Literal["work", "environment", "session", "service", "volume", "manual"]
    name_zh: str
    name_en: str
    intro_zh: NotRequired[str]
    intro_en: NotRequired[str]
    supplier: NotRequired[str]
    icon: NotRequired[
        Literal[
            "box",
            "brain",
            "code",
            "cpu",
            "cube",
            "database",
            "flask",
            "message-chatbot",
            "photo",
            "robot",
            "server",
            "video",
        ]
    ]
    number: NotRequired[str]
    category: str
    process_app: str
    termination_app: str
    argv: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    environment: NotRequired[str]
    is_own_program: NotRequired[bool]
    image: NotRequired[str]
    service: NotRequired[ServiceDefinition | None]
    card_use: NotRequired[Literal["share", "whole", "mig"]]
    vendor: NotRequired[str]
    model: NotRequired[str]
    spec: NotRequired[str]
    mig_profile: NotRequired[str]
    resource_group: NotRequired[str]
    queue: NotRequired[str]
    components: NotRequired[list[ComponentRangeIn]]
    min_duration_s: NotRequired[int]
    max_duration_s: NotRequired[int]
    is_open_ended: NotRequired[bool]
    max_count: NotRequired[int]


class CommodityDefinitionIn(TypedDict):
    """What operators say of a commodity. Things are named by their codes; empty is any of them, or none."""

    kind: Literal["work", "environment", "session", "service", "volume", "manual"]
    name_zh: str
    name_en: str
    intro_zh: NotRequired[str]
    intro_en: NotRequired[str]
    supplier: NotRequired[str]
    icon: NotRequired[
        Literal[
            "box",
            "brain",
            "code",
            "cpu",
            "cube",
            "database",
            "flask",
            "message-chatbot",
            "photo",
            "robot",
            "server",
            "video",
        ]
    ]
    number: NotRequired[str]
    category: str
    process_app: str
    termination_app: str
    argv: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    environment: NotRequired[str]
    is_own_program: NotRequired[bool]
    image: NotRequired[str]
    service: NotRequired[ServiceDefinition | None]
    card_use: NotRequired[Literal["share", "whole", "mig"]]
    vendor: NotRequired[str]
    model: NotRequired[str]
    spec: NotRequired[str]
    mig_profile: NotRequired[str]
    resource_group: NotRequired[str]
    queue: NotRequired[str]
    components: NotRequired[list[ComponentRangeIn]]
    min_duration_s: NotRequired[int]
    max_duration_s: NotRequired[int]
    is_open_ended: NotRequired[bool]
    max_count: NotRequired[int]
    version: int


class CommodityDefinitionOut(TypedDict):
    """What operators say of a commodity. Things are named by their codes; empty is any of them, or none."""

    kind: Literal["work", "environment", "session", "service", "volume", "manual"]
    name_zh: str
    name_en: str
    intro_zh: NotRequired[str]
    intro_en: NotRequired[str]
    supplier: NotRequired[str]
    icon: NotRequired[
        Literal[
            "box",
            "brain",
            "code",
            "cpu",
            "cube",
            "database",
            "flask",
            "message-chatbot",
            "photo",
            "robot",
            "server",
            "video",
        ]
    ]
    number: NotRequired[str]
    category: str
    process_app: str
    termination_app: str
    argv: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    environment: NotRequired[str]
    is_own_program: NotRequired[bool]
    image: NotRequired[str]
    service: NotRequired[ServiceDefinition | None]
    card_use: NotRequired[Literal["share", "whole", "mig"]]
    vendor: NotRequired[str]
    model: NotRequired[str]
    spec: NotRequired[str]
    mig_profile: NotRequired[str]
    resource_group: NotRequired[str]
    queue: NotRequired[str]
    components: NotRequired[list[ComponentRangeIn]]
    min_duration_s: NotRequired[int]
    max_duration_s: NotRequired[int]
    is_open_ended: NotRequired[bool]
    max_count: NotRequired[int]
    uid: str
    is_for_all: bool
    tenants: list[str]
    version: int


class CommodityOut(TypedDict):
    uid: str
    number: str
    name_zh: str
    name_en: str
    intro_zh: str
    intro_en: str
    icon: str
    supplier: str
    kind: Literal["work", "environment", "session", "service", "volume", "manual"]
    category: CategoryOut
    components: list[ComponentRangeOut]
    min_duration_s: int
    max_duration_s: int
    is_open_ended: bool
    retires_at: str | None
    max_count: int
    is_listed: bool
    is_enabled: bool
    version: int


class CouponOut(TypedDict):
    uid: str
    code: str
    activity: str
    name_zh: str
    name_en: str
    state: Literal["claimed", "used", "expired", "recalled"]
    face_value: str
    remaining: str
    minimum_spend: str
    ratio_percent: int
    valid_from: str
    valid_until: str
    created_at: str


class DataPermissionOut(TypedDict):
    """How far a role reaches; one's own records, and the business systems one takes part in, are always within."""

    orders: NotRequired[Literal["own", "organization", "below", "systems", "all"]]
    resources: NotRequired[Literal["own", "organization", "below", "systems", "all"]]
    systems: NotRequired[Literal["own", "organization", "below", "all"]]
    costs: NotRequired[Literal["own", "organization", "below", "systems", "all"]]
    people: NotRequired[Literal["own", "organization", "below", "all"]]


class DecideIn(TypedDict):
    decision: Literal["approve", "refuse", "send_back"]
    comment: NotRequired[str]


class DecisionOut(TypedDict):
    user_name: str
    role: str
    decision: Literal["approve", "refuse", "send_back"]
    comment: str
    at: str


class DefaultSystemOut(TypedDict):
    """What your work and applications are for where they name no business system."""

    business_system: BusinessSystemOut | None
    is_usable: bool


class DeliveryOut(TypedDict):
    uid: str
    alarm: str
    route: str
    is_over: bool
    channel: Literal["in_site", "email", "webhook"]
    addresses: list[str]
    roles: list[str]
    state: Literal["pending", "sent", "failed"]
    error: str
    tries: int
    next_try_at: str
    sent_at: str | None
    created_at: str


class DeviceOut(TypedDict):
    uid: str
    node: str
    node_uid: str
    index: int
    vendor: str
    model: str
    memory_mib: int
    reported_mib: int
    cores: int
    driver_version: str
    is_enabled: bool
    is_sliced: bool
    is_leaving: bool
    is_simulated: bool
    is_verified: bool
    group: str | None
    apis: Any
    numa_node: int | None
    slice_drivers: Any
    slice_sizes: Any
    health: Literal["ok", "degraded", "failed"]
    health_reason: str
    oversubscribe_permille: int
    memory_oversubscribe_permille: int
    held_percent: int
    held_mib: int
    whole_held: bool
    free_percent: int
    free_mib: int
    measured: Any
    measured_at: str | None
    created_at: str


class DryRunOut(TypedDict):
    """
    When work would start if it were submitted now, the shares it would hold (`compute_percent` and `memory_mib` of
    each), and `now`: what could start at once.
    """

    start_at: str | None
    low_at: str | None
    high_at: str | None
    basis: str
    basis_text: str
    sentence: str
    why: str
    shares: int
    shares_per_replica: int
    compute_percent: int
    memory_mib: int
    now: NowOut | None


class EntryOut(TypedDict):
    name: str
    kind: Literal["folder", "file", "link", "other"]
    size_bytes: int
    modified_at: str


class EnvironmentTemplateIn(TypedDict):
    """
    What a template says. Of a whole card `compute_percent` is 100. Empty vendor and model: any.

    `host_cpu_milli` is in thousandths of a core; 0 there and in `host_memory_mib` says nothing of the host.
    """

    name: str
    description: NotRequired[str]
    software: NotRequired[Literal["jupyterlab", "vscode"]]
    image: NotRequired[str]
    gpu_kind: NotRequired[Literal["share", "whole", "mig"]]
    compute_percent: NotRequired[int]
    memory_mib: int
    vendor: NotRequired[str]
    model: NotRequired[str]
    host_cpu_milli: NotRequired[int]
    host_memory_mib: NotRequired[int]
    idle_timeout_s: NotRequired[int | None]


class EnvironmentTemplateOut(TypedDict):
    uid: str
    name: str
    description: str
    software: Literal["jupyterlab", "vscode"]
    image: str
    image_name: str
    gpu_kind: Literal["share", "whole", "mig"]
    compute_percent: int
    memory_mib: int
    vendor: str
    model: str
    host_cpu_milli: int
    host_memory_mib: int
    idle_timeout_s: int | None
    created_at: str
    updated_at: str


class ExplainOut(TypedDict):
    """`expected` is null unless it waits; `ahead`: how many stand before it in its queue."""

    state: str
    reason_code: str
    reason: str
    queue: str
    position: int | None
    ahead: int | None
    expected: ExpectationOut | None
    start_estimate: StartEstimateOut | None
    decisions: list[TimelineOut]


class FormFieldIn(TypedDict):
    """A field of a form, as it is kept: durations in seconds, memory in MiB."""

    kind: Literal[
        "text", "number", "choice", "date", "duration", "memory", "person", "queue", "model", "heading"
    ]
    label_zh: str
    label_en: str
    is_required: NotRequired[bool]
    help_zh: NotRequired[str]
    help_en: NotRequired[str]
    unit: NotRequired[str]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    choices: NotRequired[list[str]]
    default: NotRequired[Any | None]
    version: int


class FormLineIn(TypedDict):
    commodity: str
    amounts: dict[str, int]
    count: NotRequired[int]
    program: NotRequired[ProgramIn | None]


class FormLineOut(TypedDict):
    uid: str
    commodity: str
    commodity_name: str
    amounts: Any
    count: int
    program: dict[str, Any]
    quote: QuoteOut | None


class FormOrderOut(TypedDict):
    """An order that was made of a form."""

    uid: str
    no: str
    state: Literal["pending", "processing", "shipped", "completed", "terminating", "terminated", "failed"]
    workload: str | None
    volume: str | None


class FormRowOut(TypedDict):
    uid: str
    no: str
    kind: Literal["new", "change", "termination", "regularization"]
    state: Literal["draft", "submitted", "approving", "approved", "delivering", "completed", "rejected"]
    applicant_name: str
    organization_name: str
    business_system: str
    business_system_number: str
    target_order: str | None
    duration_s: int | None
    remark: str
    total: str
    note: str
    submitted_at: str | None
    created_at: str
    updated_at: str


class HookCallOut(TypedDict):
    uid: str
    hook: str
    kind: Literal["started", "ended", "preempted"]
    schema: str
    workload_uid: str
    at: str
    state: Literal["pending", "done", "failed"]
    tries: int
    error: str
    next_try_at: str


class ImageBuildIn(TypedDict):
    """
    A Containerfile, where the files that it copies are, and what its work may have. `folder`: the digest of a folder
    sent before (folder-uploads); `volume` and `path`: a folder in a volume; one of them at most.
    """

    name: str
    tag: NotRequired[str]
    introduction: NotRequired[str]
    owner: NotRequired[Literal["person", "organization", "tenant"]]
    organization: NotRequired[str | None]
    containerfile: str
    folder: NotRequired[str]
    volume: NotRequired[str]
    path: NotRequired[str]
    args: NotRequired[dict[str, str]]
    compute_percent: NotRequired[int]
    memory_mib: NotRequired[int]
    host_cpu_milli: NotRequired[int]
    host_memory_mib: NotRequired[int]
    queue: NotRequired[str]
    business_system: NotRequired[str]
    run_timeout_s: NotRequired[int | None]
    is_fresh: NotRequired[bool]


class ImageBuildOut(TypedDict):
    """A build: `state` says how far it is, `problem` why it failed, with the line and the last output of its step."""

    uid: str
    name: str
    state: Literal["waiting", "building", "saving", "done", "failed", "cancelled"]
    problem: str
    failed_line: int | None
    output: str
    version: str
    workload: str
    workload_no: str
    base: str
    containerfile: str
    args: dict[str, str]
    steps: int
    steps_before: int
    made_by: str
    may_cancel: bool
    created_at: str
    ended_at: str | None


class ImageImportIn(TypedDict):
    """An archive, as `docker save` or `skopeo` write it, at a path of a volume."""

    name: str
    tag: NotRequired[str]
    introduction: NotRequired[str]
    owner: NotRequired[Literal["person", "organization", "tenant"]]
    organization: NotRequired[str | None]
    volume: str
    path: str


class ImageOut(TypedDict):
    uid: str
    name: str
    introduction: str
    owner: Literal["person", "organization", "tenant", "centre"]
    tenant: str
    person: str
    organization: str
    versions: list[ImageVersionOut]
    may_keep: bool
    created_at: str


class ImageSaveIn(TypedDict):
    """What a version is to be called, and whose it is to be."""

    name: str
    tag: NotRequired[str]
    introduction: NotRequired[str]
    owner: NotRequired[Literal["person", "organization", "tenant"]]
    organization: NotRequired[str | None]


class JobIn(TypedDict):
    """A job (table 7)."""

    name: str
    desc: NotRequired[str]
    tasks: Any
    job_type: NotRequired[Literal["interactive", "batch", "streaming"]]
    priority: NotRequired[int]
    is_gang: NotRequired[bool]
    weights: NotRequired[dict[str, str] | None]
    success_policy: NotRequired[Literal["all_succeeded", "any_succeeded"]]
    failure_policy: NotRequired[Literal["all_failed", "any_failed"]]
    retries: NotRequired[int | None]
    replaces_lost: NotRequired[bool]


class JobReplicaOut(TypedDict):
    """The attempt that stands for a replica."""

    number: int
    attempt: int
    ai_center_id: str
    center_name: str
    state: Literal["pending", "running", "completed", "failed", "stopped", "refused", "lost"]
    reason: str
    price_minor: int
    placed_at: str
    started_at: str | None
    ended_at: str | None


class JobRowOut(TypedDict):
    """A job in a list."""

    id: str
    tenant: str
    name: str
    desc: str
    user_name: str
    created_user: str
    job_type: str
    priority: int
    is_gang: bool
    state: Literal["pending", "running", "completed", "failed", "stopped"]
    created_at: str
    dispatched_at: str | None
    ended_at: str | None
    stop_asked_at: str | None
    revision: int


class JobTaskOut(TypedDict):
    """A task (table 8), its replicas, and why it waits."""

    number: int
    name: str
    command: str
    image_id: str
    resourcespec: str
    replicas: int
    centers: list[str]
    data: list[str]
    min_security_grade: int
    deadline_at: str | None
    duration_s: int | None
    may_split: bool
    state: Literal["pending", "running", "completed", "failed", "stopped"]
    waits_for: list[str]
    placed: list[JobReplicaOut]


class LimitOut(TypedDict):
    """
    What the user holds of an item and may hold; `most` null: nothing of the user's bounds it. `source` says which
    tier does, by its name, and until when.
    """

    item: Literal["instances", "compute_percent", "memory_mib"]
    used: int
    most: int | None
    tier: NotRequired[Literal["ticket", "special_user", "special_group", "default"] | None]
    name: NotRequired[str]
    until_at: NotRequired[str | None]
    source: str


class ListingOut(TypedDict):
    """A part of a folder, folders first; `next_name`, given as `after`, leads to the next part; "" after the last."""

    path: str
    entries: list[EntryOut]
    next_name: str


class MailIn(TypedDict):
    """A mail server. Without `password` the one that is kept goes on to be used, for the same server and account."""

    host: str
    port: NotRequired[int]
    security: NotRequired[Literal["starttls", "tls", "none"]]
    username: NotRequired[str]
    password: NotRequired[str]
    sender: str


class MailOut(TypedDict):
    host: str
    port: int
    security: Literal["starttls", "tls", "none"]
    username: str
    sender: str


class MeOut(TypedDict):
    user: UserOut
    side: Literal["user", "operator"]
    tenant: str
    role: str
    roles: list[RoleOut]
    permissions: list[str]
    tenants: list[TenantOut]


class NodeOut(TypedDict):
    uid: str
    name: str
    state: Literal["ready", "lost", "drained", "removed"]
    is_drained: bool
    is_leaving: bool
    is_upgrading: bool
    address: str
    components: dict[str, str]
    power_w: float | None
    power_source: str
    last_seen_at: str
    lost_at: str | None
    agent_version: str
    clock_offset_s: float
    hostname: str
    os: str
    cpu_count: int
    memory_mib: int
    labels: dict[str, str]
    created_at: str


class OperatorDetailOut(TypedDict):
    uid: str
    username: str
    display_name: str
    email: str
    is_active: bool
    must_change_password: bool
    organization: str | None
    post: str
    roles: list[str]
    created_at: str
    sign_in: SignInWayOut | None


class OperatorMadeOut(TypedDict):
    password: str
    operator: OperatorOut


class OrderRowOut(TypedDict):
    uid: str
    no: str
    form: str
    form_no: str
    state: Literal["pending", "processing", "shipped", "completed", "terminating", "terminated", "failed"]
    commodity_name: str
    supplier: str
    applicant_name: str
    organization_name: str
    business_system: str
    duration_s: int | None
    workload: str | None
    volume: str | None
    ticket: str | None
    note: str
    started_at: str | None
    ended_at: str | None
    end_reason_code: str
    end_reason: str
    created_at: str
    updated_at: str


class OutcomeOut(TypedDict):
    """`kept`: queues that the file does not name; `notes`: what it says and nothing is made of."""

    changes: list[ChangeOut]
    kept: list[str]
    notes: list[str]
    state: str


class OutlookDaysOut(TypedDict):
    """With every day, past and to come."""

    pool: str
    name: str
    capacity_percent: float
    demand_percent: float | None
    days_known: int
    days_wanted: int
    method: NotRequired[Literal["weeks", "trend"] | None]
    off_by_percent: NotRequired[float | None]
    full_on: str | None
    full_from: str | None
    full_until: str | None
    past: list[PastDayOut]
    ahead: NotRequired[list[AheadOut]]


class OutputOut(TypedDict):
    """What a share of work left: its files lie below `path` of the volume (`volumes/{uid}/files`)."""

    share: int
    state: Literal["coming", "kept", "lost"]
    sentence: str
    volume: str | None
    volume_name: str
    path: str
    may_open: bool
    files: int
    size_bytes: int
    left_out: int
    settled_at: str | None


class OverviewOut(TypedDict):
    """What the operator pages show; a part that the active role may not see is null."""

    tenants: int
    lacks: list[LackOut]
    alarms: list[LevelCountOut] | None
    nodes: list[NodeCountOut] | None
    held_percent: int | None
    limit_percent: int | None
    held_mib: int | None
    limit_mib: int | None
    waiting_workloads: int | None
    my_approvals: int | None
    cases: list[StateCountOut] | None
    revenue_month: str | None


class PaginatedAlarmOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AlarmOut]


class PaginatedArrayOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ArrayOut]


class PaginatedAssetOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AssetOut]


class PaginatedAssetVersionOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[AssetVersionOut]


class PaginatedBillOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[BillOut]


class PaginatedBusinessSystemOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[BusinessSystemOut]


class PaginatedCaseOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CaseOut]


class PaginatedCenterOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CenterOut]


class PaginatedCommodityOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CommodityOut]


class PaginatedCouponOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[CouponOut]


class PaginatedDeliveryOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[DeliveryOut]


class PaginatedDeviceOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[DeviceOut]


class PaginatedEnvironmentTemplateOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[EnvironmentTemplateOut]


class PaginatedFormRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[FormRowOut]


class PaginatedHookCallOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[HookCallOut]


class PaginatedImageBuildOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ImageBuildOut]


class PaginatedImageOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ImageOut]


class PaginatedJobRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[JobRowOut]


class PaginatedNodeOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[NodeOut]


class PaginatedOrderRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OrderRowOut]


class PaginatedOutputOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[OutputOut]


class PaginatedPersonRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PersonRowOut]


class PaginatedPlacementSettingsOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PlacementSettingsOut]


class PaginatedPostOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PostOut]


class PaginatedProcessTemplateOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ProcessTemplateOut]


class PaginatedRecordOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RecordOut]


class PaginatedReleaseKeyOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ReleaseKeyOut]


class PaginatedReleaseOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ReleaseOut]


class PaginatedReservationOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ReservationOut]


class PaginatedResourceGroupOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ResourceGroupOut]


class PaginatedRouteOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RouteOut]


class PaginatedSecretOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SecretOut]


class PaginatedSpecOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SpecOut]


class PaginatedSpecialSpecOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SpecialSpecOut]


class PaginatedTaskRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TaskRowOut]


class PaginatedTokenOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TokenOut]


class PaginatedUploadOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[UploadOut]


class PaginatedUsageOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[UsageOut]


class PaginatedUserGroupOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[UserGroupOut]


class PaginatedVolumeOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[VolumeOut]


class PatchedAssetChangeIn(TypedDict):
    introduction: NotRequired[str]
    tags: NotRequired[list[str]]
    reach: NotRequired[Literal["person", "organization", "tenant"]]


class PatchedFormIn(TypedDict):
    lines: NotRequired[list[FormLineIn]]
    duration_s: NotRequired[int | None]
    business_system: NotRequired[str | None]
    remark: NotRequired[str]
    data: NotRequired[dict[str, Any]]
    coupon: NotRequired[str | None]
    volumes: NotRequired[list[str]]
    cart: NotRequired[list[str]]


class PatchedPolicyIn(TypedDict):
    """What is not sent stays; null: a head waits for ever, no aging, no memory of past use."""

    placing: NotRequired[
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
    ]
    ordering: NotRequired[Literal["first_come", "priority", "fair_share", "dominant_share"]]
    has_backfill: NotRequired[bool]
    reserved_starts: NotRequired[int]
    patience_s: NotRequired[int | None]
    aging_s: NotRequired[int | None]
    half_life_s: NotRequired[int | None]
    ahead_s: NotRequired[int]
    has_preemption: NotRequired[bool]
    has_reclaim: NotRequired[bool]
    grace_s: NotRequired[int]
    min_run_s: NotRequired[int]
    max_preemptions: NotRequired[int]
    fair_share_preempts: NotRequired[bool]
    consolidates: NotRequired[bool]
    max_moves: NotRequired[int]
    grows_elastic: NotRequired[bool]
    hysteresis_s: NotRequired[int]
    max_open_per_user: NotRequired[int]
    max_open_per_tenant: NotRequired[int]
    direct_commodity: NotRequired[str | None]


class PatchedQueueChangeIn(TypedDict):
    """What is not sent stays; null takes a limit away; an empty list of tenants admits all, of windows is always."""

    name_en: NotRequired[str]
    name_zh: NotRequired[str]
    state: NotRequired[Literal["up", "down", "drain", "inactive"]]
    parent: NotRequired[str | None]
    priority: NotRequired[int]
    weight: NotRequired[int]
    ordering: NotRequired[Literal["first_come", "priority", "fair_share", "dominant_share"] | Literal[""]]
    placing: NotRequired[
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
        | Literal[""]
    ]
    resource_group: NotRequired[str]
    max_compute_percent: NotRequired[int | None]
    max_memory_mib: NotRequired[int | None]
    borrow_compute_percent: NotRequired[int]
    borrow_memory_mib: NotRequired[int]
    guaranteed_compute_percent: NotRequired[int]
    guaranteed_memory_mib: NotRequired[int]
    lend_compute_percent: NotRequired[int | None]
    lend_memory_mib: NotRequired[int | None]
    preempts: NotRequired[bool]
    reclaims: NotRequired[bool]
    is_default: NotRequired[bool]
    max_run_s: NotRequired[int | None]
    oversubscribe: NotRequired[Literal["yes", "no", "exclusive", "force"]]
    max_jobs: NotRequired[int | None]
    tenants: NotRequired[list[str]]
    windows: NotRequired[list[Window]]
    user_groups: NotRequired[list[str]]


class Period(TypedDict):
    """A span of the week in which work of a purpose may start."""

    weekday: int
    from_minute: int
    to_minute: int
    purpose: Literal["training", "development", "inference", "visualization"]


class PersonDetailOut(TypedDict):
    """A person with the business systems he takes part in and, for who manages people, how he signs in."""

    uid: str
    username: str
    display_name: str
    email: str
    state: str
    must_change_password: bool
    organization: NotRequired[str | None]
    organization_name: NotRequired[str]
    post: NotRequired[str]
    roles: list[str]
    created_at: str
    business_systems: list[PersonSystemOut]
    sign_in: SignInWayOut | None


class PersonMadeOut(TypedDict):
    password: str
    person: PersonOut


class PlacementTryIn(TypedDict):
    tasks: list[TriedTaskIn]
    job_type: NotRequired[Literal["interactive", "batch", "streaming"] | Literal[""]]
    is_gang: NotRequired[bool]
    weights: NotRequired[dict[str, str] | None]
    tenant: NotRequired[str]


class PoolFiguresOut(TypedDict):
    """In percent of devices; available is total less allocated and reserved. `kind`: the vendor, or "mixed"."""

    code: str
    name_en: str
    name_zh: str
    kind: str
    devices: int
    total_percent: int
    allocated_percent: int
    reserved_percent: int
    available_percent: int
    utilisation_percent: int
    queues: list[PoolQueueOut]


class PriceLineOut(TypedDict):
    component: str
    per: str
    mode: Literal["on_demand", "subscription", "per_use"]
    unit: Literal["hour", "use", "day", "month", "year"]
    tier_method: Literal["flat", "progressive", "whole_amount"]
    tiers: Any


class PriceVersionOut(TypedDict):
    uid: str
    number: int
    effective_from: str
    published_at: str
    lines: list[PriceLineOut]


class ProcessAppOut(TypedDict):
    uid: str
    code: str
    name_zh: str
    name_en: str
    category: str
    form_template: str
    kind: str
    process_template: str
    state: Literal["draft", "published", "unpublished"]


class ProcessStepOut(TypedDict):
    uid: str
    step: str
    side: str
    rule: str
    state: Literal["waiting", "done", "cancelled"]
    given: list[DecisionOut]
    due_at: str | None
    done_at: str | None
    created_at: str


class ProgressReportIn(TypedDict):
    stage: Literal["planning", "building", "trial", "in_use", "retired"]
    done_percent: int
    note: str


class ProgressReportOut(TypedDict):
    uid: str
    no: str
    stage: Literal["planning", "building", "trial", "in_use", "retired"]
    done_percent: int
    note: str
    state: Literal["waiting", "confirmed", "refused", "withdrawn"]
    reported_by: str
    comment: str
    decided_at: str | None
    created_at: str


class QueueIn(TypedDict):
    """What is not sent stays; null takes a limit away; an empty list of tenants admits all, of windows is always."""

    name_en: str
    name_zh: str
    state: NotRequired[Literal["up", "down", "drain", "inactive"]]
    parent: NotRequired[str | None]
    priority: NotRequired[int]
    weight: NotRequired[int]
    ordering: NotRequired[Literal["first_come", "priority", "fair_share", "dominant_share"] | Literal[""]]
    placing: NotRequired[
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
        | Literal[""]
    ]
    resource_group: NotRequired[str]
    max_compute_percent: NotRequired[int | None]
    max_memory_mib: NotRequired[int | None]
    borrow_compute_percent: NotRequired[int]
    borrow_memory_mib: NotRequired[int]
    guaranteed_compute_percent: NotRequired[int]
    guaranteed_memory_mib: NotRequired[int]
    lend_compute_percent: NotRequired[int | None]
    lend_memory_mib: NotRequired[int | None]
    preempts: NotRequired[bool]
    reclaims: NotRequired[bool]
    is_default: NotRequired[bool]
    max_run_s: NotRequired[int | None]
    oversubscribe: NotRequired[Literal["yes", "no", "exclusive", "force"]]
    max_jobs: NotRequired[int | None]
    tenants: NotRequired[list[str]]
    windows: NotRequired[list[Window]]
    user_groups: NotRequired[list[str]]
    code: str


class QueueOut(TypedDict):
    code: str
    name_en: str
    name_zh: str
    state: Literal["up", "down", "drain", "inactive"]
    parent: str | None
    priority: int
    weight: int
    ordering: Literal["first_come", "priority", "fair_share", "dominant_share"] | Literal[""]
    placing: (
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
        | Literal[""]
    )
    resource_group: str
    max_compute_percent: int | None
    max_memory_mib: int | None
    borrow_compute_percent: int
    borrow_memory_mib: int
    guaranteed_compute_percent: int
    guaranteed_memory_mib: int
    lend_compute_percent: int | None
    lend_memory_mib: int | None
    preempts: bool
    reclaims: bool
    is_default: bool
    max_run_s: int | None
    oversubscribe: Literal["yes", "no", "exclusive", "force"]
    max_jobs: int | None
    tenants: list[str]
    windows: list[Window]
    user_groups: list[str]


class QuoteAndStartOut(TypedDict):
    """What an application would cost and when its work would start; null for what runs nothing in the pool."""

    commodity: str
    commodity_number: str
    commodity_name_zh: str
    commodity_name_en: str
    commodity_version: int
    supplier: str
    price_version: str
    price_number: int
    amounts: dict[str, int]
    count: int
    duration_s: int | None
    lines: list[QuoteLineOut]
    per_hour: str
    total: str
    coupon: QuoteCouponOut | None
    payable: str
    currency: str
    at: str
    expected_start: QuoteStartOut | None


class RemoteTaskOut(TypedDict):
    """
    One attempt of one replica at a centre. `state`: new, sending, waiting, running, succeeded, failed, stopped,
    refused or lost, since `state_at`. `is_left`: it is over, and the centre may still have it until it is stopped.
    """

    key: str
    owner: str
    desired: Literal["run", "stop"]
    state: Literal[
        "new", "sending", "waiting", "running", "succeeded", "failed", "stopped", "refused", "lost"
    ]
    state_at: str
    is_left: bool
    native_id: str
    native_state: str
    cause: str
    exit_code: int | None
    started_at: str | None
    ended_at: str | None
    seen_at: str | None
    created_at: str


class ResourceSpecOut(TypedDict):
    """Table 3. `price`: minor currency per hour; `computing_center_list`: the centres that offer it, with commas."""

    resource_spec_id: str
    resource_spec_name: str
    resource_quantity: dict[str, str]
    service_type: str
    price: int
    computing_center_list: str
    created_at: str
    updated_at: str
    offers: list[SpecOfferOut]


class ResourceTicketOut(TypedDict):
    """`user` empty: it is for each user of the tenant. `phase`: whether its period is coming, now or over."""

    uid: str
    no: str
    tenant: str
    applicant: str
    user: str
    instances: int | None
    compute_percent: int | None
    memory_mib: int | None
    from_at: str
    until_at: str
    phase: Literal["coming", "now", "over"]
    reason: str
    state: Literal["waiting", "approved", "refused", "withdrawn", "disabled", "deleted"]
    decided_by: str
    decided_at: str | None
    comment: str
    created_at: str


class RolloutStepOut(TypedDict):
    batch_no: int
    kind: Literal["server", "node"]
    node_uid: str
    name: str
    state: Literal["waiting", "upgrading", "done", "failed", "rolling_back", "rolled_back", "skipped"]
    from_version: str
    to_version: str
    reason: str
    started_at: str | None
    finished_at: str | None


class RoutingRuleIn(TypedDict):
    side: NotRequired[Literal["operator", "tenant"]]
    kind: Literal["role", "user", "organization", "post"]
    receiver: str
    step: NotRequired[str]
    field: NotRequired[str]
    value: NotRequired[str]


class RoutingRuleOut(TypedDict):
    uid: str
    step: str
    field: str
    value: str
    side: Literal["operator", "tenant"]
    kind: Literal["role", "user", "organization", "post"]
    receiver: str
    receiver_name: str


class RuleIn(TypedDict):
    code: str
    metric: Literal[
        "device_utilisation",
        "device_memory",
        "device_temperature",
        "device_power",
        "device_failed",
        "device_missing",
        "device_degraded",
        "node_utilisation",
        "node_power",
        "pool_power",
        "node_silent",
        "node_lost",
        "node_clock",
        "network_silent",
        "center_silent",
        "session_latency",
        "share_waiting",
        "share_missing",
        "queue_wait",
        "quota_used",
        "disk_used",
    ]
    comparison: NotRequired[Literal["gt", "ge", "lt", "le"]]
    threshold: float
    for_s: NotRequired[int]
    severity: NotRequired[Literal["critical", "major", "minor", "notice"]]
    subject: NotRequired[str]
    is_enabled: NotRequired[bool]


class RuleOut(TypedDict):
    code: str
    metric: Literal[
        "device_utilisation",
        "device_memory",
        "device_temperature",
        "device_power",
        "device_failed",
        "device_missing",
        "device_degraded",
        "node_utilisation",
        "node_power",
        "pool_power",
        "node_silent",
        "node_lost",
        "node_clock",
        "network_silent",
        "center_silent",
        "session_latency",
        "share_waiting",
        "share_missing",
        "queue_wait",
        "quota_used",
        "disk_used",
        "device_mismatch",
        "order_untold",
        "usage_refused",
        "usage_doubted",
    ]
    label: str
    unit: str
    is_event: bool
    comparison: Literal["gt", "ge", "lt", "le"]
    threshold: float
    for_s: int
    severity: Literal["critical", "major", "minor", "notice"]
    subject: str
    ends_after_s: int | None
    is_enabled: bool
    created_at: str
    updated_at: str


class RunIn(TypedDict):
    """All 27 tests where nothing is named."""

    level: NotRequired[int | None]
    tests: NotRequired[
        list[
            Literal[
                "12.1",
                "12.2",
                "12.3",
                "12.4",
                "12.5",
                "12.6",
                "12.7",
                "12.8",
                "12.9",
                "12.10",
                "12.11",
                "12.12",
                "12.13",
                "12.14",
                "12.15",
                "12.16",
                "12.17",
                "12.18",
                "12.19",
                "12.20",
                "12.21",
                "12.22",
                "12.23",
                "12.24",
                "12.25",
                "12.26",
                "12.27",
                "7.6c",
                "8.1a",
                "8.1b",
                "8.1c",
                "8.2a",
                "8.2b",
                "8.2c",
                "9.1",
                "9.2",
                "10.1",
                "10.2",
                "10.3",
                "10.4",
                "10.5",
                "10.6",
                "11a",
                "11c",
                "11d",
            ]
        ]
    ]
    clauses: NotRequired[bool]


class RunOut(TypedDict):
    uid: str
    state: Literal["queued", "running", "finished", "interrupted"]
    tests: list[str]
    started_by: str
    level_reached: int | None
    note: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    inventory: Any
    results: list[ResultOut]


class RunRowOut(TypedDict):
    uid: str
    state: Literal["queued", "running", "finished", "interrupted"]
    tests: list[str]
    started_by: str
    level_reached: int | None
    note: str
    created_at: str
    started_at: str | None
    ended_at: str | None


class ScalingRuleIn(TypedDict):
    """
    By queue depth (how many wait) or utilisation (percent of its shares): `low`, `high`, `step` and
    `grows_when_high`, which is true for utilisation and false for queue depth where it is not sent. By window:
    `shares` at most inside `windows`.
    """

    by: Literal["queue_depth", "utilisation", "window"]
    low: NotRequired[int]
    high: NotRequired[int]
    grows_when_high: NotRequired[bool]
    step: NotRequired[int]
    shares: NotRequired[int]
    windows: NotRequired[list[Window]]
    cooldown_s: NotRequired[int]


class ScalingRuleOut(TypedDict):
    uid: str
    by: Literal["queue_depth", "utilisation", "window"]
    low: int
    high: int
    grows_when_high: bool
    step: int
    shares: int | None
    windows: list[Window]
    cooldown_s: int
    sentence: str
    created_at: str


class ServiceOut(TypedDict):
    """
    Where a service is reached, and how it is with it. `health` is "" while it does not run; `waiting`: its program
    has ended and is being started again. `failure` is in its node's words.
    """

    address: str
    health: Literal["starting", "healthy", "unhealthy", "waiting"] | Literal[""]
    restarts: int
    failure_code: str
    failure: str
    failed_at: str | None
    port: int | None
    health_path: str
    interval_s: int


class SessionOut(TypedDict):
    """A session: its slice, and what its worker reports of the connection."""

    uid: str
    workload: str
    tenant: str
    kind: Literal["program", "session"]
    node: str
    node_uid: str
    device: str
    model: str
    compute_percent: int
    memory_mib: int
    is_exclusive: bool
    resource_group: str
    desired: Literal["running", "stopped"]
    state: Literal["desired", "starting", "running", "stopping", "exited", "failed", "released", "lost"]
    is_vouched: bool
    reason_code: str
    reason: str
    driver: str
    driver_enforced: str
    compute_enforced_by: str
    memory_enforced_by: str
    mounted: bool
    delivered_percent: float | None
    memory_used_mib: int | None
    host_cpu_milli: int
    host_memory_mib: int
    host_cpu_used_milli: int | None
    host_memory_used_mib: int | None
    host_enforced_by: str
    disk_used_mib: int | None
    disk_limit_mib: int | None
    measured_at: str | None
    moves_from: str | None
    move_state: Literal["waiting", "sending", "done", "failed"] | Literal[""]
    move_reason: str
    started_at: str | None
    created_at: str
    attached: bool
    transport: str
    bandwidth_mib_s: float | None
    latency_us: float | None
    operators: int
    idle_s: float
    pause_ms: float | None


class SetupIn(TypedDict):
    """The first operator, and what the centre begins with."""

    token: str
    username: str
    display_name: str
    email: NotRequired[str]
    password: str
    name: NotRequired[str]
    language: NotRequired[Literal["zh-hans", "en"]]
    timezone: NotRequired[str]
    mail: NotRequired[MailIn | None]


class SignInOut(TypedDict):
    token: str
    expires_at: str
    user: UserOut
    tenants: list[TenantOut]


class SliceOut(TypedDict):
    """A slice as operators see it: whose, where, what was sold and what is delivered."""

    uid: str
    workload: str
    tenant: str
    kind: Literal["program", "session"]
    node: str
    node_uid: str
    device: str
    model: str
    compute_percent: int
    memory_mib: int
    is_exclusive: bool
    resource_group: str
    desired: Literal["running", "stopped"]
    state: Literal["desired", "starting", "running", "stopping", "exited", "failed", "released", "lost"]
    is_vouched: bool
    reason_code: str
    reason: str
    driver: str
    driver_enforced: str
    compute_enforced_by: str
    memory_enforced_by: str
    mounted: bool
    delivered_percent: float | None
    memory_used_mib: int | None
    host_cpu_milli: int
    host_memory_mib: int
    host_cpu_used_milli: int | None
    host_memory_used_mib: int | None
    host_enforced_by: str
    disk_used_mib: int | None
    disk_limit_mib: int | None
    measured_at: str | None
    moves_from: str | None
    move_state: Literal["waiting", "sending", "done", "failed"] | Literal[""]
    move_reason: str
    started_at: str | None
    created_at: str


class StorageClassIn(TypedDict):
    code: str
    name_zh: str
    name_en: str
    kind: Literal["mounted", "s3"]
    path: NotRequired[str]
    endpoint: NotRequired[str]
    bucket: NotRequired[str]
    prefix: NotRequired[str]
    region: NotRequired[str]
    access_key: NotRequired[str]
    secret: NotRequired[str]


class StorageClassOut(TypedDict):
    """`check_problem` is what the last check found, "" where it worked in `check_ms`; the secret is never told."""

    code: str
    name_zh: str
    name_en: str
    kind: Literal["mounted", "s3"]
    path: str
    endpoint: str
    bucket: str
    prefix: str
    region: str
    access_key: str
    is_enabled: bool
    is_default: bool
    checked_at: str | None
    check_ms: int | None
    check_problem: str
    created_at: str


class TaskOut(TypedDict):
    uid: str
    no: str
    title: str
    subject_kind: str
    subject: str
    process: str
    process_state: str
    applicant_name: str
    organization: str
    business_system: str
    step: str
    side: str
    rule: str
    state: Literal["waiting", "done", "cancelled"]
    decisions: list[str]
    given: list[DecisionOut]
    due_at: str | None
    urged_at: str | None
    done_at: str | None
    created_at: str


class TenantDetailOut(TypedDict):
    schema: str
    name: str
    state: Literal["active", "suspended", "closed", "deleted"]
    timezone: str
    created_at: str
    lasting: list[str]


class TenantMadeOut(TypedDict):
    schema: str
    name: str
    state: Literal["active", "suspended", "closed", "deleted"]
    timezone: str
    created_at: str
    host: str
    administrator: WayInOut


class TenantRoleIn(TypedDict):
    name: str
    permissions: list[str]
    description: NotRequired[str]
    is_read_only: NotRequired[bool]
    data_permission: NotRequired[DataPermissionOut]


class TenantRoleOut(TypedDict):
    code: str
    name_en: str
    name_zh: str
    description: str
    permissions: list[str]
    is_read_only: bool
    is_builtin: bool
    created_at: str
    data_permission: DataPermissionOut


class TenantRowOut(TypedDict):
    schema: str
    name: str
    state: Literal["active", "suspended", "closed", "deleted"]
    timezone: str
    created_at: str


class TestOut(TypedDict):
    """A test of the catalogue; level 0 is one of our own."""

    number: str
    level: int
    title: TextOut
    clauses: list[str]
    steps: dict[str, TextOut]
    expectations: dict[str, TextOut]


class TicketFieldData(TypedDict):
    """A field of a ticket's form."""

    name: NotRequired[str]
    label_zh: NotRequired[str]
    label_en: NotRequired[str]
    kind: NotRequired[Literal["text", "long", "number", "choice", "date"]]
    is_required: NotRequired[bool]
    choices: NotRequired[list[str]]
    value: NotRequired[Any]
    opening: NotRequired[Literal["read_write", "read_only", "hidden"]]
    handling: NotRequired[Literal["read_write", "read_only", "hidden"]]
    steps: NotRequired[dict[str, Literal["read_write", "read_only", "hidden"]]]


class TicketOut(TypedDict):
    uid: str
    no: str
    category: str
    category_name: str
    title: str
    subject_kind: str
    subject: str | None
    subject_no: str
    side: Literal["operator", "tenant"]
    state: Literal["waiting", "delivering", "asked", "done", "failed", "closed"]
    is_manual: bool
    submitter_name: str
    organization: str
    business_system: str
    assignee: str
    result: Any
    created_at: str
    claimed_at: str | None
    done_at: str | None
    answer_due_at: str | None
    solve_due_at: str | None
    is_answer_overdue: bool
    is_solve_overdue: bool
    rating: int | None


class TransactionOut(TypedDict):
    uid: str
    kind: Literal["deposit", "rate", "bill", "payment", "refund", "correction", "write_off", "cost"]
    reference: str
    reason: str
    total: str
    balance_change: str
    coupon_amount: str
    balance_after: str
    created_at: str


class TrialOut(TypedDict):
    """What would become of the job at this instant. `model`: the evaluation model in force."""

    at: str
    model: str
    weights: dict[str, str]
    is_placed: bool
    tasks: list[TriedTaskOut]


class ValidityRuleIn(TypedDict):
    """A purpose without a period is valid at all times."""

    name: str
    users: list[str]
    periods: NotRequired[list[Period]]


class ValidityRuleOut(TypedDict):
    id: int
    name: str
    users: list[str]
    periods: list[Period]
    created_at: str
    updated_at: str


class WaitsForOut(TypedDict):
    """Other work that it waits for, or waited for: until when, and whether it still does."""

    kind: Literal["after", "after_ok", "after_any", "after_not_ok"]
    uid: str
    no: str
    name: str
    is_open: bool


class WhatIfOut(TypedDict):
    uid: str
    name: str
    days: int
    state: Literal["waiting", "running", "done", "failed"]
    changes: dict[str, Any]
    result: dict[str, Any]
    error: str
    made_by: str
    created_at: str
    ended_at: str | None


class WireJobData(TypedDict):
    """`data` of A.3."""

    jobId: str
    name: str
    status: str
    taskInfos: list[WireTaskWhole]


class WireJobMade(TypedDict):
    """`data` of A.1."""

    jobId: str
    taskInfos: list[WireTaskInfo]


class WireJobMadeOut(TypedDict):
    """The answer of A.1."""

    status: int
    code: str
    errorMsg: str
    data: WireJobMade


class WireJobOut(TypedDict):
    """The answer of A.3."""

    status: int
    code: str
    errorMsg: str
    data: WireJobData


class WorkingHoursData(TypedDict):
    hours: list[WorkingSpan]


class WorkingHoursOut(TypedDict):
    hours: list[WorkingSpan]
    timezone: str
    special_days: list[SpecialDayOut]


class WorkloadIn(TypedDict):
    """
    What is asked for; amounts are per share. A fixed environment decides them, else a specification does.

    Each `shares_per_replica` shares are a replica, on one node: how many is said in `replicas` and `min_replicas`, or
    in `shares` and `min_shares`, which count them all.
    """

    name: str
    kind: NotRequired[Literal["program", "session"]]
    argv: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]
    secrets: NotRequired[list[str]]
    image: NotRequired[str]
    folder: NotRequired[str]
    web: NotRequired[bool]
    serve: NotRequired[int | None]
    health: NotRequired[str]
    volumes: NotRequired[list[str]]
    assets: NotRequired[list[str]]
    outputs: NotRequired[str]
    requirements: NotRequired[str]
    checkpoint_signal: NotRequired[str]
    checkpoint_command: NotRequired[list[str]]
    signal: NotRequired[str]
    spec: NotRequired[str]
    environment: NotRequired[str]
    compute_percent: NotRequired[int | None]
    memory_mib: NotRequired[int | None]
    mig_profile: NotRequired[str]
    shares: NotRequired[int | None]
    replicas: NotRequired[int | None]
    shares_per_replica: NotRequired[int]
    whole_cards: NotRequired[bool]
    distinct_devices: NotRequired[bool]
    single_node: NotRequired[bool]
    queue: NotRequired[str]
    business_system: NotRequired[str]
    priority: NotRequired[int | None]
    urgent: NotRequired[bool]
    preemptible: NotRequired[bool]
    oversubscribe: NotRequired[bool]
    min_shares: NotRequired[int | None]
    min_replicas: NotRequired[int | None]
    host_cpu_milli: NotRequired[int]
    host_memory_mib: NotRequired[int]
    scratch_disk_mib: NotRequired[int]
    earliest_start_at: NotRequired[str | None]
    deadline_at: NotRequired[str | None]
    array: NotRequired[str]
    after: NotRequired[list[str]]
    after_ok: NotRequired[list[str]]
    after_any: NotRequired[list[str]]
    after_not_ok: NotRequired[list[str]]
    purpose: NotRequired[str]
    any_models: NotRequired[list[str]]
    reservation: NotRequired[str]
    client_key: NotRequired[str]
    max_attempts: NotRequired[int]
    retry_delay_s: NotRequired[int]
    vendor: NotRequired[str]
    model: NotRequired[str]
    node: NotRequired[str]
    device: NotRequired[str]
    resource_group: NotRequired[str]
    affinity: NotRequired[str]
    anti_affinity: NotRequired[str]
    placing: NotRequired[str]
    local_node: NotRequired[str]
    run_timeout_s: NotRequired[int | None]
    idle_timeout_s: NotRequired[int | None]
    requeue_on_loss: NotRequired[bool]
    driver: NotRequired[str]
    wait_for_quota: NotRequired[bool]


class WorkloadOut(TypedDict):
    """
    `expected_start` is None unless it waits and somebody can say; `slices` are all it ever had; `wanted_shares` is
    what its scaling rules ask for, `size` what it was told, both of elastic work alone.
    """

    uid: str
    no: str
    name: str
    kind: Literal["program", "session"]
    tenant: str
    order_uid: str | None
    submitted_by: str
    state: Literal["pending", "placed", "running", "stopping", "finished", "failed", "lost", "suspended"]
    reason_code: str
    reason: str
    position: int | None
    queue: str
    priority: int
    environment: str
    environment_uid: str | None
    spec: str
    shares: int
    shares_per_replica: int
    replicas: int
    min_replicas: int | None
    current_replicas: int
    compute_percent: int
    memory_mib: int
    whole_cards: bool
    distinct_devices: bool
    single_node: bool
    placing: (
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
        | Literal[""]
    )
    local_node: str
    resource_group: str
    affinity: str
    anti_affinity: str
    driver: str
    pins: Any
    run_timeout_s: int | None
    idle_timeout_s: int | None
    requeue_on_loss: bool
    attempt: int
    array: ArrayOfTaskOut | None
    array_index: int | None
    array_progress: ProgressOut | None
    min_shares: int | None
    active_shares: int | None
    urgent: bool
    preemptible: bool
    preemptions: int
    checkpoint_at: str | None
    host_cpu_milli: int
    host_memory_mib: int
    scratch_disk_mib: int
    mig_profile: str
    earliest_start_at: str | None
    deadline_at: str | None
    purpose: Literal["training", "development", "inference", "visualization"] | Literal[""]
    client_key: str
    folder: str
    outputs: str | None
    labels: Any
    node: str
    device: str
    created_at: str
    placed_at: str | None
    started_at: str | None
    ended_at: str | None
    wanted_shares: int | None
    size: SizeOut | None
    waits_for: list[WaitsForOut]
    secrets: list[str]
    requirements: list[str]
    expected_start: str | None
    grants: list[WorkloadGrantOut]
    slices: list[WorkloadSliceOut]


class WorkloadRowOut(TypedDict):
    uid: str
    no: str
    name: str
    kind: Literal["program", "session"]
    tenant: str
    order_uid: str | None
    submitted_by: str
    state: Literal["pending", "placed", "running", "stopping", "finished", "failed", "lost", "suspended"]
    reason_code: str
    reason: str
    position: int | None
    queue: str
    priority: int
    environment: str
    environment_uid: str | None
    spec: str
    shares: int
    shares_per_replica: int
    replicas: int
    min_replicas: int | None
    current_replicas: int
    compute_percent: int
    memory_mib: int
    whole_cards: bool
    distinct_devices: bool
    single_node: bool
    placing: (
        Literal[
            "spread",
            "best_fit",
            "local",
            "local_first",
            "node_balanced",
            "node_compact",
            "device_balanced",
            "device_compact",
            "fragmentation",
        ]
        | Literal[""]
    )
    local_node: str
    resource_group: str
    affinity: str
    anti_affinity: str
    driver: str
    pins: Any
    run_timeout_s: int | None
    idle_timeout_s: int | None
    requeue_on_loss: bool
    attempt: int
    array: ArrayOfTaskOut | None
    array_index: int | None
    array_progress: ProgressOut | None
    min_shares: int | None
    active_shares: int | None
    urgent: bool
    preemptible: bool
    preemptions: int
    checkpoint_at: str | None
    host_cpu_milli: int
    host_memory_mib: int
    scratch_disk_mib: int
    mig_profile: str
    earliest_start_at: str | None
    deadline_at: str | None
    purpose: Literal["training", "development", "inference", "visualization"] | Literal[""]
    client_key: str
    folder: str
    outputs: str | None
    labels: Any
    node: str
    device: str
    created_at: str
    placed_at: str | None
    started_at: str | None
    ended_at: str | None


class AlarmDetailOut(TypedDict):
    uid: str
    key: str
    level: Literal["critical", "major", "minor", "notice"]
    state: Literal["firing", "acknowledged", "resolved"]
    source: str
    rule: str
    subject_kind: str
    subject_id: str
    title: str
    params: Any
    count: int
    fired_at: str
    raised_at: str
    acknowledged_at: str | None
    acknowledged_by: str
    resolved_at: str | None
    created_at: str
    deliveries: list[DeliveryOut]


class BillLineWholeOut(TypedDict):
    """`unit_amount` × `share_seconds` ÷ the seconds of `price_unit` = `exact`, rounded half up to `amount`."""

    uid: str
    order_no: str
    order_uid: str | None
    workload_uid: str
    job_id: str
    commodity_zh: str
    commodity_en: str
    business_system: str
    organization: str
    person: str
    work_name: str
    component: str
    name_zh: str
    name_en: str
    quantity: str
    unit: str
    mode: str
    price_unit: str
    tier_method: str
    price_number: int
    steps: list[PriceStepOut]
    unit_amount: str
    share_seconds: int
    exact: str
    accrued: str
    amount: str
    price_version: PriceVersionOut
    records: BillItemsOut


class BranchOut(TypedDict):
    """A queue in the tree with what its whole branch uses (ELA-1101); depth counts from 0."""

    queue: QueueOut
    depth: int
    compute_percent: int
    memory_mib: int
    running: int
    waiting: int
    oldest_at: str | None
    borrowed_percent: int


class BulkIn(TypedDict):
    """Many at once, all taken in or none."""

    jobs: list[WorkloadIn]


class CentreOut(TypedDict):
    name: str
    language: str
    timezone: str
    sends_tickets: bool
    keeps_quotas: bool
    legal_name: str
    address: str
    tax_number: str
    bank: str
    currency: str
    mail: MailOut | None
    is_mail_fixed: bool
    opened_at: str


class FormIn(TypedDict):
    lines: list[FormLineIn]
    duration_s: int | None
    business_system: NotRequired[str | None]
    remark: NotRequired[str]
    data: NotRequired[dict[str, Any]]
    coupon: NotRequired[str | None]
    volumes: NotRequired[list[str]]
    cart: NotRequired[list[str]]


class JobOut(TypedDict):
    """A job (table 7) with its tasks (table 8), where their replicas are, and why there."""

    id: str
    tenant: str
    name: str
    desc: str
    user_name: str
    created_user: str
    job_type: str
    priority: int
    is_gang: bool
    state: Literal["pending", "running", "completed", "failed", "stopped"]
    created_at: str
    dispatched_at: str | None
    ended_at: str | None
    stop_asked_at: str | None
    revision: int
    success_policy: str
    failure_policy: str
    retries: int | None
    retries_made: int
    replaces_lost: bool
    weights: dict[str, str] | None
    reason: str
    tasks: list[JobTaskOut]
    decisions: list[JobDecisionOut]
    cost: JobCostOut


class NodeDetailOut(TypedDict):
    uid: str
    name: str
    state: Literal["ready", "lost", "drained", "removed"]
    is_drained: bool
    is_leaving: bool
    is_upgrading: bool
    address: str
    components: dict[str, str]
    power_w: float | None
    power_source: str
    last_seen_at: str
    lost_at: str | None
    agent_version: str
    clock_offset_s: float
    hostname: str
    os: str
    cpu_count: int
    memory_mib: int
    labels: dict[str, str]
    created_at: str
    devices: list[DeviceOut]
    tasks: list[SliceOut]


class PaginatedPriceVersionOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[PriceVersionOut]


class PaginatedProcessAppOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ProcessAppOut]


class PaginatedProgressReportOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ProgressReportOut]


class PaginatedRemoteTaskOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RemoteTaskOut]


class PaginatedResourceSpecOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ResourceSpecOut]


class PaginatedResourceTicketOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ResourceTicketOut]


class PaginatedRuleOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RuleOut]


class PaginatedRunRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RunRowOut]


class PaginatedSessionOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SessionOut]


class PaginatedSliceOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[SliceOut]


class PaginatedStorageClassOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[StorageClassOut]


class PaginatedTenantRoleOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TenantRoleOut]


class PaginatedTenantRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TenantRowOut]


class PaginatedTicketOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TicketOut]


class PaginatedTransactionOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[TransactionOut]


class PaginatedValidityRuleOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[ValidityRuleOut]


class PaginatedWhatIfOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[WhatIfOut]


class PaginatedWorkloadRowOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[WorkloadRowOut]


class PatchedTicketCategoryChangeIn(TypedDict):
    """What is not named stays as it is."""

    name_zh: NotRequired[str]
    name_en: NotRequired[str]
    hint_zh: NotRequired[str]
    hint_en: NotRequired[str]
    answer_minutes: NotRequired[int | None]
    solve_minutes: NotRequired[int | None]
    is_enabled: NotRequired[bool]
    form: NotRequired[list[TicketFieldData]]
    steps: NotRequired[list[TicketStepData]]


class ProcessOut(TypedDict):
    """One run of an approval: the time line."""

    uid: str
    process: str
    state: Literal["running", "approved", "rejected", "sent_back", "withdrawn"]
    created_at: str
    tasks: list[ProcessStepOut]


class RolloutOut(TypedDict):
    uid: str
    release: str
    config: Any
    batch: int
    gate_s: int
    state: Literal["running", "paused", "rolling_back", "done", "rolled_back", "cancelled"]
    reason: str
    created_by: str
    created_at: str
    finished_at: str | None
    steps: list[RolloutStepOut]


class TicketCategoryIn(TypedDict):
    """What is not named stays as it is."""

    name_zh: str
    name_en: str
    hint_zh: NotRequired[str]
    hint_en: NotRequired[str]
    answer_minutes: NotRequired[int | None]
    solve_minutes: NotRequired[int | None]
    is_enabled: NotRequired[bool]
    form: NotRequired[list[TicketFieldData]]
    steps: NotRequired[list[TicketStepData]]
    parent: str


class TicketCategoryOfferedOut(TypedDict):
    """A category in which a ticket can be opened, with the fields that are then shown."""

    uid: str
    path: str
    parent: str | None
    name: str
    hint: str
    form: list[TicketFieldData]
    answer_minutes: int | None
    solve_minutes: int | None


class TicketCategoryOut(TypedDict):
    uid: str
    builtin: Literal["service", "system", "om"] | Literal[""] | None
    path: str
    parent: str | None
    name_zh: str
    name_en: str
    hint_zh: str
    hint_en: str
    form: list[TicketFieldData]
    steps: list[TicketStepData]
    rules: list[RoutingRuleOut]
    answer_minutes: int | None
    solve_minutes: int | None
    is_enabled: bool


class FormOut(TypedDict):
    """A form with its parts: lines, attachments, orders and the time line of its approval."""

    uid: str
    no: str
    kind: Literal["new", "change", "termination", "regularization"]
    state: Literal["draft", "submitted", "approving", "approved", "delivering", "completed", "rejected"]
    applicant_name: str
    organization_name: str
    business_system: str
    business_system_number: str
    target_order: str | None
    duration_s: int | None
    remark: str
    total: str
    note: str
    submitted_at: str | None
    created_at: str
    updated_at: str
    data: Any
    volumes: Any
    coupon_uid: str | None
    lines: list[FormLineOut]
    attachments: list[AttachmentOut]
    orders: list[FormOrderOut]
    processes: list[ProcessOut]
    is_withdrawable: bool


class OrderOut(TypedDict):
    """An order with its quote, tickets and the time line of its approvals."""

    uid: str
    no: str
    form: str
    form_no: str
    state: Literal["pending", "processing", "shipped", "completed", "terminating", "terminated", "failed"]
    commodity_name: str
    supplier: str
    applicant_name: str
    organization_name: str
    business_system: str
    duration_s: int | None
    workload: str | None
    volume: str | None
    ticket: str | None
    note: str
    started_at: str | None
    ended_at: str | None
    end_reason_code: str
    end_reason: str
    created_at: str
    updated_at: str
    quote: QuoteOut
    tickets: list[TicketOut]
    processes: list[ProcessOut]


class PaginatedRolloutOutList(TypedDict):
    next: NotRequired[str | None]
    previous: NotRequired[str | None]
    results: list[RolloutOut]


class FormAgainOut(TypedDict):
    """A draft made of a former form, and what of it is not as it was, in sentences."""

    form: FormOut
    changed: list[str]
