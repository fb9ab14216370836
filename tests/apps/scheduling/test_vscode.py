"""VS Code in the browser: a kind of environment that runs where a node has its server."""

import pytest

from apps.fleet.models import Node, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.types import VSCODE_COMMAND, program_of
from tests.apps.scheduling.test_environment_templates import API, admin, made
from tests.apps.scheduling.test_submit import alice, api, pool, submit

__all__ = ["admin", "alice", "api", "pool"]
pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-AICFG-9", "PLAT-AICFG-14")]


def has_server(node: str) -> None:
    """The node tells that VS Code's server is installed there."""
    row = Node.objects.get(name=node)
    row.components = {**row.components, "vscode": "code-server"}
    row.info = {**row.info, "components": row.components}
    row.save(update_fields=["info", "components"])


def test_it_goes_to_a_node_that_has_it_and_where_none_has_it_is_refused(api):
    assert (
        "ask the operator to install its server"
        in submit(api, argv=list(VSCODE_COMMAND), expect=400)["message"]
    )
    has_server("n2")
    submit(api, argv=list(VSCODE_COMMAND), web=True)
    cycle_run(actor=SYSTEM)
    assert Slice.plain.get().node.name == "n2"


def test_other_work_needs_none():
    assert program_of(("python", "-m", "node_agent.web.jupyterlab")) == ""
    assert program_of((*VSCODE_COMMAND, "--verbose")) == "vscode"


def test_operators_offer_it_and_are_told_where_no_node_has_it(admin, alice, api):
    note = "no node has its server"
    page = admin.page()
    assert note in page.get("/scheduling/environments/new/").content.decode()
    has_server("n1")
    assert note not in page.get("/scheduling/environments/new/").content.decode()
    template = made(admin, software="vscode")
    answer = alice.api().post(f"{API}/{template['uid']}/start", {}, format="json")
    assert answer.status_code == 201, answer.json()
    row = Workload.objects.across().get(uid=answer.json()["uid"])
    assert (row.work["argv"], row.work["web"]) == (list(VSCODE_COMMAND), True)
    assert row.pins["program"] == "vscode"
