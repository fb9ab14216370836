"""Migrates, seeds and invites nodes in one process: Django starts once, not four times.

python -m portal.devstack.setup RESULT.json [node to invite ...]
"""

import io
import json
import sys
from pathlib import Path

import django
from django.core.management import call_command

from portal.devstack.processes import text_write


def _output_of(*command: str) -> str:
    heard = io.StringIO()
    call_command(*command, stdout=heard)
    return heard.getvalue().strip()


def main(result: Path, nodes: list[str]) -> None:
    """Migrate, seed, make one join token for each node; the result holds the tokens and who can log in."""
    django.setup()
    # Models can be imported only now.
    from apps.identity.tokens import join_token_make
    from apps.kernel.acts import SYSTEM

    call_command("migrate_schemas", interactive=False, verbosity=1)
    call_command("seed")
    call_command("release_key_make", stdout=io.StringIO())
    tokens = {node: join_token_make(actor=SYSTEM, note=f"local node {node}")[1] for node in nodes}
    text_write(result, json.dumps({"tokens": tokens, "logins": _output_of("seed", "--show")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
