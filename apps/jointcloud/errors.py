"""Refusals of jobs over several centres that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict, Forbidden


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


class JobChangesNoMore(Conflict):
    """What is asked of a job counts for what is placed of it from now on, and nothing more is."""

    code = "job_changes_no_more"
    default_message = _("The job has ended or is asked to: nothing more of it is placed.")
    default_cure = _("Submit another job.")


class JobRevised(Conflict):
    """Somebody has changed the job since the caller looked."""

    code = "job_revised"
    default_message = _("Somebody has changed this job meanwhile.")
    default_cure = _("Look at how it stands now, and change that.")


class JobNotOver(Conflict):
    """A job that goes on, at a centre or in its account, stays."""

    code = "job_not_over"
    default_message = _("The job has not ended.")
    default_cure = _("Stop it, and wait until its centres have ended it.")


class LogAddressUnsigned(Forbidden):
    """The signature is not of this address: another log's, another installation's, or changed."""

    code = "log_address_unsigned"
    default_message = _("This address of a log is not signed by this portal.")
    default_cure = _("Ask for the log once more, and take the address as it is.")


class LogAddressExpired(Forbidden):
    """The address held once and holds no more."""

    code = "log_address_expired"
    default_message = _("This address of a log has expired.")
    default_cure = _("Ask for the log once more.")


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
