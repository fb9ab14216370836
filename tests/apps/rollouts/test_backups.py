"""A backup restored into an empty database is the pool as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from psycopg import sql

from apps.fleet.models import Device, Slice
from apps.fleet.session_keys import unseal
from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.rollouts.backup_database import BackupError, Database, backup_manifest, backup_restore
from apps.rollouts.backup_keys import keys_path, keys_read, keys_write
from apps.rollouts.models import Backup
from apps.rollouts.services.backups import backup_due, backup_make
from apps.telemetry.models import Alarm
from tests.apps.fleet.agent import Agent, desire, report, session_desire

pytestmark = [pytest.mark.req("POOL-11c"), pytest.mark.usefixtures("committed")]
# What the standard names: inventory, allocations, quotas, policies, users, logs.
KEY_TABLES = (
    "fleet_node", "fleet_device", "fleet_slice", "scheduling_workload", "scheduling_allocation",
    "scheduling_tenantquota", "scheduling_schedulingpolicy", "scheduling_queue", "identity_user", "audit_record",
)  # fmt: skip


@contextmanager
def empty_database() -> Iterator[Database]:
    here = Database.of(connection.settings_dict)
    name = f"{here.name}_restored"
    with replace(here, name="postgres").connect() as server:
        server.autocommit = True
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield replace(here, name=name)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def pointed_at(database: Database) -> Iterator[None]:
    """As if WEIR_DATABASE_URL named it, for the commands that open a connection of their own."""
    name, connection.settings_dict["NAME"] = connection.settings_dict["NAME"], database.name
    try:
        yield
    finally:
        connection.settings_dict["NAME"] = name


def content(database: Database, table: str) -> list[tuple[object, ...]]:
    """Every row of a table as text, in order."""
    query = sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(sql.Identifier("public", table))
    with database.connect() as db:
        found = db.execute(query).fetchall()
    # That the backup was made is told after it was.
    return [row for row in found if "backup_make" not in row[0]]


def test_restored_into_an_empty_database_everything_is_equal(tmp_path: Path, acme, member):
    agent = Agent("n1", devices=2)
    row = desire(acme)
    agent.sync()
    agent.sync(slices=[report(row)])
    member("acme", "tenant_front_line", username="backed.up")
    file = tmp_path / "pool.backup"
    call_command("pool_backup", str(file), verbosity=0)
    assert file.stat().st_mode & 0o777 == 0o600
    # What happens afterwards is not in it.
    Device.objects.filter(node__name="n1").update(model="changed later")
    here = Database.of(connection.settings_dict)
    with empty_database() as there:
        restored = backup_restore(there, file, tmp_path / "media")
        assert restored == backup_manifest(file)["rows"]
        assert restored["public.fleet_device"] == 2
        assert restored["acme.orgs_tenantrole"] >= 1
        for table in KEY_TABLES:
            if table != "fleet_device":
                assert content(there, table) == content(here, table), table
        assert "changed later" not in str(content(there, "fleet_device"))
        assert "backed.up" in str(content(there, "identity_user"))
        with pytest.raises(BackupError, match="not empty"):
            backup_restore(there, file, tmp_path / "media")
    assert Slice.plain.count() == 1
    assert User.objects.filter(username="backed.up").exists()


def test_what_is_no_backup_is_refused_and_a_used_database_is_left_alone(tmp_path: Path):
    file = tmp_path / "pool.backup"
    file.write_bytes(b"something else")
    with pytest.raises(CommandError, match="no backup"):
        call_command("pool_restore", str(file))
    good = tmp_path / "good.backup"
    call_command("pool_backup", str(good), verbosity=0)
    with pytest.raises(CommandError, match="not empty"):
        call_command("pool_restore", str(good))
    whole = good.read_bytes()
    half, spoilt = whole[: len(whole) // 2], bytearray(whole)
    spoilt[len(whole) // 2] ^= 1
    with empty_database() as there:
        for content in (half, bytes(spoilt)):
            file.write_bytes(content)
            with pytest.raises(BackupError):
                backup_restore(there, file, tmp_path / "media")


@pytest.fixture
def uploads(settings, tmp_path: Path) -> Path:
    """The folder of uploaded files, with some."""
    settings.MEDIA_ROOT = tmp_path / "var" / "media"
    for name, text in (("acme/attachments/1.txt", "one"), ("globex/attachments/2.bin", "two" * 100_000)):
        (settings.MEDIA_ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (settings.MEDIA_ROOT / name).write_text(text)
    (settings.MEDIA_ROOT / "link").symlink_to("/etc/passwd")
    return settings.MEDIA_ROOT


def files_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.req("POOL-11a")
def test_uploaded_files_come_back_and_none_is_overwritten(tmp_path: Path, uploads: Path):
    file, there_files = tmp_path / "pool.backup", tmp_path / "elsewhere" / "media"
    call_command("pool_backup", str(file), verbosity=0)
    before = files_of(uploads)
    (uploads / "acme/attachments/1.txt").write_text("changed later")
    with empty_database() as there:
        with pytest.raises(BackupError, match="another file"):
            backup_restore(there, file, uploads)
        assert (uploads / "acme/attachments/1.txt").read_text() == "changed later"
        backup_restore(there, file, there_files)
    assert files_of(there_files) == before
    assert len(before) == 2
    assert not (there_files / "link").exists(), "what lies elsewhere is not carried along"
    assert not [path for path in there_files.parent.iterdir() if path != there_files]


@pytest.mark.req("POOL-11a")
@pytest.mark.parametrize("passphrase", ["", "correct horse battery staple"])
def test_a_portal_with_another_secret_gets_the_keys_that_open_what_was_restored(
    tmp_path: Path, uploads: Path, acme, settings, passphrase
):
    Agent("n1")
    token = unseal(session_desire(acme).session_key)
    settings.WEIR_BACKUP_PASSPHRASE = passphrase
    file, secret = tmp_path / "pool.backup", settings.SECRET_KEY
    call_command("pool_backup", str(file), verbosity=0)
    assert keys_path(file).stat().st_mode & 0o777 == 0o600
    assert (secret in keys_path(file).read_text()) is not bool(passphrase)
    assert secret.encode() not in file.read_bytes()
    settings.SECRET_KEY = "another-secret-of-a-fresh-installation"
    with empty_database() as there, pointed_at(there):
        if passphrase:
            settings.WEIR_BACKUP_PASSPHRASE = "wrong"
            with pytest.raises(CommandError, match="another passphrase"):
                call_command("pool_restore", str(file))
            settings.WEIR_BACKUP_PASSPHRASE = passphrase
        said = StringIO()
        call_command("pool_restore", str(file), stdout=said)
        kept = uploads.parent / "restored.keys"
        assert str(kept) in said.getvalue()
        assert kept.stat().st_mode & 0o777 == 0o600
        with there.connect() as db:
            (sealed,) = db.execute("SELECT session_key FROM fleet_slice").fetchone()
    assert unseal(sealed) == ""
    settings.SECRET_KEY_FALLBACKS = keys_read(kept, "")
    assert unseal(sealed) == token


def test_keys_of_another_backup_are_refused_and_missing_ones_told(tmp_path: Path, uploads: Path, settings):
    file = tmp_path / "pool.backup"
    call_command("pool_backup", str(file), verbosity=0)
    settings.SECRET_KEY = "another-secret-of-a-fresh-installation"
    keys_write(keys_path(file), ["a-key-that-has-nothing-to-do-with-it"], "")
    with pytest.raises(CommandError, match="another backup"):
        call_command("pool_restore", str(file))
    keys_path(file).unlink()
    with empty_database() as there, pointed_at(there):
        said = StringIO()
        call_command("pool_restore", str(file), stdout=said)
    assert "is not there" in said.getvalue()


def test_a_backup_that_fails_raises_an_alarm_and_the_next_good_one_settles_it(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    row = backup_make(actor=SYSTEM, path=tmp_path / "file" / "pool.backup")
    assert not row.is_good
    assert Alarm.objects.exclude(state="resolved").filter(key="backup-failed").exists()
    backup_make(actor=SYSTEM, path=tmp_path / "pool.backup")
    assert not Alarm.objects.exclude(state="resolved").filter(key="backup-failed").exists()
    assert not list(tmp_path.glob(".backup-*"))


def test_the_clock_makes_one_a_day_and_keeps_the_newest(tmp_path: Path, settings):
    settings.WEIR_BACKUP_DIR, settings.WEIR_BACKUP_KEEP = tmp_path, 2
    for day in range(3):
        (tmp_path / f"weir-2020010{day}-000000.backup").touch()
        (tmp_path / f"weir-2020010{day}-000000.backup.keys").touch()
    row = backup_due(actor=SYSTEM)
    assert row is not None
    assert row.is_good
    assert sorted(path.name for path in tmp_path.glob("*.backup")) == [
        "weir-20200102-000000.backup",
        Path(row.path).name,
    ]
    assert len(list(tmp_path.glob("*.keys"))) == 2
    assert backup_due(actor=SYSTEM) is None
    Backup.objects.update(started_at=timezone.now() - timedelta(hours=25))
    assert backup_due(actor=SYSTEM) is not None
    settings.WEIR_BACKUP_EVERY_H = 0
    Backup.objects.all().delete()
    assert backup_due(actor=SYSTEM) is None
