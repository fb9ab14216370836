"""From an empty installation to a paid bill through a client that a generator wrote of docs/openapi.yaml, and by
nothing else: whoever integrates the centre needs no page, and no line written by hand."""

import base64
import importlib
import io
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from portal.devstack import bootstrap
from portal.devstack.stack import Stack
from tests.harness.joined_node import joined_node
from tests.harness.jupyter import cell_computed
from tests.harness.portal import empty_centre

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("empty centre")]
PASSWORD = "correct-horse-9"
PATIENCE_S = 180.0
AMOUNTS = {"compute_share": 30, "gpu_memory": 1024, "cpu": 1, "memory": 1024}
# Pieces of files have types of their own, of which the generator has to be told that they are bytes.
CONFIG = """
content_type_overrides:
  application/offset+octet-stream: application/octet-stream
  application/vnd.weir.bundle: application/octet-stream
"""
CELL = """
import os
text = open('/volumes/data/notes.txt').read()
open('/volumes/data/result.txt', 'w').write(text.upper())
print('share', os.environ['WEIR_COMPUTE_PERCENT'], 6 * 7)
"""
# Of each component: the least, the most, what is usual; and the price of one of its units for an hour.
RANGES = {
    "compute_share": (1, 100, 30, "1.20"),
    "gpu_memory": (128, 4096, 1024, "40"),
    "cpu": (1, 2, 1, "6"),
    "memory": (256, 4096, 1024, "2"),
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A centre in which there is nothing."""
    with empty_centre(tmp_path_factory, "generated") as found:
        yield found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package that the generator writes."""
    folder = tmp_path_factory.mktemp("client")
    command = [str(Path(sys.executable).parent / "openapi-python-client"), "generate", "--meta", "none"]
    document = bootstrap.ROOT / "docs" / "openapi.yaml"
    config = folder / "config.yaml"
    config.write_text(CONFIG)
    where = ["--config", str(config), "--path", str(document), "--output-path", str(folder / "centre_api")]
    subprocess.run(
        [*command, *where],
        check=True,
        capture_output=True,
        timeout=120,
    )
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("centre_api")
    finally:
        sys.path.remove(str(folder))


class Person:
    """Who calls the API by the generated client, in a role; what is refused fails the test in the API's own words."""

    def __init__(self, written: ModuleType, url: str) -> None:
        self._written, self._url = written, url
        self.models = importlib.import_module(f"{written.__name__}.models")
        self.types = importlib.import_module(f"{written.__name__}.types")
        self._client = written.Client(base_url=url, timeout=60)

    def sign_in(self, username: str, **headers: str) -> "Person":
        body = {"username": username, "password": PASSWORD}
        token = self.call("auth.auth_login_create", "SignInIn", body).token
        found = Person(self._written, self._url)
        found._client = self._written.AuthenticatedClient(
            base_url=self._url, token=token, timeout=60, headers=headers
        )
        return found

    def call(self, name: str, kind: str = "", body: Any = None, **values: Any) -> Any:
        """The generated function `name`, with a generated `kind` made of `body`, or with `body` as it is."""
        module = importlib.import_module(f"{self._written.__name__}.api.{name}")
        if kind:
            values["body"] = getattr(self.models, kind).from_dict(body or {})
        elif body is not None:
            values["body"] = body
        answer = module.sync_detailed(client=self._client, **values)
        assert answer.status_code < 300, (name, answer.content.decode())
        return answer.parsed

    def wait(self, what: str, look: Callable[[], Any]) -> Any:
        until = time.monotonic() + PATIENCE_S
        while not (found := look()):
            assert time.monotonic() < until, f"waited in vain for {what}"
            time.sleep(0.3)
        return found

    def decide(self, no: str, tenant: str = "") -> None:
        """Approve what waits for this person of the application `no`."""
        mine = self.wait(
            f"the task of {no}",
            lambda: next((one for one in self.call("tasks.tasks_list").results if one.no == no), None),
        )
        there = (
            self.sign_in("ada", **{"Weir-Role": "operations_manager", "Weir-Tenant": tenant})
            if tenant
            else self
        )
        there.call("tasks.tasks_decide_create", "DecideIn", {"decision": "approve"}, uid=mine.uid)


def opened(nobody: Person, empty: Stack) -> tuple[Person, Person]:
    """The centre is set up; its first operator in both of his roles."""
    token = re.search(r"token=([^&\s]+)", empty.welcome)[1]
    first = {"token": token, "username": "ada", "display_name": "Ada First", "password": PASSWORD}
    nobody.call("setup.setup_create", "SetupIn", first | {"name": "Lakeside Centre", "language": "en"})
    system = nobody.sign_in("ada", **{"Weir-Role": "system_administrator"})
    return system, nobody.sign_in("ada", **{"Weir-Role": "operations_manager"})


def tenant_made(nobody: Person, system: Person) -> Person:
    """The tenant, and its administrator by the invitation."""
    given = {
        "schema": "north",
        "name": "North Lab",
        "administrator": {"display_name": "Nora North"},
        "business_system": {"name": "Speech", "number": "N-1"},
    }
    made = system.call("tenants.tenants_create", "TenantIn", given)
    joined(nobody, made.administrator.secret, "nora")
    return nobody.sign_in("nora")


def joined(nobody: Person, secret: str, username: str) -> None:
    given = {"tenant": "north", "secret": secret, "username": username, "display_name": username.title()}
    given["password"] = PASSWORD
    nobody.call("invitations.invitations_accept_create", "InvitationAcceptIn", given)


def person_made(nobody: Person, nora: Person, username: str, role: str) -> Person:
    made = nora.call(
        "invitations.invitations_create",
        "InvitationIn",
        {"display_name": username.title(), "roles": [role]},
    )
    joined(nobody, made.secret, username)
    return nobody.sign_in(username)


def process_made(ops: Person, name: str, kind: str, key: str) -> str:
    """A form with a field of its own, and the process that decides it, published."""
    form = ops.call(
        "form_templates.form_templates_create",
        "FormTemplateIn",
        {"name_zh": name, "name_en": name, "kind": kind},
    )
    field = {"kind": "text", "label_zh": "用途", "label_en": "What for", "version": form.version}
    ops.call("form_templates.form_templates_fields_create", "FormFieldIn", field, code=form.code)
    processes = ops.call("process_templates.process_templates_list").results
    process = next(one for one in processes if one.key == key)
    given = {"name_zh": name, "name_en": name, "category": "compute", "form_template": form.code}
    made = ops.call(
        "process_applications.process_applications_create",
        "ProcessAppIn",
        given | {"process_template": str(process.uid)},
    )
    ops.call("process_applications.process_applications_act", uid=made.uid, action="publish")
    return str(made.uid)


def commodity_made(ops: Person) -> str:
    """Category, processes, and a commodity with its price, in the catalogue."""
    names = {"name_zh": "算力", "name_en": "Compute"}
    ops.call("categories.categories_create", "CategoryNewIn", names)
    new = process_made(ops, "Application", "new", "application_approval")
    end = process_made(ops, "Early end", "termination", "termination_approval")
    parts = [
        {"component": code, "minimum": least, "maximum": most, "default": usual}
        for code, (least, most, usual, _price) in RANGES.items()
    ]
    given = {"kind": "environment", "name_zh": "笔记本", "name_en": "Notebook", "category": "compute"}
    given |= {"process_app": new, "termination_app": end, "environment": "lab", "components": parts}
    made = ops.call("commodities.commodities_create", "CommodityDefinition", given)
    lines = [{"component": code, "tiers": [[None, price]]} for code, (*_range, price) in RANGES.items()]
    ops.call("commodities.commodities_prices_create", "PricesIn", {"lines": lines}, uid=made.uid)
    ops.call("commodities.commodities_act", uid=made.uid, action="list")
    return str(made.uid)


def volume_made(eva: Person, name: str, text: str) -> Any:
    """A volume of one's own with a file in it, which goes up in one piece."""
    volume = eva.call("volumes.volumes_create", "VolumeIn", {"name": "data", "size_mib": 64})
    piece = text.encode()
    done = eva.call(
        "volumes.volumes_uploads_create",
        uid=volume.uid,
        body=eva.types.File(io.BytesIO(piece)),
        tus_resumable=eva.models.VolumesUploadsCreateTusResumable("1.0.0"),
        upload_length=len(piece),
        upload_metadata=f"path {base64.b64encode(name.encode()).decode()}",
    )
    assert done.finished_at is not None
    return volume


def file_read(eva: Person, volume: Any, path: str) -> str:
    found = eva.call("volumes.volumes_content_retrieve", uid=volume.uid, path=path)
    return found.payload.read().decode()


def ordered(eva: Person) -> Any:
    """From the catalogue to a submitted application."""
    goods = eva.call("commodities.commodities_list", search="Notebook").results[0]
    system = eva.call("business_systems.business_systems_list").results[0]
    form = eva.call(
        "application_forms.application_forms_create",
        "FormIn",
        {
            "lines": [{"commodity": str(goods.uid), "amounts": AMOUNTS, "count": 1}],
            "duration_s": 3600,
            "business_system": str(system.uid),
            "remark": "a first notebook",
            "volumes": ["data"],
        },
    )
    return eva.call("application_forms.application_forms_submit_create", uid=form.uid)


def delivered(eva: Person, form: Any) -> Any:
    def look() -> Any:
        orders = eva.call("application_forms.application_forms_retrieve", uid=form.uid).orders
        found = orders and eva.call("orders.orders_retrieve", uid=orders[0].uid)
        return found if found and found.state == "completed" else None

    return eva.wait("the delivery", look)


def paid(olga: Person) -> Any:
    """The bill of all that was used, made, confirmed and paid."""
    bill = olga.call("bills.bills_create", "BillIn", {})
    olga.call("bills.bills_confirm_create", uid=bill.uid)
    return olga.call("bills.bills_pay_create", "PayIn", {}, uid=bill.uid)


@pytest.mark.req(
    "PLAT-CMP-4", "PLAT-CMP-20", "PLAT-OPS-12", "PLAT-TEN-8", "PLAT-APPLY-1", "PLAT-APPLY-22", "PLAT-OPS-32"
)
def test_an_integrator_goes_from_nothing_to_a_paid_bill_by_a_generated_client(
    empty: Stack, written: ModuleType, tmp_path: Path
) -> None:
    nobody = Person(written, empty.base_url)
    system, ops = opened(nobody, empty)
    nora = tenant_made(nobody, system)
    eva, dora, olga = (
        person_made(nobody, nora, name, role)
        for name, role in (
            ("eva", "tenant_front_line"),
            ("dora", "tenant_decision_maker"),
            ("olga", "tenant_operations_manager"),
        )
    )
    speech = nora.call("business_systems.business_systems_list").results[0]
    nora.call(
        "business_systems.business_systems_members_create", "UsernameIn", {"username": "eva"}, uid=speech.uid
    )
    lab = {"name": "lab", "compute_percent": 30, "memory_mib": 1024}
    system.call("environment_templates.environment_templates_create", "EnvironmentTemplateIn", lab)
    commodity_made(ops)
    ops.call("tenants.tenants_account_create", schema="north")
    deposit = {"amount": "500.00", "reference": "P-1"}
    ops.call("tenants.tenants_deposit_create", "DepositIn", deposit, schema="north")
    token = system.call("agent_tokens.agent_tokens_create", "AgentTokenIn", {"note": "rack1"}).secret
    line = f"WEIR_AGENT_SERVER={empty.base_url} WEIR_AGENT_JOIN_TOKEN={token} WEIR_AGENT_NAME=rack1"
    storage = empty.var_dir / "storage"
    with joined_node(tmp_path, f"{line} python -m node_agent", storage=storage):
        system.wait("the node", lambda: system.call("nodes.nodes_list").results)
        volume = volume_made(eva, "notes.txt", "from the desk")
        form = ordered(eva)
        dora.decide(form.no)
        ops.decide(form.no, tenant="north")
        order = delivered(eva, form)
        work = eva.call("workloads.workloads_list").results[0]
        assert (work.state, work.compute_percent) == ("running", 30)
        opens = eva.call("workloads.workloads_web_create", uid=work.uid).url
        assert cell_computed(empty, opens, CELL) == "share 30 42\n"
        assert file_read(eva, volume, "result.txt") == "FROM THE DESK"

        larger = {"amounts": {"compute_share": 40}, "reason": "a larger model"}
        change = eva.call("orders.orders_change_create", "ChangeIn", larger, uid=order.uid)
        dora.decide(change.no)
        ops.decide(change.no, tenant="north")
        done = eva.call("application_forms.application_forms_retrieve", uid=change.uid)
        assert (done.state, done.note) == ("completed", "")
        assert eva.call("workloads.workloads_retrieve", uid=work.uid).compute_percent == 40

        end = eva.call("orders.orders_terminate_create", "TerminateIn", {"reason": "done"}, uid=order.uid)
        dora.decide(end.no)
        eva.wait(
            "the end",
            lambda: eva.call("orders.orders_retrieve", uid=order.uid).state == "terminated",
        )
        olga.wait("its use", lambda: Decimal(olga.call("account.account_retrieve").unbilled))
        eva.wait(
            "the stop", lambda: eva.call("workloads.workloads_retrieve", uid=work.uid).state != "stopping"
        )
        bill = paid(olga)
    assert bill.state == "paid"
    assert Decimal(bill.total) > 0
