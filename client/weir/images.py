"""Container images and their versions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from weir.calls import Calls

if TYPE_CHECKING:
    from typing import Unpack

    from weir.api_types import ImageBuildIn, ImageBuildOut, ImageOut, ImageVersionOut

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

    def image_build(self, **asked: Unpack[ImageBuildIn]) -> ImageBuildOut:
        """Build a version of an image: work runs each step of a `containerfile`, and is saved as the version. Files to
        copy are in a `folder` that was sent (`folder_send`), or in a `volume`."""
        return self.post("image-builds", dict(asked))

    def image_builds(self) -> list[ImageBuildOut]:
        """Builds, the newest first."""
        return list(self.all("image-builds"))

    def image_build_get(self, uid: str) -> ImageBuildOut:
        return self.get(f"image-builds/{uid}")

    def image_build_cancel(self, uid: str) -> ImageBuildOut:
        """End a build: there is no version of it."""
        return self.post(f"image-builds/{uid}/cancel")

    def image_built(self, uid: str, timeout_s: float = 7 * 24 * 3600) -> ImageBuildOut:
        """A build once it is done, failed or cancelled, or as it is after so long."""
        end_s = time.monotonic() + timeout_s
        while True:
            found = self.image_build_get(uid)
            if found["state"] in ("done", "failed", "cancelled") or time.monotonic() > end_s:
                return found
            time.sleep(_LOOK_S)

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
