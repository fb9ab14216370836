"""Compiles the message catalogues (`locale/*/LC_MESSAGES/django.po`) where they are old, without gettext."""

import os
import sys
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po

from portal.devstack.bootstrap import ROOT
from portal.devstack.errors import LocalError


def compile_old() -> list[str]:
    """Bring every catalogue up to date; the languages that were compiled.

    Raises:
        LocalError: a catalogue cannot be read; the text says which and where.
    """
    return [path.parts[-3] for path in sorted(ROOT.glob("locale/*/LC_MESSAGES/django.po")) if _compile(path)]


def _compile(source: Path) -> bool:
    target = source.with_suffix(".mo")
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return False
    draft = source.with_name(f".django-{os.getpid()}.mo")
    try:
        with source.open("rb") as file:
            catalogue = read_po(file, abort_invalid=True)
        with draft.open("wb") as file:
            write_mo(file, catalogue)
        # Whoever reads it meanwhile sees the old one whole or the new one whole.
        draft.replace(target)
    except (PoFileError, ValueError, OSError) as error:
        raise LocalError(f"{source.relative_to(ROOT)} cannot be compiled: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return True


if __name__ == "__main__":
    try:
        compile_old()
    except LocalError as error:
        sys.exit(f"weir: {error}")
