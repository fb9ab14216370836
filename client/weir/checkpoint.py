"""Telling the pool that a program has saved itself, from inside the program (ELA-810).

    def save(*_):
        torch.save(model.state_dict(), "model.pt")
        weir.checkpointed()

    signal.signal(signal.SIGUSR1, save)      # submitted with --checkpoint-signal USR1

The folder that the program runs in is there again at its next attempt, on whichever node (docs/elastic-work.md): it
loads what it finds and goes on. What it did before its last checkpoint is not lost when it makes room for other work.
"""

import os
import time
from pathlib import Path

FILE_NAME = "WEIR_CHECKPOINT_FILE"


def checkpointed() -> bool:
    """Say that all that is needed to go on later is saved now; False where no pool runs this program.

    Call it after each save, whoever asked for it. A program in another language writes to the file that the
    variable WEIR_CHECKPOINT_FILE names.
    """
    path = os.environ.get(FILE_NAME)
    if not path:
        return False
    part = Path(f"{path}.{os.getpid()}")
    part.write_text(str(time.time()))
    part.replace(path)
    return True
