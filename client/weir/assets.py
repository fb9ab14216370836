"""Assets: models, datasets and algorithms with versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import AssetFileOut, AssetOut, AssetVersionOut


class Assets(Calls):
    """The part of a client that keeps assets."""

    def assets(self, kind: str = "", search: str = "", tag: str = "") -> list[AssetOut]:
        """One's own assets, and those that are shared with one."""
        return list(self.all("assets", kind=kind, search=search, tag=tag))

    def asset(self, uid: str) -> AssetOut:
        return self.get(f"assets/{uid}")

    def asset_make(self, kind: str, name: str, **more: Any) -> AssetOut:
        """Make an asset; `introduction`, `tags` and `reach` (person, organization, tenant) may be given."""
        return self.post("assets", {"kind": kind, "name": name, **more})

    def asset_change(
        self,
        uid: str,
        *,
        introduction: str | None = None,
        tags: Sequence[str] | None = None,
        reach: str | None = None,
    ) -> AssetOut:
        given = {"introduction": introduction, "tags": tags, "reach": reach}
        body = {name: value for name, value in given.items() if value is not None}
        return self.call("PATCH", f"assets/{uid}", body)

    def asset_delete(self, uid: str) -> None:
        """Delete an asset with all its versions."""
        self.call("DELETE", f"assets/{uid}")

    def asset_versions(self, uid: str) -> list[AssetVersionOut]:
        """Its versions, newest first."""
        return list(self.all(f"assets/{uid}/versions"))

    def asset_publish(self, uid: str, volume: str, path: str = "", note: str = "") -> AssetVersionOut:
        """Publish a folder of a volume as the next version; it is copied."""
        return self.post(f"assets/{uid}/versions", {"volume": volume, "path": path, "note": note})

    def asset_version_delete(self, uid: str, number: int) -> None:
        self.call("DELETE", f"assets/{uid}/versions/{number}")

    def asset_files(self, uid: str, number: int) -> list[AssetFileOut]:
        """All files of a version, with their checksums."""
        found: list[AssetFileOut] = self.get(f"assets/{uid}/versions/{number}/files")
        return found

    def asset_file_read(self, uid: str, number: int, path: str) -> Iterator[bytes]:
        yield from self.stream(f"assets/{uid}/versions/{number}/content", {}, path=path)
