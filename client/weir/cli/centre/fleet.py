"""For operators: nodes, devices, slices, resource groups, specifications, letting a node join."""

import typer

from weir.cli.context import caller, uid_of
from weir.cli.show import one, rows, said


def nodes(ctx: typer.Context) -> None:
    """The nodes with state and last word."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.nodes(),
            [
                ("name", "name"),
                ("state", "state"),
                ("seen", "last_seen_at"),
                ("agent", "agent_version"),
                ("uid", "uid"),
            ],
        )


def devices(ctx: typer.Context) -> None:
    """The devices with what is held of them."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.devices(),
            [
                ("node", "node"),
                ("#", "index"),
                ("vendor", "vendor"),
                ("model", "model"),
                ("memory MiB", "memory_mib"),
                ("held %", "held_percent"),
                ("held MiB", "held_mib"),
                ("sliced", "is_sliced"),
                ("group", "group"),
                ("health", "health"),
                ("simulated", "is_simulated"),
                ("uid", "uid"),
            ],
        )


def node(ctx: typer.Context, uid: str = typer.Argument(..., help="The node: its name or uid.")) -> None:
    """One node: address, state, components, power."""
    with caller(ctx) as client:
        columns = [
            ("name", "name"),
            ("state", "state"),
            ("leaving", "is_leaving"),
            ("address", "address"),
            ("components", "components"),
            ("power W", "power_w"),
            ("seen", "last_seen_at"),
        ]
        one(ctx, client.node(uid_of(uid, client.nodes, "name")), columns)


def node_set(
    ctx: typer.Context,
    uid: str = typer.Argument(..., help="The node: its name or uid."),
    act: str = typer.Argument(..., help="drain, undrain or remove."),
) -> None:
    """Disable (drain), enable (undrain) or remove a node; removal waits for its work."""
    with caller(ctx) as client:
        found = client.node_act(uid_of(uid, client.nodes, "name"), act)
    said(ctx, found, f"{found['name']}: {found['state']}{', leaving' if found['is_leaving'] else ''}")


def device_set(
    ctx: typer.Context,
    uid: str = typer.Argument(..., help="The device's uid, or enough of its begin."),
    act: str = typer.Argument(..., help="enable, disable, slice, unslice or remove."),
) -> None:
    """Enable or disable a device, virtualise it (slice) or not (unslice), or remove it."""
    with caller(ctx) as client:
        found = client.device_act(uid_of(uid, client.devices), act)
    kind = "virtualised" if found["is_sliced"] else "a physical card"
    state = "enabled" if found["is_enabled"] else "disabled"
    said(ctx, found, f"{uid}: {state}, {kind}{', leaving' if found['is_leaving'] else ''}")


def oversubscribe(
    ctx: typer.Context,
    uid: str = typer.Argument(..., help="The device's uid, or enough of its begin."),
    compute: int = typer.Option(100, help="Percent of its compute that may be held, 100 to 1000."),
    memory: int = typer.Option(100, help="Percent of its memory that may be held, 100 to 1000."),
) -> None:
    """How much of a device all its slices together may hold."""
    with caller(ctx) as client:
        found = client.device_oversubscribe(uid_of(uid, client.devices), compute * 10, memory * 10)
    said(ctx, found, f"{uid}: {compute} % of its compute, {memory} % of its memory may be held")


def slices(
    ctx: typer.Context,
    node: str = typer.Option("", help="Only this node (uid)."),
    device: str = typer.Option("", help="Only this device (uid)."),
) -> None:
    """The slices that hold a share now, across tenants."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.slices(node=node, device=device),
            [
                ("tenant", "tenant"),
                ("kind", "kind"),
                ("node", "node"),
                ("device", "device"),
                ("%", "compute_percent"),
                ("delivered", "delivered_percent"),
                ("MiB", "memory_mib"),
                ("used", "memory_used_mib"),
                ("driver", "driver_enforced"),
                ("state", "state"),
                ("uid", "uid"),
            ],
        )


def groups(ctx: typer.Context) -> None:
    """The resource groups."""
    with caller(ctx) as client:
        columns = [("code", "code"), ("name", "name_en"), ("devices", "devices"), ("grants", "grants")]
        rows(ctx, client.resource_groups(), columns)


def group_make(
    ctx: typer.Context,
    code: str = typer.Argument(..., help="Its code."),
    name: str = typer.Argument(..., help="Its name."),
    device: list[str] = typer.Option([], help="A device (uid) to put in it; may be repeated."),
) -> None:
    """A new resource group with these devices."""
    with caller(ctx) as client:
        found = client.resource_group_make(code, name)
        if device:
            found = client.resource_group_devices(code, device)
    said(ctx, found, f"{code}: {len(found['devices'])} devices")


def group_grant(
    ctx: typer.Context,
    code: str = typer.Argument(..., help="The group's code."),
    tenant: str = typer.Argument(..., help="The tenant's code."),
    member: list[str] = typer.Option([], help="A login account; may be repeated. None: all members."),
) -> None:
    """Let a tenant's members use a group."""
    with caller(ctx) as client:
        found = client.resource_group_grant(code, tenant, member or None)
    said(ctx, found, f"{code} is granted to {tenant}: {', '.join(member) or 'all members'}")


def group_revoke(
    ctx: typer.Context,
    code: str = typer.Argument(..., help="The group's code."),
    tenant: str = typer.Argument(..., help="The tenant's code."),
) -> None:
    """Take a grant back; what runs goes on."""
    with caller(ctx) as client:
        client.resource_group_revoke(code, tenant)
    said(ctx, None, f"{code} is no longer granted to {tenant}")


def specs(ctx: typer.Context) -> None:
    """The resource specifications."""
    with caller(ctx) as client:
        columns = [("code", "code"), ("name", "name_en"), ("%", "compute_percent"), ("MiB", "memory_mib")]
        rows(ctx, client.specs(), [*columns, ("on offer", "is_enabled")])


def spec_make(
    ctx: typer.Context,
    code: str = typer.Argument(..., help="Its code."),
    name: str = typer.Argument(..., help="Its name."),
    share: int = typer.Option(..., help="Percent of a device, 1 to 100."),
    memory: int = typer.Option(..., help="MiB of its memory."),
) -> None:
    """Offer a share under a name."""
    with caller(ctx) as client:
        found = client.spec_make(code, name, share, memory)
    said(ctx, found, f"{code}: {share} %, {memory} MiB")


def spec_disable(ctx: typer.Context, code: str = typer.Argument(..., help="Its code.")) -> None:
    """Offer a specification no more."""
    with caller(ctx) as client:
        found = client.spec_disable(code)
    said(ctx, found, f"{code} is offered no more")


def join_token(ctx: typer.Context, note: str = typer.Argument(..., help="Which node it is for.")) -> None:
    """A one-time token with which a node may join; shown once."""
    with caller(ctx) as client:
        secret = client.join_token(note)
    said(ctx, {"secret": secret}, secret)


COMMANDS = (
    nodes,
    node,
    node_set,
    devices,
    device_set,
    oversubscribe,
    slices,
    groups,
    group_make,
    group_grant,
    group_revoke,
    specs,
    spec_make,
    spec_disable,
    join_token,
)
