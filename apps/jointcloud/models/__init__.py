"""The tables of the jointcloud, whichever module defines them."""

from apps.jointcloud.models.settings import JointcloudSettings

__all__ = ["JointcloudSettings"]
