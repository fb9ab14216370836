"""Coupons, bills, the account."""

from pathlib import Path

import typer

from weir.api import Client
from weir.cli.context import Thing, caller, uid_of
from weir.cli.show import as_json, one, rows

BILL = [
    ("number", "no"),
    ("state", "state"),
    ("from", "period_from"),
    ("until", "period_until"),
    ("total", "total"),
    ("uid", "uid"),
]


def coupon_centre(ctx: typer.Context) -> None:
    """The coupons you can claim."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.coupon_activities(),
            [
                ("name", "name_en"),
                ("face value", "face_value"),
                ("left", "left_count"),
                ("valid until", "valid_until"),
                ("uid", "uid"),
            ],
        )


def claim(
    ctx: typer.Context,
    activity: str = typer.Argument(..., help="`weir coupon-centre` lists them: name or uid."),
) -> None:
    """Claim a coupon."""
    with caller(ctx) as client:
        found = client.coupon_claim(uid_of(activity, client.coupon_activities, "name_en"))
    one(ctx, found, [("code", "code"), ("face value", "face_value"), ("uid", "uid")])


def coupons(ctx: typer.Context) -> None:
    """The coupons you hold."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.coupons(),
            [
                ("code", "code"),
                ("state", "state"),
                ("face value", "face_value"),
                ("remaining", "remaining"),
                ("uid", "uid"),
            ],
        )


def _coupon(client: Client, given: str) -> str | None:
    return uid_of(given, client.coupons, "code") if given else None


def bills(ctx: typer.Context) -> None:
    """Your bills."""
    with caller(ctx) as client:
        rows(ctx, client.bills(), BILL)


def bill(ctx: typer.Context, uid: Thing) -> None:
    """A bill with its lines."""
    with caller(ctx) as client:
        found = client.bill(uid_of(uid, client.bills, "no"))
    one(ctx, found, BILL)
    if not as_json(ctx):
        rows(
            ctx,
            found["lines"],
            [
                ("order", "order_no"),
                ("component", "name_en"),
                ("seconds", "share_seconds"),
                ("exact", "exact"),
                ("amount", "amount"),
                ("uid", "uid"),
            ],
        )


def bill_file(
    ctx: typer.Context,
    uid: Thing,
    to: Path = typer.Option(None, "--to", help="Where it is kept; its number in the present folder else."),
    xlsx: bool = typer.Option(False, "--xlsx", help="A workbook instead of a PDF."),
) -> None:
    """Save a bill as a PDF, or as a workbook."""
    with caller(ctx) as client:
        found = client.bill(uid_of(uid, client.bills, "no"))
        kind = "xlsx" if xlsx else "pdf"
        place = to or Path(f"{found['no']}.{kind}")
        place.write_bytes(client.bill_file(found["uid"], kind))
    typer.echo(str(place))


def bill_now(ctx: typer.Context) -> None:
    """Make a bill of what was used up to now."""
    with caller(ctx) as client:
        one(ctx, client.bill_make(), BILL)


def confirm(ctx: typer.Context, uid: Thing) -> None:
    """Confirm a bill."""
    with caller(ctx) as client:
        one(ctx, client.bill_confirm(uid_of(uid, client.bills, "no")), BILL)


def pay(
    ctx: typer.Context, uid: Thing, coupon: str = typer.Option("", help="A coupon to pay with first.")
) -> None:
    """Pay a confirmed bill from a coupon and the balance."""
    with caller(ctx) as client:
        bill_uid = uid_of(uid, client.bills, "no")
        client.bill_pay(bill_uid, _coupon(client, coupon))
        one(ctx, client.bill(bill_uid), BILL)


def account(ctx: typer.Context) -> None:
    """Balance and coupons."""
    with caller(ctx) as client:
        one(
            ctx,
            client.account(),
            [
                ("balance", "balance"),
                ("coupons", "coupon_remaining"),
                ("unbilled", "unbilled"),
                ("unpaid", "unpaid"),
            ],
        )


def transactions(ctx: typer.Context) -> None:
    """Every movement of the account."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.transactions(),
            [
                ("time", "created_at"),
                ("kind", "kind"),
                ("amount", "balance_change"),
                ("coupon", "coupon_amount"),
                ("balance", "balance_after"),
                ("reference", "reference"),
            ],
        )


def messages(ctx: typer.Context) -> None:
    """Your messages."""
    with caller(ctx) as client:
        rows(ctx, client.messages(), [("time", "created_at"), ("read", "read_at"), ("title", "title")])


COMMANDS = (
    coupon_centre,
    claim,
    coupons,
    bills,
    bill,
    bill_file,
    bill_now,
    confirm,
    pay,
    account,
    transactions,
    messages,
)
