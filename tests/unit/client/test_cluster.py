"""`weir queues push` and `pull` against an API server that keeps cluster objects as Kubernetes does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import pytest
import yaml
from typer.testing import CliRunner
from weir.cli.centre import queues
from weir.cli.main import app
from weir.cluster import Cluster, manifests_of, text_of
from weir.errors import WeirClientError

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-1706", "ELA-1704")
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"


class ApiServer(BaseHTTPRequestHandler):
    """Lists, gets, applies and deletes queues, takes commands; refuses as a cluster does."""

    server: "Server"

    def do_GET(self) -> None:
        path = urlparse(self.path).path
        if not self.server.has_volcano:
            return self._refuse(404, "the server could not find the requested resource")
        if path == QUEUES:
            return self._answer(
                {"kind": "QueueList", "metadata": {}, "items": list(self.server.queues.values())}
            )
        row = self.server.queues.get(path.removeprefix(f"{QUEUES}/"))
        return self._answer(row) if row else self._refuse(404, "queues not found")

    def do_PATCH(self) -> None:
        asked = parse_qs(urlparse(self.path).query)
        body, name = self._body(), urlparse(self.path).path.removeprefix(f"{QUEUES}/")
        assert self.headers["Content-Type"] == "application/apply-patch+yaml"
        assert asked["fieldManager"] == ["weir"]
        assert "status" not in body, "a state is observed, never set"
        parent = body["spec"].get("parent")
        if name in self.server.forbidden:
            return self._refuse(403, f'queues "{name}" is forbidden')
        if parent and parent not in self.server.queues:
            return self._refuse(400, f"parent {parent} does not exist")
        known = self.server.queues.get(
            name, {"metadata": {"uid": f"uid-{name}"}, "status": {"state": "Open"}}
        )
        row = known | body | {"metadata": known["metadata"] | body["metadata"]}
        if "dryRun" not in asked:
            self.server.queues[name] = row
            self.server.written.append(name)
        return self._answer(row)

    def do_DELETE(self) -> None:
        del self.server.queues[urlparse(self.path).path.removeprefix(f"{QUEUES}/")]
        self._answer({"kind": "Status", "status": "Success"})

    def do_POST(self) -> None:
        assert urlparse(self.path).path == COMMANDS
        body = self._body()
        self.server.commands.append(body)
        self.server.queues[body["target"]["name"]]["status"]["state"] = {
            "OpenQueue": "Open",
            "CloseQueue": "Closed",
        }[body["action"]]
        self._answer(body)

    def log_message(self, *_words: object) -> None:
        pass

    def _body(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _refuse(self, code: int, message: str) -> None:
        self._answer({"kind": "Status", "status": "Failure", "message": message, "code": code}, code)

    def _answer(self, body: dict, code: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ApiServer)
        self.has_volcano = True
        self.queues: dict[str, dict] = {}
        self.forbidden: set[str] = set()
        self.written: list[str] = []
        self.commands: list[dict] = []


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def config(server, tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text(text_of([{
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "ops"}}],
        "users": [{"name": "ops", "user": {"token": "t"}}],
    }]))  # fmt: skip
    return str(file)


def queue(name, state="Open", **spec):
    found = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
    return found | {"spec": {"weight": 1} | spec, "status": {"state": state}}


def test_queues_are_written_parents_first_and_brought_to_their_state_by_command(server, config):
    asked = [queue("leaf", "Closed", parent="top"), queue("top", weight=5)]
    done = Cluster(config).push(asked)
    assert server.written == done.applied == ["top", "leaf"]
    assert server.queues["top"]["spec"] == {"weight": 5}
    assert [(c["target"]["name"], c["action"], c["target"]["uid"]) for c in server.commands] == [
        ("leaf", "CloseQueue", "uid-leaf")
    ]
    assert Cluster(config).push(asked).commanded == [], "closed already: it is not said again"
    assert Cluster(config).push([queue("leaf", "Open", parent="top")]).commanded == [("leaf", "OpenQueue")]


def test_only_what_was_pushed_is_pruned_and_a_trial_keeps_nothing(server, config):
    server.queues["default"] = queue("default") | {"metadata": {"name": "default", "uid": "u"}}
    Cluster(config).push([queue("a"), queue("b")])
    before = json.dumps(server.queues)
    trial = Cluster(config).push([queue("a", "Closed"), queue("c")], prune=True, dry_run=True)
    assert (trial.applied, trial.removed, trial.commanded) == (["a", "c"], ["b"], [("a", "CloseQueue")])
    assert json.dumps(server.queues) == before
    assert Cluster(config).push([queue("a")], prune=True).removed == ["b"]
    assert sorted(server.queues) == ["a", "default"]


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda server: setattr(server, "has_volcano", False), "Install Volcano"),
        (lambda server: server.forbidden.add("a"), "right to change queues"),
        (lambda server: server.shutdown() or server.server_close(), "does not answer"),
    ],
)
def test_what_goes_wrong_says_cause_and_cure(server, config, break_it, says):
    break_it(server)
    with pytest.raises(WeirClientError, match=says):
        Cluster(config).push([queue("a")])
    assert server.written == []


def test_a_configuration_that_is_not_there_is_named(tmp_path):
    with pytest.raises(WeirClientError, match="No cluster is configured"):
        Cluster(str(tmp_path / "none"))


class Filed(Centre):
    def queue_file(self, **asked):
        assert asked == {"form": "volcano", "resource": "amd.com/gpu"}
        return {"text": text_of([queue("normal", weight=50), queue("shut", "Closing")]), "state": "s"}


def test_the_commands_push_and_pull(server, config, monkeypatch):
    monkeypatch.setattr(queues, "caller", lambda _ctx: Filed())
    pushed = CliRunner().invoke(
        app, ["queues", "push", "--kubeconfig", config, "--context", "lab", "--resource", "amd.com/gpu"]
    )
    assert pushed.exit_code == 0, pushed.output
    assert [line.split() for line in pushed.output.splitlines()[-3:]] == [
        ["written", "normal"], ["written", "shut"], ["closed", "shut"],
    ]  # fmt: skip
    pulled = CliRunner().invoke(app, ["queues", "pull", "--kubeconfig", config])
    found = {each["metadata"]["name"]: each for each in manifests_of(pulled.stdout)}
    assert found["normal"]["spec"] == {"weight": 50}
    assert found["shut"]["status"] == {"state": "Closed"}
    assert list(yaml.safe_load_all(pulled.stdout)) == list(found.values())
