"""Work asks for Python packages: which texts are taken, what its node is told, and where it can run."""

import pytest

from apps.fleet.models import Node, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from node_agent.protocol.slices import WorkSpec
from tests.apps.scheduling.test_submit import PROGRAM, SESSION, alice, api, pool, row_of, submit  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-CMP-10")]
TEXT = "# what it needs\nNumPy >= 1.26\n\nrequests[socks]==2.32.3 ; python_version > '3.8'  # for the index\n"
LINES = ["numpy>=1.26", 'requests[socks]==2.32.3; python_version > "3.8"']
ZEROS = "0" * 64


def installing(node: str, version: str = "3.11") -> None:
    """The node tells that it installs packages."""
    row = Node.objects.get(name=node)
    row.info = {**row.info, "packages": version}
    row.save(update_fields=["info"])


def test_work_goes_to_a_node_that_installs_packages_and_the_node_is_told_which(api):  # noqa: F811
    installing("n2")
    found = submit(api, requirements=TEXT)
    assert found["requirements"] == LINES
    cycle_run(actor=SYSTEM)
    slice_ = Slice.plain.get()
    assert slice_.node.name == "n2"
    told = WorkSpec.model_validate(slice_.work).packages
    assert told is not None
    assert (told.owner, list(told.requirements)) == ("acme", LINES)
    assert api.get(f"/api/v1/workloads/{found['uid']}").json()["requirements"] == LINES


def test_texts_that_say_the_same_are_told_the_same_whoever_of_a_tenant_sends_them(api):  # noqa: F811
    installing("n1")
    first = submit(api, requirements=TEXT)
    second = submit(api, requirements="\n".join(reversed(TEXT.lower().splitlines())))
    assert row_of(first).work["packages"] == row_of(second).work["packages"]


def test_where_no_node_installs_packages_it_is_refused_with_a_clear_word(api):  # noqa: F811
    assert "installs packages" in submit(api, requirements=TEXT, expect=400)["message"]
    installing("n1")
    submit(api, requirements=TEXT)


def test_many_at_once_have_theirs(api):  # noqa: F811
    installing("n1")
    jobs = [{**PROGRAM, "name": f"j{n}", "requirements": TEXT} for n in range(3)]
    assert api.post("/api/v1/workloads/bulk", {"jobs": jobs}, format="json").status_code == 201
    told = [row.work["packages"]["requirements"] for row in Workload.objects.across()]
    assert told == [LINES] * 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("numpy\n-r more.txt", "Line 2: options such as -r are not taken"),
        ("--index-url https://example.org/simple\nnumpy", "options such as --index-url"),
        ("-e .", "options such as -e"),
        ("numpy @ https://example.org/numpy.whl", "Line 1: addresses and files"),
        ("git+https://example.org/x.git", "addresses and files"),
        ("./here\nnumpy", "addresses and files"),
        ("numpy.whl", "addresses and files"),
        ("numpy\n\nnumpy ==", "Line 3: it is no package"),
        ("numpy --no-deps", "only --hash may follow"),
        (f"numpy --hash=md5:{ZEROS[:32]}", "only --hash may follow"),
        (f"numpy==1 --hash=sha256:{ZEROS}\nscipy", "Line 2: it has no hash"),
        ("# nothing\n", "names no package"),
        ("\n".join(f"a{n}" for n in range(501)), "501 packages"),
    ],
)
def test_what_is_not_taken_is_refused_with_its_line_and_changes_nothing(api, text, said):  # noqa: F811
    installing("n1")
    error = submit(api, requirements=text, expect=400)
    assert said in error["fields"]["requirements"]
    assert not Workload.objects.across().exists()


def test_a_text_without_end_and_one_for_a_session_are_refused(api):  # noqa: F811
    installing("n1")
    assert "requirements" in submit(api, requirements="a" * 70_000, expect=400)["fields"]
    assert "requirements" in submit(api, body=SESSION, requirements=TEXT, expect=400)["fields"]


def test_hashes_are_kept_and_a_line_may_go_on(api):  # noqa: F811
    installing("n1")
    found = submit(
        api, requirements=f"numpy==2.1.0 \\\n    --hash=sha256:{ZEROS} \\\n    --hash=sha256:{'1' * 64}\n"
    )
    assert found["requirements"] == [f"numpy==2.1.0 --hash=sha256:{ZEROS} --hash=sha256:{'1' * 64}"]


def test_the_page_takes_them_by_lines_and_shows_them_with_the_work(alice):  # noqa: F811
    installing("n1")
    page = alice.page()
    asked = {"name": "page", "kind": "program", "command": "python x.py", "queue": "default", "compute_percent": 10,
             "memory_mib": 256, "requirements": TEXT.replace("\n", "\r\n")}  # fmt: skip
    answer = page.post("/resources/submit/", asked)
    assert answer.status_code == 302, answer.content.decode()[:2000]
    (row,) = Workload.objects.across()
    assert row.work["packages"]["requirements"] == LINES
    shown = page.get(answer["Location"]).content.decode()
    assert "numpy&gt;=1.26" in shown
