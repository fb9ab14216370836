"""Paths within a volume: checked as text before any file is touched."""

from django.utils.translation import gettext as _

from apps.kernel.control_characters import has_control
from apps.storage.errors import PathRefused
from apps.storage.types import Names

PATH_MAX = 1024
_NAME_MAX_BYTES = 255
_DEPTH_MAX = 64


def names_of(path: str) -> Names:
    """The names of a path, from the volume's top; none for the top itself. Raises PathRefused."""
    if len(path) > PATH_MAX:
        raise PathRefused(_("The path is longer than %(most)s characters.") % {"most": PATH_MAX})
    if path.startswith("/"):
        raise PathRefused(_("The path begins with a slash."))
    names = tuple(path.removesuffix("/").split("/")) if path else ()
    if len(names) > _DEPTH_MAX:
        raise PathRefused(_("The path is deeper than %(most)s folders.") % {"most": _DEPTH_MAX})
    for name in names:
        _check(name)
    return names


def file_names(path: str) -> Names:
    """The names of a path that names something below the top. Raises PathRefused."""
    names = names_of(path)
    if not names or path.endswith("/"):
        raise PathRefused(_("The path names no file."))
    return names


def path_of(names: Names) -> str:
    return "/".join(names)


def _check(name: str) -> None:
    if name in ("", ".", ".."):
        raise PathRefused(_("The path holds an empty name, “.” or “..”."))
    try:
        length = len(name.encode())
    except UnicodeEncodeError as error:
        raise PathRefused(_("The path holds half of a surrogate pair.")) from error
    if length > _NAME_MAX_BYTES:
        raise PathRefused(_("A name in the path is longer than %(most)s bytes.") % {"most": _NAME_MAX_BYTES})
    if has_control(name):
        raise PathRefused(_("The path holds a control character."))
