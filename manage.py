#!/usr/bin/env python
"""Django's command line for Weir."""

import os
import sys

from django.core.management import execute_from_command_line

from portal.devstack.servers.shared_env import borrow

if __name__ == "__main__":
    # Beside a portal of `make run`, a command needs no settings of its own.
    borrow(os.environ)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings.dev")
    execute_from_command_line(sys.argv)
