"""Bad files and bodies: refused with a cause and a cure, nothing is changed; what is taken has lost its power."""

import io
import json
import zipfile

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.contracts.test_bad_input import API, BODIES, draft, page_refused, refused
from tests.factories.picture import nothing_changes
from tests.factories.world import good

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]

# --- attachments -----------------------------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n"


def zipped(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, b"0" * 1000)
    return packed.getvalue()


FORBIDDEN = {
    "beyond the limit": ("big.txt", lambda: b"x" * (settings.WEIR_UPLOAD_MAX_BYTES + 1)),
    "empty": ("empty.txt", lambda: b""),
    "no ending": ("README", lambda: b"text"),
    "a page": ("page.html", lambda: b"<script>alert(1)</script>"),
    "a drawing with script": ("logo.svg", lambda: b"<svg onload='alert(1)'/>"),
    "a program": ("run.exe", lambda: b"MZ"),
    "a page called picture": ("page.png", lambda: b"<script>alert(1)</script>"),
    "a program called text": ("run.txt", lambda: b"\x7fELF\x00\x01"),
    "a page called document": ("plan.pdf", lambda: b"<html>"),
    "an archive called document": ("plan.docx", lambda: zipped("../../etc/cron.d/x")),
    "no archive": ("data.zip", lambda: b"MZ"),
    "a notebook that is none": ("book.ipynb", lambda: b"[" * 100_000),
    "two endings": ("a.png.html", lambda: PNG),
    "an ending in another script": ("a.рng", lambda: PNG),
}


@pytest.mark.req("PLAT-APPLY-5")
def test_forbidden_files_are_refused_on_api_and_page(world):
    form = draft(world, world.api("alice"))["uid"]
    with nothing_changes():
        for name, content in FORBIDDEN.values():
            path = f"{API}/application-forms/{form}/attachments"
            sent = SimpleUploadedFile(name, content())
            error = refused(world.api("alice").post(path, {"file": sent}, format="multipart"), 400)
            assert error["fields"]["file"], name
            page_refused(
                world.page("alice").post(
                    f"/forms/{form}/attach/", {"file": SimpleUploadedFile(name, content())}
                ),
                400,
            )
        refused(world.api("alice").post(path, {}, format="multipart"), 400)
        page_refused(world.page("alice").post(f"/forms/{form}/attach/", {}), 400)
        others = f"{API}/application-forms/{world.uids['acme']['waiting_form']}/attachments"
        refused(
            world.api("dan").post(others, {"file": SimpleUploadedFile("a.txt", b"a")}, format="multipart"),
            403,
            404,
        )


@pytest.mark.req("PLAT-APPLY-5")
def test_a_file_keeps_neither_path_nor_power(world):
    alice = world.api("alice")
    form = draft(world, alice)["uid"]
    names = {
        "../../../etc/passwd.txt": "passwd.txt",
        "..\\..\\boot.txt": "boot.txt",
        "a\u202etxt.exe.txt": "atxt.exe.txt",
        "<img src=x onerror=alert(1)>.txt": "img src=x onerror=alert(1).txt",
    }
    for sent, kept in names.items():
        path = f"{API}/application-forms/{form}/attachments"
        made = good(alice.post(path, {"file": SimpleUploadedFile("f.txt", b"<script>")}, format="multipart"))
        made = good(alice.post(path, {"file": named(sent)}, format="multipart"))
        assert made["name"] == kept
    disguised = SimpleUploadedFile("logo.png", PNG + b"<script>alert(1)</script>")
    uid = good(alice.post(path, {"file": disguised}, format="multipart"))["uid"]
    for answer in (
        alice.get(f"{API}/attachments/{uid}"),
        world.page("alice").get(f"/attachments/{uid}/?view=1"),
    ):
        assert answer["Content-Type"] == "image/png"
        assert answer["X-Content-Type-Options"] == "nosniff"
    assert alice.get(f"{API}/attachments/{uid}")["Content-Disposition"].startswith("attachment")
    assert "sandbox" in world.page("alice").get(f"/attachments/{uid}/?view=1")["Content-Security-Policy"]


def named(name):
    """A file whose sent name is exactly this, which Django's own class would shorten."""
    file = SimpleUploadedFile("f.txt", b"text")
    file._name = name
    return file


# --- processes -------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CFG-21")
@pytest.mark.parametrize(
    "evil",
    [
        '<bpmn:scriptTask id="evil"><bpmn:script>import os; os.system("id")</bpmn:script></bpmn:scriptTask>',
        '<bpmn:serviceTask id="evil" implementation="os.system"/>',
        '<bpmn:userTask id="evil" name="__import__(\'os\')"><bpmn:extensionElements><spiff:preScript'
        ' xmlns:spiff="http://spiffworkflow.org/bpmn/schema/1.0/core">import os</spiff:preScript>'
        "</bpmn:extensionElements></bpmn:userTask>",
        '<bpmn:businessRuleTask id="evil"/>',
        '<bpmn:callActivity id="evil" calledElement="other"/>',
    ],
)
def test_a_process_with_code_in_it_is_refused_naming_the_element(world, evil):
    xml = (settings.BASE_DIR / "workflows/definitions/application_approval.bpmn").read_text()
    with nothing_changes():
        file = SimpleUploadedFile("p.bpmn", xml.replace("</bpmn:process>", evil + "</bpmn:process>").encode())
        answer = world.api("ops").post(
            f"{API}/process-templates", {"key": "evil", "file": file}, format="multipart"
        )
        assert "evil" in json.dumps(refused(answer, 400))


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.req("PLAT-CFG-21")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b"\xff\xfe\x00",
        b"<a/>",
        f"{BOMB}<x>&b;</x>".encode(),
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>',
        b"<a>" * 20_000,
        b"x" * (513 * 1024),
        zipped("p.bpmn"),
    ],
    ids=range(9),
)
def test_what_is_no_process_is_refused(world, data):
    with nothing_changes():
        file = SimpleUploadedFile("p.bpmn", data)
        answer = world.api("ops").post(
            f"{API}/process-templates", {"key": "evil", "file": file}, format="multipart"
        )
        assert "root:" not in json.dumps(refused(answer, 400))


@pytest.mark.req("PLAT-CFG-18")
def test_a_condition_that_would_run_code_is_refused(world):
    xml = (settings.BASE_DIR / "workflows/definitions/application_approval.bpmn").read_text()
    with nothing_changes():
        for code in (
            "__import__('os').system('id')",
            "open('/etc/passwd').read()",
            "().__class__",
            "9**9**9",
        ):
            evil = xml.replace("decision == 'approve'", code).replace('decision == "approve"', code)
            assert evil != xml
            file = SimpleUploadedFile("p.bpmn", evil.encode())
            refused(
                world.api("ops").post(
                    f"{API}/process-templates", {"key": "e", "file": file}, format="multipart"
                ),
                400,
            )


@pytest.mark.req("PLAT-APPLY-5")
def test_no_answer_is_left_to_the_browser_to_guess(world):
    alice, page = world.api("alice"), world.page("alice")
    logs = alice.get(world.fill(f"{API}/workloads/{{resource}}/logs"))
    assert logs["Content-Type"] == "application/json"
    for answer in (logs, page.get("/orders/"), alice.get(world.fill(f"{API}/attachments/{{attachment}}"))):
        assert answer["X-Content-Type-Options"] == "nosniff"
    policy = page.get("/orders/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert page.get("/orders/")["X-Frame-Options"] == "DENY"


# --- bodies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_is_no_json_object_is_refused(world, body):
    alice = world.api("alice")
    with nothing_changes():
        for path in ("quotes", "cart", "application-forms", "auth/login", "tokens"):
            refused(alice.post(f"{API}/{path}", body, content_type="application/json"), 400)
    refused(alice.post(f"{API}/quotes", "x", content_type="text/plain"), 415)


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(world):
    body = json.dumps({"a": "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)})
    answer = world.api("alice").post(f"{API}/quotes", body, content_type="application/json")
    refused(answer, 413, code="too_large")


def test_an_address_with_a_nul_in_it_is_refused_on_api_and_page(world):
    refused(world.api("alice").get(f"{API}/orders?search=%00"), 400)
    refused(world.api("admin").get(f"{API}/nodes/%00"), 400)
    page_refused(world.page("alice").get("/orders/?search=%00"), 400)
