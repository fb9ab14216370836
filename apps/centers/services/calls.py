"""Asking a centre what it holds. No transaction of the database belongs around a call."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice

from django.conf import settings as portal_settings
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centers.adapters.base import (
    CenterAdapter,
    CenterBroken,
    CenterError,
    CenterRefused,
    CenterResources,
    CenterUnreachable,
    JobMessage,
    JobSeen,
    Quantities,
    UsageRecord,
)
from apps.centers.adapters.kinds import adapter_of
from apps.centers.errors import CenterNonsense, CenterSaysNo, CenterSilent
from apps.centers.models import ERROR_MOST, TEXT_BYTES
from apps.centers.states import Trouble
from apps.centers.types import AMOUNT_MOST, AMOUNTS
from apps.kernel.control_characters import control_removed
from apps.kernel.errors import WeirError

log = logging.getLogger("weir.centers")
_VERSION_MOST = 100
_USES_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a centre said when it was asked at `asked_at`, believed."""

    asked_at: datetime
    answered_at: datetime
    version: str
    resources: CenterResources


def adapter_open(
    kind: str,
    settings: Mapping[str, str],
    secrets: Mapping[str, str],
    account: Mapping[str, str] | None = None,
) -> CenterAdapter:
    """The adapter of a centre, of a tenant's account there where one is given; the caller closes it. Raises
    CenterRefused, CenterBroken."""
    allowed = portal_settings.WEIR_CENTER_LOCAL_ADDRESSES
    with _outsiders():
        return adapter_of(kind, settings, secrets, local_addresses=allowed, account=account)


def center_asked(adapter: CenterAdapter, *, is_new: bool = False) -> Answer:
    """Ask a centre what it holds, and a new one who it is too. Raises CenterError."""
    asked_at = timezone.now()
    with _outsiders():
        version = adapter.check() if is_new else ""
        resources = adapter.resources()
        _believe(resources)
    version = line(resources.version or version, _VERSION_MOST)
    return Answer(asked_at, timezone.now(), version, resources)


def center_tried(
    kind: str,
    settings: Mapping[str, str],
    secrets: Mapping[str, str],
    account: Mapping[str, str] | None = None,
) -> Answer:
    """Ask a centre that is to be reached like this, once. Raises CenterError."""
    adapter = adapter_open(kind, settings, secrets, account)
    try:
        return center_asked(adapter, is_new=True)
    finally:
        with suppress(Exception):
            adapter.close()


def account_tried(
    kind: str, settings: Mapping[str, str], secrets: Mapping[str, str], account: Mapping[str, str]
) -> None:
    """Raises CenterError where a tenant's account could not be used by this way to the centre, which is asked."""
    adapter = adapter_open(kind, settings, secrets, account)
    try:
        with _outsiders():
            adapter.check()
    finally:
        with suppress(Exception):
            adapter.close()


def log_asked(adapter: CenterAdapter, native_id: str, offset: int, limit: int) -> bytes:
    """What a job wrote, from a byte on. Raises CenterError."""
    with _outsiders():
        return bytes(adapter.job_log(native_id, offset, limit)[:limit])


def job_sent(adapter: CenterAdapter, message: JobMessage, key: str) -> str:
    """Send a job; its number there. Raises CenterError."""
    if len(key) > adapter.key_length:
        raise CenterRefused(
            _("A key has letters, digits and dashes, %(length)s of them at most.")
            % {"length": adapter.key_length}
        )
    with _outsiders():
        native_id = adapter.job_create(message, key)
        if not isinstance(native_id, str) or not native_id or line(native_id, TEXT_BYTES) != native_id:
            raise CenterBroken(_("It has taken the job and tells no number of it."))
    return native_id


def jobs_asked(adapter: CenterAdapter, keys: Sequence[str]) -> Mapping[str, JobSeen]:
    """The jobs of these keys that the centre knows, and whatever else it tells. Raises CenterError."""
    with _outsiders():
        found = dict(adapter.jobs(keys))
        if any(not isinstance(seen, JobSeen) for seen in found.values()):
            raise CenterBroken(_("What it tells of its jobs is no report."))
    return found


def usage_asked(adapter: CenterAdapter, since: datetime) -> list[UsageRecord]:
    """What the centre's own accounts say of jobs that ended since then, ours and others'. Raises CenterError."""
    with _outsiders():
        found = list(islice(adapter.usage(since), _USES_MOST))
        if any(not isinstance(each, UsageRecord) for each in found):
            raise CenterBroken(_("What it tells of the use of its jobs is no record."))
    return found


def job_stopped(adapter: CenterAdapter, native_id: str) -> None:
    """Ask that a job ends. Raises CenterError."""
    with _outsiders():
        adapter.job_stop(native_id)


def trouble_of(error: CenterError) -> Trouble:
    """How an error stands with a centre."""
    if isinstance(error, CenterRefused):
        return Trouble.REFUSED
    return Trouble.BROKEN if isinstance(error, CenterBroken) else Trouble.UNREACHABLE


def error_text(error: CenterError) -> str:
    """Its cause as it is kept and shown."""
    return line(str(error), ERROR_MOST)


def refusal_of(error: CenterError) -> WeirError:
    """What a person is told who asked for it."""
    kinds: dict[Trouble, type[WeirError]] = {
        Trouble.REFUSED: CenterSaysNo,
        Trouble.UNREACHABLE: CenterSilent,
        Trouble.BROKEN: CenterNonsense,
    }
    return kinds[trouble_of(error)](error_text(error))


def line(text: str, most: int) -> str:
    """What another program said, as one line that can be kept and shown."""
    return control_removed(" ".join(text.split()))[:most]


@contextmanager
def _outsiders() -> Iterator[None]:
    """Whatever an adapter raises beside what it may, a centre is broken by: an outsider's program is no reason to end
    the thread that watches it."""
    try:
        yield
    except CenterError:
        raise
    except (OSError, TimeoutError) as error:
        raise CenterUnreachable(str(error) or type(error).__name__) from error
    except Exception as error:
        log.exception("the adapter of a centre failed")
        raise CenterBroken(
            _("Its adapter failed: %(cause)s") % {"cause": f"{type(error).__name__}: {error}"[:300]}
        ) from error


def _believe(resources: CenterResources) -> None:
    """CenterBroken unless the figures can be true: whole, from 0, no more in use than there is."""
    figures = {"nodes": resources.nodes, "running_tasks": resources.running_tasks}
    figures["waiting_tasks"] = resources.waiting_tasks
    for said, amounts in (("total", resources.total), ("used", resources.used)):
        figures |= {f"{each.name} ({said})": getattr(amounts, each.name) for each in fields(Quantities)}
    for name, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= AMOUNT_MOST:
            raise CenterBroken(
                _("It says what cannot be: %(name)s is %(value)s.") % {"name": name, "value": _shown(value)}
            )
    for name in AMOUNTS:
        total, used = getattr(resources.total, name), getattr(resources.used, name)
        if used > total:
            raise CenterBroken(
                _("It contradicts itself: of %(total)s %(name)s it says that %(used)s are in use.")
                % {"total": total, "name": name, "used": used}
            )


def _shown(value: object) -> str:
    # A whole number of thousands of digits is not written out: Python itself refuses to.
    if isinstance(value, int) and value.bit_length() > 200:
        return _("a number of more than 60 digits")
    return str(value)[:60]
