"""Refusals of storage that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Busy, Conflict, InvalidInput, NotFound, QuotaExceeded, WeirError


class PathRefused(InvalidInput):
    """The path is no path within a volume: absolute, with `..`, through a link, too long."""

    code = "path_refused"
    default_cure = _("Name a path below the volume's top folder, such as data/train.csv.")


class NoSuchFile(NotFound):
    code = "no_such_file"
    default_cure = _("Look at the folder: somebody may have moved or deleted it.")


class AlreadyThere(Conflict):
    """Something of that name stands there already."""

    code = "already_there"
    default_cure = _("Choose another name, or replace what is there.")


class VolumeFull(QuotaExceeded):
    """What is to come is more than the volume has room for; nothing of it was taken."""

    code = "volume_full"
    default_cure = _("Delete files, make the volume larger, or upload to another one.")


class VolumeEnded(Conflict):
    """The order of the volume has ended: its files are only kept."""

    code = "volume_ended"
    default_cure = _("Copy them into another volume.")


class StorageFull(WeirError):
    """The disk behind the volumes is nearly full; nothing that was acknowledged is lost."""

    code = "storage_full"
    status = 507
    default_message = _("The centre's storage is nearly full.")
    default_cure = _("What was sent so far is kept: go on later, or ask your computing centre for more room.")


class StorageAway(Busy):
    """The storage does not answer, or refuses."""

    code = "storage_away"
    retry_after_s = 5
    default_message = _("The centre's storage does not answer.")


class AddressRefused(InvalidInput):
    """The address of a storage is none that the portal goes to."""

    code = "address_refused"
    default_cure = _("Name the server that keeps the files, by its own address.")


class UploadBusy(WeirError):
    """Somebody else sends to the same upload at this moment."""

    code = "upload_busy"
    status = 423
    default_message = _("Another sender writes to this upload now.")
    default_cure = _("Let it finish, or ask for the offset and go on from there.")


class OffsetMismatch(Conflict):
    """The piece does not begin where the upload ends."""

    code = "offset_mismatch"
    default_cure = _("Ask for the offset (HEAD) and go on from there.")


class ChecksumMismatch(WeirError):
    """What arrived is not what was sent; nothing of the piece was kept."""

    code = "checksum_mismatch"
    status = 460
    default_message = _("The piece arrived damaged.")
    default_cure = _("Send it again.")


class TusVersionRefused(WeirError):
    code = "tus_version"
    status = 412
    default_message = _("Uploads speak version 1.0.0 of the tus protocol.")
    default_cure = _("Send the header Tus-Resumable: 1.0.0.")


class NoSuchParts(NotFound):
    """There is no such upload in parts: it was ended, or never begun."""

    code = "no_such_parts"
    default_message = _("There is no such upload in parts.")
    default_cure = _("Begin it anew.")


class PartsRefused(InvalidInput):
    """The parts named are not those that were sent."""

    code = "parts_refused"
    default_cure = _("Name each part once, in order, as its answer said.")
