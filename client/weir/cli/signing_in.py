"""Signing in and out, and the centres and tenants that one is signed in to: `weir login`, `weir context`."""

import os
import sys
from typing import TYPE_CHECKING

import typer

from weir.api import Client
from weir.cli.context import Context, caller, context_of
from weir.cli.group import App
from weir.cli.show import one, rows, said, tell
from weir.config import Config, Contexts, changing, chosen, keep, name_check, replaceable_check
from weir.errors import ApiError, WeirClientError

if TYPE_CHECKING:
    from weir.api_types import MeOut, SignInOut

_USUAL_URL, _USUAL_DAYS = "http://localhost:8000", 7
_UNKNOWN_TOKEN = 401
_LONGEST_TOKEN = 65_536
COLUMNS = [
    ("name", "name"),
    ("in use", "in_use"),
    ("centre", "url"),
    ("user", "user"),
    ("tenant", "tenant"),
    ("role", "role"),
]


def login(
    ctx: typer.Context,
    url: str = typer.Argument("", help="The centre's address; else that of --context, else this machine's."),
    user: str = typer.Option("", "--user", "-u", help="Login account."),
    password: str = typer.Option("", envvar="WEIR_PASSWORD", help="Password; else it is asked for."),
    role: str = typer.Option("", help="The role to act in, where you hold several."),
    days: int = typer.Option(None, help="How long the token lives; else 7.", show_default=False),
    with_token: bool = typer.Option(
        False,
        "--with-token",
        help="Read a token from the standard input, instead of an account and its password.",
    ),
) -> None:
    """Sign in; the token is kept in a file only you can read, under a name (`weir context`), and used from now on.

    The name is that of --context, else WEIR_CONTEXT, else USER@CENTRE or USER@CENTRE/TENANT.
    `weir login https://weir.example.com -u alice`, `weir login https://weir.example.com --with-token < token`
    """
    name = context_of(ctx) or os.environ.get("WEIR_CONTEXT", "")
    if name:
        name_check(name)
    url = (url or _url_of(name)).rstrip("/")
    tenant, until = ctx.find_root().params["tenant"], ""
    answer: MeOut | SignInOut
    if with_token:
        if user or days is not None:
            raise WeirClientError(
                "A token says whose it is and until when.", "Leave --user and --days out beside --with-token."
            )
        answer, config = _by_token(url, tenant, role)
    else:
        user = user or typer.prompt("User")
        if name:
            # Before a token is made that could not be kept.
            replaceable_check(name, _kept(name), url, user)
        password = password or typer.prompt("Password", hide_input=True)
        client, answer = Client.sign_in(
            url, user, password, tenant=tenant, days=_USUAL_DAYS if days is None else days
        )
        with client:
            config = Config(client.url, answer["token"], tenant, role, answer["user"]["username"])
        until = f" until {answer['expires_at']}"
        if role:
            # A role that is not held is said now, and not at every command that follows.
            with Client(config.url, config.token, tenant=tenant, role=role) as acting:
                acting.me()
    name = name or config.usual_name
    keep(name, config)
    names = ", ".join(found["schema"] for found in answer["tenants"]) or "the operators' side"
    said(ctx, answer, f"Signed in as {config.user} ({names}){until}, kept as {name}.")
    _tell_overruled(name)


def _by_token(url: str, tenant: str, role: str) -> "tuple[MeOut, Config]":
    """Whose the token is, and what is to be kept. Raises WeirClientError."""
    if sys.stdin.isatty():
        token = typer.prompt("Token", hide_input=True).strip()
    else:
        token = sys.stdin.buffer.read(_LONGEST_TOKEN).decode("ascii", "replace").strip()
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise WeirClientError(
            "The standard input holds no token." if not token else "What came in is no token.",
            "Send one alone: weir login URL --with-token < FILE.",
        )
    with Client(url, token, tenant=tenant, role=role) as client:
        found = client.me()
        return found, Config(client.url, token, tenant, role, found["user"]["username"])


def _kept(name: str) -> Config | None:
    try:
        return Contexts.load().named.get(name)
    except WeirClientError:
        # A damaged file is put aside once there is something to keep.
        return None


def _url_of(name: str) -> str:
    before = _kept(name) if name else None
    return before.url if before else _USUAL_URL


def _tell_overruled(name: str) -> None:
    """Where the environment names another, what was chosen is not what commands act in."""
    if os.environ.get("WEIR_URL") and os.environ.get("WEIR_TOKEN"):
        tell("WEIR_URL and WEIR_TOKEN are set here, and go before it.")
    elif os.environ.get("WEIR_CONTEXT", name) not in ("", name):
        tell(f"WEIR_CONTEXT is set to {os.environ['WEIR_CONTEXT']} here, and goes before it.")


def logout(ctx: typer.Context) -> None:
    """Revoke the token of the context in use, or of --context, and forget it; other contexts stay."""
    name, config = chosen(context_of(ctx))
    told = "Signed out."
    with Client(config.url, config.token, tenant=config.tenant, role=config.role) as client:
        try:
            client.sign_out()
        except ApiError as refused:
            if refused.status != _UNKNOWN_TOKEN:
                raise
            told = "The token was no longer valid; it is forgotten."
    if name:
        with changing() as kept:
            # Another sign-in may have taken its place meanwhile: that stays.
            if kept.named.get(name) == config:
                _forget(kept, name)
        others = ", ".join(sorted(Contexts.load().named))
        told += f" `weir context use` takes another: {others}." if others else ""
    said(ctx, None, told)


def whoami(ctx: typer.Context) -> None:
    """Who you are here, in which role, and what it may do."""
    name, _config = chosen(context_of(ctx))
    with caller(ctx) as client:
        found = client.me()
    columns = [("context", "context"), ("user", "user.username"), ("tenant", "tenant"), ("role", "role")]
    one(ctx, {"context": name, **found}, [*columns, ("may", "permissions")])


# --- contexts ----------------------------------------------------------------------------------------------------

context = App(
    help="The centres and tenants you are signed in to, each under a name; --context NAME takes one once."
)


def _row(kept: Contexts, name: str) -> dict[str, object]:
    """What is shown of one; its token never."""
    found = kept.find(name)
    told = {"name": name, "url": found.url, "user": found.user, "tenant": found.tenant, "role": found.role}
    return {**told, "in_use": name == (os.environ.get("WEIR_CONTEXT") or kept.in_use)}


def _forget(kept: Contexts, name: str) -> None:
    del kept.named[name]
    if kept.in_use == name:
        kept.in_use = ""


@context.command("list")
def context_list(ctx: typer.Context) -> None:
    """All of them."""
    kept = Contexts.load()
    rows(ctx, [_row(kept, name) for name in sorted(kept.named)], COLUMNS)


@context.command("use")
def context_use(ctx: typer.Context, name: Context) -> None:
    """Act in another from now on."""
    with changing() as kept:
        kept.find(name)
        kept.in_use = name
    said(ctx, _row(Contexts.load(), name), f"{name} is in use.")
    _tell_overruled(name)


@context.command("show")
def context_show(
    ctx: typer.Context,
    name: Context = "",
) -> None:
    """One of them; the one in use where none is named."""
    name = name or chosen(context_of(ctx))[0]
    if not name:
        raise WeirClientError("WEIR_URL and WEIR_TOKEN are in use, which have no name.", "Name one.")
    one(ctx, _row(Contexts.load(), name), COLUMNS)


@context.command("remove")
def context_remove(
    ctx: typer.Context,
    name: Context,
    force: bool = typer.Option(False, "--force", help="Also where it is the one in use."),
) -> None:
    """Forget one without asking its centre: its token stays valid until it ends (`weir logout` revokes it)."""
    with changing() as kept:
        kept.find(name)
        if name == kept.in_use and not force:
            raise WeirClientError(
                f"{name} is in use.", "Use another first, sign out with `weir logout`, or say --force."
            )
        _forget(kept, name)
    said(ctx, None, f"{name} is forgotten.")


@context.command("rename")
def context_rename(
    ctx: typer.Context, name: Context, new: str = typer.Argument(..., help="What to call it from now on.")
) -> None:
    """Call one otherwise."""
    name_check(new)
    with changing() as kept:
        found = kept.find(name)
        if new in kept.named:
            raise WeirClientError(
                f"There is a context {new} already.", "Choose another name, or remove it first."
            )
        was_in_use = kept.in_use == name
        _forget(kept, name)
        kept.named[new] = found
        kept.in_use = new if was_in_use else kept.in_use
    said(ctx, _row(Contexts.load(), new), f"{name} is {new} now.")
