"""What data and its copies may be called, hold and lie at; internal to the app's services."""

import re
from collections.abc import Mapping

from django.utils.translation import gettext as _

from apps.jointcloud.engine.types import MOST, MOST_COUNT
from apps.jointcloud.models.data import ADDRESS_BYTES, DIGEST_PATTERN, NAME_PATTERN, DataAccess
from apps.jointcloud.models.jobs import SHORT_BYTES
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.kernel.control_characters import control_fault

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_STORE = "s3://"
COUNTS = ("succeeded", "interrupted", "failed", "current_downloads")


def name_fault(text: str) -> str:
    """What is wrong with a name or a version; empty where nothing is."""
    # The database's pattern ends at a line's end, too; this one does not.
    if re.fullmatch(NAME_PATTERN.strip("^$"), text):
        return ""
    return _("Letters, digits, points, dashes and underscores, at most 63, a letter or digit first.")


def facts_faults(facts: DatasetFacts) -> dict[str, str]:
    """What is wrong with what is said of data, by field; empty texts where nothing is."""
    return {
        "size_bytes": _whole_fault(facts.size_bytes, 0, MOST),
        "files": _whole_fault(facts.files, 0, MOST_COUNT),
        "digest": _digest_fault(facts.digest),
    }


def copy_faults(copy: CopyFacts) -> dict[str, str]:
    """What is wrong with what is said of a copy, by the names of table 6."""
    topology = control_fault(copy.network_topology)
    if not topology and len(copy.network_topology.encode("utf-8", "replace")) > SHORT_BYTES:
        topology = _("At most %(most)s bytes: a Chinese character is three.") % {"most": SHORT_BYTES}
    states = (_whole_fault(getattr(copy, name), 0, MOST_COUNT) for name in COUNTS[:3])
    return {
        "dataset_url": address_fault(copy.address),
        "access": ""
        if copy.access in DataAccess.values
        else _("Say %(known)s.") % {"known": ", ".join(DataAccess.values)},
        "digest": _digest_fault(copy.digest),
        "download_state": next((fault for fault in states if fault), ""),
        "download_rate_limit": _whole_fault(copy.rate_limit, 1, MOST_COUNT),
        "concurrency_limit": _whole_fault(copy.concurrency_limit, 1, MOST_COUNT),
        "current_downloads": _whole_fault(copy.current_downloads, 0, MOST_COUNT),
        "download_cost": _whole_fault(copy.mean_time_s, 0, MOST_COUNT),
        "network_topology": topology,
    }


def address_fault(text: str) -> str:
    """What is wrong with where a copy lies: a path from the root, or a place in a bucket, without steps upwards."""
    if fault := control_fault(text):
        return fault
    if len(text.encode("utf-8", "replace")) > ADDRESS_BYTES:
        return _("At most %(most)s bytes.") % {"most": ADDRESS_BYTES}
    is_in_store = text.startswith(_STORE)
    if not is_in_store and not text.startswith("/"):
        return _("Give a path that begins with /, or s3://bucket/folder.")
    parts = text.removeprefix(_STORE if is_in_store else "/").removesuffix("/").split("/")
    if is_in_store and not _BUCKET.fullmatch(parts[0]):
        return _("After s3:// comes the name of a bucket, without keys.")
    if any(part in ("", ".", "..") or part != part.strip() for part in parts):
        return _("No part of it may be empty, . or .., or begin or end with a space.")
    return ""


def faults_at(where: str, faults: Mapping[str, str]) -> dict[str, str]:
    """Faults by their fields within another field."""
    return {f"{where}.{name}": text for name, text in faults.items()}


def _digest_fault(text: str) -> str:
    if re.fullmatch(DIGEST_PATTERN.strip("^$"), text):
        return ""
    return _("Give sha256: and its 64 digits of 0 to 9 and a to f, or nothing.")


def _whole_fault(value: int | None, least: int, most: int) -> str:
    is_whole = value is None or (isinstance(value, int) and not isinstance(value, bool))
    if is_whole and (value is None or least <= value <= most):
        return ""
    return _("A whole number from %(least)s to %(most)s.") % {"least": least, "most": f"{most:,}"}
