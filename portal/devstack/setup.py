"""Migrates, seeds and invites nodes in one process: Django starts once, not four times.

python -m portal.devstack.setup RESULT.json [--empty] [node to invite ...]
"""

import argparse
import io
import json
from pathlib import Path

import django
from django.core.management import call_command

from portal.devstack.servers.processes import text_write


def _output_of(*command: str) -> str:
    heard = io.StringIO()
    call_command(*command, stdout=heard)
    return heard.getvalue().strip()


def main(result: Path, nodes: list[str], *, is_demo: bool) -> None:
    """Migrate, seed where it is the demo, make one join token for each node.

    The result holds the tokens and what to tell who started it: who can log in, or where the centre is set up.
    """
    django.setup()
    # Models can be imported only now.
    from apps.identity.services.tokens import join_token_make
    from apps.kernel.actor import SYSTEM

    call_command("migrate_schemas", interactive=False, verbosity=1)
    if is_demo:
        call_command("seed")
    call_command("release_key_make", stdout=io.StringIO())
    tokens = {node: join_token_make(actor=SYSTEM, note=f"local node {node}")[1] for node in nodes}
    welcome = _output_of(*(("seed", "--show") if is_demo else ("setup_link",)))
    text_write(result, json.dumps({"tokens": tokens, "welcome": welcome}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("result", type=Path)
    parser.add_argument("--empty", action="store_true", help="seed nothing")
    parser.add_argument("nodes", nargs="*")
    asked = parser.parse_args()
    main(asked.result, asked.nodes, is_demo=not asked.empty)
