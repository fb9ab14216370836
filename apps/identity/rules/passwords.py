"""How passwords are kept."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class Argon2idHasher(Argon2PasswordHasher):
    """Argon2id with the least that OWASP's Password Storage Cheat Sheet asks for: 19 MiB, two passes, one lane.

    Django's own default takes 100 MiB for each sign-in; with every thread of a web at one that is more than a small
    machine has.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
