"""For operators: the AI computing centres of the network, and its specifications."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import one, rows, said
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api_types import CenterOut, ResourceSpecOut

center = App(help="The AI computing centres of the network.")
network_spec = App(help="The specifications of the network, and which centre offers which.")
_STATUS = {0: "unavailable", 1: "available", 2: "unknown"}
_CODE = typer.Argument(..., help="The centre's code.")
_SPEC = typer.Argument(..., help="The specification's code.")
_CENTERS = [
    ("code", "ai_center_id"), ("name", "name"), ("status", "status"), ("kind", "kind"), ("gpu", "gpu"), ("npu", "npu"),
    ("mlu", "mlu"), ("cpu", "cpu"), ("tasks", "tasks"), ("answered", "answered_at"), ("error", "error"),
]  # fmt: skip
_CENTER = [
    ("code", "ai_center_id"), ("name", "name"), ("region", "region"), ("status", "status"), ("drained", "is_drained"),
    ("kind", "kind"), ("version", "version"), ("settings", "settings"), ("position", "geometry"),
    ("security grade", "security_grade"), ("gpu", "gpu"), ("npu", "npu"), ("mlu", "mlu"), ("cpu", "cpu"),
    ("memory MB", "memory"), ("storage GB", "storage"), ("user-defined", "user_define"), ("tasks", "tasks"),
    ("serves", "serves"), ("tenants", "tenants"), ("answered", "answered_at"), ("error", "error"),
]  # fmt: skip
_SPECS = [
    ("code", "resource_spec_id"), ("name", "resource_spec_name"), ("holds", "resource_quantity"),
    ("for", "service_type"), ("price/h", "price"), ("centres", "computing_center_list"),
]  # fmt: skip
_OFFERS = [
    ("centre", "ai_center_id"), ("name", "center_name"), ("free", "free_count"), ("price/h", "price"),
    ("performance", "performance"), ("idle W", "idle_power_w"), ("running W", "running_power_w"),
]  # fmt: skip


def _in_words(found: "CenterOut") -> dict[str, Any]:
    """A centre as one row: of each resource how much is free of how much there is."""
    row: dict[str, Any] = dict(found)
    row["status"] = _STATUS[found["status"]]
    if found["is_drained"]:
        row["status"] += ", drained"
    total, now, trouble = found["resources"], found["monitoring"], found["trouble"]
    for name in ("cpu", "gpu", "npu", "mlu", "memory", "storage", "user_define"):
        printed = "defineres" if name == "user_define" else name
        row[name] = f"{now[f'{printed}_free']}/{total[name]}" if now and total else "-"  # type: ignore[literal-required]
    row["tasks"] = f"{now['running_task_num']}+{now['waiting_task_num']}" if now else "-"
    row["version"] = now["version"] if now else ""
    row["error"] = trouble["message"] if trouble else ""
    row["tenants"] = "; ".join(_tenant_said(each["tenant"], each["account"]) for each in found["tenants"])
    return row


def _tenant_said(tenant: str, account: dict[str, str]) -> str:
    """A tenant with its account there, if it has one."""
    return " ".join([tenant, *(f"{name}={value}" for name, value in account.items())])


def _pairs(given: list[str], what: str) -> dict[str, str]:
    """NAME=VALUE, each once."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name or name in found:
            raise WeirClientError(f"{text.partition('=')[0]!r} is no {what}.", f"Write each once, as {what}.")
        found[name] = value
    return found


def _secrets(given: list[str]) -> dict[str, str]:
    """NAME=FILE, `-` for the standard input; NAME alone is asked for. No secret stands on a command line."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, place = text.partition("=")
        if not sign:
            found[name] = typer.prompt(name, hide_input=True)
        elif place == "-":
            found[name] = sys.stdin.read().strip()
        else:
            try:
                found[name] = Path(place).read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise WeirClientError(
                    f"{place} cannot be read: {error}", "Name a file with the secret."
                ) from error
    return found


def _place(text: str) -> list[float] | None:
    if not text:
        return None
    try:
        longitude, latitude = (float(part) for part in text.split(","))
    except ValueError as error:
        raise WeirClientError(f"{text} is no position.", "Write LONGITUDE,LATITUDE: 120.15,30.28.") from error
    return [longitude, latitude]


@center.command("kinds")
def kinds(ctx: typer.Context) -> None:
    """The kinds of centres that can be joined, and what is to be filled in for each."""
    with caller(ctx) as client:
        found = [
            {
                "kind": kind["code"],
                "field": field["name"],
                "what": field["label"],
                "needed": field["is_required"],
                "secret": field["is_secret"],
            }
            for kind in client.center_kinds()
            for field in kind["inputs"]
        ]
    rows(ctx, found, [(name, name) for name in ("kind", "field", "what", "needed", "secret")])


@center.command("list")
def list_(ctx: typer.Context) -> None:
    """The centres: status, free of how much there is, tasks running+waiting, last answer."""
    with caller(ctx) as client:
        rows(ctx, [_in_words(row) for row in client.centers()], _CENTERS)


@center.command()
def show(ctx: typer.Context, code: str = _CODE) -> None:
    """One centre, with all that it holds."""
    with caller(ctx) as client:
        one(ctx, _in_words(client.center(code)), _CENTER)


_SET = typer.Option(
    [], "--set", help="NAME=VALUE: a field of its kind (`weir center kinds`); may be repeated."
)
_SECRET = typer.Option(
    [],
    "--secret",
    help="NAME=FILE (- for standard input), or NAME alone to be asked: a secret field of its kind.",
)


_MAY_SHARE = typer.Option(
    False, "--may-share", help="Say that tenants may share it, though its kind does not keep them apart."
)


@center.command()
def join(
    ctx: typer.Context,
    code: str = _CODE,
    name: str = typer.Option(..., help="What it is called."),
    kind: str = typer.Option(..., help="Its kind, by `weir center kinds`."),
    set_: list[str] = _SET,
    secret: list[str] = _SECRET,
    region: str = typer.Option("", help="Where it belongs to."),
    position: str = typer.Option("", help="LONGITUDE,LATITUDE."),
    grade: int = typer.Option(1, help="Its security grade, 1 to 5."),
    tenant: list[str] = typer.Option([], help="Code of a tenant that it serves; may be repeated."),
    all_: bool = typer.Option(False, "--all-tenants", help="It serves all tenants."),
    may_share: bool = _MAY_SHARE,
) -> None:
    """Join a centre; it is asked first what it holds. Of a kind that does not keep tenants apart it serves nobody until
    tenants are named, or all of them may share it."""
    with caller(ctx) as client:
        found = client.center_join(
            ai_center_id=code,
            name=name,
            kind=kind,
            settings=_pairs(set_, "NAME=VALUE"),
            credential=_secrets(secret),
            region=region,
            geometry=_place(position),
            security_grade=grade,
            serves="all" if all_ else None,
            may_share=may_share,
            tenants=tenant,
        )
    said(ctx, found, f"{code} has joined: {_held(found)}; it serves {_served(found)}")


def _served(found: "CenterOut") -> str:
    named = ", ".join(each["tenant"] for each in found["tenants"])
    return "all tenants" if found["serves"] == "all" else named or "nobody yet (weir center serve)"


def _held(found: "CenterOut") -> str:
    total = found["resources"]
    amounts = total.items() if total else ()
    return ", ".join(f"{amount} {name}" for name, amount in amounts if amount) or "nothing"


@center.command()
def change(
    ctx: typer.Context,
    code: str = _CODE,
    name: str = typer.Option(None, help="Another name."),
    region: str = typer.Option(None, help="Another region."),
    position: str = typer.Option(None, help="LONGITUDE,LATITUDE; empty: not said."),
    grade: int = typer.Option(None, help="Another security grade, 1 to 5."),
    stale_after: int = typer.Option(None, help="Unknown after so many seconds of silence."),
    lost_after: int = typer.Option(None, help="Unavailable after so many."),
    set_: list[str] = _SET,
    secret: list[str] = _SECRET,
) -> None:
    """Change what is given; with other settings the centre is tried first, with another address its secrets are given
    anew."""
    given: dict[str, Any] = {
        "name": name, "region": region, "security_grade": grade, "stale_after_s": stale_after,
        "lost_after_s": lost_after,
    }  # fmt: skip
    body = {key: value for key, value in given.items() if value is not None}
    if position is not None:
        body["geometry"] = _place(position)
    with caller(ctx) as client:
        if set_:
            body["settings"] = dict(client.center(code)["settings"]) | _pairs(set_, "NAME=VALUE")
            if secret:
                body["credential"] = _secrets(secret)
        found = client.center_change(code, **body)  # type: ignore[typeddict-item]
    said(ctx, found, f"{code} is changed")


@center.command()
def credential(ctx: typer.Context, code: str = _CODE, secret: list[str] = _SECRET) -> None:
    """Give it another credential, once it takes it."""
    with caller(ctx) as client:
        found = client.center_credential(code, _secrets(secret))
    said(ctx, found, f"{code} takes the new credential")


_TENANT = typer.Argument(..., help="The tenant's code.")
_ACCOUNT = typer.Option(
    [],
    "--account",
    help="NAME=VALUE of the account there that its work runs under (Slurm: user, account, partition); may be repeated. "
    "Without: the centre's own.",
)


@center.command()
def serve(
    ctx: typer.Context, code: str = _CODE, tenant: str = _TENANT, account: list[str] = _ACCOUNT
) -> None:
    """Have it serve a tenant; the centre is asked first whether it takes the account."""
    with caller(ctx) as client:
        found = client.center_tenant_set(code, tenant, _pairs(account, "NAME=VALUE"))
    said(ctx, found, f"{code} serves {_served(found)}")


@center.command()
def unserve(ctx: typer.Context, code: str = _CODE, tenant: str = _TENANT) -> None:
    """Take a tenant off it: nothing new of its is sent there, what is there goes on."""
    with caller(ctx) as client:
        client.center_tenant_remove(code, tenant)
    said(ctx, None, f"{tenant} is named at {code} no more")


@center.command("serve-all")
def serve_all(ctx: typer.Context, code: str = _CODE, may_share: bool = _MAY_SHARE) -> None:
    """Send it the work of all tenants; one with an account there keeps that."""
    with caller(ctx) as client:
        found = client.center_serves(code, "all", may_share=may_share)
    said(ctx, found, f"{code} serves {_served(found)}")


@center.command("serve-named")
def serve_named(ctx: typer.Context, code: str = _CODE) -> None:
    """Send it the work of the tenants alone that are named there; what is there of others goes on."""
    with caller(ctx) as client:
        found = client.center_serves(code, "named")
    said(ctx, found, f"{code} serves {_served(found)}")


@center.command()
def drain(ctx: typer.Context, code: str = _CODE) -> None:
    """Send no new work there; what is there goes on."""
    _act(ctx, code, "drain", "gets no new work")


@center.command()
def undrain(ctx: typer.Context, code: str = _CODE) -> None:
    """Send work there again."""
    _act(ctx, code, "undrain", "gets work again")


@center.command()
def sample(ctx: typer.Context, code: str = _CODE) -> None:
    """Ask it now what it holds."""
    with caller(ctx) as client:
        one(ctx, _in_words(client.center_act(code, "sample")), _CENTER)


def _act(ctx: typer.Context, code: str, act: str, text: str) -> None:
    with caller(ctx) as client:
        found = client.center_act(code, act)
    said(ctx, found, f"{code} {text}")


@center.command()
def remove(ctx: typer.Context, code: str = _CODE) -> None:
    """Take a centre off the network that offers nothing and has no work."""
    with caller(ctx) as client:
        client.center_remove(code)
    said(ctx, None, f"{code} is off the network")


@network_spec.command("list")
def specs(ctx: typer.Context) -> None:
    """The specifications with the centres that offer them; prices in minor currency per hour."""
    with caller(ctx) as client:
        rows(ctx, [_spec_row(row) for row in client.network_specs()], _SPECS)


def _spec_row(found: "ResourceSpecOut") -> dict[str, Any]:
    holds = " ".join(f"{name}={amount}" for name, amount in found["resource_quantity"].items())
    return {**found, "resource_quantity": holds}


@network_spec.command("show")
def spec_show(ctx: typer.Context, code: str = _SPEC) -> None:
    """Which centres offer it: how many are free, price, performance, power."""
    with caller(ctx) as client:
        rows(ctx, client.network_spec(code)["offers"], _OFFERS)


_HOLDS = typer.Option([], "--holds", help="cpu=4, gpu=1, memory=16Gi, storage=100Gi …; may be repeated.")


@network_spec.command()
def make(
    ctx: typer.Context,
    code: str = _SPEC,
    name: str = typer.Option(..., help="What it is called."),
    holds: list[str] = _HOLDS,
    for_: str = typer.Option("batch", "--for", help="interactive, batch, streaming; several with commas."),
    price: int = typer.Option(0, help="Of an hour, in minor currency."),
) -> None:
    """A specification: what one replica holds, wherever it runs."""
    with caller(ctx) as client:
        found = client.network_spec_make(
            resource_spec_id=code,
            resource_spec_name=name,
            resource_quantity=_pairs(holds, "RESOURCE=AMOUNT"),
            service_type=for_,
            price=price,
        )
    said(ctx, found, f"{code}: {_spec_row(found)['resource_quantity']}")


@network_spec.command("change")
def spec_change(
    ctx: typer.Context,
    code: str = _SPEC,
    name: str = typer.Option(None, help="Another name."),
    holds: list[str] = _HOLDS,
    for_: str = typer.Option(None, "--for", help="interactive, batch, streaming; several with commas."),
    price: int = typer.Option(None, help="Of an hour, in minor currency."),
) -> None:
    """Change what is given; its amounts only while no centre offers it."""
    given = {"resource_spec_name": name, "service_type": for_, "price": price}
    body: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if holds:
        body["resource_quantity"] = _pairs(holds, "RESOURCE=AMOUNT")
    with caller(ctx) as client:
        found = client.network_spec_change(code, **body)  # type: ignore[typeddict-item]
    said(ctx, found, f"{code} is changed")


@network_spec.command("remove")
def spec_remove(ctx: typer.Context, code: str = _SPEC) -> None:
    """End a specification that no centre offers and no work holds."""
    with caller(ctx) as client:
        client.network_spec_remove(code)
    said(ctx, None, f"{code} is gone")


@network_spec.command()
def offer(
    ctx: typer.Context,
    code: str = _SPEC,
    center_code: str = typer.Argument(..., metavar="CENTRE", help="The centre's code."),
    price: int = typer.Option(None, help="Of an hour there, in minor currency; else the specification's."),
    cost: int = typer.Option(None, help="What the centre gets for an hour, in minor currency; else nothing."),
    performance: float = typer.Option(None, help="As measured there: more is better."),
    idle_power: float = typer.Option(None, help="Watts while its data comes."),
    running_power: float = typer.Option(None, help="Watts while it runs."),
) -> None:
    """Let a centre offer it, or change how it does: what is not given is not known."""
    with caller(ctx) as client:
        found = client.network_spec_offer(
            code,
            center_code,
            price=price,
            cost=cost,
            performance=performance,
            idle_power_w=idle_power,
            running_power_w=running_power,
        )
    free = "unknown" if found["free_count"] is None else found["free_count"]
    said(ctx, found, f"{center_code} offers {code}; free now: {free}")


@network_spec.command()
def take(
    ctx: typer.Context,
    code: str = _SPEC,
    center_code: str = typer.Argument(..., metavar="CENTRE", help="The centre's code."),
) -> None:
    """The centre offers it no more; work that is there goes on."""
    with caller(ctx) as client:
        client.network_spec_take(code, center_code)
    said(ctx, None, f"{center_code} offers {code} no more")
