"""How a node introduces itself: the node, its devices, and the exchange of a one-time token (PLAT-OPS-22)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from node_agent.protocol.fields import (
    DEVICES_PER_NODE,
    Counter,
    Health,
    IsolationLevel,
    Labels,
    MeasuredPercent,
    Mebibytes,
    Message,
    Name,
    NetworkLevel,
    PowerSource,
    Secret,
    Sentence,
    SyncPeriod,
    Uid,
    Word,
)


class NodeInfo(Message):
    """The machine an agent speaks for. `memory_mib` is its main memory.

    `address`: where clients reach its sessions; `components`: version of each part that runs here;
    `config_generation`: the configuration it has applied; the problems say why what was desired is not in force.
    `isolation`: how work is kept apart from the node and from other work, and `isolation_problem` why not better;
    `filter_problem`: why the kernel's calls are not filtered for work, "" where they are. `network`: which network work
    has, and `network_problem` why not one of its own.
    `storage`: the marks of the folders of volumes that this node can mount for work, the portal's own first, with
    blanks between them; "" for none. `storage_held`: of each of them how work is held to the sizes of volumes there,
    `quota` by the file system or `watched`. `containers`: for which
    machines images must be that work here can run in, as images call it (amd64); "" for none, and `containers_problem`
    why. `packages`: for which Python packages are installed for work, as 3.11; "" where none are. `scratch_disk_mib`:
    what its disk has, all together, for work that asks for scratch disk. `host_held_by`: what holds work on a card to
    the processor and main memory that it asked for beside it, the version of the control groups or `nothing`; "": there
    is no card, or the agent does not tell.
    """

    name: Name
    hostname: Name
    agent_version: Word
    os: Name
    cpu_count: Annotated[int, Field(ge=1, le=65_536)]
    memory_mib: Mebibytes
    labels: Labels = {}
    address: Annotated[str, Field(max_length=200)] = ""
    components: Labels = {}
    config_generation: Counter = 0
    config_problem: Sentence = ""
    release_problem: Sentence = ""
    isolation: IsolationLevel = ""
    isolation_problem: Sentence = ""
    filter_problem: Sentence = ""
    network: NetworkLevel = ""
    network_problem: Sentence = ""
    storage: Annotated[str, Field(max_length=600, pattern=r"^[^\x00]*$")] = ""
    storage_held: Annotated[str, Field(max_length=200, pattern=r"^[a-z ]*$")] = ""
    containers: Word = ""
    containers_problem: Sentence = ""
    packages: Word = ""
    scratch_disk_mib: Annotated[int, Field(ge=0, le=2**40)] = 0
    host_held_by: Word = ""
    power_w: Annotated[float, Field(ge=0, le=1e6)] | None = None
    power_source: PowerSource = ""


class SliceSizeReport(Message):
    """A size in which a card gives its shares: percent and MiB of one, how many fit when all are of this size, and what
    its vendor calls it (1g.10gb; "" for nothing)."""

    compute_percent: Annotated[int, Field(ge=1, le=100)]
    memory_mib: Annotated[int, Field(ge=1, le=2**40)]
    count: Annotated[int, Field(ge=1, le=64)]
    name: Annotated[str, Field(max_length=32, pattern=r"^[0-9a-z.+]*$")] = ""


class DeviceReport(Message):
    """One accelerator as found and measured now.

    `uid` is stable across restarts; `cores` are CPU cores or multiprocessors (0: unknown);
    `simulated` is true where a driver only pretends. Measurements are None where unknown. `apis`: the
    programming interfaces it serves with their versions (POOL-10.3); `is_verified`: the driver has run on
    such hardware before. `slice_sizes`: the only sizes of its shares, all of one size at a time; none: any share.
    """

    uid: Uid
    index: Annotated[int, Field(ge=0, le=4095)]
    vendor: Word
    model: Name
    memory_mib: Mebibytes
    cores: Annotated[int, Field(ge=0, le=1_000_000)]
    driver_version: Word
    simulated: bool
    health: Health
    health_reason: Sentence = ""
    utilisation_percent: MeasuredPercent | None = None
    memory_used_mib: Mebibytes | None = None
    temperature_c: Annotated[float, Field(ge=-273.15, le=1000)] | None = None
    power_w: Annotated[float, Field(ge=0, le=1e6)] | None = None
    power_source: PowerSource = ""
    apis: Labels = {}
    numa_node: Annotated[int, Field(ge=-1, le=4095)] | None = None
    is_verified: bool = True
    slice_drivers: Annotated[tuple[Word, ...], Field(max_length=16)] = ()
    slice_sizes: Annotated[tuple[SliceSizeReport, ...], Field(max_length=32)] = ()


Devices = Annotated[tuple[DeviceReport, ...], Field(max_length=DEVICES_PER_NODE)]


class JoinRequest(Message):
    """Asks to be let in, with a one-time join token."""

    protocol: Counter
    join_token: Secret
    node: NodeInfo
    devices: Devices


class JoinReply(Message):
    """The node's own credential, shown this once; `next_sync_s` is the wait before the first sync."""

    protocol: Counter
    node_uid: Uid
    credential: Secret
    next_sync_s: SyncPeriod
