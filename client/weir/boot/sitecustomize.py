"""Runs when the interpreter of a script under `weir run` starts: makes "weir" a device as soon as torch is imported.

The script itself says nothing of Weir but `device="weir:0"`. Nothing is loaded for scripts without PyTorch.
"""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_HERE = Path(__file__).resolve().parent


class _AfterTorch:
    """Finds torch as usual, and has `weir.torch` imported right after it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                _register()

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    home = _HERE.parent.parent
    # The wire lies beside the package weir where that is installed, and beside its folder in a checkout.
    for name, folders in (("weir", [home]), ("weir_wire", [home, home.parent])):
        if importlib.util.find_spec(name) is None:
            # At the end: what the script's own environment has goes first.
            sys.path += [str(folder) for folder in folders if (folder / name).is_dir()]
    try:
        import weir.torch  # noqa: F401
    except Exception as error:
        print(f'weir: the device "weir" is not available: {error}', file=sys.stderr)


def _run_hidden() -> None:
    """The sitecustomize that this one stands before."""
    paths = [path for path in sys.path if Path(path or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _AfterTorch())  # type: ignore[arg-type]
_run_hidden()
