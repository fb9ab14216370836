"""The tables of the jointcloud, whichever module defines them."""

from apps.jointcloud.models.data import Dataset, DatasetCopy, TaskData
from apps.jointcloud.models.jobs import Decision, Job, Replica, Task
from apps.jointcloud.models.settings import JointcloudSettings
from apps.jointcloud.models.settlements import Settlement

__all__ = [
    "Dataset",
    "DatasetCopy",
    "Decision",
    "Job",
    "JointcloudSettings",
    "Replica",
    "Settlement",
    "Task",
    "TaskData",
]
