"""What a command line asks for, and the one body that comes of it."""

import json
from datetime import datetime, timedelta, timezone

import pytest
import weir as package
from typer.testing import CliRunner
from weir.cli import signing_in
from weir.cli.main import app
from weir.cli.units import cores_milli, instant, memory_mib
from weir.cli.work import running, submitting, workloads
from weir.errors import ApiError, WeirClientError

from tests.unit.client.centre import Centre

UID = "11111111-1111-4111-8111-111111111111"
NOW = datetime(2026, 11, 21, 17, 30, tzinfo=timezone(timedelta(hours=8)))


class Submitted(Centre):
    """Answers as a centre does."""

    def workload_submit(self, **body):
        self.asked.append(body)
        return {"no": "W-1", "name": body["name"]}

    def workloads_submit(self, jobs):
        self.asked.append(jobs)
        return {"count": len(jobs)}

    def workload_dry_run(self, **body):
        self.asked.append(body)
        return {"start_at": None, "sentence": "Now."}

    def workloads(self):
        raise AssertionError("a uid is looked up nowhere")

    def workload_scale(self, _uid, shares=None, *, replicas=None):
        self.asked.append({"shares": shares, "replicas": replicas})
        return {"no": "W-1", "shares": 24}


@pytest.fixture
def centre(monkeypatch):
    found = Submitted()
    for module in (workloads, running, submitting):
        monkeypatch.setattr(module, "caller", lambda _ctx: found)
    return found


def weir(*words, **options):
    return CliRunner().invoke(app, words, **options)


def test_without_words_an_image_runs_what_it_does(centre):
    assert weir("submit", "--share", "30", "--memory", "512").exit_code == 1
    done = weir("submit", "--share", "30", "--memory", "512", "--image", "mine:1")
    assert done.exit_code == 0, done.output
    amounts = {"compute_percent": 30, "memory_mib": 512}
    assert centre.asked == [{"name": "mine:1", "kind": "program", "image": "mine:1", **amounts}]


@pytest.mark.req("ELA-503")
def test_only_what_was_said_is_sent(centre):
    done = weir("submit", "--share", "30", "--memory", "512", "python", "train.py")
    assert done.exit_code == 0, done.output
    assert centre.asked == [
        {
            "name": "python",
            "kind": "program",
            "argv": ["python", "train.py"],
            "compute_percent": 30,
            "memory_mib": 512,
        }
    ]


@pytest.mark.req("ELA-901")
def test_every_option_has_the_apis_name_and_unit(centre):
    done = weir(
        "submit", "--shares", "8", "--min-shares", "2", "--whole", "--distinct", "--group", "labs", "--cpu", "1.5",
        "--host-memory", "4096", "-e", "A=1", "-e", "B=x=y", "--run-timeout", "2h",
        "--deadline", "2026-12-01T08:00+08:00", "--urgent", "--preemptible", "--priority", "0", "true",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (asked,) = centre.asked
    assert (
        asked
        | {
            "shares": 8,
            "min_shares": 2,
            "whole_cards": True,
            "distinct_devices": True,
            "resource_group": "labs",
            "host_cpu_milli": 1500,
            "host_memory_mib": 4096,
            "env": {"A": "1", "B": "x=y"},
            "run_timeout_s": 7200,
            "deadline_at": "2026-12-01T08:00:00+08:00",
            "urgent": True,
            "preemptible": True,
            "priority": 0,
        }
        == asked
    )


@pytest.mark.req("ELA-505")
def test_replicas_are_asked_for_and_scaled_by_their_number(centre):
    asked = ("--replicas", "2", "--per-replica", "8", "--min-replicas", "1")
    assert weir("submit", "--whole", *asked, "true").exit_code == 0
    assert weir("eta", "--whole", *asked).exit_code == 0
    for body in centre.asked:
        assert (body["replicas"], body["shares_per_replica"], body["min_replicas"]) == (2, 8, 1)
        assert "shares" not in body
    assert weir("scale", UID, "--replicas", "3").exit_code == 0
    assert weir("scale", UID, "24").exit_code == 0
    assert centre.asked[2:] == [{"shares": None, "replicas": 3}, {"shares": 24, "replicas": None}]


@pytest.mark.req("ELA-810")
def test_how_work_saves_itself_is_said_as_a_shell_would_read_it(centre):
    assert weir("submit", "--checkpoint-signal", "sigusr1", "true").exit_code == 0
    assert weir("submit", "--checkpoint-command", "sh -c 'kill -9 $WEIR_WORK_PID'", "true").exit_code == 0
    signal, command = centre.asked
    assert signal["checkpoint_signal"] == "USR1"
    assert "checkpoint_command" not in signal
    assert command["checkpoint_command"] == ["sh", "-c", "kill -9 $WEIR_WORK_PID"]
    broken = weir("submit", "--checkpoint-command", "sh -c 'x", "true")
    assert broken.exit_code
    assert len(centre.asked) == 2


@pytest.mark.req("ELA-503")
def test_jobs_of_a_file_take_the_options_where_they_are_silent(centre, tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text(
        '{"argv": ["true"], "memory_mib": 7}\n\n{"name": "b", "argv": ["false"], "queue": "night"}\n'
    )
    done = weir("--json", "submit", "--from", str(jobs), "--share", "5", "--memory", "64")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"count": 2}
    first, second = centre.asked[0]
    assert (first["name"], first["memory_mib"], first["compute_percent"], "queue" in first) == (
        "job-1",
        7,
        5,
        False,
    )
    assert (second["name"], second["memory_mib"], second["queue"]) == ("b", 64, "night")


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_a_bad_line_submits_nothing_and_is_named(centre, tmp_path, line):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"argv": ["true"]}\n' + line)
    done = weir("submit", "--from", str(jobs))
    assert done.exit_code == 1
    assert "Line 2" in done.output
    assert centre.asked == []


def test_jobs_come_from_the_input_too_and_a_file_that_is_none_is_named(centre, tmp_path):
    done = weir("submit", "--from", "-", "--share", "5", input='{"argv": ["true"]}\n')
    assert done.exit_code == 0, done.output
    assert centre.asked[0][0]["argv"] == ["true"]
    for bad in (tmp_path, tmp_path / "none.jsonl"):
        done = weir("submit", "--from", str(bad))
        assert done.exit_code == 1
        assert "cannot be read" in " ".join(done.output.split())
    assert len(centre.asked) == 1


@pytest.mark.parametrize(
    ("text", "mib"),
    [("4Gi", 4096), ("512Mi", 512), ("1TiB", 1024**2), ("64", 64), ("4G", 4096), ("512M", 512)],
)
def test_memory_is_said_in_the_units_people_use(centre, text, mib):
    assert weir("submit", "--share", "5", "--memory", text, "--host-memory", text, "true").exit_code == 0
    assert (centre.asked[0]["memory_mib"], centre.asked[0]["host_memory_mib"]) == (mib, mib)
    assert memory_mib(text) == mib


@pytest.mark.parametrize("text", ["4G i", "lots", "-1", "1.5Gi", "4Ki"])
def test_what_is_no_memory_is_refused_in_one_line(centre, text):
    done = weir("submit", "--share", "5", f"--memory={text}", "true")
    assert done.exit_code == 1
    assert "is no amount of memory. Write for example 4Gi" in done.output
    assert centre.asked == []


def test_a_variable_without_a_value_is_the_callers_own(centre, monkeypatch):
    monkeypatch.setenv("MINE", "x")
    assert weir("submit", "-e", "MINE", "-e", "B=1", "true").exit_code == 0
    assert centre.asked[0]["env"] == {"MINE": "x", "B": "1"}
    done = weir("submit", "-e", "NOWHERE_SET", "true")
    assert "NOWHERE_SET" in done.output
    assert done.exit_code == 1


def test_which_share_of_a_job_this_is_is_no_amount(centre):
    assert weir("submit", "true", env={"WEIR_SHARE": "1", "WEIR_COMPUTE_PERCENT": "20"}).exit_code == 0
    assert centre.asked[0]["compute_percent"] == 20


def test_the_version_is_an_option(centre):
    done = weir("--version")
    assert (done.exit_code, done.stdout.strip()) == (0, package.__version__)


def test_what_the_device_raises_is_named_by_the_package():
    assert issubclass(package.SessionLost, ConnectionError)
    assert "SessionLost" in package.__all__
    with pytest.raises(AttributeError):
        package.nothing_of_the_kind  # noqa: B018


class SignInCentre(Centre):
    """Signs everybody in, and knows one role."""

    url = "http://centre"

    def __init__(self, *_where, role="", **_more):
        super().__init__()
        self.role = role

    @classmethod
    def sign_in(cls, *_who, **_more):
        answer = {"token": "t", "tenants": [], "user": {"username": "al"}, "expires_at": "2030"}
        return cls(), answer

    def me(self):
        if self.role != "approver":
            raise ApiError(403, "forbidden", f"You do not hold the role {self.role} here.", "", {})


def test_a_role_that_is_not_held_is_refused_at_the_door(monkeypatch, tmp_path):
    monkeypatch.setenv("WEIR_CONFIG", str(tmp_path / "config.json"))
    monkeypatch.setattr(signing_in, "Client", SignInCentre)
    words = ("login", "http://centre", "-u", "al", "--role")
    refused = weir(*words, "nope", env={"WEIR_PASSWORD": "x"})
    assert refused.exit_code == 1
    assert "do not hold the role nope" in refused.output
    assert not (tmp_path / "config.json").exists()
    assert weir(*words, "approver", env={"WEIR_PASSWORD": "x"}).exit_code == 0
    assert (tmp_path / "config.json").exists()


def test_nothing_to_run_is_refused(centre):
    done = weir("submit", "--share", "5")
    assert done.exit_code == 1
    assert "nothing to run" in done.output


@pytest.mark.req("ELA-1102")
def test_a_dry_run_submits_nothing(centre):
    assert weir("eta", "--share", "30", "--memory", "512").exit_code == 0
    assert centre.asked == [{"name": "dry run", "compute_percent": 30, "memory_mib": 512}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18:00", "2026-11-21T18:00:00+08:00"),
        ("17:30", "2026-11-22T17:30:00+08:00"),
        ("2h", "2026-11-21T19:30:00+08:00"),
        ("2026-12-01T08:00Z", "2026-12-01T08:00:00+00:00"),
    ],
)
def test_an_instant_is_a_clock_a_date_or_from_now(text, expected):
    assert instant(text, now=NOW) == expected


@pytest.mark.parametrize("text", ["25:00", "soon", "", "12:61"])
def test_no_instant_is_refused(text):
    with pytest.raises(WeirClientError):
        instant(text, now=NOW)


def test_cores_are_counted_in_thousandths():
    assert [cores_milli(text) for text in ("2", "0.5", "1.25", "0.001")] == [2000, 500, 1250, 1]
    for wrong in ("-1", "1.2345", "x", ""):
        with pytest.raises(WeirClientError):
            cores_milli(wrong)


def test_an_address_that_is_none_is_said_at_once():
    done = weir("login", "localhost:8000", "-u", "al", env={"WEIR_PASSWORD": "x"})
    assert (done.exit_code, "'localhost:8000' is no address" in done.output) == (1, True)


def test_why_an_order_ends_is_asked_for():
    done = weir("terminate", UID)
    assert done.exit_code == 2
    assert "--reason" in done.output
