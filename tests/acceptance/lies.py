"""A lie for each of the standard's tests, and what the test must say of it."""

from dataclasses import dataclass

from tests.acceptance.liar import Lie, instead, never_the_same, rows


@dataclass(frozen=True)
class Tried:
    """`says` is in the reason for which the test did not pass."""

    lie: Lie
    says: str


_RUNS = instead('"state":"pending"', '"state":"running"')
_SLICED = instead('"is_sliced":false', '"is_sliced":true')

LIES = {
    "12.1": Tried(
        Lie("workloads", instead('"compute_percent":37', '"compute_percent":80')), "E2: the API tells 80 %"
    ),
    "12.2": Tried(
        Lie("workloads", instead('"compute_percent":41', '"compute_percent":40')), "E2: after asking 41 %"
    ),
    "12.3": Tried(
        Lie("sessions", instead('"transport":"tcp"', '"transport":"shared-memory"')),
        "E2: the script reaches the card by shared-memory",
    ),
    "12.4": Tried(
        Lie("workloads", instead('"node":"node-2"', '"node":"node-1"')), "E2: three cards of node-1 are"
    ),
    "12.5": Tried(Lie("workloads", _RUNS), "E2: without it the second waits"),
    "12.6": Tried(
        Lie("workloads", instead('"quota_exceeded"', '"no_room"')), "with no_room, not quota_exceeded"
    ),
    "12.7": Tried(Lie("workloads", never_the_same("model")), "E2: without naming the card"),
    "12.8": Tried(Lie("workloads", never_the_same("node")), "E2: node-"),
    "12.9": Tried(Lie("workloads", never_the_same("device_uid")), "E2: with affinity both are on lie-"),
    "12.10": Tried(Lie("workloads", _RUNS), "E2: it is running"),
    "12.11": Tried(
        Lie("workloads", instead('"idle_timeout_s":30', '"idle_timeout_s":300')),
        "E2: its idle timeout is 300 s",
    ),
    "12.12": Tried(
        Lie("workloads", instead('"run_timeout_s":30', '"run_timeout_s":300')), "E2: its run timeout is 300 s"
    ),
    "12.13": Tried(Lie("workloads", instead('"not_authorised_for_group"', '"no_room"')), "with no_room"),
    "12.14": Tried(
        Lie("workloads", instead('"memory_mib":1280', '"memory_mib":8192')), "E2: the API tells 25 % and 8192"
    ),
    "12.15": Tried(Lie("devices", _SLICED), "is a virtual resource"),
    "12.16": Tried(Lie("devices", _SLICED), "E2: virtualisation is on"),
    "12.17": Tried(Lie("workloads", _RUNS), "E2: disabled, the node takes no new task"),
    "12.18": Tried(Lie("logs", instead('"priority":7', '"priority":9')), "E2: priority 7: "),
    "12.19": Tried(
        Lie("alarm-routes", instead('"is_enabled":true', '"is_enabled":false')), "E4: a route by in_site"
    ),
    "12.20": Tried(Lie("components", instead('"component":"beat"', '"component":"web"')), "E2: shown are"),
    "12.21": Tried(
        Lie("reports/resources", instead("cpu-", "lie-")), "E2: the report on resources has the card"
    ),
    "12.22": Tried(
        Lie("rollouts", instead('"state":"running"', '"state":"cancelled"')), "E2: the roll-out is cancelled"
    ),
    "12.23": Tried(Lie("workloads", instead('"state":"running"', '"state":"lost"')), "is lost"),
    "12.24": Tried(
        Lie("workloads", instead('"state":"failed"', '"state":"finished"')),
        "E2: the faulty task ended: finished",
    ),
    "12.25": Tried(Lie("devices", rows(lambda found: found + found)), "E2: cf-"),
    "12.26": Tried(Lie("devices", _SLICED), "E3: "),
    "12.27": Tried(
        Lie("scheduling-policy", instead('"placing":"local"', '"placing":"node_compact"')),
        "E2: the global policy is node_compact",
    ),
}
