"""What work may ask for as options of a command: those that are declared, and the one body made of them."""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, TypeVar

import typer

from weir.cli.units import (
    attempts,
    command_words,
    cores_milli,
    duration_s,
    file_text,
    instant,
    memory_mib,
    names,
    pairs,
    signal_name,
)
from weir_wire.asks import Ask
from weir_wire.workload_request import WorkloadRequest, asks

Json = dict[str, Any]
Command = TypeVar("Command", bound=Callable[..., None])

Reason = Annotated[str, typer.Option(help="Kept beside the act.")]
Replicas = Annotated[int | None, typer.Option(help="How many replicas.")]


def _same(value: Any) -> Any:
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "": _same,
    "memory": memory_mib,
    "cores": cores_milli,
    "duration": duration_s,
    "instant": instant,
    "signal": signal_name,
    "command": command_words,
    "variables": pairs,
    "names": names,
    "retries": attempts,
    "file": file_text,
}


def options_of(declared: type[Any] = WorkloadRequest) -> dict[str, tuple[str, Ask]]:
    """By option: the field it is for, and how that is asked for; in the order of the declaration."""
    return {ask.option or name: (name, ask) for name, ask in asks(declared).items() if ask.help}


def _parameter(name: str, ask: Ask) -> inspect.Parameter:
    """The option as typer takes it. Left out it says nothing: the rest is the centre's to say."""
    word = name.replace("_", "-")
    spelt = [f"--{word}", *([f"-{ask.short}"] if ask.short else [])]
    option = typer.Option(*spelt, help=ask.help, envvar=ask.env or None)
    kind, default = {
        "flag": (bool, False),
        "variables": (list[str], []),
        "names": (list[str], []),
        "count": (int | None, None),
    }.get(ask.kind, (str | None, None))
    if ask.unit and ask.kind not in ("variables", "names"):
        kind = str | None
    annotation = Annotated[kind, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def asking(*only: str, but: Collection[str] = ()) -> Callable[[Command], Command]:
    """The command takes the options of work: all that are declared `but` some, or `only` these. It finds what was said
    by `request_of`; its own parameters come first, and the last takes the options by `**`."""
    known = options_of()
    if unknown := {*only, *but} - known.keys():
        raise ValueError(f"No field of a workload has the option {', '.join(sorted(unknown))}.")
    chosen = [name for name in known if (name in only if only else name not in but)]

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        whole = [*own, *(_parameter(name, known[name][1]) for name in chosen)]
        command.__signature__ = signature.replace(parameters=whole)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in whole} | {"return": None}
        return command

    return decorate


def request_of(ctx: typer.Context, **more: Any) -> Json:
    """What `POST /workloads` takes, of the options that were given to a command; the rest is the centre's to say.

    Raises:
        WeirClientError: a duration, an instant, a variable or a number of cores that is none.
    """
    found, known = {}, {"name": ("name", asks()["name"]), **options_of()}
    for name, value in ctx.params.items():
        # 0 is an answer, and equal to False.
        if name in known and value is not None and value is not False and value not in ("", [], ()):
            field, ask = known[name]
            found[field] = _READERS[ask.unit](value)
    return found | {name: value for name, value in more.items() if value not in (None, "")}
