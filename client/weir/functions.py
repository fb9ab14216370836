"""Functions called in the pool: `weir.submit(train, 0.1, compute_percent=30, memory_mib=4096).result()`.

The function travels with all of its own code, its arguments and what it refers to; modules that are installed on the
node are imported there. It runs as a job of its own, and what it returns comes back, up to 4 MiB. What comes back is
unpickled here: call functions in a centre that you trust, as you trust it with your code.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import os
import pickle
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from weir.api import Client
from weir.call.run import MARK
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from types import ModuleType

    from weir.api_types import WorkloadOut

P = ParamSpec("P")
T = TypeVar("T")
_FOLDER = ".weir-call"
_FIRST_LOOK_S, _LAST_LOOK_S = 0.3, 3.0
_FINAL = frozenset({"finished", "failed", "lost"})


class FunctionFailed(WeirClientError):
    """A function called in the pool raised, or its job ended without an answer; `trace` is what was printed there."""

    def __init__(self, message: str, cure: str = "", *, trace: str = "") -> None:
        super().__init__(message, cure)
        self.trace = trace


class FunctionRun(Generic[T]):
    """A function that runs in the pool, or waits there. `no` is its job's number, as pages and commands know it."""

    def __init__(self, client: Client, workload: WorkloadOut, key: bytes) -> None:
        self._client, self._key = client, key
        self.uid, self.no = workload["uid"], workload["no"]

    def state(self) -> str:
        """`pending`, `running`, `finished` …: that of its job."""
        return self._client.workload(self.uid)["state"]

    def cancel(self, reason: str = "its caller needs it no more") -> None:
        """End it, whether it waits or runs."""
        self._client.workload_stop(self.uid, reason)

    def result(self, *, timeout_s: float | None = None) -> T:
        """What it returned, once it has.

        Raises:
            FunctionFailed: it raised (that is the cause, where it can be brought here), or ended without an answer.
            TimeoutError: not within `timeout_s`; it goes on, and may be asked again.
        """
        found = self._ended(timeout_s)
        kind, value, trace = self._answer(found)
        if kind == "returned":
            return cast("T", value)
        last = trace.strip().rpartition("\n")[2]
        raise FunctionFailed(f"{self.no} raised {last}", "Its trace has the line.", trace=trace) from value

    def output(self) -> str:
        """What it has printed so far."""
        lines = self._log().splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(f"{MARK} "))

    def _ended(self, timeout_s: float | None) -> WorkloadOut:
        began, pause_s = time.monotonic(), _FIRST_LOOK_S
        while True:
            found = self._client.workload(self.uid)
            if found["state"] in _FINAL:
                return found
            if timeout_s is not None and time.monotonic() - began > timeout_s:
                raise TimeoutError(
                    f"{self.no} has not ended yet: {found['state']}. {found['reason']}".rstrip()
                )
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LAST_LOOK_S)

    def _answer(self, found: WorkloadOut) -> tuple[str, Any, str]:
        """What its sealed lines say. Raises FunctionFailed where there are none."""
        seals: dict[str, list[str]] = {}
        for line in self._log(is_whole=True).splitlines():
            if line.startswith(f"{MARK} ") and line.count(" ") == 2:
                _mark, seal, part = line.split(" ")
                seals.setdefault(seal, []).append(part)
        # Of several attempts the last one counts.
        for seal, parts in reversed(seals.items()):
            try:
                body = base64.b64decode("".join(parts), validate=True)
            except ValueError:
                continue
            if hmac.compare_digest(hmac.new(self._key, body, hashlib.sha256).hexdigest(), seal):
                return _opened(body)
        raise FunctionFailed(
            f"{self.no} has ended without an answer. {found['reason']}".strip(),
            f"`weir logs {self.no}` shows what it printed.",
        )

    def _log(self, *, is_whole: bool = False) -> str:
        """What was printed so far, or all of it once it has ended: its last lines come after its end."""
        text, offset = "", 0
        while True:
            part = self._client.log(self.uid, offset)
            text, offset = text + part["text"], part["next_offset"]
            if not part["text"] and (part["ended"] or not is_whole):
                return text
            if not part["text"]:
                time.sleep(_FIRST_LOOK_S)


def _opened(body: bytes) -> tuple[str, Any, str]:
    try:
        kind, value, trace, _unlike = pickle.loads(body)
    except Exception as error:
        raise FunctionFailed(
            f"Its answer cannot be read here: {error}.",
            "Return what both sides know, or install its module here.",
        ) from error
    return kind, value, trace


def submit(
    function: Callable[..., T],
    /,
    *arguments: Any,
    client: Client | None = None,
    workdir: str | os.PathLike[str] | None = None,
    named: dict[str, Any] | None = None,
    **request: Any,
) -> FunctionRun[T]:
    """Call a function in the pool; its `result()` is what it returns.

    Args:
        function: with its `arguments`, and `named` ones.
        client: who asks; else who `weir login` signed in.
        workdir: a folder that travels too, in which it runs.
        request: compute_percent, memory_mib, spec, queue, run_timeout_s and whatever else `POST /workloads` takes.

    Raises:
        WeirClientError: the function or an argument cannot travel, or the job is refused.
    """
    from weir.working_folder import folder_pack

    caller = client or Client.from_config()
    key = secrets.token_bytes(32)
    files = {f"{_FOLDER}/call.pickle": _call(function, arguments, named or {}, key), **_support()}
    packed = folder_pack(None if workdir is None else Path(workdir), extra=files)
    asked = {"name": getattr(function, "__name__", "function"), **request}
    # A folder of such a call is sent once and not again: its key is new each time.
    work = {"argv": ["python", f"{_FOLDER}/run.py"], "folder": caller.folder_send(packed)}
    return FunctionRun(caller, caller.workload_submit(**{**asked, **work, "kind": "program"}), key)


class Job(Generic[P, T]):
    """A function that can be called in the pool; called as itself it runs here."""

    def __init__(self, function: Callable[P, T], request: dict[str, Any]) -> None:
        self._function, self._request = function, request
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._function(*args, **kwargs)

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> FunctionRun[T]:
        """Call it in the pool, and go on meanwhile."""
        return submit(self._function, *args, named=kwargs, **self._request)

    def run(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in the pool and wait for what it returns."""
        return self.submit(*args, **kwargs).result()


def job(**request: Any) -> Callable[[Callable[P, T]], Job[P, T]]:
    """`@weir.job(compute_percent=30, memory_mib=4096)`: `train.run(0.1)` runs in the pool, `train.submit(0.1)` there
    while the caller goes on, `train(0.1)` here. It takes what `weir.submit` takes."""

    def decorate(function: Callable[P, T]) -> Job[P, T]:
        return Job(function, request)

    return decorate


# --- what travels --------------------------------------------------------------------------------------------------


def _call(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], key: bytes
) -> bytes:
    import cloudpickle

    module = sys.modules.get(getattr(function, "__module__", "") or "")
    is_own = module is not None and module.__name__ != "__main__" and not _is_installed(module)
    if is_own:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed = cloudpickle.dumps((function, arguments, named))
    except Exception as error:
        raise WeirClientError(
            f"The function cannot travel: {error}.", "Open files, locks and devices inside of it, not before."
        ) from error
    finally:
        if is_own:
            cloudpickle.unregister_pickle_by_value(module)
    return pickle.dumps({"python": sys.version_info[:2], "key": key, "function": packed})


def _is_installed(module: ModuleType) -> bool:
    """Whether a module is a package's, so that the node may have it, and not a file of the caller's."""
    place = getattr(module, "__file__", None)
    return place is None or Path(place).resolve().is_relative_to(Path(sys.prefix).resolve())


def _support() -> dict[str, bytes]:
    """The program that calls it, and what functions are made of again: nothing has to be installed on the node."""
    import cloudpickle

    import weir.call.run as runner

    place = Path(cloudpickle.__file__).parent
    found = {f"{_FOLDER}/cloudpickle/{path.name}": path.read_bytes() for path in sorted(place.glob("*.py"))}
    return {**found, f"{_FOLDER}/run.py": Path(runner.__file__).read_bytes()}
