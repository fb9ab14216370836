"""Wheels of packages that nobody has published, and an index of them that pip reads."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes],
    *,
    needs: tuple[str, ...] = (),
    programs: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
    python: str = "",
) -> Path:
    """A wheel with these files. `needs`: what it requires; `programs`: by name, the function that each calls."""
    info = f"{name}-{version}.dist-info"
    facts = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        *(f"Requires-Dist: {one}" for one in needs),
    ]
    if python:
        facts.append(f"Requires-Python: {python}")
    entries = {
        **{path: text.encode() if isinstance(text, str) else text for path, text in files.items()},
        f"{info}/METADATA": ("\n".join(facts) + "\n").encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    if programs:
        listed = "".join(f"{one} = {function}\n" for one, function in programs.items())
        entries[f"{info}/entry_points.txt"] = f"[console_scripts]\n{listed}".encode()
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in entries.items())
    entries[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    made = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, data in entries.items():
            archive.writestr(path, data)
    return made


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def index_write(folder: Path, files: list[Path]) -> None:
    """The pages of an index, as PEP 503 has them, of these files."""
    simple = folder / "simple"
    for file in files:
        place = simple / file.name.split("-", 1)[0].lower().replace("_", "-").replace(".", "-")
        place.mkdir(parents=True, exist_ok=True)
        (place / file.name).write_bytes(file.read_bytes())
        listed = sorted(one.name for one in place.iterdir() if one.name != "index.html")
        (place / "index.html").write_text("".join(f'<a href="{one}">{one}</a><br>\n' for one in listed))


@contextmanager
def index_server(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of an index whose pages lie in a folder, and what was asked of it."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple", asked
        server.shutdown()
