"""VS Code in the browser, from its template to a file in its editor, where a node has its server."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from node_agent.web.vscode import server_find
from tests.browser.visitor import Visitor

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("portal"),
    pytest.mark.skipif(not server_find(), reason="code-server is not installed"),
    pytest.mark.req("PLAT-AICFG-9", "PLAT-AICFG-14"),
]
START_MS = 300_000


def test_an_environment_of_it_is_started_and_edits_the_works_files(visit: Callable[[str], Visitor]) -> None:
    admin, alice = visit("admin"), visit("alice")
    name = f"code-{uuid4().hex[:6]}"
    admin.go("scheduling_admin-environment_templates")
    admin.press("template-new")
    admin.fill("template-name", name)
    admin.at("template-software").select_option("vscode")
    admin.fill("template-compute_percent", "60")
    admin.fill_amount("template-memory_mib", "2", "GiB")
    admin.press("template-save")
    expect(admin.part("template-row", name)).to_contain_text("VS Code")
    alice.go("workloads-environments")
    alice.part("environment-template", name).locator("[data-test=environment-start]").click()
    alice.page.wait_for_url(re.compile(r"/resources/[0-9a-f-]{36}/$"))
    with alice.context.expect_page() as opened:
        alice.press("open-web")
    editor = opened.value
    expect(editor.locator(".monaco-workbench")).to_be_visible(timeout=START_MS)
    # Its files come by WebSocket: until then it shows none.
    expect(editor.locator(".explorer-viewlet, .explorer-folders-view").first).to_be_visible(timeout=START_MS)
    expect(editor.locator(".statusbar")).to_be_visible(timeout=START_MS)
    alice.press("stop")
    alice.confirm()
    expect(alice.at("open-web")).to_have_count(0)
