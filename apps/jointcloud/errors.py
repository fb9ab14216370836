"""Refusals of jobs over several centres that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict


class TooManyJobs(Conflict):
    """A tenant has as many open jobs as it may."""

    code = "too_many_jobs"
    default_cure = _("Wait until some have ended, or stop some.")


class TooManyReplicas(Conflict):
    """A tenant's open jobs have as many replicas as they may."""

    code = "too_many_replicas"
    default_cure = _("Ask for fewer, wait until some jobs have ended, or stop some.")


class JobEnded(Conflict):
    """What is asked for can be done to a job that has not ended only."""

    code = "job_ended"
    default_message = _("The job has ended already.")
    default_cure = _("Nothing is left to be stopped.")


class TooManyDatasets(Conflict):
    """A tenant, or the centre, has as many datasets as it may."""

    code = "too_many_datasets"
    default_cure = _("Remove some that nobody reads any more.")


class DatasetInUse(Conflict):
    """Work that has not ended reads the data."""

    code = "dataset_in_use"
    default_cure = _("Wait until these jobs have ended, or stop them.")


class DataStays(Conflict):
    """The data does not move; work goes to it instead."""

    code = "data_stays"
    default_cure = _("Submit work that names the data: it goes to where that lies.")
