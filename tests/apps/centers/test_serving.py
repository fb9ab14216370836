"""Which tenants a centre serves, and under which account their work runs there."""

from dataclasses import replace

import pytest
from django.utils import timezone

from apps.centers import runner
from apps.centers.adapters import kinds
from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.errors import CenterSaysNo, CenterServesNot
from apps.centers.models import Center, CenterTenant, RemoteTask
from apps.centers.runner import CenterWatch
from apps.centers.services import centers
from apps.centers.services.centers import center_change, center_credential_set, center_remove
from apps.centers.services.credentials import credential_open
from apps.centers.services.remote_tasks import remote_task_log, remote_task_request
from apps.centers.services.tenants import (
    center_serves_set,
    center_tenant_keep,
    center_tenant_remove,
    center_tenant_set,
)
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from tests.apps.centers.telling import TELLING, Told

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-2")]
ENGLISH = {"accept-language": "en"}


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator")


@pytest.fixture
def shared(monkeypatch, telling):
    """The telling kind, which does not keep tenants apart here."""
    kind = replace(TELLING, keeps_apart=False, sharing="They read each other's work.")
    monkeypatch.setitem(kinds.KINDS, "telling", kind)
    return telling


@pytest.fixture
def watch(monkeypatch):
    """Watches that do everything at each turn."""
    for name in ("POLL_S", "FOLLOW_S", "SETTLE_S", "MISSING_S", "_STOP_AGAIN_S"):
        monkeypatch.setattr(runner, name, 0.0)
    monkeypatch.setattr(runner, "_SHARE", 1e9)
    monkeypatch.setattr(CenterWatch, "_pause_s", lambda *_: 0.0)
    return CenterWatch


def ask(key, tenant):
    return remote_task_request(
        actor=SYSTEM,
        center=Center.objects.get(),
        key=key,
        message=JobMessage("x", Quantities(cpu=1)),
        owner="o",
        tenant=tenant,
    )


def named():
    return {row.tenant.schema_name: row.account for row in CenterTenant.objects.select_related("tenant")}


def set_(tenant, **account):
    return center_tenant_set(actor=SYSTEM, ai_center_id="lake", tenant=tenant, account=account)


def test_a_kind_that_keeps_tenants_apart_serves_all_and_another_nobody(join, shared, monkeypatch, acme):
    join()
    with pytest.raises(CenterServesNot):
        ask("weir-1", "acme")
    assert Center.objects.get().serves == "named"
    monkeypatch.setitem(kinds.KINDS, "telling", TELLING)
    assert join("river").serves == "all"


def test_all_may_share_only_where_it_is_said(join, shared, acme, globex):
    join()
    with pytest.raises(InvalidInput) as error:
        center_serves_set(actor=SYSTEM, ai_center_id="lake", serves="all")
    assert "does not keep tenants apart" in str(error.value.fields["may_share"])
    with pytest.raises(InvalidInput):
        join("sea", serves="all")
    assert list(Center.objects.values_list("ai_center_id", "serves")) == [("lake", "named")]
    center_serves_set(actor=SYSTEM, ai_center_id="lake", serves="all", may_share=True)
    assert ask("weir-1", "acme").account == {}
    assert join("sea", serves="all", may_share=True).serves == "all"
    joined = join("pond", tenants=["acme"])
    assert (joined.serves, joined.tenants.get().tenant) == ("named", acme)
    with pytest.raises(NotFound):
        join("bog", tenants=["nobody"])
    assert not Center.objects.filter(ai_center_id="bog").exists()


def test_named_tenants_alone_get_work_there_and_one_taken_off_nothing_new(join, shared, acme, globex):
    join(tenants=["acme"])
    row = ask("weir-1", "acme")
    with pytest.raises(CenterServesNot):
        ask("weir-2", "globex")
    center_tenant_remove(actor=SYSTEM, ai_center_id="lake", tenant="acme")
    with pytest.raises(CenterServesNot):
        ask("weir-3", "acme")
    # What is there goes on, and the same question again finds it.
    assert ask("weir-1", "acme") == row
    assert list(RemoteTask.objects.values_list("key", "desired")) == [("weir-1", "run")]
    with pytest.raises(NotFound):
        center_tenant_remove(actor=SYSTEM, ai_center_id="lake", tenant="acme")


def test_an_account_is_tried_first_and_is_one_tenants_alone(join, shared, telling, acme, globex):
    join()
    telling.say(barred=["ghost"])
    for account, error in (
        ({"user": "root"}, CenterSaysNo),
        ({"user": "ghost"}, CenterSaysNo),
        ({"account": "x"}, InvalidInput),
        ({"user": "a", "colour": "blue"}, InvalidInput),
        ({"user": "a\x00b"}, InvalidInput),
        ({"user": "x" * 64}, InvalidInput),
    ):
        with pytest.raises(error):
            set_("acme", **account)
    assert named() == {}
    set_("acme", user="ann", account="physics")
    with pytest.raises(Conflict, match="another tenant's"):
        set_("globex", user="ann")
    set_("globex", user="bob")
    set_("acme", user="ann", account="")
    assert named() == {"acme": {"user": "ann"}, "globex": {"user": "bob"}}


@pytest.mark.parametrize("leaves", ["taken off", "another account", "no account", "centre joined again"])
def test_an_account_that_a_tenant_ever_had_is_no_other_tenants(join, shared, acme, globex, leaves):
    """Its folder holds the tenant's logs, and its jobs may still run."""
    join()
    set_("acme", user="u1")
    if leaves == "taken off":
        center_tenant_remove(actor=SYSTEM, ai_center_id="lake", tenant="acme")
    elif leaves == "centre joined again":
        center_remove(actor=SYSTEM, ai_center_id="lake")
        join()
    else:
        set_("acme", **({"user": "u2"} if leaves == "another account" else {}))
    before = named()
    with pytest.raises(Conflict, match="is, or was, another tenant's") as refused:
        set_("globex", user="u1")
    assert "Name another" in str(refused.value.cure)
    # Asked of the write alone too: somebody may have named it while the centre was asked.
    with pytest.raises(Conflict, match="is, or was, another tenant's"):
        center_tenant_keep(
            actor=SYSTEM, ai_center_id="lake", tenant=globex, account={"user": "u1"}, revision=1
        )
    assert named() == before
    # It may have it back.
    set_("acme", user="u1")
    assert named() == {"acme": {"user": "u1"}}


def test_work_runs_is_followed_and_is_read_as_its_tenants_user(join, shared, telling, watch, acme, globex):
    turn = watch(join().pk).turn
    set_("acme", user="ann")
    set_("globex", user="bob")
    for key, tenant in (("weir-a", "acme"), ("weir-g", "globex")):
        ask(key, tenant)
    turn()
    telling.say(job_state="running")
    turn()
    assert telling.users == {"weir-a": "ann", "weir-g": "bob"}
    rows = {row.key: row for row in RemoteTask.objects.all()}
    assert {row.state for row in rows.values()} == {"running"}
    assert remote_task_log(rows["weir-a"], 0).decode() == f"output of {rows['weir-a'].native_id}"
    # The number of another's job leads nowhere.
    rows["weir-a"].native_id = rows["weir-g"].native_id
    with pytest.raises(CenterSaysNo):
        remote_task_log(rows["weir-a"], 0)
    # Another account is for new work: what runs is followed to its end under the old one.
    set_("acme", user="anna")
    ask("weir-b", "acme")
    center_tenant_remove(actor=SYSTEM, ai_center_id="lake", tenant="globex")
    telling.say(job_state="succeeded")
    turn()
    turn()
    assert telling.users == {"weir-a": "ann", "weir-g": "bob", "weir-b": "anna"}
    assert set(RemoteTask.objects.values_list("state", flat=True)) == {"succeeded"}


def test_a_job_that_another_user_gave_ones_key_is_not_taken_for_it(
    join, shared, telling, watch, acme, globex
):
    """Keys are seen in the cluster's queue: who makes a job under a key that is still to come is not believed."""
    turn = watch(join().pk).turn
    set_("acme", user="ann")
    with telling.path.with_suffix(".jobs").open("a") as jobs:
        jobs.write('{"key": "weir-a", "native_id": "666", "user": "bob", "command": "", "env": {}}\n')
    ask("weir-a", "acme")
    turn()
    row = RemoteTask.objects.get()
    assert (row.state, row.native_id != "666") == ("waiting", True)
    assert telling.made == ["weir-a", "weir-a"]


def test_an_account_that_is_let_in_no_more_holds_up_nobody_else(join, shared, telling, watch, acme, globex):
    center = join()
    watching = watch(center.pk)
    set_("acme", user="ann")
    set_("globex", user="bob")
    ask("weir-a", "acme")
    ask("weir-g", "globex")
    watching.turn()
    telling.say(barred=["ann"], job_state="running")
    for _time in range(5):
        watching.turn()
    states = dict(RemoteTask.objects.values_list("key", "state"))
    assert states == {"weir-a": "waiting", "weir-g": "running"}
    assert Center.objects.get().status == 1
    # For as long as a centre may be silent it is waited for; then its work is lost.
    Center.objects.update(stale_after_s=1, lost_after_s=2)
    watching._barred = dict.fromkeys(watching._barred, 0.0)
    watching.turn()
    states = dict(RemoteTask.objects.values_list("key", "state"))
    assert states == {"weir-a": "lost", "weir-g": "running"}
    # New work of that account is refused, so that it goes elsewhere.
    ask("weir-b", "acme")
    watching.turn()
    assert RemoteTask.objects.get(key="weir-b").state == "refused"


def test_accounts_are_tried_wherever_a_centre_is_to_be_reached(join, shared, telling, tmp_path, acme, globex):
    """At another place the same name may be an administrator's, or its folder open to all."""
    join()
    for tenant, user in (("acme", "ann"), ("globex", "bob")):
        set_(tenant, user=user)
    place = Told(tmp_path / "other.json").say(barred=["ann", "bob"])
    moved = {
        "actor": SYSTEM,
        "ai_center_id": "lake",
        "facts": {},
        "settings": {"address": str(place.path)},
        "secrets": {"token": "right"},
    }
    with pytest.raises(CenterSaysNo) as refused:
        center_change(**moved)
    for words in (
        "acme as ann: The centre knows no user ann.",
        "globex as bob: The centre knows no user bob.",
    ):
        assert words in str(refused.value.message)
    telling.say(token="newer", barred=["bob"])
    newer = {"actor": SYSTEM, "ai_center_id": "lake", "secrets": {"token": "newer"}}
    with pytest.raises(CenterSaysNo, match="globex as bob"):
        center_credential_set(**newer)
    row = Center.objects.get()
    assert (row.settings["address"], row.revision) == (str(telling.path), 1)
    assert credential_open(row) == {"token": "right"}
    telling.say(barred=[])
    center_credential_set(**newer)
    place.say(barred=[])
    assert center_change(**moved).settings["address"] == str(place.path)


def test_an_account_that_is_named_while_others_are_tried_is_not_passed_over(
    join, shared, telling, monkeypatch, acme
):
    join()

    checked = centers._accounts_check

    def late(*words):
        found = checked(*words)
        CenterTenant.objects.create(
            center=Center.objects.get(),
            tenant=acme,
            account={"user": "ann"},
            holder="ann",
            changed_at=timezone.now(),
        )
        return found

    monkeypatch.setattr(centers, "_accounts_check", late)
    with pytest.raises(Conflict, match="changed meanwhile"):
        center_credential_set(actor=SYSTEM, ai_center_id="lake", secrets={"token": "right"})
    assert Center.objects.get().revision == 1


def test_operators_say_it_by_api(admin, join, shared, acme):
    api = admin.api()
    join()
    kind = next(each for each in api.get("/api/v1/center-kinds").json() if each["code"] == "telling")
    assert (kind["keeps_apart"], kind["sharing"]) == (False, "They read each other's work.")
    assert [field["name"] for field in kind["account_inputs"]] == ["user", "account"]
    row = api.get("/api/v1/centers/lake").json()
    assert (row["serves"], row["tenants"]) == ("named", [])
    answer = api.put("/api/v1/centers/lake/tenants/acme", {"account": {"user": "ann"}})
    assert answer.status_code == 200, answer.json()
    told = answer.json()["tenants"][0]
    assert (told["tenant"], told["name"], told["account"]) == ("acme", acme.name, {"user": "ann"})
    assert api.put("/api/v1/centers/lake/tenants/nobody", {}).status_code == 404
    refused = api.put("/api/v1/centers/lake/serves", {"serves": "all"})
    assert "may_share" in refused.json()["error"]["fields"]
    assert (
        api.put("/api/v1/centers/lake/serves", {"serves": "all", "may_share": True}).json()["serves"] == "all"
    )
    assert api.delete("/api/v1/centers/lake/tenants/acme").status_code == 204
    assert api.get("/api/v1/centers").json()["results"][0]["tenants"] == []


def test_nobody_else_says_it(operator, member, join, shared, acme):
    join()
    for api in (operator("front_line").api(), member("acme", "tenant_front_line").api()):
        assert api.put("/api/v1/centers/lake/tenants/acme", {}).status_code in (403, 404)
        assert api.put("/api/v1/centers/lake/serves", {"serves": "all", "may_share": True}).status_code in (
            403,
            404,
        )
    assert (named(), Center.objects.get().serves) == ({}, "named")


def test_operators_say_it_by_page(admin, join, shared, acme, globex):
    page = admin.page()
    join()
    first = page.get("/centers/lake/", headers=ENGLISH).content.decode()
    assert "Nobody yet: nothing is sent there" in first
    assert "They read each other&#x27;s work." in first
    assert (
        "I know that it does not keep" in page.get("/centers/lake/tenants/", headers=ENGLISH).content.decode()
    )
    there = "/centers/lake/tenants/name/"
    wrong = page.post(there, {"tenant": "acme", "account_account": "x"}, headers=ENGLISH)
    assert wrong.status_code == 400
    assert 'data-input="account_user"' in wrong.content.decode()
    assert page.post(there, {"tenant": "acme", "account_user": "ann"}).status_code == 302
    assert page.post(there, {"tenant": "globex"}).status_code == 302
    assert named() == {"acme": {"user": "ann"}, "globex": {}}
    assert 'data-test="shared"' not in page.get("/centers/lake/").content.decode()
    refused = page.post("/centers/lake/tenants/serves/", {"serves": "all"})
    assert 'data-input="may_share"' in refused.content.decode()
    sent = page.post("/centers/lake/tenants/serves/", {"serves": "all", "may_share": "on"})
    assert (sent.status_code, Center.objects.get().serves) == (302, "all")
    # One with a user of its own shares with nobody; the other shares the centre's with all.
    shown = page.get("/centers/lake/", headers=ENGLISH).content.decode()
    assert shown.count('data-test="shared"') == 1
    changed = page.get("/centers/lake/tenants/?tenant=acme").content.decode()
    assert 'value="ann"' in changed
    assert page.post("/centers/lake/tenants/acme/remove/").status_code == 302
    assert named() == {"globex": {}}
