"""From the catalogue to the order: find, quote, apply, approve, follow, terminate."""

from pathlib import Path

import typer

from weir.cli.context import Thing, caller, uid_of
from weir.cli.show import as_json, one, rows, said
from weir.cli.units import amounts, duration_s
from weir.errors import WeirClientError

FORM = [
    ("number", "no"),
    ("kind", "kind"),
    ("state", "state"),
    ("business system", "business_system"),
    ("total", "total"),
    ("made", "created_at"),
    ("uid", "uid"),
]
ORDER = [
    ("number", "no"),
    ("state", "state"),
    ("commodity", "commodity_name"),
    ("seconds", "duration_s"),
    ("resource", "workload"),
    ("uid", "uid"),
]
TASK = [
    ("number", "no"),
    ("step", "step"),
    ("what", "title"),
    ("applicant", "applicant_name"),
    ("state", "state"),
    ("tenant", "tenant"),
    ("uid", "uid"),
]
AMOUNT = typer.Option(..., "--amount", "-a", help="component=number, once for each component.")
DURATION = typer.Option(
    "1h", "--for", help="How long: 90s, 45m, 2h, 1d; `open`: without an end, of what is sold so."
)
COUNT = typer.Option(1, "--count", "-n", help="How many shares.")
COUPON = typer.Option("", help="A coupon to pay with.")


def _ordered_s(text: str) -> int | None:
    """For how long something is asked for; None: without an end."""
    return None if text == "open" else duration_s(text)


def catalogue(ctx: typer.Context, search: str = typer.Argument("", help="A part of the name.")) -> None:
    """The services you can apply for."""
    with caller(ctx) as client:
        found = client.commodities(search)
    rows(
        ctx,
        found,
        [
            ("number", "number"),
            ("name", "name_en"),
            ("category", "category.name_en"),
            ("supplier", "supplier"),
            ("uid", "uid"),
        ],
    )


def quote(
    ctx: typer.Context,
    commodity: str,
    amount: list[str] = AMOUNT,
    for_: str = DURATION,
    count: int = COUNT,
    coupon: str = COUPON,
) -> None:
    """Price and expected start of an application; changes nothing."""
    with caller(ctx) as client:
        goods = uid_of(commodity, client.commodities, "number")
        asked = amounts(amount)
        found = client.quote(goods, asked, duration_s=_ordered_s(for_), count=count, coupon=coupon or None)
    if not as_json(ctx):
        rows(
            ctx,
            found["lines"],
            [
                ("component", "name_en"),
                ("quantity", "quantity"),
                ("unit", "unit"),
                ("per hour", "unit_amount"),
                ("all of it", "exact"),
            ],
        )
    one(
        ctx,
        found,
        [
            ("per hour", "per_hour"),
            ("total", "total"),
            ("price version", "price_number"),
            ("expected start", "expected_start.sentence"),
        ],
    )


def apply(
    ctx: typer.Context,
    commodity: str,
    amount: list[str] = AMOUNT,
    for_: str = DURATION,
    count: int = COUNT,
    business_system: str = typer.Option(
        "", "--business-system", "-b", help="Its number or uid; else your default (`weir systems`)."
    ),
    remark: str = typer.Option("", help="A word to the approvers."),
    coupon: str = COUPON,
    attach: list[Path] = typer.Option([], help="Files to attach."),
    draft: bool = typer.Option(False, help="Keep it as a draft instead of submitting."),
) -> None:
    """Make an application form and submit it."""
    with caller(ctx) as client:
        goods = uid_of(commodity, client.commodities, "number")
        form = client.application_make(
            lines=[{"commodity": goods, "amounts": amounts(amount), "count": count}],
            duration_s=_ordered_s(for_),
            business_system=uid_of(business_system, client.business_systems, "number")
            if business_system
            else None,
            remark=remark,
            coupon=coupon or None,
        )
        for file in attach:
            client.attach(form["uid"], file)
        form = form if draft else client.application_submit(form["uid"])
    one(ctx, form, FORM)


def applications(
    ctx: typer.Context, tab: str = typer.Option("all", help="all, in_progress or completed.")
) -> None:
    """Your application forms."""
    with caller(ctx) as client:
        rows(ctx, client.applications(tab), FORM)


def submit_form(ctx: typer.Context, application: str) -> None:
    """Submit a draft."""
    with caller(ctx) as client:
        one(ctx, client.application_submit(uid_of(application, client.applications, "no")), FORM)


def withdraw(ctx: typer.Context, application: str) -> None:
    """Take a form back before anybody has decided on it."""
    with caller(ctx) as client:
        one(ctx, client.application_withdraw(uid_of(application, client.applications, "no")), FORM)


def inbox(ctx: typer.Context, tab: str = typer.Option("todo", help="todo, done or urged.")) -> None:
    """The steps that wait for your decision."""
    with caller(ctx) as client:
        rows(ctx, client.tasks(tab), TASK)


def decide(
    ctx: typer.Context,
    task: str,
    decision: str = typer.Argument(..., help="approve, refuse or send_back."),
    comment: str = typer.Option("", "--comment", "-m"),
) -> None:
    """Decide a step of your inbox."""
    with caller(ctx) as client:
        found = client.decide(uid_of(task, client.tasks, "no"), decision.replace("-", "_"), comment)
    said(ctx, found, f"Decided: {decision}.")


def orders(ctx: typer.Context) -> None:
    """Your orders."""
    with caller(ctx) as client:
        rows(ctx, client.orders(), ORDER)


def order(ctx: typer.Context, uid: Thing) -> None:
    """One order with its state and quote."""
    with caller(ctx) as client:
        one(ctx, client.order(uid_of(uid, client.orders, "no")), ORDER)


def change(
    ctx: typer.Context,
    uid: Thing,
    reason: str = typer.Option(..., "--reason", "-m", help="Why; those who approve it read it."),
    amount: list[str] = AMOUNT,
    longer: str = typer.Option("", "--longer", help="How much longer it is to run, such as 90m, 2h or 1d."),
) -> None:
    """Ask for other amounts of what an order delivered, or for more time; what runs goes on running."""
    with caller(ctx) as client:
        uid = uid_of(uid, client.orders, "no")
        more_s = duration_s(longer) if longer else 0
        whole_s = client.order(uid)["duration_s"] if more_s else None
        if more_s and whole_s is None:
            raise WeirClientError("The order runs without an end.")
        found = client.order_change(
            uid,
            reason,
            amounts=amounts(amount),
            duration_s=whole_s + more_s if whole_s is not None else None,
        )
    said(ctx, found, f"The change {found['no']} is in approval.")


def terminate(
    ctx: typer.Context,
    uid: Thing,
    reason: str = typer.Option(..., "--reason", "-m", help="Why; those who approve it read it."),
) -> None:
    """Ask to end an order; on approval its resource is released and metering stops."""
    with caller(ctx) as client:
        found = client.order_terminate(uid_of(uid, client.orders, "no"), reason)
    said(ctx, found, "The termination is in approval.")


def systems(
    ctx: typer.Context,
    default: str = typer.Option(
        "",
        help="Make this one your default, by number or uid: what names none is for it.",
        show_default=False,
    ),
    no_default: bool = typer.Option(False, "--no-default", help="Have no default."),
) -> None:
    """The business systems you take part in, and which of them your work and applications are for by default."""
    if default and no_default:
        raise WeirClientError("--default and --no-default are opposites.", "Say one of them.")
    with caller(ctx) as client:
        if default or no_default:
            client.default_system_set(default or None)
        chosen = client.default_system()["business_system"]
        found = [
            {**row, "is_default": chosen is not None and row["uid"] == chosen["uid"]}
            for row in client.business_systems()
        ]
        columns = [("number", "number"), ("name", "name"), ("default", "is_default"), ("uid", "uid")]
        rows(ctx, found, columns)


COMMANDS = (
    catalogue,
    quote,
    apply,
    applications,
    submit_form,
    withdraw,
    inbox,
    decide,
    orders,
    order,
    change,
    terminate,
    systems,
)
