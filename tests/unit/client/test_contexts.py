"""Several centres, tenants and people in one configuration: none is lost, each is acted in by its name."""

import json
import os
import stat
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner
from weir.cli import context, signing_in
from weir.cli.main import app
from weir.config import Config, Contexts, changing, chosen, config_path, keep
from weir.errors import ApiError, NotSignedIn, WeirClientError

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-101")
OLD = {"url": "https://old.example.com", "token": "old", "tenant": "acme", "role": ""}


class Signed(Centre):
    """A centre that knows every account with its password, and the token `t-USER` of each."""

    made: list[tuple[str, str, str]] = []
    signed_out: list[str] = []
    refuses = 0

    def __init__(self, url, token="", *, tenant="", role="", **_more):
        super().__init__()
        self.url, self.token, self.tenant = url, token, tenant
        self.made.append((url, token, tenant))

    @classmethod
    def sign_in(cls, url, user, password, *, tenant="", days=1):
        if password != "right":
            raise ApiError(400, "wrong", "Account or password is wrong.", "", {})
        answer = {"token": f"t-{user}", "tenants": [], "user": {"username": user}, "expires_at": f"in {days}"}
        return cls(url, answer["token"], tenant=tenant), answer

    @classmethod
    def from_config(cls, *, tenant="", context=""):
        found = Config.load(context)
        return cls(found.url, found.token, tenant=tenant or found.tenant)

    def me(self):
        if not self.token.startswith("t-"):
            raise ApiError(401, "unknown_token", "This token is not known.", "", {})
        return {"user": {"username": self.token[2:]}, "tenants": [{"schema": "acme"}], "tenant": self.tenant}

    def sign_out(self):
        if self.refuses:
            raise ApiError(self.refuses, "no", "Refused.", "", {})
        self.signed_out.append(self.token)

    def call(self, _method, path, _body):
        return {"at": self.url, "as": self.token, "in": self.tenant, "path": path}


@pytest.fixture(autouse=True)
def centre(tmp_path, monkeypatch):
    for name in ("WEIR_URL", "WEIR_TOKEN", "WEIR_TENANT", "WEIR_ROLE", "WEIR_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WEIR_CONFIG", str(tmp_path / "config.json"))
    monkeypatch.setenv("WEIR_PASSWORD", "right")
    monkeypatch.setattr(Signed, "made", [])
    monkeypatch.setattr(Signed, "signed_out", [])
    for module in (signing_in, context):
        monkeypatch.setattr(module, "Client", Signed)


def weir(*words, sent=None, code=0):
    done = CliRunner().invoke(app, words, input=sent)
    assert done.exit_code == code, done.output
    return done


def named():
    return {name: found.token for name, found in Contexts.load().named.items()}


@pytest.fixture
def two():
    """Two contexts; `test` is in use."""
    weir("--context", "prod", "login", "https://prod.example.com", "-u", "alice")
    weir("login", "--context", "test", "https://test.example.com", "-u", "alice")


# --- signing in --------------------------------------------------------------------------------------------------


def test_a_sign_in_without_a_name_is_called_by_person_centre_and_tenant():
    weir("login", "http://localhost:8000/", "-u", "alice")
    weir("--tenant", "acme", "login", "http://localhost:8000", "-u", "alice")
    assert "kept as bob@localhost:8000." in weir("login", "http://localhost:8000", "-u", "bob").stdout
    assert named() == {
        "alice@localhost:8000": "t-alice", "alice@localhost:8000/acme": "t-alice", "bob@localhost:8000": "t-bob",
    }  # fmt: skip
    assert Contexts.load().in_use == "bob@localhost:8000"
    assert stat.S_IMODE(config_path().stat().st_mode) == 0o600


def test_signing_in_again_takes_the_place_of_the_same_persons_and_of_nobody_elses(two):
    weir("login", "--context", "prod", "-u", "alice")
    assert Contexts.load().named["prod"].url == "https://prod.example.com", "the centre that the name has"
    before = config_path().read_text()
    made = len(Signed.made)
    for words in (("https://prod.example.com", "-u", "bob"), ("https://other.example.com", "-u", "alice")):
        done = weir("login", "--context", "prod", *words, code=1)
        assert "The context prod is alice at https://prod.example.com." in done.output
        assert "rename" in done.output
    assert (config_path().read_text(), len(Signed.made)) == (before, made), (
        "no token was made that is not kept"
    )


def test_the_name_of_the_environment_is_the_name_of_a_sign_in(monkeypatch):
    monkeypatch.setenv("WEIR_CONTEXT", "here")
    weir("login", "https://a.example.com", "-u", "alice")
    assert named() == {"here": "t-alice"}


def test_a_wrong_password_changes_nothing(two, monkeypatch):
    before = config_path().read_text()
    monkeypatch.setenv("WEIR_PASSWORD", "wrong")
    weir("login", "https://prod.example.com", "-u", "alice", code=1)
    assert config_path().read_text() == before


def test_account_and_password_are_asked_for_where_they_are_not_given(monkeypatch):
    monkeypatch.delenv("WEIR_PASSWORD")
    weir("login", "https://a.example.com", sent="alice\nright\n")
    assert named() == {"alice@a.example.com": "t-alice"}


def test_a_token_comes_in_by_the_standard_input():
    done = weir("login", "https://a.example.com", "--with-token", sent="t-robot\n")
    assert "Signed in as robot (acme), kept as robot@a.example.com." in done.stdout
    assert named() == {"robot@a.example.com": "t-robot"}


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ("", "holds no token"),
        ("\n \n", "holds no token"),
        ("t-a t-b", "is no token"),
        ("t-a\nt-b\n", "is no token"),
        ("t-é", "is no token"),
        (b"t-\xff\xfe", "is no token"),
        ("\x1b[0m", "is no token"),
        ("unknown", "not known"),
    ],
)
def test_what_is_no_token_is_refused_and_nothing_is_kept(sent, says):
    assert says in weir("login", "https://a.example.com", "--with-token", sent=sent, code=1).output
    assert not config_path().exists()


@pytest.mark.parametrize("more", [("-u", "alice"), ("--days", "3")])
def test_a_token_says_itself_whose_it_is_and_until_when(more):
    done = weir("login", "https://a.example.com", "--with-token", *more, sent="t-a", code=1)
    assert "Leave --user and --days out" in done.output


# --- acting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("--context", "prod", "api", "me"), ("api", "--context", "prod", "me")])
def test_a_command_acts_in_the_context_that_is_named_before_or_after_it(two, words):
    assert json.loads(weir(*words).stdout)["at"] == "https://prod.example.com"
    assert json.loads(weir("api", "me").stdout)["at"] == "https://test.example.com", "for that one alone"


def test_the_name_given_goes_before_the_environments_and_that_before_the_one_in_use(two, monkeypatch):
    weir("login", "--context", "third", "https://third.example.com", "-u", "alice")
    monkeypatch.setenv("WEIR_CONTEXT", "test")
    assert chosen()[0] == "test"
    assert chosen("prod")[0] == "prod"
    monkeypatch.setenv("WEIR_URL", "http://env")
    monkeypatch.setenv("WEIR_TOKEN", "e")
    assert chosen() == ("", Config("http://env", "e"))
    assert chosen("prod")[0] == "prod"
    assert "WEIR_URL and WEIR_TOKEN are set" in weir("context", "use", "prod").stderr
    assert "have no name" in weir("context", "show", code=1).output


def test_a_context_has_its_tenant_and_another_can_be_said(two):
    weir("--tenant", "acme", "login", "--context", "acme", "https://prod.example.com", "-u", "alice")
    assert json.loads(weir("api", "x").stdout)["in"] == "acme"
    assert json.loads(weir("--tenant", "umbra", "api", "x").stdout)["in"] == "umbra"


def test_whoever_asks_is_told_the_context(two):
    assert json.loads(weir("whoami", "--json", "--context", "prod").stdout)["context"] == "prod"


# --- the commands ------------------------------------------------------------------------------------------------


def test_contexts_are_listed_and_shown_without_their_tokens(two):
    listed = weir("context", "list", "--json")
    assert [(row["name"], row["in_use"], row["user"]) for row in json.loads(listed.stdout)] == [
        ("prod", False, "alice"), ("test", True, "alice"),
    ]  # fmt: skip
    assert json.loads(weir("context", "show", "--json").stdout)["name"] == "test"
    shown = weir("context", "show", "prod")
    assert "https://prod.example.com" in shown.stdout
    assert "t-alice" not in listed.stdout + shown.stdout + weir("context", "list").stdout


def test_another_is_used_from_now_on(two, monkeypatch):
    weir("context", "use", "prod")
    assert Config.load().url == "https://prod.example.com"
    monkeypatch.setenv("WEIR_CONTEXT", "test")
    assert "WEIR_CONTEXT is set to test here" in weir("context", "use", "prod").stderr


def test_one_is_renamed_and_stays_in_use(two):
    weir("context", "rename", "test", "playground")
    weir("context", "rename", "prod", "main")
    assert sorted(named()) == ["main", "playground"]
    assert chosen()[0] == "playground"


def test_one_is_removed_without_a_word_to_its_centre(two):
    weir("context", "remove", "prod")
    assert (list(named()), Signed.signed_out) == (["test"], [])


def test_the_one_in_use_is_not_removed_unless_that_is_said(two):
    assert "test is in use. Use another first" in weir("context", "remove", "test", code=1).output
    assert sorted(named()) == ["prod", "test"]
    weir("context", "remove", "test", "--force")
    assert list(named()) == ["prod"]
    assert (
        "No context is in use. Run `weir context use NAME` with one of prod."
        in weir("api", "x", code=1).output
    )


@pytest.mark.parametrize(
    "words", [("use",), ("show",), ("remove",), ("rename", "new")], ids=lambda words: words[0]
)
def test_a_name_that_is_unknown_is_answered_with_those_that_are_known(two, words):
    before = config_path().read_text()
    act, *more = words
    done = weir("context", act, "nope", *more, code=1)
    assert "There is no context 'nope'. Known: prod, test." in done.output
    assert config_path().read_text() == before
    assert "no context 'nope'" in weir("api", "--context", "nope", "x", code=1).output


@pytest.mark.parametrize(
    "name", ["two words", " ", "", "tab\there", "-x", "a" * 101, "line\nend", 'quo"te', "%h"]
)
def test_a_name_that_is_none_is_refused(two, name):
    before = config_path().read_text()
    assert "is no name of a context" in weir("context", "rename", "--", "test", name, code=1).output
    if name:
        done = weir(f"--context={name}", "login", "https://a.example.com", "-u", "alice", code=1)
        assert "is no name of a context" in done.output
    assert config_path().read_text() == before


def test_a_name_that_is_taken_is_not_given_again(two):
    assert "There is a context prod already" in weir("context", "rename", "test", "prod", code=1).output
    assert sorted(named()) == ["prod", "test"]


def test_before_the_first_sign_in_there_is_nothing():
    assert weir("context", "list", "--json").stdout == "[]\n"
    assert "there is none yet: run `weir login`" in weir("context", "use", "x", code=1).output
    with pytest.raises(NotSignedIn, match="not signed in"):
        chosen()


# --- signing out -------------------------------------------------------------------------------------------------


def test_who_signs_out_of_one_stays_signed_in_to_the_others(two):
    assert "takes another: prod" in weir("logout").stdout
    assert list(named()) == ["prod"]
    weir("logout", "--context", "prod")
    assert (named(), Signed.signed_out) == ({}, ["t-alice", "t-alice"])


def test_a_token_that_is_not_valid_any_more_is_forgotten(two, monkeypatch):
    monkeypatch.setattr(Signed, "refuses", 503)
    weir("logout", code=1)
    assert sorted(named()) == ["prod", "test"]
    monkeypatch.setattr(Signed, "refuses", 401)
    assert "no longer valid" in weir("logout").stdout
    assert list(named()) == ["prod"]


def test_signing_out_by_the_environment_leaves_what_is_kept(two, monkeypatch):
    monkeypatch.setenv("WEIR_URL", "http://env")
    monkeypatch.setenv("WEIR_TOKEN", "t-env")
    weir("logout")
    assert (sorted(named()), Signed.signed_out) == (["prod", "test"], ["t-env"])


# --- the file ----------------------------------------------------------------------------------------------------


def test_an_earlier_clients_file_is_read_and_kept_beside_what_comes():
    config_path().write_text(json.dumps(OLD))
    assert chosen() == ("old.example.com/acme", Config("https://old.example.com", "old", "acme"))
    weir("login", "https://new.example.com", "-u", "alice")
    assert named() == {"old.example.com/acme": "old", "alice@new.example.com": "t-alice"}


@pytest.mark.parametrize(
    "text",
    ['{"in_use": "a", "contexts": []}', '{"contexts": {"a": 1}, "in_use": "a"}', '{"contexts": {}}',
     '{"in_use": "a", "contexts": {"a": {"url": 1, "token": "t"}}}'],
)  # fmt: skip
def test_a_damaged_file_is_named_and_put_aside_by_the_next_sign_in(text):
    config_path().write_text(text)
    for words in (("api", "x"), ("context", "list"), ("context", "use", "a")):
        assert "is damaged. Run `weir login` again" in weir(*words, code=1).output
    assert config_path().read_text() == text
    weir("login", "https://a.example.com", "-u", "alice")
    assert named() == {"alice@a.example.com": "t-alice"}
    assert config_path().with_name("config.json.damaged").read_text() == text


def test_many_sign_ins_at_once_are_all_kept():
    def sign_in(number):
        keep(f"c{number}", Config(f"http://c{number}", "t"))

    threads = [threading.Thread(target=sign_in, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Contexts.load().named) == 16


def test_a_change_that_fails_halfway_is_none(two):
    before = config_path().read_text()
    with pytest.raises(WeirClientError), changing() as kept:  # noqa: PT012
        kept.named.clear()
        kept.find("x")
    assert config_path().read_text() == before


def test_shells_complete_their_names(two):
    env = {**os.environ, "_WEIR_COMPLETE": "complete_bash"}
    for line, at in (
        ("weir context use pr", "3"),
        ("weir --context pr", "2"),
        ("weir resources --context pr", "3"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "weir"],
            env={**env, "COMP_WORDS": line, "COMP_CWORD": at}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout.split() == ["prod"], (line, done.stderr)
