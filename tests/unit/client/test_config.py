import stat

import pytest
from weir import api
from weir.config import Config, config_path, keep
from weir.errors import NotSignedIn, WeirClientError


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    for name in ("WEIR_URL", "WEIR_TOKEN", "WEIR_TENANT", "WEIR_ROLE", "WEIR_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WEIR_CONFIG", str(tmp_path / "deep" / "config.json"))


def test_what_is_saved_is_found_again_and_is_for_its_user_only():
    keep("x", Config("http://x", "secret", "acme"))
    assert Config.load() == Config("http://x", "secret", "acme")
    assert stat.S_IMODE(config_path().stat().st_mode) == 0o600


def test_without_a_token_one_is_told_to_sign_in():
    with pytest.raises(NotSignedIn, match="weir login"):
        Config.load()


def test_the_environment_goes_first(monkeypatch):
    keep("x", Config("http://x", "secret"))
    monkeypatch.setenv("WEIR_URL", "http://y")
    monkeypatch.setenv("WEIR_TOKEN", "other")
    assert Config.load().url == "http://y"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": "x"}', "\x00"])
def test_a_damaged_file_is_named(text):
    config_path().parent.mkdir()
    config_path().write_text(text)
    with pytest.raises(WeirClientError, match="damaged"):
        Config.load()


def test_the_centre_is_told_which_zone_its_caller_reads_times_in(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    assert api.local_zone() == "Asia/Shanghai"
    with api.Client("http://localhost") as client:
        assert client._http.headers["Weir-Time-Zone"] == "Asia/Shanghai"
    monkeypatch.setenv("TZ", "a\r\nb")
    assert api.local_zone() == ""
