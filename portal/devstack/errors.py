"""What can go wrong on one machine, each said in one line with its cure."""


class LocalError(Exception):
    """A reason why something cannot start here; the text names the cause and the cure."""
