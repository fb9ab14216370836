from enum import StrEnum


class PlacementPermission(StrEnum):
    """Trying where work would go wants what seeing work does; the settings are part of the scheduling policy."""

    TRY = "resources.view"
    SEE_SETTINGS = "scheduling.view"
    SET = "scheduling.manage"
