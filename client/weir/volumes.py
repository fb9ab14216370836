"""Volumes, and the folders and files in them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from weir.calls import Calls
from weir_wire.bundle import MEDIA_TYPE

if TYPE_CHECKING:
    from weir.api_types import (
        AccessKeyMadeOut,
        AccessKeyOut,
        BundleTakenOut,
        EntryOut,
        OutputOut,
        UploadOut,
        VolumeOut,
    )

_TUS = {"Tus-Resumable": "1.0.0"}
_PIECE = {**_TUS, "Content-Type": "application/offset+octet-stream"}


class Volumes(Calls):
    """The part of a client that keeps files."""

    def volumes(self, search: str = "") -> list[VolumeOut]:
        return list(self.all("volumes", search=search))

    def volume(self, uid: str) -> VolumeOut:
        return self.get(f"volumes/{uid}")

    def volume_make(
        self,
        name: str,
        size_mib: int,
        *,
        owner: str = "person",
        organization: str | None = None,
        storage_class: str = "",
    ) -> VolumeOut:
        """Make an empty volume of a `person` (oneself), an `organization` or the `tenant`, kept on a storage class; ""
        where the centre says."""
        body = {"name": name, "size_mib": size_mib, "owner": owner, "organization": organization}
        return self.post("volumes", body | ({"storage_class": storage_class} if storage_class else {}))

    def volume_change(self, uid: str, *, name: str = "", size_mib: int | None = None) -> VolumeOut:
        given = {"name": name or None, "size_mib": size_mib}
        return self.call("PATCH", f"volumes/{uid}", {key: value for key, value in given.items() if value})

    def volume_delete(self, uid: str) -> None:
        """Delete a volume with all that is in it."""
        self.call("DELETE", f"volumes/{uid}")

    def folder(self, volume: str, path: str = "") -> Iterator[EntryOut]:
        """What is in a folder, folders first."""
        after = ""
        while True:
            part = self.get(f"volumes/{volume}/files", path=path, after=after)
            yield from part["entries"]
            if not (after := part["next_name"]):
                return

    def folder_make(self, volume: str, path: str) -> None:
        self.post(f"volumes/{volume}/folders", {"path": path})

    def file_move(self, volume: str, path: str, to: str) -> None:
        self.post(f"volumes/{volume}/moves", {"path": path, "to": to})

    def file_remove(self, volume: str, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self.call("DELETE", f"volumes/{volume}/files", path=path)

    def file_facts(self, volume: str, path: str) -> Mapping[str, str]:
        """A file's length and its mark, as the headers Content-Length and ETag."""
        return self.piece("HEAD", f"volumes/{volume}/content", b"", {}, path=path)

    def file_read(self, volume: str, path: str, *, offset: int = 0, mark: str = "") -> Iterator[bytes]:
        """A file from a byte on; if it is not the one of that mark any more, from its beginning."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if mark:
            headers["If-Range"] = mark
        yield from self.stream(f"volumes/{volume}/content", headers, path=path)

    def bundle_send(self, volume: str, body: bytes) -> BundleTakenOut:
        """Put the small files of a bundle (`weir_wire.bundle`) in their places; safe to repeat."""
        checksum = f"sha256 {base64.b64encode(hashlib.sha256(body).digest()).decode()}"
        headers = {"Content-Type": MEDIA_TYPE, "Upload-Checksum": checksum}
        return self.post_bytes(f"volumes/{volume}/bundle", body, headers)

    def bundle_read(self, volume: str, paths: Sequence[str]) -> tuple[bytes, Mapping[str, str]]:
        """A bundle of the small files at these paths, with its headers; what is larger or not there is left out."""
        return self.read_bytes(f"volumes/{volume}/bundle/read", {"paths": list(paths)})

    def workload_outputs(self, uid: str) -> list[OutputOut]:
        """What the shares of a workload left as its outputs; none while it has not ended."""
        return list(self.all(f"workloads/{uid}/outputs"))

    # --- uploads, by tus -----------------------------------------------------------------------------------

    def uploads(self, volume: str) -> list[UploadOut]:
        """One's own unfinished uploads into a volume."""
        return list(self.all(f"volumes/{volume}/uploads"))

    def upload_begin(self, volume: str, size: int, metadata: str, piece: bytes) -> Mapping[str, str]:
        """Begin an upload with its first piece; Location and Upload-Offset are in the answer."""
        told = {**_PIECE, "Upload-Length": str(size), "Upload-Metadata": metadata}
        return self.piece("POST", f"volumes/{volume}/uploads", piece, told)

    def upload_go_on(self, upload: str, offset: int, piece: bytes, checksum: str) -> int:
        """Send the next piece; how far the upload is then."""
        told = {**_PIECE, "Upload-Offset": str(offset), "Upload-Checksum": checksum}
        return int(self.piece("PATCH", f"uploads/{upload}", piece, told)["Upload-Offset"])

    def upload_offset(self, upload: str) -> int:
        return int(self.piece("HEAD", f"uploads/{upload}", b"", _TUS)["Upload-Offset"])

    def upload_end(self, upload: str) -> None:
        """End an upload that is not wanted any more."""
        self.piece("DELETE", f"uploads/{upload}", b"", _TUS)

    def access_keys(self) -> list[AccessKeyOut]:
        """Your keys for clients of S3, newest first."""
        return list(self.all("access-keys"))

    def access_key_make(self, name: str, *, days: int = 90, is_read_only: bool = False) -> AccessKeyMadeOut:
        """A key of your own for clients of S3, with its secret, which is shown once."""
        return self.post("access-keys", {"name": name, "days": days, "is_read_only": is_read_only})

    def access_key_revoke(self, uid: str) -> None:
        self.call("DELETE", f"access-keys/{uid}")
