"""Container images and their versions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import ImageOut, ImageVersionOut

_LOOK_S = 0.5


class Images(Calls):
    """The part of a client that keeps container images."""

    def images(self, search: str = "") -> list[ImageOut]:
        return list(self.all("images", search=search))

    def image(self, uid: str) -> ImageOut:
        return self.get(f"images/{uid}")

    def image_import(
        self,
        volume: str,
        path: str,
        name: str,
        tag: str = "latest",
        *,
        introduction: str = "",
        owner: str = "person",
        organization: str | None = None,
    ) -> ImageVersionOut:
        """Take an archive out of a volume (its uid) as a version of an image; it is checking until it was looked at."""
        body = {
            "volume": volume,
            "path": path,
            "name": name,
            "tag": tag,
            "introduction": introduction,
            "owner": owner,
            "organization": organization,
        }
        return self.post("images", body)

    def image_save(
        self,
        workload: str,
        name: str,
        tag: str = "latest",
        *,
        introduction: str = "",
        owner: str = "person",
        organization: str | None = None,
    ) -> ImageVersionOut:
        """Save one's own running work (its uid) as a version of an image: its image, and what it has changed over
        that; it is saving until its node has sent it, and checking until it was looked at."""
        body = {
            "name": name,
            "tag": tag,
            "introduction": introduction,
            "owner": owner,
            "organization": organization,
        }
        return self.post(f"workloads/{workload}/image-versions", body)

    def images_saved(self, workload: str) -> list[ImageVersionOut]:
        """The versions that work (its uid) was saved as."""
        return self.get(f"workloads/{workload}/image-versions")

    def image_settled(self, version: str, timeout_s: float = 3600) -> ImageVersionOut:
        """A version once it is ready or refused, or as it is after so long."""
        end_s = time.monotonic() + timeout_s
        while True:
            found: ImageVersionOut = self.get(f"image-versions/{version}")
            if found["state"] in ("ready", "refused") or time.monotonic() > end_s:
                return found
            time.sleep(_LOOK_S)

    def image_change(self, uid: str, *, name: str | None = None, introduction: str | None = None) -> ImageOut:
        given = {"name": name, "introduction": introduction}
        return self.call(
            "PATCH", f"images/{uid}", {key: value for key, value in given.items() if value is not None}
        )

    def image_delete(self, uid: str) -> None:
        """Delete an image with all its versions."""
        self.call("DELETE", f"images/{uid}")

    def image_version_delete(self, version: str) -> None:
        self.call("DELETE", f"image-versions/{version}")

    def image_publish(self, version: str) -> ImageVersionOut:
        """Offer a version to everybody; for operators."""
        return self.post(f"image-versions/{version}/publications", {})
