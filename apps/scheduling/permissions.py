from enum import StrEnum


class SchedulingPermission(StrEnum):
    VIEW = "scheduling.view"
    MANAGE = "scheduling.manage"


class ResourcePermission(StrEnum):
    VIEW = "resources.view"
    OPERATE = "resources.operate"


# Who speaks for all people of a tenant: what each of them may hold is asked for by who manages its organization.
FOR_ALL = "orgs.manage"
