"""`weir center` and `weir network-spec`: what is asked of the portal, and what is told."""

import pytest
from typer.testing import CliRunner
from weir.cli.centre import network
from weir.cli.main import app

RESOURCES = {"cpu": 64, "gpu": 8, "npu": 0, "mlu": 0, "memory": 262144, "storage": 0, "user_define": 0}
MONITORING = {
    "running_task_num": 3, "waiting_task_num": 1, "version": "slurm 22.05.8", "cpu_free": 48, "gpu_free": 5,
    "npu_free": 0, "mlu_free": 0, "memory_free": 1, "storage_free": 0, "defineres_free": 0,
}  # fmt: skip
CENTER = {
    "ai_center_id": "lake", "name": "Lakeside", "region": "East", "status": 1, "geometry": [1.0, 2.0], "kind": "slurm",
    "settings": {"address": "https://a", "user": "ada"}, "is_drained": False, "security_grade": 1,
    "answered_at": "2026-11-28T00:00:00Z", "resources": RESOURCES, "monitoring": MONITORING, "trouble": None,
    "serves": "named", "tenants": [{"tenant": "acme", "name": "Acme", "account": {"user": "ann"}, "changed_at": "x"}],
}  # fmt: skip
SPEC = {
    "resource_spec_id": "gpu-1", "resource_spec_name": "One GPU", "resource_quantity": {"cpu": "4", "gpu": "1"},
    "service_type": "batch", "price": 1200, "computing_center_list": "lake",
    "offers": [{"ai_center_id": "lake", "center_name": "Lakeside", "free_count": 5, "price": 1000, "performance": 1.5,
                "idle_power_w": None, "running_power_w": 400.0}],
}  # fmt: skip


class Portal:
    """Keeps what it is asked for, and answers as the API does."""

    def __init__(self):
        self.asked = []

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def __getattr__(self, name):
        def call(*words, **body):
            self.asked.append((name, words, body))
            answers = {"centers": [CENTER], "network_specs": [SPEC]}
            if name == "network_spec_offer":
                return SPEC["offers"][0]
            return answers.get(name, SPEC if name.startswith("network_spec") else CENTER)

        return call


@pytest.fixture
def portal(monkeypatch):
    found = Portal()
    monkeypatch.setattr(network, "caller", lambda _ctx: found)
    return found


def weir(*words, code=0, said=None):
    answer = CliRunner().invoke(app, [*words], input=said)
    assert answer.exit_code == code, answer.output
    return answer.output


def test_centres_are_listed_with_what_is_free(portal):
    told = weir("center", "show", "lake")
    for text in ("Lakeside", "available", "48/64", "5/8", "3+1", "slurm 22.05.8"):
        assert text in told
    assert "lake" in weir("center", "list")


def test_a_centre_joins_without_a_secret_on_the_line(portal, tmp_path):
    key = tmp_path / "key"
    key.write_text("c2VjcmV0\n")
    told = weir(
        "center", "join", "lake", "--name", "Lakeside", "--kind", "slurm", "--set", "address=https://a",
        "--set", "user=ada", "--secret", f"key={key}", "--position", "120.15,30.28",
    )  # fmt: skip
    assert told.strip() == "lake has joined: 64 cpu, 8 gpu, 262144 memory; it serves acme"
    ((name, _words, body),) = portal.asked
    assert name == "center_join"
    assert body["settings"] == {"address": "https://a", "user": "ada"}
    assert (body["credential"], body["geometry"]) == ({"key": "c2VjcmV0"}, [120.15, 30.28])


def test_whom_a_centre_serves_is_said(portal):
    assert "acme user=ann" in weir("center", "show", "lake")
    assert "serves acme" in weir("center", "serve", "lake", "acme", "--account", "user=ann")
    weir("center", "serve-all", "lake", "--may-share")
    weir("center", "serve-named", "lake")
    weir("center", "unserve", "lake", "acme")
    weir("center", "join", "lake", "--name", "L", "--kind", "ray", "--tenant", "acme")
    weir("center", "join", "lake", "--name", "L", "--kind", "ray", "--all-tenants", "--may-share")
    *acts, named, shared = portal.asked
    assert acts[1:] == [
        ("center_tenant_set", ("lake", "acme", {"user": "ann"}), {}),
        ("center_serves", ("lake", "all"), {"may_share": True}),
        ("center_serves", ("lake", "named"), {}),
        ("center_tenant_remove", ("lake", "acme"), {}),
    ]
    told = [(each[2]["serves"], each[2]["may_share"], each[2]["tenants"]) for each in (named, shared)]
    assert told == [(None, False, ["acme"]), ("all", True, [])]


def test_a_secret_is_read_from_the_input_or_asked(portal):
    weir("center", "credential", "lake", "--secret", "token=-", said="abc\n")
    weir("center", "credential", "lake", "--secret", "token", said="xyz\n")
    assert [words[1] for _name, words, _body in portal.asked] == [{"token": "abc"}, {"token": "xyz"}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "address"], "NAME=VALUE"),
        (["--set", "a=1", "--set", "a=2"], "NAME=VALUE"),
        (["--secret", "key=/nowhere/at/all"], "cannot be read"),
        (["--position", "120"], "LONGITUDE,LATITUDE"),
    ],
)
def test_what_is_written_wrongly_is_told_and_nothing_asked(portal, more, words):
    answer = CliRunner().invoke(app, ["center", "join", "lake", "--name", "L", "--kind", "slurm", *more])
    assert answer.exit_code != 0
    assert words in answer.output + str(getattr(answer.exception, "cure", "")) + str(answer.exception)
    assert portal.asked == []


def test_one_setting_is_changed_and_the_others_stay(portal):
    weir("center", "change", "lake", "--region", "West", "--set", "user=bob")
    assert portal.asked[-1] == (
        "center_change",
        ("lake",),
        {"region": "West", "settings": {"address": "https://a", "user": "bob"}},
    )


def test_centres_are_drained_asked_and_removed(portal):
    assert "gets no new work" in weir("center", "drain", "lake")
    assert "gets work again" in weir("center", "undrain", "lake")
    assert "5/8" in weir("center", "sample", "lake")
    assert "off the network" in weir("center", "remove", "lake")
    acts = [(name, *words) for name, words, _body in portal.asked]
    assert acts == [
        ("center_act", "lake", "drain"),
        ("center_act", "lake", "undrain"),
        ("center_act", "lake", "sample"),
        ("center_remove", "lake"),
    ]


def test_specifications_are_made_changed_and_offered(portal):
    assert "cpu=4 gpu=1" in weir("network-spec", "list")
    assert "1.5" in weir("network-spec", "show", "gpu-1")
    weir(
        "network-spec",
        "make",
        "gpu-1",
        "--name",
        "One GPU",
        "--holds",
        "cpu=4",
        "--holds",
        "gpu=1",
        "--price",
        "9",
    )
    weir("network-spec", "change", "gpu-1", "--price", "8")
    told = weir("network-spec", "offer", "gpu-1", "lake", "--price", "7", "--cost", "5")
    assert told.strip() == "lake offers gpu-1; free now: 5"
    weir("network-spec", "take", "gpu-1", "lake")
    weir("network-spec", "remove", "gpu-1")
    made, changed, offered = (portal.asked[place] for place in (2, 3, 4))
    assert made[2]["resource_quantity"] == {"cpu": "4", "gpu": "1"}
    assert changed == ("network_spec_change", ("gpu-1",), {"price": 8})
    assert offered[1:] == (
        ("gpu-1", "lake"),
        {"price": 7, "cost": 5, "performance": None, "idle_power_w": None, "running_power_w": None},
    )
