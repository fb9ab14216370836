"""What all commands have in common: built when they are called, `--json` and `--context` anywhere on the line, errors
of one line."""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

import typer
from typer.core import TyperGroup

from weir.cli.context import known_contexts
from weir.cli.show import tell
from weir.errors import WeirClientError

Function = Callable[..., Any]
Registered = TypeVar("Registered", bound=Function)


def _note_json(ctx: typer.Context, is_asked: bool) -> None:
    if is_asked:
        ctx.find_root().params["json_"] = True


def _note_context(ctx: typer.Context, name: str) -> None:
    if name:
        ctx.find_root().params["context"] = name


_COMPLETES = "_WEIR_COMPLETE"
_HELP = {"help_option_names": ["-h", "--help"]}
_JSON = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_note_json)]
_CONTEXT = Annotated[
    str,
    typer.Option(
        "--context", help="The context to act in.", callback=_note_context, autocompletion=known_contexts
    ),
]


class App(typer.Typer):
    """A group of commands, each of which takes `--json` and `--context` too. None is built before it is called: with a
    hundred of them that is what most of a start would be spent on."""

    def __init__(self, *, help: str) -> None:
        self.entries: dict[str, typer.Typer] = {}
        # Under which heading the help lists what is taken in from now on, and what was.
        self.heading = "Commands"
        self.headings: dict[str, str] = {}
        super().__init__(
            help=help,
            cls=type("Commands", (Commands,), {"app": self}),
            no_args_is_help=True,
            pretty_exceptions_enable=False,
            add_completion=False,
            # Plain text can be copied and piped, and nothing that draws has to be loaded for it.
            rich_markup_mode=None,
            context_settings=_HELP,
        )
        self.callback()(_nothing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _COMPLETES in os.environ:
            # A shell asks what may follow: only then are its ways of asking loaded.
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        return super().__call__(*args, **kwargs)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Registered], Registered]:
        """Take a function in as a command, by its own name where it is given none."""

        def decorate(function: Registered) -> Registered:
            called = name or function.__name__.rstrip("_").replace("_", "-")
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            settings = {**_HELP, **options.pop("context_settings", {})}
            alone.command(called, context_settings=settings, **options)(_with_common(function))
            self._take(called, alone)
            return function

        return decorate

    def add_typer(self, typer_instance: typer.Typer, *, name: str | None = None, **_options: Any) -> None:
        """Take a group in, under its name."""
        assert name is not None
        self._take(name, typer_instance)

    def _take(self, name: str, entry: typer.Typer) -> None:
        self.entries[name] = entry
        self.headings[name] = self.heading


class Commands(TyperGroup):
    """The commands of an App; a refusal is one line on the standard error and exit status 1, never a traceback."""

    app: App

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Its keys are what a mistyped name is compared with; what is built comes from `get_command`.
        self.commands = cast(Any, self.app.entries)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.app.entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = self.app.entries.get(cmd_name)
        return None if found is None else typer.main.get_command(found)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading in dict.fromkeys(self.app.headings.values()):
            names = [name for name, own in self.app.headings.items() if own == heading]
            with formatter.section(heading):
                formatter.write_dl([(name, _summary(self.app.entries[name])) for name in names])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except WeirClientError as error:
            tell(str(error))
        except BrokenPipeError:
            # Who reads has had enough, as in `weir logs … | head`: the library ends quietly.
            raise
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            tell(f"{name}{error.strerror or error}.")
        sys.exit(1)


def _nothing(json_here: _JSON = False, context_here: _CONTEXT = "") -> None:
    """Groups do nothing by themselves."""


def _summary(app: typer.Typer) -> str:
    """What a list of commands says of one: the first paragraph."""
    if isinstance(app, App):
        return str(app.info.help)
    told = inspect.getdoc(app.registered_commands[0].callback or _nothing) or ""
    return " ".join(told.partition("\n\n")[0].split())


def _with_common(function: Function) -> Function:
    """The function with these options beside its own; what follows a script's name is the script's all the same. One
    with a `--context` of its own means a cluster's, and takes ours before its name."""
    own = inspect.signature(function)
    added = {"json_here": (_JSON, False), "context_here": (_CONTEXT, "")}
    if "context" in own.parameters:
        del added["context_here"]

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{name: value for name, value in kwargs.items() if name not in added})

    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), *options])  # type: ignore[attr-defined]
    run.__annotations__ = {
        **function.__annotations__,
        **{name: kind for name, (kind, _none) in added.items()},
    }
    return run
