"""Releases come in signed or not at all, and only nodes of this pool may fetch them."""

import hashlib
import io
import zipfile

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, WeirError
from apps.rollouts.errors import ReleaseKnown, ReleaseUnsound
from apps.rollouts.models import Release, ReleaseKey
from apps.rollouts.release_build import public_key_of, release_pack, release_sign
from apps.rollouts.services.releases import release_add, release_key_revoke, release_key_trust
from apps.rollouts.services.rollouts import rollout_start
from node_agent.protocol.releases import MANIFEST, MANIFEST_BYTES, ReleaseKeys
from tests.apps.rollouts.conftest import FILES
from tests.unit.node_agent.releases import archive

pytestmark = [pytest.mark.django_db, pytest.mark.req("POOL-12.20")]


def add(content, signature):
    return release_add(actor=SYSTEM, content=content, signature=signature)


def test_a_signed_release_is_taken_in_and_never_changed(release, key):
    row = release("2.0")
    assert (row.version, row.file_count, row.key.public_key) == ("2.0", 2, public_key_of(key))
    with pytest.raises(ReleaseKnown):
        release("2.0")
    content = archive("2.1", FILES)
    assert add(content, release_sign(key, "2.1", content).upper()).signature.islower()


@pytest.mark.parametrize("signer", ["stranger", "revoked", "nonsense", "of another version"])
def test_what_nobody_trusted_has_signed_is_refused(key, signer):
    content = archive("2.0", FILES)
    signature = release_sign(key, "2.0", content)
    if signer == "stranger":
        signature = release_sign(Ed25519PrivateKey.generate(), "2.0", content)
    elif signer == "revoked":
        release_key_revoke(actor=SYSTEM, public_key=public_key_of(key))
    elif signer == "nonsense":
        signature = "no digits"
    else:
        signature = release_sign(key, "2.1", content)
    with pytest.raises(ReleaseUnsound):
        add(content, signature)
    assert not Release.objects.exists()


def _with_manifest(text, *, is_broken=False):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(MANIFEST, text)
    data = bytearray(stream.getvalue())
    begin = zipfile.sizeFileHeader + len(MANIFEST)
    if is_broken:
        data[begin : begin + 8] = b"\xff" * 8
    return bytes(data)


NO_RELEASES = (
    b"",
    b"PK",
    archive("2.0", FILES)[:-30],
    archive("..", FILES),
    _with_manifest(" " * (MANIFEST_BYTES + 1)),
    _with_manifest("{}" * 100, is_broken=True),
)


@pytest.mark.parametrize("content", NO_RELEASES, ids=range(len(NO_RELEASES)))
def test_what_is_no_release_is_refused_whoever_signed_it(key, content):
    with pytest.raises(ReleaseUnsound):
        add(content, release_sign(key, "2.0", content))


def test_a_manifest_that_unpacks_to_too_much_is_not_unpacked(key):
    content = _with_manifest(" " * (MANIFEST_BYTES + 1))
    with pytest.raises(ReleaseUnsound, match="too long"):
        add(content, release_sign(key, "2.0", content))


def test_a_key_must_be_one():
    with pytest.raises(InvalidInput):
        release_key_trust(actor=SYSTEM, public_key="ab", name="too short")


def test_nodes_fetch_what_was_signed_and_strangers_get_nothing(release, pool):
    row = release("2.0")
    agent = pool.agents["n1"]
    path = "/api/agent/v1/releases/2.0"
    assert agent.client.get(path).status_code == 401
    headers = {"Authorization": f"Bearer {agent.credential}"}
    answer = agent.client.get(path, headers=headers)
    assert hashlib.sha256(answer.content).hexdigest() == row.sha256
    assert agent.client.get("/api/agent/v1/releases/9.9", headers=headers).status_code == 404
    assert agent.client.post(path, headers=headers).status_code == 405

    def keys():
        answer = agent.client.get("/api/agent/v1/release-keys", headers=headers)
        return ReleaseKeys.model_validate_json(answer.content)

    assert keys() == ReleaseKeys(keys=(row.key.public_key,))
    release_key_revoke(actor=SYSTEM, public_key=row.key.public_key)
    assert keys() == ReleaseKeys(revoked=(row.key.public_key,))
    with pytest.raises(ReleaseUnsound, match="revoked"):
        rollout_start(actor=SYSTEM, release="2.0", nodes=[agent.uid])


def test_operators_add_releases_by_the_api_and_others_may_not(key, operator, client):
    content = archive("2.0", FILES)
    url = "/api/v1/releases"

    def post(person):
        client.force_login(person.user)
        file = SimpleUploadedFile("r.zip", content)
        return client.post(
            url,
            {"file": file, "signature": release_sign(key, "2.0", content) + "\n"},
            headers={"host": person.host},
        )

    assert post(operator("executive")).status_code == 403
    answer = post(operator("cluster_administrator"))
    assert answer.status_code == 201, answer.content
    assert answer.json()["version"] == "2.0"
    assert client.get(url, headers={"host": "localhost"}).json()["results"][0]["signed_by"] == "of the tests"
    assert client.get(f"{url}/2.0", headers={"host": "localhost"}).json()["file_count"] == 2
    assert client.get(f"{url}/9.9", headers={"host": "localhost"}).status_code == 404


def test_the_commands_make_a_key_and_a_release_of_this_tree(tmp_path):
    key_file, out = tmp_path / "k", tmp_path / "r.zip"
    told = io.StringIO()
    call_command("release_key_make", out=key_file, stdout=told)
    call_command("release_key_make", out=key_file, stdout=io.StringIO())
    assert ReleaseKey.objects.get().public_key == told.getvalue().strip()
    assert key_file.stat().st_mode & 0o777 == 0o600
    call_command("release_build", "--release", "3.1", "--key", str(key_file), "--out", str(out), stdout=told)
    row = add(out.read_bytes(), (tmp_path / "r.zip.sig").read_text().strip())
    assert row.version == "3.1"
    assert row.file_count > 50
    assert release_pack(settings.BASE_DIR, "3.1") == out.read_bytes()
    with pytest.raises(CommandError):
        call_command("release_build", "--release", "../3", "--key", str(key_file), "--out", str(out))
    with pytest.raises(CommandError):
        call_command("release_build", "--release", "3.2", "--key", str(tmp_path / "none"), "--out", str(out))


def test_refusals_say_what_to_do(key):
    with pytest.raises(WeirError) as refused:
        add(archive("2.0", FILES), "00" * 64)
    assert refused.value.code == "release_unsound"
    assert "release_build" in str(refused.value.cure)
