"""Why work ended, in a few words: for tables and charts, where a sentence is too long."""

from django.utils.translation import gettext_lazy as _

ENDS = {
    "": _("No reason was told"),
    "completed": _("Finished"),
    "answered": _("Carried out by a person"),
    "run_timeout": _("Its run time was over"),
    "idle_timeout": _("Nothing used its device"),
    "deadline": _("Its deadline had come"),
    "funds_used_up": _("The account's money was used up"),
    "unfunded": _("No money came for it"),
    "commodity_retired": _("Its commodity is sold no more"),
    "volume_funds_used_up": _("The account's money was used up"),
    "volume_ended": _("A volume that it used has ended"),
    "dependency_failed": _("Work that it waited for ended otherwise"),
    "migrated": _("Moved to another device"),
    "preempted": _("Made room for other work"),
    "memory_exceeded": _("More memory than it may use"),
    "disk_exceeded": _("More on its node's disk than it may keep"),
    "volume_exceeded": _("More in a volume than it holds"),
    "stopped": _("Stopped"),
    "packages_failed": _("Its packages could not be installed"),
    "crashed": _("The program failed"),
    "refused": _("Its node could not take it"),
    "lost": _("Lost with its node"),
}
"""By the code that an end is kept under: what people read."""


def end_words(code: str) -> str:
    """Why it ended; a code that is not known is said as it is."""
    return str(ENDS.get(code, code))
