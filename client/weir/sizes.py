"""How many shares elastic work has, from inside the program (ELA-906).

    def rebuild(now):
        save_checkpoint() if now.leaving else join(rank=now.share, world=now.shares)

    weir.scaled(rebuild)

A node puts `node_agent.work.size` into the path of every program that it runs: that is what speaks with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from weir.errors import WeirClientError

if TYPE_CHECKING:
    from node_agent.work.size import Size


def scaled(function: Callable[[Size], object]) -> threading.Thread:
    """Call `function(now)` now and after each change of size; its return confirms.

    `now` has `share`, `shares`, `leaving` and, of work of replicas, `replica` and `replicas`; work that is neither is
    one of one. Raises WeirClientError where no pool runs this program.
    """
    try:
        from node_agent.work import size
    except ImportError as error:
        raise WeirClientError("No pool runs this program.", "Submit it as elastic work.") from error
    return size.scaled(function)
