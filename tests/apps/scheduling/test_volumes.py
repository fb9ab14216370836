"""Work asks for volumes: whose it may have, what its node is told, and where it can run."""

import pytest

from apps.fleet.models import Node, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.planes import in_tenant
from apps.scheduling.models import Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.storage.drivers.chosen import driver
from apps.storage.mounts import volumes_mounted
from apps.storage.services.volumes import volume_delete, volume_make
from node_agent.protocol.slices import WorkSpec
from tests.apps.scheduling.test_submit import PROGRAM, alice, api, pool, submit  # noqa: F401


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"


@pytest.fixture
def made(alice):  # noqa: F811
    def make(person=alice, name="data", **more):
        with in_tenant(person.actor.tenant):
            return volume_make(actor=person.actor, name=name, size_mib=8, **more)

    return make


def seeing(node: str, mark: str | None = None) -> None:
    """The node tells that it sees the storage."""
    row = Node.objects.get(name=node)
    row.info = {**row.info, "storage": driver().mark() if mark is None else mark}
    row.save(update_fields=["info"])


def work_of(found) -> dict:
    return Workload.objects.across().get(uid=found["uid"]).work


def test_the_node_is_told_which_volume_lies_where(api, made):  # noqa: F811
    volume, second = made(), made(name="models")
    seeing("n2")
    asked = ["data", "models:/data/models:ro"]
    found = submit(api, volumes=asked)
    told = [
        {"key": f"acme/{volume.uid}", "path": "/volumes/data", "read_only": False},
        {"key": f"acme/{second.uid}", "path": "/data/models", "read_only": True},
    ]
    assert work_of(found)["volumes"] == told
    cycle_run(actor=SYSTEM)
    slice_ = Slice.plain.get()
    # Both nodes have room; one of them sees the storage.
    assert slice_.node.name == "n2"
    assert WorkSpec.model_validate(slice_.work).model_dump(mode="json")["volumes"] == told


def test_each_of_many_submitted_at_once_has_its_volumes(api, made):  # noqa: F811
    volume = made()
    seeing("n1")
    with_it = {**PROGRAM, "volumes": ["data:ro"]}
    body = [{**with_it, "name": "a"}, {**with_it, "name": "b", "env": {"X": "1"}}, {**PROGRAM, "name": "c"}]
    assert api.post("/api/v1/workloads/bulk", {"jobs": body}, format="json").status_code < 300
    told = {row.name_en: row.work.get("volumes") for row in Workload.objects.across()}
    mount = [{"key": f"acme/{volume.uid}", "path": "/volumes/data", "read_only": True}]
    assert told == {"a": mount, "b": mount, "c": None}


@pytest.mark.req("PLAT-ASSET-6")
def test_without_a_node_that_sees_the_storage_it_is_refused_and_says_so(api, made):  # noqa: F811
    made()
    refused = submit(api, volumes=["data"], expect=400)
    assert "can mount volumes" in refused["message"]
    # What another portal's storage is known by is not believed.
    seeing("n1", "0" * 32)
    submit(api, volumes=["data"], expect=400)
    seeing("n1")
    submit(api, volumes=["data"])
    submit(api)


def test_a_volume_in_use_is_not_deleted(alice, api, made):  # noqa: F811
    volume = made()
    seeing("n1")
    found = submit(api, volumes=["data:ro"])
    with in_tenant("acme"), pytest.raises(Conflict, match=found["no"]):
        volume_delete(actor=alice.actor, uid=volume.uid)
    assert api.post(f"/api/v1/workloads/{found['uid']}/stop").status_code < 300
    with in_tenant("acme"):
        volume_delete(actor=alice.actor, uid=volume.uid)


@pytest.mark.req("PLAT-TEN-2", "PLAT-SEC-4")
def test_nobody_names_a_volume_that_he_may_not_open(alice, api, made, member):  # noqa: F811
    seeing("n1")
    colleague = member("acme", "tenant_front_line")
    strange = member("globex", "tenant_front_line")
    theirs, strangers = made(colleague, name="private"), made(strange, name="secret")
    for name in ("private", str(theirs.uid), "secret", str(strangers.uid), f"globex/{strangers.uid}", "none"):
        refused = submit(api, volumes=[name], expect=400)
        assert "volumes" in refused["fields"], name


@pytest.mark.parametrize(
    "asked",
    [
        ["data:/etc"],
        ["data:/volumes/../etc"],
        ["data:/usr/lib"],
        ["data:relative"],
        ["data:/volumes/a b"],
        ["data:/"],
        ["data:/volumes/x:rx"],
        [""],
        ["../data"],
        ["data", "data"],
        ["data:/volumes/a", "data:/volumes/a/b"],
        ["data:/volumes/.hidden"],
        ["data"] * 17,
    ],
)
def test_what_cannot_be_mounted_is_refused_in_words(api, made, asked):  # noqa: F811
    made()
    seeing("n1")
    refused = submit(api, volumes=asked, expect=400)
    assert any(name.startswith("volumes") for name in refused["fields"])


def test_a_session_mounts_none(api, made):  # noqa: F811
    made()
    seeing("n1")
    submit(
        api,
        {"name": "s", "kind": "session", "compute_percent": 30, "memory_mib": 1},
        volumes=["data"],
        expect=400,
    )


def test_who_only_looks_mounts_read_only(made, member):
    keeper, decider = member("acme", "tenant_operations_manager"), member("acme", "tenant_decision_maker")
    made(keeper, name="all", owner="tenant")
    with in_tenant("acme"):
        (mount,) = volumes_mounted(actor=decider.actor, asked=("all",))
        assert mount["read_only"]
        (mount,) = volumes_mounted(actor=keeper.actor, asked=("all",))
        assert not mount["read_only"]
        with pytest.raises(InvalidInput):
            volumes_mounted(actor=keeper.actor, asked=("all", "none"))
