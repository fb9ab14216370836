"""Storage classes are tried before they are kept, and whenever an operator asks."""

from apps.centre.models import StorageClass
from apps.centre.permissions import CentrePermission as P
from apps.centre.storage_classes import storage_class_get, storage_secret
from apps.centre.storage_services import (
    StorageGiven,
    storage_class_checked,
    storage_class_make,
    storage_drafted,
)
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, WeirError
from apps.storage.class_checks import storage_try
from apps.storage.drivers.s3_client import address_check


def storage_class_add(*, actor: Actor, given: StorageGiven) -> StorageClass:
    """Make a class whose storage works: a file was written there, read and deleted.

    Raises InvalidInput for what is wrong with the words, with the sentence of what refused where it does not work.
    """
    actor.require(P.STORAGE)
    draft = storage_drafted(given)
    if given.endpoint:
        address_check(given.endpoint)
    try:
        tried = storage_try(draft, given.secret)
    except InvalidInput:
        raise
    except WeirError as error:
        raise InvalidInput(str(error.message), cure=error.cure) from error
    return storage_class_make(actor=actor, given=given, mark=tried.mark, check_ms=tried.ms)


def storage_class_check(*, actor: Actor, code: str) -> StorageClass:
    """Try the storage of a class, and keep what was found; the class as it is then. Raises NotFound."""
    actor.require(P.STORAGE)
    row = storage_class_get(code)
    ms, problem = None, ""
    try:
        ms = storage_try(row, storage_secret(row)).ms
    except WeirError as error:
        problem = f"{error.message} {error.cure}".strip()
    storage_class_checked(actor=actor, code=code, ms=ms, problem=problem)
    return storage_class_get(code)
