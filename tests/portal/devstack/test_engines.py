"""The engines beside the portal of `make run`, each in a process of its own: found again, and gone with it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from apps.centers.adapters.base import JobMessage, JobState, Quantities
from apps.centers.adapters.kinds import adapter_of
from portal.devstack import up
from portal.devstack.engines import kinds
from portal.devstack.engines.kinds import Reach, centers_chosen, ports_kept, reach_path, reach_read
from portal.devstack.engines.slurm_cluster import Cluster, Shape
from portal.devstack.environment import engine_environment
from portal.devstack.options import Options
from portal.devstack.servers import ports
from portal.devstack.servers.managed_process import Child
from portal.devstack.servers.processes import wait_until
from portal.devstack.stack import engine_child

# Beside the tests of Slurm and never while those start theirs: two at once take long to start.
pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("engines")]
_STARTS_S = 300


@pytest.fixture
def var_dir() -> Iterator[Path]:
    """A portal's folder that other accounts can reach, with a short path."""
    with TemporaryDirectory(prefix="weir-var-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "run").mkdir()
        yield folder


def _started(child: Child, var_dir: Path) -> Reach:
    child.start()
    assert wait_until(
        lambda: child.has_died() or reach_read(var_dir, child.name) is not None, timeout_s=_STARTS_S
    )
    found = reach_read(var_dir, child.name)
    assert found is not None, child.last_lines(30)
    return found


def _bearers(var_dir: Path) -> list[str]:
    """What still runs of it, by what it was started with; some overwrite a part of that."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            program = (entry / "cmdline").read_bytes()
            if str(var_dir).encode() in (entry / "environ").read_bytes() + program:
                found.append(program.decode(errors="replace"))
    return found


@pytest.mark.req("JC-6.4-5")
def test_slurm_is_found_again_and_leaves_nothing_when_it_is_stopped_or_killed(var_dir: Path) -> None:
    if why := kinds.slurm_lacks():
        pytest.skip(why)
    options = Options(var_dir=var_dir, centers="slurm")
    assert centers_chosen(options) == (("slurm",), {})
    child = engine_child("slurm", var_dir, engine_environment())
    reach = _started(child, var_dir)
    assert reach_path(var_dir, "slurm").stat().st_mode & 0o777 == 0o600
    adapter = adapter_of("slurm", reach.settings, reach.credential, local_addresses=True)
    assert adapter.check().startswith("slurm ")
    assert adapter.resources().total.cpu == len(os.sched_getaffinity(0))
    small = Quantities(cpu=1, memory=50)

    def runs(key: str) -> None:
        adapter.job_create(JobMessage("sleep 1000", small), key)
        assert wait_until(lambda: any("slurm_script" in one for one in _bearers(var_dir)), timeout_s=60)

    runs("weir-killed-1")
    # All at once but for the job and what looks after it.
    child.kill()
    assert any("slurm_script" in one for one in _bearers(var_dir))

    assert _started(child, var_dir) == reach
    done = adapter.job_create(JobMessage("echo kept", small), "weir-kept-1")
    assert wait_until(lambda: adapter.job_get(done).state is JobState.SUCCEEDED, timeout_s=60)
    child.stop()
    assert not _bearers(var_dir)
    assert reach_read(var_dir, "slurm") is None

    assert _started(child, var_dir) == reach
    assert adapter.job_get(done).state is JobState.SUCCEEDED
    assert wait_until(lambda: adapter.job_log(done, 0) == b"kept\n", timeout_s=30)
    # What a killed portal leaves is ended by `make stop`, the jobs too.
    runs("weir-killed-2")
    up.down(options)
    assert child.has_died()
    assert wait_until(lambda: not _bearers(var_dir), timeout_s=30), _bearers(var_dir)
    adapter.close()


def test_ports_are_kept_unless_somebody_has_taken_one_and_folders_have_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "_FREED_S", 0.2)
    folders = [tmp_path / str(number) for number in range(12)]
    for folder in folders:
        folder.mkdir()
    first = ports_kept(folders[0], 5)
    assert ports_kept(folders[0], 5) == first
    with ports.listener(first + 3):
        other = ports_kept(folders[0], 5)
        assert not set(range(first, first + 5)) & {other, other + 3} or other > first + 3
        assert ports.row_is_free(other, 5)
    assert ports_kept(folders[0], 5) == other
    # Each begins to look at one of fifty places: two may have the same, and one of them moves when both run.
    assert len({ports_kept(folder, 5) for folder in folders}) > 3


def test_an_engine_that_cannot_start_says_why_and_is_no_centre(var_dir: Path) -> None:
    """A Slurm whose first program ends at once."""
    if why := kinds.slurm_lacks():
        pytest.skip(why)
    broken = var_dir / "bin"
    broken.mkdir()
    (broken / "munged").write_text("#!/bin/sh\necho no key today >&2\nexit 3\n")
    (broken / "munged").chmod(0o755)
    environment = engine_environment()
    child = engine_child("slurm", var_dir, {**environment, "PATH": f"{broken}:{environment['PATH']}"})
    # Of one that was killed.
    gone = {"process": {"pid": os.getpid(), "start_tick": 1}, "settings": {}, "credential": {}}
    reach_path(var_dir, "slurm").write_text(json.dumps(gone))
    assert reach_read(var_dir, "slurm") is None
    child.start()
    assert wait_until(child.has_died, timeout_s=60)
    assert child.status == 1
    said = "\n".join(child.last_lines())
    assert "slurm cannot be started: munged ended with 3" in said
    assert "no key today" in said
    assert reach_read(var_dir, "slurm") is None


def test_only_what_bears_the_mark_is_ended(tmp_path: Path) -> None:
    from portal.devstack.engines.marked import marked_end

    mine, other = (
        subprocess.Popen(["sleep", "60"], env={"WEIR_TEST_MARK": str(tmp_path / name)}) for name in "ab"
    )
    try:
        assert marked_end("WEIR_TEST_MARK", str(tmp_path / "a"))
        assert mine.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_no_account_of_the_machine_is_root_in_the_database_of_slurm(var_dir: Path) -> None:
    """Neither over TCP nor by the socket, root itself included."""
    if why := kinds.slurm_lacks():
        pytest.skip(why)
    first = ports.row_free(5, 1)
    made = Cluster.made(var_dir, Shape(nodes=1, each="CPUs=1"), first)
    try:
        made._database_start()
        ways = (
            ("--protocol=tcp", "--host=127.0.0.1", f"--port={made.values['database_port']}"),
            ("--protocol=socket", f"--socket={var_dir / 'database' / 'socket'}"),
        )
        for account in ("games", "root"):
            for way in ways:
                words = ("mariadb", "--no-defaults", "-uroot", *way, "-e", "SELECT 1")
                done = subprocess.run(words, user=account, capture_output=True, text=True, check=False)
                assert done.returncode, (account, way)
                is_shut_out = account == "games" and way is ways[1]
                assert ("(13)" if is_shut_out else "Access denied") in done.stderr
        # The one who may come in is there, and reads no file.
        login = ("mariadb", "--no-defaults", "-uslurm", f"-p{made.values['password']}", *ways[0])
        asked = (*login, "--skip-column-names", "-e", "SELECT @@secure_file_priv")
        told = subprocess.run(asked, capture_output=True, text=True, check=True)
        assert told.stdout.strip().rstrip("/") == str(var_dir / "database.files")
    finally:
        made.stop()
