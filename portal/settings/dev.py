"""`make run`: everything on this machine."""

from portal.settings.base import *

DEBUG = ENV.debug
