"""People as files, by page and by API: looked at first, taken whole or not at all, nobody doubled, nothing run."""

import csv
import io
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from openpyxl import load_workbook
from rest_framework.test import APIClient

from apps.audit.models import Record
from apps.identity.models import Membership, OperatorBinding, User
from apps.identity.services.operator_organizations import operator_organization_create
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.kernel.spreadsheet import FILE_MAX_BYTES
from apps.kernel.workbook import xlsx_pieces
from apps.orgs.models import Invitation, Member, RoleBinding
from apps.orgs.services.invitations import invitation_make
from apps.orgs.services.organizations import organization_create
from tests.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-25")]
ADMIN, FRONT, MANAGER = "tenant_system_administrator", "tenant_front_line", "tenant_operations_manager"
HEAD = "Login account,Name,E-mail,Organization,Roles\n"
HTMX = {"hx-request": "true"}


@pytest.fixture
def admin(member):
    person = member("acme", ADMIN, "ada")
    User.objects.filter(pk=person.user.pk).update(email="ada@example.org")
    return person


@pytest.fixture
def lab(admin):
    with in_tenant("acme"):
        top = organization_create(actor=SYSTEM, name="Institute")
        return organization_create(actor=SYSTEM, name="Lab", parent=top)


@pytest.fixture
def bob(member, admin):
    person = member("acme", FRONT, "bob")
    User.objects.filter(pk=person.user.pk).update(email="bob@example.org")
    return person


def upload(text, name="people.csv"):
    data = text if isinstance(text, bytes) else text.encode()
    return SimpleUploadedFile(name, data, "application/octet-stream")


def sent(client, text, path="/api/v1/people/import", **more):
    return client.post(path, {"file": upload(text), **more}, format="multipart")


def rows_of(answer):
    assert answer.status_code == 200, answer.content
    return {row["row"]: row for row in answer.json()["rows"]}


def roles_of(username):
    with in_tenant("acme"):
        held = RoleBinding.objects.filter(user__username=username)
        return sorted(held.values_list("role__code", flat=True))


def test_new_people_are_invited_and_who_is_here_is_changed(admin, bob, lab):
    text = (
        f"{HEAD},Eve Early,eve@example.org,Institute / Lab,{FRONT}; Decision maker\n"
        f"BOB,Bob Boson,,lab,{MANAGER}\n"
        ",Ada,ADA@example.org,,\n"
    )
    tried = rows_of(sent(admin.api(), text, dry_run="true"))
    assert [tried[row]["change"] for row in (2, 3, 4)] == ["new", "changed", "changed"]
    assert "Organization: – → Lab" in tried[3]["changes"]
    assert tried[2]["secret"] == "", "what was tried opens nothing"
    with in_tenant("acme"):
        assert not Invitation.objects.exists()
        assert not Member.objects.exists()
    assert roles_of("bob") == [FRONT]
    assert not Record.objects.filter(name="invitation_make").exists(), (
        "a preview leaves no record of what was not done"
    )
    done = rows_of(sent(admin.api(), text))
    with in_tenant("acme"):
        invitation = Invitation.objects.get()
        assert invitation.organization == lab
        assert {role.code for role in invitation.roles.all()} == {FRONT, "tenant_decision_maker"}
    assert roles_of("bob") == [MANAGER]
    bob.user.refresh_from_db()
    assert (bob.user.display_name, bob.user.email) == ("Bob Boson", "bob@example.org"), (
        "an empty cell changes nothing"
    )
    given = {
        "tenant": "acme",
        "secret": done[2]["secret"],
        "username": "eve",
        "password": PASSWORD,
        "display_name": "Eve",
    }
    joined = APIClient(headers={"host": "localhost"}).post("/api/v1/invitations/accept", given, format="json")
    assert joined.status_code == 201
    assert {"people_import", "invitation_make", "person_edit"} <= set(
        Record.objects.values_list("name", flat=True)
    )
    assert done[2]["secret"] not in str(list(Record.objects.values_list("detail", flat=True)))


def test_a_second_import_of_the_same_file_doubles_nobody(admin, lab):
    text = f"{HEAD},Eve,eve@example.org,Lab,{FRONT}\n"
    assert rows_of(sent(admin.api(), text))[2]["change"] == "new"
    again = rows_of(sent(admin.api(), text))[2]
    assert (again["change"], again["secret"]) == ("same", "")
    with in_tenant("acme"):
        assert Invitation.objects.count() == 1


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (",Eve,no-mail,,", "E-mail"),
        (",,eve@example.org,,", "Name"),
        (",Eve,,,", "cannot be recognised"),
        ("nobody,Eve,eve@example.org,,", "Nobody here has the login account nobody"),
        (",Eve,eve@example.org,Nowhere,", "no organization Nowhere"),
        (",Eve,eve@example.org,,Chief", "no role Chief"),
        (f",Eve,two@example.org,,{FRONT}", "Several people here have this e-mail"),
        (",Other,bob@example.org,,", "uses this account outside"),
        ("bob,,,,\n,bob,bob@example.org,,", "same person as in row 2"),
        (",Eve,eve@example.org,,\n,Eve,EVE@example.org,,", "same person as in row 2"),
        (f",{'x' * 121},eve@example.org,,", "at most 120"),
    ],
)
def test_each_bad_row_is_named_with_its_cause_and_nothing_is_written(
    admin, bob, globex, member, lab, row, cause
):
    for name in ("twin1", "twin2"):
        twin = member("acme", FRONT, name)
        User.objects.filter(pk=twin.user.pk).update(email="two@example.org")
    Membership.objects.create(user=bob.user, tenant=globex)
    text = f"{HEAD}{row}\n,Good,good@example.org,Lab,{FRONT}\n"
    tried = rows_of(sent(admin.api(), text, dry_run="true"))
    refused = [one for one in tried.values() if one["change"] == "refused"]
    assert len(refused) == 1
    assert cause in refused[0]["fault"]
    answer = sent(admin.api(), text)
    assert answer.status_code == 400
    assert cause in answer.json()["error"]["fields"][f"Row {refused[0]['row']}"]
    with in_tenant("acme"):
        assert not Invitation.objects.exists(), "the good rows are not written either"


@pytest.mark.req("PLAT-TEN-32")
def test_a_file_does_no_more_than_its_sender_may(admin, member, lab):
    manager = member("acme", MANAGER, "olga").api()
    text = f"{HEAD},Eve,eve@example.org,,{ADMIN}\nada,Mallory,,,\n"
    refused = rows_of(sent(manager, text, dry_run="true"))
    assert {row["change"] for row in refused.values()} == {"refused"}
    assert "may do more than yours" in refused[2]["fault"]
    reader = member("acme", FRONT, "reader").api()
    assert sent(reader, text).status_code == 403
    assert reader.get("/api/v1/people/export").status_code == 403
    last = sent(admin.api(), f"{HEAD}ada,,,,{FRONT}\n")
    assert "last administrator" in last.json()["error"]["fields"]["Row 2"]


def test_a_file_that_cannot_be_taken_says_why(admin):
    for text, cause in (
        ("", "empty"),
        (HEAD, "no rows"),
        ("Login account,E-mail\nx,y\n", "lacks the column Name"),
        ("Name,Colour\nBob,red\n", "Colour"),
        ("Name,Name\nBob,Bob\n", "twice"),
        (b"\x00\x01", "cannot be read"),
    ):
        answer = sent(admin.api(), text)
        assert (answer.status_code, cause in str(answer.json())) == (400, True), (text, answer.json())
    assert sent(admin.api(), "x" * (FILE_MAX_BYTES + 1)).status_code == 413
    assert (
        sent(admin.api(), "Name,E-mail\n" + "".join(f"P,p{n}@example.org\n" for n in range(1001))).status_code
        == 413
    )


def test_what_is_exported_is_taken_back_and_changes_nothing(admin, bob, lab):
    User.objects.filter(pk=bob.user.pk).update(display_name='=HYPERLINK("http://x")')
    with in_tenant("acme"):
        Member.objects.create(user=bob.user, organization=lab)
    client = admin.api()
    data = client.get("/api/v1/people/export").content
    table = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert table[0] == ["Login account", "Name", "E-mail", "Organization", "Roles", "State"]
    assert [
        "bob",
        '\'=HYPERLINK("http://x")',
        "bob@example.org",
        "Institute / Lab",
        "Front-line staff",
        "Enabled",
    ] in table
    book = client.get("/api/v1/people/export?format=xlsx&search=bob").content
    sheet = load_workbook(io.BytesIO(book)).active
    assert (sheet.max_row, sheet["B2"].data_type) == (2, "s"), "the search narrows, a formula stays text"
    for file in (data, book):
        assert {row["change"] for row in rows_of(sent(client, file)).values()} == {"same"}
    in_chinese = client.get("/api/v1/people/export", headers={"accept-language": "zh-hans"}).content
    assert "登录账号" in in_chinese.decode()
    assert {row["change"] for row in rows_of(sent(client, in_chinese)).values()} == {"same"}, (
        "read in any language"
    )
    assert client.get("/api/v1/people/export?format=exe").status_code == 400
    assert Record.objects.filter(name="people_export").count() == 3


def test_the_template_lists_what_may_stand_in_it(admin, lab):
    book = load_workbook(io.BytesIO(admin.api().get("/api/v1/people/import/template?format=xlsx").content))
    assert [cell.value for cell in book.worksheets[0][1]][:2] == ["Login account", "Name"]
    assert "Institute / Lab" in [cell.value for cell in book["Organizations"]["A"]]
    assert "Front-line staff" in [cell.value for cell in book["Roles"]["A"]]


def test_a_formula_in_a_workbook_is_refused_by_its_row(admin):
    from openpyxl import Workbook

    book, written = Workbook(), io.BytesIO()
    for row in (["Name", "E-mail"], ["=1+1", "eve@example.org"]):
        book.active.append(row)
    book.save(written)
    assert "A2 holds a formula" in rows_of(sent(admin.api(), written.getvalue(), dry_run="true"))[2]["fault"]


def shown(text, test):
    return re.search(rf'data-test="{test}"[^>]*>([^<]+)<', text, re.S)[1].strip()


def field(text, name):
    return re.search(rf'name="{name}" value="([^"]*)"', text)[1]


def test_by_the_page_a_file_is_looked_at_confirmed_and_its_links_shown_once(admin, bob, lab):
    page = admin.page()
    page.cookies["django_language"] = "en"
    assert 'data-test="people-import"' in page.get("/people/").content.decode()
    assert "format=csv&amp;search=bo" in page.get("/people/?search=bo").content.decode()
    assert page.get("/people/export/?format=xlsx").status_code == 200
    assert page.get("/people/import/template/?format=csv").status_code == 200
    path = "/people/import/"
    assert 'data-test="import-form"' in page.get(path).content.decode()
    bad = page.post(
        path, {"file": upload(f"{HEAD},Eve,no-mail,,\n"), "days": 7}, headers=HTMX
    ).content.decode()
    assert 'data-change="refused"' in bad
    assert 'data-test="import-take"' not in bad
    text = f"{HEAD},Eve,eve@example.org,Lab,{FRONT}\nbob,Bob Boson,,,\n"
    seen = page.post(path, {"file": upload(text), "days": 7}).content.decode()
    assert 'data-change="new"' in seen
    with in_tenant("acme"):
        assert not Invitation.objects.exists()
    confirm = {name: field(seen, name) for name in ("table", "seen", "days")}
    User.objects.filter(pk=bob.user.pk).update(display_name="Somebody else")
    changed = page.post(path, confirm, headers=HTMX)
    assert (changed.status_code, b"have changed since the preview" in changed.content) == (409, True)
    User.objects.filter(pk=bob.user.pk).update(display_name=seen.split("Name: ")[1].split(" →")[0])
    done = page.post(path, confirm).content.decode()
    link = shown(done, "made-secret")
    assert link.startswith("http://acme.localhost/join/weirinv_")
    assert 'download="weir-people.csv"' in done
    with in_tenant("acme"):
        assert Invitation.objects.count() == 1
    assert page.post(path, {"days": 7}).status_code == 400
    assert page.post(path, {"days": 7, "table": "no base64"}).status_code == 400


def test_who_is_invited_already_is_not_invited_twice(admin):
    with in_tenant("acme"):
        invitation_make(actor=SYSTEM, display_name="Eve", email="Eve@example.org")
    row = rows_of(sent(admin.api(), "Name,E-mail\nEve,eve@example.org\n"))[2]
    assert (row["change"], row["changes"]) == ("same", ["Invited already"])


# --- operators -------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-37")
def test_operators_are_brought_in_and_changed_by_a_file(operator, member):
    root = operator("system_administrator", username="root")
    member("acme", FRONT, "ann")
    client, path = root.api(), "/api/v1/operators/import"
    operator_organization_create(actor=SYSTEM, name="Night shift")
    text = f"{HEAD}opal,Opal,opal@example.org,Night shift,Front-line staff\nroot,Root Boss,,,\n"
    tried = rows_of(sent(client, text, path, dry_run="true"))
    assert [tried[row]["change"] for row in (2, 3)] == ["new", "changed"]
    assert not User.objects.filter(username="opal").exists()
    done = rows_of(sent(client, text, path))
    opal = User.objects.get(username="opal")
    assert opal.check_password(done[2]["secret"])
    assert (opal.must_change_password, opal.is_operator) == (True, True)
    assert OperatorBinding.objects.get(user=opal).role.code == "front_line"
    assert str(opal.organization) == "Night shift"
    for row, cause in (("ann,Ann,,", "taken"), (",Zoe,zoe@example.org,", "No operator has this e-mail")):
        refused = rows_of(sent(client, f"Login account,Name,E-mail,Roles\n{row}\n", path, dry_run="true"))[2]
        assert (refused["change"], cause in refused["fault"]) == ("refused", True), refused
    assert (
        sent(client, "Name,Login account\n" + "".join(f"P,p{n}\n" for n in range(101)), path).status_code
        == 413
    )
    data = client.get("/api/v1/operators/export?search=opal").content
    assert b"ann" not in data
    assert {row["change"] for row in rows_of(sent(client, data, path)).values()} == {"same"}
    assert client.get("/api/v1/operators/import/template?format=xlsx").status_code == 200
    junior = operator("executive", username="junior").api()
    assert sent(junior, text, path).status_code == 403
    assert sent(member("acme", ADMIN, "ada").api(), text, path).status_code == 403


@pytest.mark.req("PLAT-TEN-37")
def test_by_the_operators_page_first_passwords_are_shown_once(operator):
    page = operator("system_administrator", username="root").page()
    page.cookies["django_language"] = "en"
    assert 'data-test="people-import"' in page.get("/operators/").content.decode()
    path = "/operators/import/"
    assert 'data-test="import-form"' in page.get(path).content.decode()
    data = b"".join(xlsx_pieces([("People", [["Login account", "Name"], ["opal", "Opal"]])]))
    seen = page.post(path, {"file": upload(data, "people.xlsx")}).content.decode()
    done = page.post(path, {name: field(seen, name) for name in ("table", "seen")}).content.decode()
    assert User.objects.get(username="opal").check_password(shown(done, "made-secret"))
    assert page.get("/operators/export/?format=xlsx").status_code == 200
    assert page.get("/operators/import/template/?format=csv").status_code == 200
