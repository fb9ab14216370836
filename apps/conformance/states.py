"""The life of a run, and how a test can come out."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class RunState(models.TextChoices):
    QUEUED = "queued", _("Waiting to begin")
    RUNNING = "running", _("Under way")
    FINISHED = "finished", _("Finished")
    INTERRUPTED = "interrupted", _("Interrupted")


class Outcome(models.TextChoices):
    WAITING = "waiting", _("To come")
    RUNNING = "running", _("Under way")
    PASSED = "passed", _("Passed")
    FAILED = "failed", _("Not passed")
    NOT_RUN = "not_run", _("Not run")


OPEN = frozenset({RunState.QUEUED, RunState.RUNNING})
RUN = Flow(
    {
        (RunState.QUEUED, RunState.RUNNING): "",
        (RunState.QUEUED, RunState.INTERRUPTED): "",
        (RunState.RUNNING, RunState.FINISHED): "",
        (RunState.RUNNING, RunState.INTERRUPTED): "",
    }
)
