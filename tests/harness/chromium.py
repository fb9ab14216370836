"""The Chromium that the tests drive, where this machine has one."""

import shutil

# The shell without a window first: it takes a third of the processor time for the same pages.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATH = next(filter(None, map(shutil.which, NAMES)), None)
MISSING = "no Chromium here (Debian: apt-get install chromium-headless-shell)"
