"""Which centres the demo has: what is chosen, what lacks and what brings it, what an engine is told."""

from pathlib import Path
from typing import Any

import pytest
import weir

from portal.devstack import demo_centers
from portal.devstack.engines import kinds
from portal.devstack.engines.kinds import Reach, centers_chosen
from portal.devstack.environment import center_environment, engine_environment
from portal.devstack.errors import LocalError
from portal.devstack.options import EmptyOptions, Options, options_read


@pytest.fixture
def all_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "slurm_lacks", lambda: "")
    monkeypatch.setattr(kinds, "ray_lacks", lambda: "")
    monkeypatch.setattr(kinds, "can_reach", lambda *_: True)


@pytest.mark.usefixtures("all_here")
@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        (None, ("local", "slurm", "ray")),
        ("local", ("local",)),
        ("ray, local", ("local", "ray")),
        ("slurm,slurm,", ("slurm",)),
        ("", ()),
    ],
)
def test_the_demo_has_what_is_chosen_and_else_all_that_is_here(
    monkeypatch: pytest.MonkeyPatch, said: str | None, chosen: tuple[str, ...]
) -> None:
    if said is not None:
        monkeypatch.setenv("WEIR_CENTERS", said)
    assert centers_chosen(options_read()) == (chosen, {})


@pytest.mark.usefixtures("all_here")
def test_a_centre_of_ones_own_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_CENTERS", "local,slurm")
    assert centers_chosen(options_read(EmptyOptions)) == ((), {})


def test_a_kind_that_there_is_not_is_refused_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_CENTERS", "local,k8s,pbs")
    with pytest.raises(
        LocalError,
        match=r"^WEIR_CENTERS: there is no kind of centre k8s, pbs: choose among local, slurm, ray,",
    ):
        options_read()


def test_what_lacks_is_named_with_what_brings_it_and_the_pool_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chosen, lacking = centers_chosen(Options())
    assert chosen == ("local",)
    assert "slurmctld" in lacking["slurm"]
    assert "apt-get install slurm-wlm slurmdbd slurmrestd" in lacking["slurm"]
    assert lacking["ray"].endswith("`make ray`")


@pytest.mark.usefixtures("all_here")
def test_slurm_wants_a_folder_that_its_accounts_reach_and_sockets_fit_into(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _chosen, lacking = centers_chosen(Options(var_dir=tmp_path / ("long" * 20)))
    assert "too long for its sockets" in lacking["slurm"]
    monkeypatch.setattr(kinds, "can_reach", lambda path, _account: path.is_relative_to("/srv"))
    _chosen, lacking = centers_chosen(Options(var_dir=Path("/tmp/not-there/var")))
    assert lacking["slurm"] == "its account games cannot enter /tmp: name another folder with WEIR_VAR_DIR"


def test_an_engine_gets_no_secret_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_SECRET_KEY", "the-server-s-own")
    monkeypatch.setenv("SLURM_CONF", "/etc/another/slurm.conf")
    found = engine_environment()
    assert not [name for name in found if name.startswith(("WEIR_", "DJANGO_", "SLURM_"))]
    assert found["PATH"]


def test_centres_of_this_machine_may_join_where_the_demo_starts_them_unless_that_was_forbidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert center_environment(["local"]) == {}
    assert center_environment(["local", "ray"]) == {"WEIR_CENTER_LOCAL_ADDRESSES": "true"}
    monkeypatch.setenv("WEIR_CENTER_LOCAL_ADDRESSES", "false")
    assert center_environment(["slurm"]) == {"WEIR_CENTER_LOCAL_ADDRESSES": "false"}


@pytest.mark.parametrize(
    ("status", "trouble", "is_set"),
    [(1, None, False), (0, None, True), (2, None, True), (1, {"kind": "refused"}, True)],
)
def test_a_centre_that_is_not_well_gets_its_engines_secret_anew_at_the_same_address(
    monkeypatch: pytest.MonkeyPatch, status: int, trouble: object, is_set: bool
) -> None:
    settings, asked = {"address": "http://127.0.0.1:6820"}, []
    there = {"settings": settings, "status": status, "trouble": trouble}

    def call(_self: object, method: str, path: str, *more: Any, **_named: object) -> object:
        if method == "GET":
            return there
        asked.append((method, path, *more))
        return there

    monkeypatch.setattr(weir.Client, "call", call)
    monkeypatch.setattr(demo_centers, "_center", lambda *_: there)
    operator = weir.Client("http://127.0.0.1:1", "k")
    demo_centers._joined(operator, "slurm", Reach(settings, {"key": "new"}))
    assert asked == ([("PUT", "centers/slurm/credential", {"credential": {"key": "new"}})] if is_set else [])
