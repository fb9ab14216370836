"""Work asks for an image: which it may have, where it can run, and what nodes get of the registry."""

import hashlib
from uuid import uuid4

import pytest

from apps.fleet.models import Node, Slice
from apps.identity.models import AgentToken
from apps.identity.services.tokens import digest_of
from apps.images.models import Image, ImageVersion
from apps.images.services.images import image_delete
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.tenancy.models import Tenant
from node_agent.protocol.images import image_piece_path, manifest_path
from node_agent.protocol.slices import WorkSpec
from tests.apps.scheduling.test_submit import PROGRAM, alice, api, pool, row_of, submit  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-8.2c")]
DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture
def ann(alice):  # noqa: F811
    return alice


@pytest.fixture
def made(alice):  # noqa: F811
    """A version that is ready, without a registry."""

    def make(name="box", tag="1", owner="person", schema="acme", person=alice, **more):
        tenant = None if owner == "centre" else Tenant.objects.get(schema_name=schema)
        image, _new = Image.objects.get_or_create(
            name=name, owner=owner, tenant=tenant, person=person.user if owner == "person" else None
        )
        facts = {
            "state": "ready",
            "digest": DIGEST,
            "repository": "acme/x",
            "architecture": "amd64",
            "entry_point": ["/bin/serve"],
        }
        return ImageVersion.objects.create(image=image, tag=tag, **(facts | more))

    return make


def running(node: str, architecture: str = "amd64") -> None:
    """The node tells that it runs containers."""
    row = Node.objects.get(name=node)
    row.info = {**row.info, "containers": architecture}
    row.save(update_fields=["info"])


def test_work_goes_to_a_node_that_runs_images_and_the_node_is_told_which(api, made):  # noqa: F811
    version = made()
    running("n2")
    found = submit(api, image="box:1")
    cycle_run(actor=SYSTEM)
    slice_ = Slice.plain.get()
    assert slice_.node.name == "n2"
    told = WorkSpec.model_validate(slice_.work).image
    assert told is not None
    assert (told.version, told.digest, told.name) == (str(version.uid), DIGEST, "box:1")
    assert row_of(found).work["argv"] == PROGRAM["argv"]


def test_without_a_program_it_runs_what_the_image_does(api, made):  # noqa: F811
    made()
    running("n1")
    found = submit(api, image="box", argv=[])
    assert row_of(found).work["argv"] == ["/bin/serve"]
    submit(api, argv=[], expect=400)


def test_where_no_node_runs_it_it_is_refused_with_a_clear_word(api, made):  # noqa: F811
    made()
    assert "container images for amd64" in submit(api, image="box", expect=400)["message"]
    running("n1", "arm64")
    submit(api, image="box", expect=400)
    running("n1")
    submit(api, image="box")


@pytest.mark.req("PLAT-TEN-2", "PLAT-SEC-4")
def test_nobody_runs_an_image_that_he_may_not_see(api, made, member):  # noqa: F811
    running("n1")
    colleague, strange = member("acme", "tenant_front_line"), member("globex", "tenant_front_line")
    theirs = made("private", person=colleague)
    strangers = made("secret", schema="globex", person=strange)
    shared = made("shared", owner="tenant", schema="globex")
    made("coming", state="checking")
    for name in (
        "private",
        theirs.uid,
        "secret",
        strangers.uid,
        "shared",
        shared.uid,
        "coming",
        "none",
        "box:../x",
    ):
        refused = submit(api, image=str(name), expect=400)
        assert "image" in refused["fields"], name


def test_of_several_of_a_name_ones_own_comes_first_and_the_newest(api, made):  # noqa: F811
    running("n1")
    made("box", "1", owner="centre")
    made("box", "9", owner="tenant")
    assert row_of(submit(api, image="box")).work["image"]["name"] == "box:9"
    own = made("box", "1")
    assert row_of(submit(api, image="box:1")).work["image"]["version"] == str(own.uid)
    newest = made("box", "2")
    assert row_of(submit(api, image="box")).work["image"]["version"] == str(newest.uid)
    assert row_of(submit(api, image=str(own.uid))).work["image"]["name"] == "box:1"


def test_an_image_in_use_is_not_deleted(api, alice, made):  # noqa: F811
    version = made()
    running("n1")
    found = submit(api, image="box")
    with pytest.raises(Conflict, match=found["no"]):
        image_delete(actor=alice.actor, uid=version.image.uid)
    assert api.post(f"/api/v1/workloads/{found['uid']}/stop").status_code < 300
    image_delete(actor=alice.actor, uid=version.image.uid)


def test_a_session_has_no_image_and_many_at_once_have_theirs(api, made):  # noqa: F811
    made()
    running("n1")
    submit(
        api,
        {"name": "s", "kind": "session", "compute_percent": 10, "memory_mib": 512},
        image="box",
        expect=400,
    )
    bare = {name: value for name, value in PROGRAM.items() if name != "argv"}
    body = [
        {**PROGRAM, "name": "a", "image": "box"},
        {**bare, "name": "b", "image": "box", "env": {"X": "1"}},
        {**bare, "name": "c", "image": "box"},
    ]
    assert api.post("/api/v1/workloads/bulk", {"jobs": body}, format="json").status_code < 300
    runs = {row.name_en: row.work["argv"] for row in Workload.plain.filter(name_en__in=("a", "b", "c"))}
    assert runs == {"a": PROGRAM["argv"], "b": ["/bin/serve"], "c": ["/bin/serve"]}
    refused = api.post("/api/v1/workloads/bulk", {"jobs": [*body, {**bare, "name": "d"}]}, format="json")
    assert refused.status_code == 400, "without an image there is nothing to run"


def test_a_node_gets_the_files_of_the_images_that_it_runs_and_of_no_other(
    api,  # noqa: F811
    client,
    registry,
    archive,
    taken,
    ann,
):
    archive()
    row, other = taken(), taken(tag="2")
    running("n1")
    submit(api, image=str(row.uid), node="n1")
    cycle_run(actor=SYSTEM)

    nodes = dict(Node.objects.values_list("name", "uid"))

    def get(path: str, node: str = "n1"):
        secret = uuid4().hex
        AgentToken.objects.create(kind=AgentToken.Kind.NODE, digest=digest_of(secret), node_uid=nodes[node])
        return client.get(path, headers={"host": "localhost", "authorization": f"Bearer {secret}"})

    found = get(manifest_path(str(row.uid)))
    assert f"sha256:{hashlib.sha256(found.content).hexdigest()}" == row.digest
    for file in row.layers:
        content = get(image_piece_path(str(row.uid), file["digest"], 0)).content
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == file["digest"]
        assert get(image_piece_path(str(row.uid), file["digest"], 1)).status_code == 404
    assert get(image_piece_path(str(row.uid), DIGEST, 0)).status_code == 404
    assert get(manifest_path(str(other.uid))).status_code == 404
    assert get(manifest_path(str(row.uid)), "n2").status_code == 404
    assert client.get(manifest_path(str(row.uid)), headers={"host": "localhost"}).status_code == 401


@pytest.mark.req("PLAT-AICFG-9", "PLAT-AICFG-13", "PLAT-AICFG-14")
def test_a_template_runs_an_image_that_the_centre_offers(api, made, operator):  # noqa: F811
    running("n1")
    made("mine")
    offered = made("lab", "3", owner="centre")
    made("silent", owner="centre", entry_point=[])
    page = operator("system_administrator").page()
    shown = page.get("/scheduling/environments/new/").content.decode()
    assert f'value="{offered.uid}"' in shown
    assert "mine:1" not in shown
    assert "silent:1" not in shown
    admin = operator("system_administrator").api()
    body = {"name": "lab", "compute_percent": 30, "memory_mib": 1024}
    refused = admin.post(
        "/api/v1/environment-templates", body | {"image": str(offered.image.uid)}, format="json"
    )
    assert "image" in refused.json()["error"]["fields"]
    made_of_it = admin.post(
        "/api/v1/environment-templates", body | {"image": str(offered.uid)}, format="json"
    ).json()
    assert made_of_it["image_name"] == "lab:3"
    started = api.post(f"/api/v1/environment-templates/{made_of_it['uid']}/start", {}, format="json")
    assert started.status_code == 201, started.content
    work = row_of(started.json()).work
    assert (work["argv"], work["image"]["name"], work["web"]) == (["/bin/serve"], "lab:3", True)
