"""Calls the function that lies beside it and prints what it returned; runs on a node, where no client is installed.

The answer is printed as lines of base64 behind a mark, sealed with a key that came with the call: nothing else that the
function prints is taken for it. No two are alike, so that those of several attempts are told apart.
"""

import base64
import hashlib
import hmac
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

MARK = "weir-answer"
MOST_BYTES = 4 * 1024 * 1024
_LINE = 4096


def _called(call: dict[str, Any]) -> tuple[str, object]:
    here = sys.version_info[:2]
    if tuple(call["python"]) != here:
        made, there = (".".join(map(str, version)) for version in (call["python"], here))
        raise RuntimeError(
            f"the function was made by Python {made} and the node has {there}: use the same for both"
        )
    import cloudpickle  # noqa: F401 - its own functions are what the call is made of

    function, arguments, named = pickle.loads(call["function"])
    return "returned", function(*arguments, **named)


def _answer(call: dict[str, Any]) -> bytes:
    import cloudpickle

    try:
        kind, value = _called(call)
        body: bytes = cloudpickle.dumps((kind, value, "", os.urandom(8)))
        if len(body) > MOST_BYTES:
            raise ValueError(
                f"the answer is {len(body)} bytes long, at most {MOST_BYTES} travel: write it to a file instead"
            )
        return body
    except BaseException as error:
        told = traceback.format_exc()
        print(told, file=sys.stderr, flush=True)
        try:
            return bytes(cloudpickle.dumps(("raised", error, told, os.urandom(8))))
        except Exception:
            return bytes(cloudpickle.dumps(("raised", None, told, os.urandom(8))))


def main() -> int:
    """Exit status 0 where it returned, 1 where it raised."""
    folder = Path(__file__).resolve().parent
    sys.path.insert(1, os.getcwd())
    call = pickle.loads((folder / "call.pickle").read_bytes())
    body = _answer(call)
    seal = hmac.new(call["key"], body, hashlib.sha256).hexdigest()
    text = base64.b64encode(body).decode()
    parts = [text[begin : begin + _LINE] for begin in range(0, len(text), _LINE)]
    sys.stdout.flush()
    print("\n" + "\n".join(f"{MARK} {seal} {part}" for part in parts), flush=True)
    return 0 if pickle.loads(body)[0] == "returned" else 1


if __name__ == "__main__":
    sys.exit(main())
