"""The parts of `weir run` that need no centre: what is typed, the file of the session, the script's start."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import weir
from weir.cli.units import pairs
from weir.cli.work.running import (
    _environment,
    _program,
    _run,
    _script,
    _session_file,
    _session_write,
    _tell_unused,
)
from weir.errors import WeirClientError
from weir.session import Lease, SessionEnded

BOOT = Path(weir.__file__).parent / "boot"


def test_variables_are_names_and_values():
    assert pairs(["A=1", "B=x=y", "C="]) == {"A": "1", "B": "x=y", "C": ""}
    for wrong in ("A", "=1"):
        with pytest.raises(WeirClientError):
            pairs([wrong])


def test_work_is_called_by_its_script():
    assert _script(["python", "-u", "dir/train.py", "x.py"]) == "dir/train.py"
    assert _script(["bash"]) == "bash"


def test_python_is_this_one_where_there_is_no_other(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert _program("python") == sys.executable
    assert _program("no-such-program") is None


def test_no_share_is_asked_for_to_run_a_program_that_is_not_there(capsys):
    assert _run(None, {}, ["no-such-program"]) == 127
    assert "no program no-such-program" in capsys.readouterr().err


def test_the_session_file_is_its_users_alone_and_gone_in_the_end():
    with _session_file([{"token": "secret"}]) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        _session_write(path, [{"token": "other"}])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text()) == {"shares": [{"token": "other"}], "is_kept": True}
        env = _environment(path)
        assert env["WEIR_SESSION_FILE"] == str(path)
        assert not any("secret" in value or value == "other" for value in env.values())
    assert not path.exists()


def test_the_scripts_own_sitecustomize_still_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.own = 7")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "print(own); import sys; print('torch' in sys.modules, 'weir' in sys.modules)",
        ],
        env={"PYTHONPATH": f"{BOOT}:{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["7", "False", "False"], done.stderr


class Centre:
    """A centre's answers in the order in which it gives them."""

    def __init__(self, *sessions):
        self.sessions, self.stopped = list(sessions), []

    def workload_submit(self, **body):
        self.body = body
        return {"uid": "u", "no": "W-1", "shares": 1}

    def workload_session(self, uid):
        return self.sessions.pop(0)

    def workload(self, uid):
        return {
            "state": "pending", "position": 2, "queue": "fast", "reason": "Full.", "expected_start": None,
        }  # fmt: skip

    def workload_stop(self, uid, reason):
        self.stopped.append(uid)


def test_a_share_that_nothing_uses_is_said_to_be_metered(capsys):
    for mounted, told in ((False, True), (True, False)):
        centre = Centre()
        centre.workload = lambda uid, is_used=mounted: {"grants": [{"mounted": is_used}]}
        _tell_unused(Lease(centre, {}))
        said = capsys.readouterr().err
        assert ("nothing has used its device" in said) is told


WAITING = {"state": "pending", "reason": "", "shares": []}
STARTING = {"host": "h", "port": None, "fingerprint": ""}
OPEN = {"host": "h", "port": 1, "fingerprint": "f"}


def test_a_lease_waits_for_its_worker_says_why_and_is_given_back_once(monkeypatch):
    monkeypatch.setattr(sys.modules[Lease.__module__], "_FIRST_LOOK_S", 0.01)
    told = []
    centre = Centre(
        WAITING, {**WAITING, "state": "placed", "shares": [STARTING]}, {**WAITING, "shares": [OPEN]}
    )
    lease = Lease(centre, {"compute_percent": 5, "kind": "program"}, tell=told.append)
    assert lease.wait() == [OPEN]
    assert centre.body["kind"] == "session"
    assert told == ["W-1 waits, place 2 in queue fast. Full."]
    lease.release()
    lease.release()
    assert centre.stopped == ["u"]


def test_a_lease_that_ends_instead_says_why():
    lease = Lease(Centre({"state": "failed", "reason": "Too hot.", "shares": []}), {})
    with pytest.raises(SessionEnded, match=r"W-1 has ended. Too hot."):
        lease.wait()


def test_waiting_has_a_limit_where_one_is_given():
    lease = Lease(Centre(WAITING, WAITING), {})
    with pytest.raises(TimeoutError, match="place 2"):
        lease.wait(timeout_s=0)
