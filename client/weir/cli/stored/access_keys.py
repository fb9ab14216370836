"""`weir access-key`: keys by which programs that speak S3 reach your files."""

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import rows, said
from weir.errors import WeirClientError

access_key = App(
    help="Keys for programs that speak S3 (rclone, aws, boto3): they reach the files that you may open."
)
_COLUMNS = [
    ("name", "name"), ("id", "key_id"), ("read-only", "is_read_only"), ("valid", "is_usable"),
    ("expires", "expires_at"), ("last used", "used_at"),
]  # fmt: skip


@access_key.command("list")
def list_(ctx: typer.Context) -> None:
    """Your access keys, without their secrets."""
    with caller(ctx) as client:
        rows(ctx, list(client.access_keys()), _COLUMNS)


@access_key.command()
def make(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="What it is for."),
    days: int = typer.Option(90, "--days", min=1, max=366, help="How long it is valid."),
    read_only: bool = typer.Option(False, "--read-only", help="It reads and changes nothing."),
) -> None:
    """Make an access key. Its secret is shown this once, as the lines that clients of S3 read from the environment."""
    with caller(ctx) as client:
        found = client.access_key_make(name, days=days, is_read_only=read_only)
    lines = (
        f"AWS_ENDPOINT_URL_S3={found['address']}",
        f"AWS_ACCESS_KEY_ID={found['key_id']}",
        f"AWS_SECRET_ACCESS_KEY={found['secret']}",
        "AWS_REGION=us-east-1",
    )
    said(ctx, found, "\n".join(f"export {line}" for line in lines))


@access_key.command()
def revoke(ctx: typer.Context, name: str = typer.Argument(..., help="Its name, or its id.")) -> None:
    """Revoke an access key: programs that use it are refused."""
    with caller(ctx) as client:
        for row in client.access_keys():
            if name in (row["name"], row["key_id"], row["uid"]):
                client.access_key_revoke(row["uid"])
                said(ctx, {"name": row["name"]}, f"{row['name']} is revoked.")
                return
    raise WeirClientError(f"There is no access key {name}.", "See weir access-key list.")
