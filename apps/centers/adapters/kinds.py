"""Which kinds of centres there are: ours by name, those of apps above, which `settings.WEIR_CENTER_KINDS` names, and
those that outsiders install under an entry-point group.

What an entry point names is a `CenterKind`. A kind says what is to be filled in for a centre of it; its adapter is
loaded by its path when the first centre needs it.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points

from django.conf import settings as portal_settings
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from apps.centers.adapters.base import CenterAdapter, CenterRefused

ENTRY_POINT_GROUP = "weir.center_adapters"

log = logging.getLogger("weir.centers")


@dataclass(frozen=True, slots=True)
class KindField:
    """One value to be filled in for a centre of a kind: a text of one line, or of several."""

    name: str
    label: str | Promise
    help: str | Promise = ""
    # Kept sealed, never shown again.
    is_secret: bool = False
    is_required: bool = False
    is_long: bool = False
    # Says where the secrets go: who names another place gives them anew.
    is_place: bool = False
    # What a form offers for it, by value and name; what may be, the adapter says.
    choices: Callable[[], Iterable[tuple[str, str]]] | None = None
    # Says where jobs are looked for: stays as it is while there is work.
    holds_work: bool = False


@dataclass(frozen=True, slots=True)
class CenterKind:
    """A kind of centre. `path` is "module:class" of its adapter, made as the call that `AdapterMaker` describes.

    `keeps_apart`: whether such a centre itself keeps the work of one tenant from that of all others, whatever is filled
    in; a new one then serves all tenants. `sharing`: what tenants that share one can do to each other's work there.
    `account_fields`: what is filled in for the account there that a tenant's work runs under, whose it is first; none
    where all work of a centre has one account. The adapter is given their values among the settings, each as "tenant_"
    and its name. `charges_itself`: work there is metered and charged by the portal already, and is not charged again as
    a job.
    """

    code: str
    label: str | Promise
    fields: tuple[KindField, ...]
    path: str
    keeps_apart: bool = False
    sharing: str | Promise = ""
    account_fields: tuple[KindField, ...] = ()
    charges_itself: bool = False

    @property
    def has_secrets(self) -> bool:
        """Whether a centre of it has a credential."""
        return any(each.is_secret for each in self.fields)

    def field_named(self, name: str) -> KindField | None:
        """Its field of that name."""
        return next((each for each in self.fields if each.name == name), None)


# Settings, secrets, whether addresses of this machine and of its link are allowed: the adapter, nothing asked yet.
AdapterMaker = Callable[[Mapping[str, str], Mapping[str, str], bool], CenterAdapter]

_ADDRESS = KindField(
    "address",
    _("Address"),
    help=_("Of the interface, with its scheme and port: https://slurm.example.org:6820"),
    is_required=True,
    is_place=True,
    holds_work=True,
)
_AUTHORITY = KindField(
    "authority",
    _("Certificate authority"),
    help=_("In PEM, where a public one does not vouch for the address."),
    is_long=True,
    is_place=True,
)

KINDS: dict[str, CenterKind] = {
    "slurm": CenterKind(
        code="slurm",
        label=_("Slurm"),
        path="apps.centers.adapters.slurm.adapter:SlurmAdapter",
        sharing=_(
            "Tenants without a user of their own there share the centre's user: what one of them runs can read what"
            " the others' work has written or been started with, and end it. A user of its own keeps a tenant apart."
        ),
        account_fields=(
            KindField(
                "user",
                _("User there"),
                help=_(
                    "Whose name this tenant's jobs run under, and nobody else's: not root, not Slurm's own, not the"
                    " centre's. It has a folder of its name in the work folder, closed to others. Wants a signing key."
                ),
                is_required=True,
            ),
            KindField(
                "account", _("Account"), help=_("That its jobs are charged to there. Empty: the centre's.")
            ),
            KindField("partition", _("Partition"), help=_("Empty: the centre's.")),
        ),
        fields=(
            _ADDRESS,
            _AUTHORITY,
            KindField(
                "user",
                _("User at the centre"),
                help=_("Whose name all jobs run under there. Root is refused."),
                is_required=True,
                holds_work=True,
            ),
            KindField(
                "token",
                _("Token"),
                help=_("Made there by `scontrol token`. It expires: a key makes new ones."),
                is_secret=True,
            ),
            KindField(
                "key",
                _("Signing key"),
                help=_(
                    "Of the cluster's tokens (HS256), in base64: tokens are made with it here, instead of one above."
                ),
                is_secret=True,
            ),
            KindField("partition", _("Partition"), help=_("Empty: the cluster's own choice.")),
            KindField(
                "account", _("Account"), help=_("That jobs are charged to there. Empty: the user's own.")
            ),
            KindField(
                "devices",
                _("Names of devices"),
                help=_(
                    "Where the cluster has other names than gpu, npu and mlu: npu=ascend user_define=fpga"
                ),
            ),
            KindField(
                "folder",
                _("Work folder"),
                help=_("Absolute path on the cluster's nodes, where jobs start and their output is written."),
                is_required=True,
            ),
            KindField(
                "log_folder",
                _("Folder of logs"),
                help=_(
                    "Where this portal sees the work folder, on a shared file system. Empty: no logs are read."
                ),
            ),
        ),
    ),
    "ray": CenterKind(
        code="ray",
        label=_("Ray"),
        path="apps.centers.adapters.ray.adapter:RayAdapter",
        sharing=_(
            "All work at a Ray cluster runs as one user: what one tenant runs can read what others' work has written or"
            " been started with, and end it. Only another cluster keeps tenants apart."
        ),
        fields=(
            replace(
                _ADDRESS,
                help=_("Of the cluster's dashboard, with its scheme and port: https://ray.example.org:8265"),
            ),
            _AUTHORITY,
            KindField(
                "token",
                _("Token"),
                help=_(
                    "That the cluster asks for (RAY_AUTH_MODE=token, from Ray 2.52 on). Empty: it asks for none, and"
                    " whoever reaches the address runs what he likes there."
                ),
                is_secret=True,
            ),
            KindField(
                "devices",
                _("Names of devices"),
                help=_(
                    "Where the cluster has other names than GPU, NPU and MLU among its resources: npu=ascend"
                    " user_define=fpga"
                ),
            ),
        ),
    ),
}


def kinds() -> Mapping[str, CenterKind]:
    """All kinds by their codes, ours before an outsider's of the same code."""
    return _outside() | _above() | KINDS


def charges_itself(kind: str) -> bool:
    """Whether work at centres of a kind is charged by the portal's own pool; of a kind that is there no more it is
    not."""
    found = kinds().get(kind)
    return found is not None and found.charges_itself


def adapter_of(
    kind: str,
    settings: Mapping[str, str],
    secrets: Mapping[str, str],
    *,
    local_addresses: bool,
    account: Mapping[str, str] | None = None,
) -> CenterAdapter:
    """The adapter of one centre; nothing is asked of the centre yet.

    `settings` and `secrets` are values by the names of the kind's fields, `account` by those of its `account_fields`:
    the adapter then sends, sees, stops and reads what is that account's alone. `local_addresses` lets it connect to
    this machine and its link. Raises `CenterRefused` for no such kind, for a field that lacks or is of no kind's, and
    for a value that cannot be.
    """
    found = kinds().get(kind)
    if found is None:
        raise CenterRefused(_now("There is no kind of centre named %(kind)s.") % {"kind": kind})
    for field in found.fields:
        values = secrets if field.is_secret else settings
        if field.is_required and not values.get(field.name, "").strip():
            raise CenterRefused(_now("%(field)s is to be filled in.") % {"field": field.label})
    known = {(field.name, field.is_secret) for field in found.fields}
    given = {(name, False) for name in settings} | {(name, True) for name in secrets}
    if given - known:
        names = ", ".join(sorted(name for name, _secret in given - known))
        raise CenterRefused(_now("A centre of this kind has no such field: %(names)s.") % {"names": names})
    return _maker(found.path)(
        {**settings, **_account_settings(found, account or {})}, secrets, local_addresses
    )


def _account_settings(kind: CenterKind, account: Mapping[str, str]) -> dict[str, str]:
    known = {field.name for field in kind.account_fields}
    if unknown := account.keys() - known:
        raise CenterRefused(
            _now("An account at a centre of this kind has no such field: %(names)s.")
            % {"names": ", ".join(sorted(unknown))}
        )
    for field in kind.account_fields if account else ():
        if field.is_required and not account.get(field.name, "").strip():
            raise CenterRefused(_now("%(field)s is to be filled in.") % {"field": field.label})
    return {f"tenant_{name}": value for name, value in account.items()}


def _maker(path: str) -> AdapterMaker:
    module, _colon, name = path.partition(":")
    try:
        made: AdapterMaker = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise CenterRefused(
            _now("The adapter of this kind of centre cannot be loaded: %(cause)s") % {"cause": error}
        ) from error
    return made


@cache
def _above() -> dict[str, CenterKind]:
    """Kinds whose adapters belong to apps above this one."""
    found: list[CenterKind] = [import_string(path) for path in portal_settings.WEIR_CENTER_KINDS]
    return {kind.code: kind for kind in found}


@cache
def _outside() -> dict[str, CenterKind]:
    """What is installed beside ours. One that cannot be loaded is named in the log and left out."""
    loaded: dict[str, CenterKind] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded[point.name] = replace(point.load(), code=point.name)
        except Exception as error:  # an outsider's module may raise anything; the portal must still serve
            log.error("kind of centre %s cannot be loaded and is left out: %s", point.name, error)
    return loaded
