"""Refusals of the scheduler that carry their own code. What is refused has changed nothing."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, Forbidden, InvalidInput, QuotaExceeded


class NoSuchModel(InvalidInput):
    """No device of the pool is of this model or vendor (POOL-12.7)."""

    code = "no_such_model"
    default_cure = _("Name a model that the pool has, or none.")


class DirectWorkUnpriced(Conflict):
    """No commodity says what work costs that no order stands behind: it is not free because nobody said so."""

    code = "direct_work_unpriced"
    default_message = _(
        "Work without an order has no price here: the scheduling policy names no commodity for it."
    )
    default_cure = _(
        'An operator sets "direct work is charged as" of the scheduling policy; a commodity whose price is 0 makes'
        " it free."
    )


class NoSuchNode(InvalidInput):
    code = "no_such_node"
    default_cure = _("Name a node of the pool, or none.")


class NodeUnavailable(Conflict):
    """The node is there, but takes no work now (POOL-12.8)."""

    code = "node_unavailable"
    default_cure = _("Name another node, or try again once it is ready.")


class NoSuchDevice(InvalidInput):
    code = "no_such_device"
    default_cure = _("Name a device of the pool, or none.")


class NoSuchQueue(InvalidInput):
    code = "no_such_queue"
    default_cure = _("Name a queue that is there, or none.")


class QueueClosed(Conflict):
    code = "queue_closed"
    default_cure = _("Choose another queue or wait until it is UP.")


class QueueNotAdmitting(Forbidden):
    code = "not_admitted"
    default_cure = _("Choose another queue, or ask an operator to admit you.")


class DefaultQueueStays(Conflict):
    """Work that names no queue goes to it: it stays, and takes work (PLAT-CLU-50)."""

    code = "default_queue"
    default_cure = _("Make another queue the default first.")


class RunTooLong(InvalidInput):
    """It asks to run longer than its queue lets work run (PLAT-CLU-52)."""

    code = "run_too_long"
    default_cure = _("Ask for less, ask for none and be ended at the queue's limit, or choose another queue.")


class DeadlineImpossible(InvalidInput):
    """The deadline is past, or its run time does not fit before it."""

    code = "deadline_impossible"
    default_cure = _("Give a later deadline, a shorter run time, or none.")


class TooMuchOpen(Conflict):
    """So much work of one user or tenant waits or runs that no more is taken in."""

    code = "too_much_open"
    default_cure = _("Wait until some has ended, or cancel some.")


class PriorityNotAllowed(Forbidden):
    """Higher than this user may ask for, or urgent without the right to (PLAT-AICFG-25)."""

    code = "priority_not_allowed"
    default_cure = _("Ask for less, or ask an operator to raise what you may name.")


class OutsideValidity(Forbidden):
    """Now is outside the periods in which this user may start such work (PLAT-AICFG-31)."""

    code = "outside_validity"
    default_cure = _("Submit it within the period.")


class QueueCycle(InvalidInput):
    """A queue would be part of itself (ELA-612)."""

    code = "queue_cycle"
    default_cure = _("Choose another queue to be part of, or none.")


class GuaranteeTooLarge(InvalidInput):
    """More is guaranteed than the parent, or the pool, can keep (ELA-605)."""

    code = "guarantee_too_large"
    default_cure = _("Guarantee less, or raise the parent's guarantee first.")


class QueueInUse(Conflict):
    """Work or queues are in it (ELA-609)."""

    code = "queue_in_use"
    default_cure = _("Set it to DRAIN and remove it once its work has ended.")


class InvalidQueueFile(InvalidInput):
    """A file of queues that is not taken: the message names the first line that is wrong, `fields` all (ELA-1701)."""

    code = "queue_file_wrong"
    default_cure = _("Correct the line and send the file again: nothing has changed.")


class NotAuthorisedForGroup(Forbidden):
    """The resource group is not granted to this tenant or client (POOL-12.13)."""

    code = "not_authorised_for_group"
    default_cure = _("Ask an operator to grant it to you, or use devices of no group.")


class ShareTooLarge(InvalidInput):
    """No device of the pool, were it whole and empty, could give one such share."""

    code = "share_too_large"
    default_cure = _("Ask for less of one device, or for several shares.")


class NoSuchSize(InvalidInput):
    """All devices that it may go to give shares of fixed sizes, and not this one."""

    code = "no_such_size"
    default_cure = _("Ask for just that size, or let it go to other devices.")


class GangTooLarge(InvalidInput):
    """Not even the whole empty pool could give all the shares at once: all or none (POOL-12.4)."""

    code = "gang_too_large"
    default_cure = _("Ask for fewer or smaller shares.")


class HostTooSmall(InvalidInput):
    """No node of the pool, were it idle, has so much processor or main memory for one share."""

    code = "host_too_small"
    default_cure = _("Ask for less processor or main memory, or for several shares.")


class BeyondQuota(QuotaExceeded):
    """It asks for more than the quota is in all: no release could ever let it start."""

    default_cure = _("Ask for less, or ask an operator to raise the quota.")


class AmountsFixed(Conflict):
    """A fixed environment or a specification says how much it is (POOL-12.1, POOL-12.14)."""

    code = "amounts_fixed"
    default_cure = _("Submit work with amounts of its own.")


class NotMovable(Conflict):
    """It is no running session, or no device could take it now (POOL-12.23)."""

    code = "not_movable"
    default_cure = _("Choose another node or device, or try again later.")


class SecretGone(Conflict):
    """A secret that the work was to be given is not there any more."""

    code = "secret_gone"
    default_cure = _("Set the secret, and submit the work again.")
