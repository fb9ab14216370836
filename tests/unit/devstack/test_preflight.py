"""What stands in the way is said in one line with its cure, before anything starts."""

import os
import socket
from pathlib import Path

import pytest

from portal.devstack import options, preflight
from portal.devstack.errors import LocalError


def test_a_taken_port_is_named_with_its_owner_and_the_cure(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LocalError) as refusal:
            preflight.check(tmp_path, host="127.0.0.1", port=port)
    text = str(refusal.value)
    assert f"port {port} is taken" in text
    assert f"process {os.getpid()}" in text
    assert f"WEIR_PORT={port + 1}" in text
    assert "\n" not in text
    preflight.check(tmp_path, host="127.0.0.1", port=port)


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "FREE_MIB_MIN", 2**40)
    with pytest.raises(LocalError, match=r"only \d+ MiB are free .* WEIR_VAR_DIR"):
        preflight.check_space(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError, match=r"cannot be made .* WEIR_VAR_DIR"):
        preflight.check_folder(tmp_path / "file" / "var")


@pytest.mark.parametrize(
    ("name", "value"), [("WEIR_PORT", "eighty"), ("WEIR_PORT", "70000"), ("WEIR_REDIS_URL", "http://x")]
)
def test_a_wrong_variable_is_refused_by_its_name(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(LocalError, match=name):
        options.options_read()
