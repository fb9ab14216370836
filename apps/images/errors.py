"""Refusals of images that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Busy, Conflict, InvalidInput


class NoRegistry(Conflict):
    code = "no_registry"
    default_message = _("This centre keeps no container images: no registry is set up.")
    default_cure = _("Ask an operator to name one (WEIR_REGISTRY_URL).")


class RegistryAway(Busy):
    """The registry does not answer, or refuses."""

    code = "registry_away"
    retry_after_s = 5
    default_message = _("The registry of container images does not answer.")


class NotInImage(Conflict):
    """The work runs in no container image: nothing of it can be saved as one."""

    code = "not_in_image"
    default_message = _("The work runs in no container image.")
    default_cure = _("Start it from an image: what it changes over that can be saved.")


class ImagesDiskFull(Busy):
    """The portal cannot copy an archive to look at it."""

    code = "images_disk_full"
    retry_after_s = 60
    default_message = _("The portal's disk is nearly full.")
    default_cure = _("Ask an operator to free some of it; the image is looked at then.")


class ImageRefused(InvalidInput):
    """The archive is no image that this centre can run; nothing of it was taken."""

    code = "image_refused"
    default_cure = _(
        "Save the image anew by `docker save` or `podman save`, for the machines of this centre."
    )


class ContainerfileRefused(InvalidInput):
    """Lines of a Containerfile that are not taken; nothing was run."""

    code = "containerfile_refused"
    default_message = _("The Containerfile is not taken.")
    default_cure = _("Correct the lines that are named.")
