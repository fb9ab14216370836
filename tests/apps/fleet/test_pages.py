"""The operators' pages of the pool, whole and in part, in both languages; each button does what it says."""

import pytest

from apps.fleet.models import Device, Node, ResourceGroup, Slice, Spec
from apps.fleet.services.groups import group_devices_set, group_grant, group_make
from apps.fleet.services.specs import spec_make
from apps.kernel.actor import SYSTEM
from tests.apps.fleet.agent import Agent, desire, fresh, report, session_desire, session_report

HTMX = {"HX-Request": "true"}


@pytest.fixture
def pool(node, acme):
    """Two nodes, a program and a session on n1, a group with n2's second card, a spec."""
    other = Agent("n2", devices=2)
    program, session = desire(acme, percent=30), session_desire(acme, percent=20)
    measured = {"delivered_percent": 29.4, "memory_used_mib": 700, "mounted": True}
    seen = {"attached": True, "transport": "tcp", "bandwidth_mib_s": 800.0, "latency_us": 95.0}
    node.sync(slices=[report(program, **measured), session_report(session, **seen)])
    group_make(actor=SYSTEM, code="train", name_en="Training", name_zh="训练")
    group_devices_set(actor=SYSTEM, code="train", devices=["n2-d1"])
    group_grant(actor=SYSTEM, code="train", tenant=acme)
    spec_make(actor=SYSTEM, code="quarter", name_en="Quarter", compute_percent=25, memory_mib=2048)
    return {"node": node.uid, "other": other.uid, "program": program.uid, "session": session.uid}


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").page()


PATHS = (
    "nodes/", "nodes/{node}/", "devices/", "devices/?state=physical", "devices/?search=n2", "devices/n1-d0/",
    "slices/", "slices/?kind=session", "slices/{session}/", "slices/{program}/", "groups/", "groups/train/", "specs/",
)  # fmt: skip


def test_each_page_opens_whole_and_in_part_for_operators_alone(pool, admin, operator, member):
    reader = operator("executive").page()
    stranger = member("acme", "tenant_system_administrator").page()
    for path in PATHS:
        path = "/pool/" + path.format(**pool)
        for page, language, headers in ((admin, "en", {}), (reader, "zh-hans", {}), (admin, "zh-hans", HTMX)):
            page.cookies["django_language"] = language
            answer = page.get(path, headers=headers)
            assert answer.status_code == 200, path
            assert "{%" not in answer.content.decode(), path
        assert stranger.get(path).status_code == 404


@pytest.mark.req("POOL-12.17")
def test_a_node_s_page_shows_address_components_cards_and_tasks(pool, node, admin):
    node.info = node.info.model_copy(
        update={"address": "10.0.0.7", "components": {"agent": "1", "session_server": "2"}}
    )
    node.sync(slices=[report(Slice.plain.get(uid=pool["program"]))])
    text = admin.get(f"/pool/nodes/{pool['node']}/").content.decode()
    for part in ("10.0.0.7", "Session server", 'data-uid="n1-d0"', f'data-uid="{pool["program"]}"'):
        assert part in text


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize(
    ("held_by", "is_warned", "english", "chinese"),
    [
        ("nothing", True, "nothing: its node cannot", "本节点无法将加速卡上的任务限制在其所要求的核数之内"),
        ("cgroup-v1", False, "control groups of the node", "节点控制组"),
    ],
)
def test_a_node_s_page_says_what_holds_the_host_beside_its_cards(
    pool, node, admin, held_by, is_warned, english, chinese
):
    path = f"/pool/nodes/{pool['node']}/"
    assert 'data-test="host-held"' not in admin.get(path).content.decode(), "it has no cards"
    node.info = node.info.model_copy(update={"host_held_by": held_by})
    node.sync(slices=[report(Slice.plain.get(uid=pool["program"]))])
    for language, sentence in (("en", english), ("zh-hans", chinese)):
        admin.cookies["django_language"] = language
        text = admin.get(path).content.decode()
        assert sentence in text
        assert ('data-test="host-unheld"' in text) == is_warned


@pytest.mark.req("PLAT-OPS-22")
def test_a_slice_s_page_says_what_it_uses_of_its_host_and_what_holds_that(pool, node, admin):
    row = Slice.plain.get(uid=pool["program"])
    path = f"/pool/slices/{row.uid}/"
    assert 'data-test="host-part"' not in admin.get(path).content.decode(), "it asked for none"
    Slice.plain.filter(pk=row.pk).update(host_cpu_milli=1500, host_memory_mib=512)
    used = {"host_cpu_used_milli": 1250, "host_memory_used_mib": 300, "host_enforced_by": "watch"}
    node.sync(slices=[report(row, **used)])
    text = " ".join(admin.get(path).content.decode().split())
    assert "in use: 1.25 cores, 300 MiB" in text
    assert "watching main memory; nothing holds the processor" in text


@pytest.mark.parametrize(
    ("isolation", "english", "chinese"),
    [
        ("namespaces", "Walled off: own user, own files, own processes", "隔离运行"),
        ("user", "Users of their own, without namespaces", "the kernel said no"),
        ("refused", "Programs are refused on this node", "此节点拒绝运行程序"),
        ("unsafe", "WEIR_AGENT_ALLOW_ROOT_WORK=1", "只运行可信的程序"),
    ],
)
def test_a_node_s_page_says_how_programs_are_kept_apart(pool, node, admin, isolation, english, chinese):
    problem = "" if isolation == "namespaces" else "the kernel said no"
    node.info = node.info.model_copy(update={"isolation": isolation, "isolation_problem": problem})
    node.sync(slices=[report(Slice.plain.get(uid=pool["program"]))])
    for language, sentence in (("en", english), ("zh-hans", chinese)):
        admin.cookies["django_language"] = language
        text = admin.get(f"/pool/nodes/{pool['node']}/").content.decode()
        assert sentence in text
        assert problem in text


@pytest.mark.req("POOL-8.2c")
def test_a_node_s_page_says_that_its_kernel_filters_nothing_and_whether_images_run(pool, node, admin):
    def page() -> str:
        node.sync(slices=[report(Slice.plain.get(uid=pool["program"]))])
        return admin.get(f"/pool/nodes/{pool['node']}/").content.decode()

    node.info = node.info.model_copy(update={"containers": "amd64"})
    whole = page()
    assert "for amd64" in whole
    assert 'data-test="unfiltered"' not in whole
    problem = "the kernel has no filter"
    changed = {"containers": "", "containers_problem": "runc is missing", "filter_problem": problem}
    node.info = node.info.model_copy(update=changed)
    open_ = page()
    for part in ('data-test="unfiltered"', problem, "Not run here", "runc is missing"):
        assert part in open_


@pytest.mark.req("PLAT-ASSET-6")
def test_a_node_s_page_says_how_volumes_are_held_to_their_sizes(pool, node, admin):
    node.info = node.info.model_copy(update={"storage_held": "quota watched quota"})
    node.sync(slices=[report(Slice.plain.get(uid=pool["program"]))])
    sentences = {"en": ("By quotas of", "By measuring"), "zh-hans": ("文件系统配额", "作业写入时测量")}
    for language, parts in sentences.items():
        admin.cookies["django_language"] = language
        text = admin.get(f"/pool/nodes/{pool['node']}/").content.decode()
        assert [text.count(part) for part in parts] == [1, 1]


@pytest.mark.req("POOL-8.2c")
@pytest.mark.parametrize(
    ("network", "problem", "english", "chinese"),
    [
        ("private", "", "Its own, which leads outside", "作业自有，可访问外部"),
        ("none", "", "Its own, which leads nowhere", "作业自有，不通外部"),
        ("node", "pasta is missing", "Work shares the network of this node", "作业与此节点共用网络"),
        ("refused", "pasta is missing", "They would share its network", "会共用节点的网络"),
        ("node", "", "shared with all that runs there", "与节点上运行的一切共用"),
    ],
)
def test_a_node_s_page_says_which_network_work_has(pool, node, admin, network, problem, english, chinese):
    changed = {"isolation": "namespaces", "network": network, "network_problem": problem}
    node.info = node.info.model_copy(update=changed)
    node.sync(slices=[report(Slice.plain.get(uid=pool["program"]))])
    for language, sentence in (("en", english), ("zh-hans", chinese)):
        admin.cookies["django_language"] = language
        text = admin.get(f"/pool/nodes/{pool['node']}/").content.decode()
        assert sentence in text
        assert problem in text
        # What an operator has chosen is no trouble.
        assert ('role="status" data-test="network-' in text) == bool(problem)


@pytest.mark.req("POOL-12.16", "POOL-12.17")
def test_nodes_and_cards_are_switched_by_their_buttons(pool, admin):
    def press(path):
        answer = admin.post(f"/pool/{path}", headers=HTMX)
        assert "HX-Redirect" in answer.headers, path

    press(f"nodes/{pool['other']}/drain/")
    assert Node.objects.get(uid=pool["other"]).state == "drained"
    press(f"nodes/{pool['other']}/undrain/")
    assert Node.objects.get(uid=pool["other"]).state == "ready"
    press("devices/n2-d0/disable/")
    assert not Device.objects.get(uid="n2-d0").is_enabled
    press("devices/n2-d0/enable/")
    assert Device.objects.get(uid="n2-d0").is_enabled
    press("devices/n2-d0/slicing/unslice/")
    assert not Device.objects.get(uid="n2-d0").is_sliced
    press("devices/n2-d0/slicing/slice/")
    assert Device.objects.get(uid="n2-d0").is_sliced
    press("devices/n2-d0/remove/")
    assert admin.get("/pool/devices/n2-d0/").status_code == 200
    press(f"nodes/{pool['other']}/remove/")
    assert Node.objects.get(uid=pool["other"]).state == "removed"
    press(f"nodes/{pool['node']}/remove/")
    assert Node.objects.get(uid=pool["node"]).is_leaving
    for unknown in (f"nodes/{pool['node']}/burn/", "devices/n1-d0/burn/", "devices/n1-d0/slicing/burn/"):
        assert admin.post(f"/pool/{unknown}").status_code == 404


@pytest.mark.req("POOL-12.15")
def test_a_card_in_use_is_not_switched_and_the_page_says_why(pool, admin):
    answer = admin.post("/pool/devices/n1-d0/slicing/unslice/", headers=HTMX)
    assert answer.status_code == 409
    assert "50 % and 2048 MiB of device n1-d0 are held" in answer.content.decode()
    assert Device.objects.get(uid="n1-d0").is_sliced


@pytest.mark.req("POOL-12.5")
def test_oversubscription_is_set_in_percent(pool, admin):
    admin.post("/pool/devices/n1-d0/oversubscribe/", {"compute_percent": 200, "memory_percent": 150})
    device = Device.objects.get(uid="n1-d0")
    assert (device.room_percent, device.room_mib) == (200, 12288)
    wrong = admin.post("/pool/devices/n1-d0/oversubscribe/", {"compute_percent": 99, "memory_percent": 100})
    assert wrong.status_code == 400
    assert "oversubscribed" in admin.get("/pool/devices/").content.decode()


@pytest.mark.req("POOL-12.23")
def test_a_session_is_moved_and_called_back_from_its_page(pool, admin):
    page = f"/pool/slices/{pool['session']}/"
    text = admin.get(page).content.decode()
    assert text.count('data-test="move"') == 1
    assert "another resource group" in text
    admin.post(f"{page}move/", {"device": "n2-d0"})
    target = Slice.plain.get(moves_from=pool["session"])
    assert 'data-test="moving"' in admin.get(page).content.decode()
    assert admin.post(f"{page}move/", {"device": "n2-d0"}, headers=HTMX).status_code == 409
    admin.post(f"{page}stay/")
    assert fresh(target).move_state == "failed"
    assert 'data-test="move-failed"' in admin.get(page).content.decode()
    assert (
        admin.post(f"/pool/slices/{pool['program']}/move/", {"device": "n2-d0"}, headers=HTMX).status_code
        == 409
    )


@pytest.mark.req("POOL-12.13", "POOL-12.14")
def test_groups_and_specs_are_kept_on_their_pages(pool, admin, member):
    alice = member("acme", "tenant_front_line", "alice.of.the.pool").user
    admin.post("/pool/groups/add/", {"code": "infer", "name_en": "Inference"})
    offered = admin.get("/pool/people/", {"q": "of.the.pool", "tenant": "acme"}).content.decode()
    assert f'data-value="{alice.username}"' in offered
    assert (
        "pick-none" in admin.get("/pool/people/", {"q": "of.the.pool", "tenant": "globex"}).content.decode()
    )
    admin.post("/pool/groups/infer/devices/", {"device": ["n2-d0"]})
    admin.post("/pool/groups/infer/grants/", {"tenant": "acme", "members": f" {alice.username}, "})
    group = ResourceGroup.objects.get(code="infer")
    assert [device.uid for device in group.devices.all()] == ["n2-d0"]
    grant = group.grants.get()
    assert (grant.is_open, list(grant.clients.all())) == (False, [alice])
    assert admin.post("/pool/groups/infer/devices/", {"device": ["n2-d1"]}, headers=HTMX).status_code == 409
    admin.post("/pool/groups/infer/grants/acme/revoke/")
    assert not group.grants.exists()
    admin.post("/pool/groups/infer/end/")
    assert not ResourceGroup.objects.filter(code="infer").exists()
    half = {"code": "half", "name_en": "Half", "compute_percent": 50, "memory_mib": 4096}
    admin.post("/pool/specs/add/", half)
    admin.post("/pool/specs/half/disable/")
    assert not Spec.objects.get(code="half").is_enabled
    admin.post("/pool/specs/half/enable/")
    assert Spec.objects.get(code="half").is_enabled
    assert admin.post("/pool/specs/half/burn/").status_code == 404


def test_who_only_reads_changes_nothing(pool, operator):
    reader = operator("executive").page()
    for path in (
        f"nodes/{pool['node']}/drain/", "devices/n1-d0/disable/", "devices/n1-d0/slicing/unslice/",
        "devices/n1-d0/oversubscribe/", f"slices/{pool['session']}/move/", "groups/add/", "groups/train/end/",
        "specs/quarter/disable/",
    ):  # fmt: skip
        assert reader.post(f"/pool/{path}", {}).status_code == 403, path
    assert 'data-test="unslice"' not in reader.get("/pool/devices/n1-d0/").content.decode()
