"""Words and colours shared by all pages."""

from django.utils.translation import gettext_lazy as _

AMOUNT_LABELS = {
    "compute_share": _("Compute share"),
    "compute_percent": _("Compute share"),
    "gpu_memory": _("Accelerator memory"),
    "gpu_memory_mib": _("Accelerator memory"),
    "host_cpu_milli": _("CPU"),
    "host_memory_mib": _("Host memory"),
    "storage_mib": _("Storage"),
    "storage": _("Storage"),
    "cpu": _("CPU"),
    "memory": _("Memory"),
    "scratch_disk": _("Scratch disk"),
    "instances": _("Instances"),
}
# How agents say that they hold a limit, and who raises alarms.
ENFORCED_BY_LABELS = {
    "duty-cycle": _("pauses in its run time"),
    "time-slice": _("time slices of the device"),
    "cgroup-v2": _("control groups of the node"),
    "cgroup-v1": _("control groups of the node"),
    "watch": _("watching main memory; nothing holds the processor"),
    "nothing": _("nothing: its node cannot"),
    "share+watch": _("what holds its share, and watching main memory"),
    "rlimit-data+watch": _("the memory limit of its process"),
    "nvml-watch": _("watching the device's memory"),
    "session-server": _("the session's own server"),
}
# How a node keeps work apart from itself and from other work, as its agent says.
ISOLATION_LABELS = {
    "namespaces": _("Walled off: own user, own files, own processes"),
    "user": _("Users of their own, without namespaces"),
    "refused": _("None: programs are refused"),
    "unsafe": _("None: programs run as the agent does"),
}
NETWORK_LABELS = {
    "private": _("Its own, which leads outside"),
    "none": _("Its own, which leads nowhere"),
    "node": _("The node's, shared with all that runs there"),
    "refused": _("None: programs are refused"),
}
VOLUMES_HELD_LABELS = {
    "quota": _("By quotas of the file system: nothing is written past what was sold"),
    "watched": _("By measuring while work writes: what writes past what was sold is ended"),
}
# Makers of cards by the names that their drivers have (node_agent/drivers), as they write themselves.
VENDOR_LABELS = {
    "amd": "AMD",
    "ascend": "Ascend",
    "biren": "Biren",
    "cambricon": "Cambricon",
    "cpu": "CPU",
    "enflame": "Enflame",
    "hygon": "Hygon",
    "iluvatar": "Iluvatar",
    "kunlunxin": "Kunlunxin",
    "metax": "MetaX",
    "mthreads": "Moore Threads",
    "nvidia": "NVIDIA",
}
_COLOURS = {
    "green": "completed approved approve running paid done active ready up resolved enabled published ok sent measured"
    " passed finished healthy enough open kept",
    "orange": "major degraded rolled_back suspended",
    "blue": "notice approving submitted in_progress processing delivering starting placed shipped claimed made"
    " confirmed issued info building saving checking copying coming moving",
    "yellow": "minor desired drain pending waiting terminating stopping send_back sent_back acknowledged drained urged"
    " warning asked"
    " upgrading restarting rolling_back paused queued not_run interrupted low unpublished",
    "red": "failed down refused rejected refuse lost firing critical revoked error unhealthy empty"
    " written_off recalled",
    "secondary": "draft ended expired used closed removed exited released inactive deleted cancelled",
}
# What each colour says, on every page: never two things, and never alone.
COLOUR_MEANINGS = {
    "green": _("It works, or it was done"),
    "blue": _("Somebody or something is at it"),
    "yellow": _("It waits, or wants attention soon"),
    "orange": _("It works with losses"),
    "red": _("It failed, was refused, or wants somebody now"),
    "secondary": _("It is over, or has not begun"),
}
STATE_COLOURS = {state: colour for colour, states in _COLOURS.items() for state in states.split()}
