"""Work that is asked for in replicas of several shares (ELA-505): how many shares that are, and whether it can be.

Internal to the app's services.
"""

from dataclasses import replace

from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput
from apps.scheduling.services.workloads.submission.checks import MAX_SHARES
from apps.scheduling.types import WorkloadRequest


def replicas_read(asked: WorkloadRequest) -> WorkloadRequest:
    """A request that says its numbers in shares alone, whether it was asked in shares or in replicas (ELA-505).

    Raises InvalidInput where both are said and differ, or where the shares are no whole replicas.
    """
    per = asked.shares_per_replica
    if not 1 <= per <= MAX_SHARES:
        raise InvalidInput(fields={"shares_per_replica": _("1 to %(most)s") % {"most": MAX_SHARES}})
    if per == 1 and asked.replicas is None and asked.min_replicas is None:
        return asked
    # One replica where nobody says how many, unless an environment does.
    shares = None if asked.environment else per
    return replace(
        asked,
        shares=shares_of("replicas", asked.replicas, "shares", asked.shares, per) or shares,
        min_shares=shares_of("min_replicas", asked.min_replicas, "min_shares", asked.min_shares, per),
        replicas=None,
        min_replicas=None,
    )


def shares_of(name: str, replicas: int | None, in_shares: str, shares: int | None, per: int) -> int | None:
    """How many shares are asked for, said in replicas or in shares; None where neither is said.

    Raises InvalidInput where both are said and differ, or where the shares are no whole replicas.
    """
    if replicas is None:
        if shares is not None:
            whole_check(in_shares, shares, per)
        return shares
    if replicas < 1:
        raise InvalidInput(fields={name: _("at least 1")})
    if shares not in (None, replicas * per):
        raise InvalidInput(
            _("%(replicas)s replicas of %(per)s shares are %(made)s shares, and %(shares)s are asked.")
            % {"replicas": replicas, "per": per, "made": replicas * per, "shares": shares},
            cure=_("Say either how many replicas or how many shares."),
            fields={name: replicas, in_shares: shares},
        )
    return replicas * per


def whole_check(name: str, shares: int, per: int) -> None:
    """InvalidInput where so many shares are no whole replicas."""
    if shares % per:
        raise InvalidInput(
            _("%(shares)s shares are no whole replicas of %(per)s shares each.")
            % {"shares": shares, "per": per},
            fields={name: _("a multiple of %(per)s") % {"per": per}},
        )
