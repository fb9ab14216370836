"""Runs one engine beside the portal until it is told to end, or until a process of the engine ends by itself.

python -m portal.devstack.engines KIND VAR_DIR

While the engine takes jobs a file says how it is reached. All that it starts ends with this process, however that ends.
"""

import argparse
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from portal.devstack.engines.kinds import ENGINES, Engine, reach_path, reach_write


class _EndAsked(BaseException):
    """Somebody asks this process to end."""


def _end_ask(_signum: int, _frame: object) -> None:
    raise _EndAsked


def main() -> int:
    """Run it; 0 where it was told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=ENGINES)
    parser.add_argument("var_dir", type=Path)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_ask)
    # What looks after a job may crash where its engine is killed; nobody reads what memory it leaves.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    engine = ENGINES[arguments.kind](arguments.var_dir)
    reach = reach_path(arguments.var_dir, arguments.kind)
    try:
        reach.unlink(missing_ok=True)
        reach_write(arguments.var_dir, arguments.kind, engine.start())
        return _watched(engine)
    except _EndAsked:
        return 0
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{arguments.kind} cannot be started: {_cause(error)}", file=sys.stderr, flush=True)
        return 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        reach.unlink(missing_ok=True)
        engine.stop()


def _watched(engine: Engine) -> int:
    while not (name := engine.dead()):
        time.sleep(0.5)
    print(f"{name} has ended:\n{engine.said(name)}", file=sys.stderr, flush=True)
    return 1


def _cause(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    return f"{error} {said}" if said else str(error)


if __name__ == "__main__":
    sys.exit(main())
