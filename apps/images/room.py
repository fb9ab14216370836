"""The portal's disk, where what becomes an image is looked at."""

import shutil
from pathlib import Path

from apps.images.errors import ImagesDiskFull

# So much of the disk is left to others, whatever tenants send.
RESERVE_BYTES = 2 * 1024**3


def room_check(folder: Path, wanted_bytes: int) -> None:
    """Raises ImagesDiskFull where so much more would leave too little."""
    if shutil.disk_usage(folder).free - wanted_bytes < RESERVE_BYTES:
        raise ImagesDiskFull()
