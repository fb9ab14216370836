"""The embedded servers are real, shared, and end with their last user, however that one ends."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
import redis

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.bootstrap import ROOT
from portal.devstack.errors import LocalError
from portal.devstack.servers import servers
from portal.devstack.servers.processes import identity_read, wait_until

_HOLD = """
import sys, time
from pathlib import Path
from portal.devstack.servers import servers
with servers.running(Path(sys.argv[1]), durable=False):
    print("up", flush=True)
    time.sleep(1200)
"""


def _holder(var_dir: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(var_dir)], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


def _identities(var_dir: Path) -> list[ProcessIdentity]:
    found = [identity_read(var_dir / "run" / f"{name}.pid") for name in ("guard", "postgres", "redis")]
    assert all(found)
    return [identity for identity in found if identity is not None]


def _ask(url: str, question: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(question).fetchone()  # type: ignore[arg-type]
        assert row is not None
        return row[0]


def test_both_answer_and_data_is_kept(tmp_path: Path) -> None:
    with servers.running(tmp_path, durable=False) as urls:
        assert str(_ask(urls.database, "SHOW server_version")).startswith("18")
        with psycopg.connect(urls.database, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT '堰' AS word")
        with redis.Redis.from_url(urls.redis) as client:
            assert client.ping()
    with servers.running(tmp_path, durable=False) as urls:
        assert _ask(urls.database, "SELECT word FROM kept") == "堰"


def test_nobody_gets_in_without_the_password(tmp_path: Path) -> None:
    with servers.running(tmp_path, durable=False) as urls:
        secret = (tmp_path / "run" / "pg.password").read_text()
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(urls.database.replace(secret, "guess"))
        port = (tmp_path / "run" / "redis.port").read_text()
        with redis.Redis(port=int(port)) as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_they_outlive_the_first_user_and_end_with_the_last_one_killed(tmp_path: Path) -> None:
    first, second = _holder(tmp_path), _holder(tmp_path)
    identities = _identities(tmp_path)
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(0.5)
    assert _ask(servers.database_url(tmp_path), "SELECT 1") == 1
    second.send_signal(signal.SIGKILL)
    second.wait()
    assert wait_until(lambda: not any(one.is_alive() for one in identities), timeout_s=120)


def test_a_killed_server_comes_back_and_a_killed_guard_leaves_nothing(tmp_path: Path) -> None:
    user = servers.Servers(tmp_path, durable=False)
    urls = user.start()
    guard, postgres, server = _identities(tmp_path)
    postgres.send(signal.SIGKILL)
    assert wait_until(lambda: _identities(tmp_path)[1] != postgres, timeout_s=120)
    assert _ask(urls.database, "SELECT 1") == 1
    postgres = _identities(tmp_path)[1]
    guard.send(signal.SIGKILL)
    assert wait_until(lambda: not postgres.is_alive() and not server.is_alive(), timeout_s=120)
    assert user.start() == urls
    assert _ask(urls.database, "SELECT 1") == 1
    user.stop()


def test_another_version_s_data_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "pg").mkdir()
    (tmp_path / "pg" / "PG_VERSION").write_text("15\n")
    with pytest.raises(LocalError, match=r"made by PostgreSQL 15, this is 18: .*make reset"):
        servers.Servers(tmp_path, durable=False).start()
    assert (tmp_path / "pg" / "PG_VERSION").read_text() == "15\n"
