"""Refusals of the centres that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, InvalidInput


class CenterSaysNo(InvalidInput):
    """The centre, or its adapter, does not take what it was given: a credential, an address, a setting."""

    code = "center_refused"
    default_cure = _("Correct the settings or the credential. Nothing was changed.")


class CenterSilent(Conflict):
    """The centre gave no whole answer in time."""

    code = "center_unreachable"
    default_cure = _(
        "See whether the address is right and its interface runs, and try again. Nothing was changed."
    )


class CenterNonsense(Conflict):
    """What answered is no such centre, or contradicts itself."""

    code = "center_broken"
    default_cure = _("See whether the address is that of a centre of this kind. Nothing was changed.")


class CenterInUse(Conflict):
    """It cannot be removed while specifications are offered there or work is on it."""

    code = "center_in_use"
    default_cure = _("Drain it, wait until its work has ended, take its specifications away, and try again.")


class ResourceSpecInUse(Conflict):
    """It cannot be changed or removed while centres offer it or work holds it."""

    code = "resource_spec_in_use"
    default_cure = _("Make another specification, or take this one away from all centres first.")


class CenterTakesNoWork(Conflict):
    """The centre is drained, or not available now."""

    code = "center_takes_no_work"
    default_cure = _("Choose another centre, or wait until it is available.")


class CenterServesNot(Conflict):
    """The centre does not serve the tenant whose work it is."""

    code = "center_serves_not"
    default_cure = _("Choose another centre, or ask the operators to let this one serve the tenant.")
