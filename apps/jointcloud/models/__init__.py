"""The tables of the jointcloud, whichever module defines them."""

from apps.jointcloud.models.data import Dataset, DatasetCopy, TaskData
from apps.jointcloud.models.jobs import Decision, Job, Replica, Task
from apps.jointcloud.models.settings import JointcloudSettings

__all__ = [
    "Dataset",
    "DatasetCopy",
    "Decision",
    "Job",
    "JointcloudSettings",
    "Replica",
    "Task",
    "TaskData",
]
