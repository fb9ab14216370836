"""How many shares elastic work has, from inside the program (ELA-906).

    def rebuild(now):
        save_checkpoint() if now.leaving else join(rank=now.share, world=now.shares)

    weir.scaled(rebuild)

Programs without this client say `from weir_wire import elastic_size`: a node puts that into the path of all it runs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from weir.errors import WeirClientError
from weir_wire import elastic_size


def scaled(function: Callable[[elastic_size.Size], object]) -> threading.Thread:
    """Call `function(now)` now and after each change of size; its return confirms.

    `now` has `share`, `shares`, `leaving` and, of work of replicas, `replica` and `replicas`; work that is neither is
    one of one. Raises WeirClientError where no pool runs this program.
    """
    if not os.environ.get("WEIR_SLICE"):
        raise WeirClientError("No pool runs this program.", "Submit it as elastic work.")
    return elastic_size.scaled(function)
