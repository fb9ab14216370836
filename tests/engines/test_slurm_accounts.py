"""Accounts by tenant at a real Slurm: the jobs of each run as a user of its own, whose work no other tenant reaches."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.centers.adapters.base import OVER, CenterAdapter, CenterRefused, JobSeen, JobState
from apps.centers.adapters.kinds import adapter_of
from apps.centers.adapters.slurm.accounts import private_folder_check
from tests.engines.engines import job
from tests.harness.slurm import ACCOUNT, USER

pytestmark = [pytest.mark.of_kind("slurm"), pytest.mark.req("PLAT-TEN-2", "JC-6.4-5")]
# Of this machine: they have numbers of their own, and nobody works with them.
ANN, BOB = "mail", "news"
_WAIT_S = 90


@pytest.fixture(scope="module")
def folder(engine) -> Iterator[Path]:
    """Where each user has a folder that is closed to others."""
    made = engine.cluster.folder / "tenants"
    made.mkdir(mode=0o755)
    for user in (ANN, BOB):
        engine.cluster.command("sacctmgr", "--immediate", "add", "user", user, f"account={ACCOUNT}")
        own = made / user
        own.mkdir(mode=0o750)
        os.chown(own, pwd.getpwnam(user).pw_uid, 0)
        own.chmod(0o750)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def of(engine, folder) -> Iterator[Callable[..., CenterAdapter]]:
    """The adapter of a tenant's account there."""
    made = []
    settings = {**engine.settings, "folder": str(folder), "log_folder": str(folder)}

    def open_(user: str, secrets: dict[str, str] | None = None, **more: str) -> CenterAdapter:
        found = adapter_of(
            "slurm",
            settings,
            engine.secrets if secrets is None else secrets,
            local_addresses=True,
            account={"user": user, **more},
        )
        made.append(found)
        return found

    yield open_
    for each in made:
        each.close()


def ended(adapter: CenterAdapter, native_id: str) -> JobSeen:
    ends_s = time.monotonic() + _WAIT_S
    while (seen := adapter.job_get(native_id)).state not in OVER:
        assert time.monotonic() < ends_s, seen
        time.sleep(0.2)
    return seen


def test_two_tenants_jobs_run_as_two_users_and_neither_reads_the_others_files(engine, of, folder, key):
    ann, bob = of(ANN), of(BOB)
    for adapter in (ann, bob):
        assert adapter.check().startswith("slurm 2")
    aside = f"/tmp/{key}-{os.getpid()}"
    writes = f"id -un; pwd; echo secret of ann > kept; echo secret of ann > {aside}; sleep 20"
    first = ann.job_create(job(writes), f"{key}-a")
    ends_s = time.monotonic() + _WAIT_S
    while not (folder / ANN / "kept").exists() or not Path(aside).exists():
        assert time.monotonic() < ends_s
        time.sleep(0.2)
    # What another tenant's work tries while it runs: files, log, environment, the job itself.
    tries = (
        f"id -un; cat {folder}/{ANN}/kept; cat {folder}/{ANN}/weir-{first}.log; ls {folder}/{ANN}; cat {aside};"
        f" for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ 2>/dev/null | grep -a SLURM_JOB_NAME={key}-a; done;"
        f" scancel {first}; scontrol write batch_script {first} -; echo over"
    )
    second = bob.job_create(job(tries, SLURM_CONF=engine.cluster.environment["SLURM_CONF"]), f"{key}-b")
    assert ended(bob, second).state is JobState.SUCCEEDED
    theirs = bob.job_log(second, 0).decode()
    assert theirs.splitlines()[0] == BOB
    assert theirs.splitlines()[-1] == "over"
    assert "secret of ann" not in theirs
    assert f"SLURM_JOB_NAME={key}-a" not in theirs
    assert theirs.count("Permission denied") >= 4
    assert ann.job_get(first).state is JobState.RUNNING
    ann.job_stop(first)
    assert ended(ann, first).state is JobState.STOPPED
    mine = ann.job_log(first, 0).decode()
    assert mine.splitlines()[:2] == [ANN, f"{folder}/{ANN}"]
    for user, native_id in ((ANN, first), (BOB, second)):
        told = engine.cluster.command("scontrol", "show", "job", native_id)
        assert f"UserId={user}({pwd.getpwnam(user).pw_uid})" in told


def test_the_portal_as_one_tenant_reaches_nothing_of_anothers(engine, adapter, of, key):
    ann, bob = of(ANN), of(BOB)
    native_id = ann.job_create(job("echo secret of ann; sleep 30"), key)
    for other in (bob, adapter):
        assert other.job_find(key) is None
        assert other.jobs([key]) == {}
        for call in (other.job_get, other.job_stop):
            with pytest.raises(CenterRefused, match="is not of"):
                call(native_id)
    assert bob.job_log(native_id, 0) == b""
    # A job that another's work gave the same name is not taken for the tenant's.
    theirs = bob.job_create(job("true"), key)
    assert theirs != native_id
    assert ann.job_find(key).native_id == native_id
    ann.job_stop(native_id)
    ended(ann, native_id)


def test_a_log_that_another_user_put_there_is_not_read(of, folder, tmp_path):
    ann = of(ANN)
    (folder / ANN / "weir-7777.log").write_text("root's words")
    with pytest.raises(CenterRefused, match="another user's"):
        ann.job_log("7777", 0)
    (folder / BOB / "weir-7778.log").write_text("of bob")
    (folder / ANN / "weir-7778.log").symlink_to(folder / BOB / "weir-7778.log")
    with pytest.raises(CenterRefused, match="cannot be opened"):
        ann.job_log("7778", 0)


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("root", "may do anything"),
        ("slurm", "may do anything"),
        (USER, "centre's own user"),
        ("../root", "no name of a user"),
        ("0", "no name of a user"),
        ("a b", "no name of a user"),
        (" ", "is to be filled in"),
    ],
)
def test_a_mighty_or_a_wrong_user_is_refused_before_anything_is_asked(engine, of, user, words):
    engine.network.asked.clear()
    with pytest.raises(CenterRefused, match=words):
        of(user)
    assert engine.network.asked == []


def test_a_user_that_the_cluster_does_not_know_or_that_governs_it_is_refused(engine, of, folder):
    with pytest.raises(CenterRefused, match="know no user nobody"):
        of("nobody").check()
    change = ("sacctmgr", "--immediate", "modify", "user", BOB, "set")
    engine.cluster.command(*change, "adminlevel=Operator")
    try:
        with pytest.raises(CenterRefused, match="administrator of the cluster"):
            of(BOB).check()
    finally:
        engine.cluster.command(*change, "adminlevel=None")
    engine.cluster.command(
        "sacctmgr", "--immediate", "add", "coordinator", f"account={ACCOUNT}", f"names={BOB}"
    )
    try:
        with pytest.raises(CenterRefused, match="coordinates an account"):
            of(BOB).check()
    finally:
        engine.cluster.command(
            "sacctmgr", "--immediate", "delete", "coordinator", f"account={ACCOUNT}", f"names={BOB}"
        )
    assert of(BOB).check()


def test_a_token_serves_its_own_user_alone(engine, of):
    """slurmrestd lets nobody act for another but Slurm's own user: it is asked so, and the adapter does not try."""
    token = engine.cluster.command("scontrol", "token", f"username={USER}", "lifespan=600").strip()
    with pytest.raises(CenterRefused, match="signing key"):
        of(ANN, {"token": token})
    adapter = adapter_of("slurm", engine.settings, {"token": token}, local_addresses=True)
    adapter._credential.user = ANN
    with pytest.raises(CenterRefused):
        adapter.job_create(job("true"), "weir-t-acting-1")
    assert engine.count("weir-t-acting-1") == 0


def test_an_account_and_a_partition_of_its_own_are_asked_for(engine, of, key):
    engine.cluster.command("sacctmgr", "--immediate", "add", "account", "physics")
    engine.cluster.command("sacctmgr", "--immediate", "add", "user", ANN, "account=physics")
    ann = of(ANN, account="physics", partition="all")
    native_id = ann.job_create(job("true"), key)
    ended(ann, native_id)
    told = engine.cluster.command("scontrol", "show", "job", native_id)
    for part in ("Account=physics", "Partition=all", f"UserId={ANN}("):
        assert part in told
    with pytest.raises(CenterRefused):
        of(ANN, partition="nowhere").job_create(job("true"), f"{key}.2")


def test_a_folder_that_others_enter_or_can_replace_is_refused(tmp_path):
    own = tmp_path / "ann"
    with pytest.raises(CenterRefused, match="No such file"):
        private_folder_check(str(own))
    own.mkdir(mode=0o700)
    with pytest.raises(CenterRefused, match="no folder of a user's own"):
        private_folder_check(str(own))
    os.chown(own, pwd.getpwnam(ANN).pw_uid, 0)
    private_folder_check(str(own))
    own.chmod(0o755)
    with pytest.raises(CenterRefused, match="Others may enter"):
        private_folder_check(str(own))
    own.chmod(0o700)
    tmp_path.chmod(0o777)
    with pytest.raises(CenterRefused, match="in the place of"):
        private_folder_check(str(own))
    tmp_path.chmod(0o755)
    own.rename(tmp_path / "moved")
    own.symlink_to(tmp_path / "moved")
    with pytest.raises(CenterRefused, match="no folder of a user's own"):
        private_folder_check(str(own))
