"""What the tests allow where the standard says "about" or nothing. The documents repeat it; a test compares."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A figure that decides a test, with its unit and meaning."""

    number: str
    value: float
    unit: str
    meaning: str


# Share of the card, in percent, between which 12.2 compares throughput: low enough that a busy machine, which gives no
# task what it may have, still gives more than that.
RESIZE_LOW = Tolerance("12.2", 2, "%", "the small share that throughput is compared with")
RESIZE_HIGH = Tolerance("12.2", 60, "%", "the large share that throughput is compared with")
RESIZE_HELD = Tolerance(
    "12.2",
    2.0,
    "times",
    "with the small share a task gets at most so many times that share of processor time",
)
RESIZE_FOLLOWS = Tolerance(
    "12.2",
    1.6,
    "times",
    "with the large share its throughput is more than so many times as high, in the same run",
)
USE_RISES = Tolerance(
    "12.3", 1, "% of the card", "the card's use rises by more than this while the script computes"
)
IDLE_EARLY = Tolerance("12.11", 2, "s", "the terminal may tell of the release so much before 30 s are over")
IDLE_LATE = Tolerance("12.11", 10, "s", "the terminal may tell of the release so much after 30 s are over")
RUN_TIME = Tolerance("12.12", 5, "s", "the task may run so much less or more than 30 s")
NODE_ALARM = Tolerance("11d", 30, "s", "the alarm about a silent node fires within this time")

ALL = (
    RESIZE_LOW,
    RESIZE_HIGH,
    RESIZE_HELD,
    RESIZE_FOLLOWS,
    USE_RISES,
    IDLE_EARLY,
    IDLE_LATE,
    RUN_TIME,
    NODE_ALARM,
)


def as_table() -> str:
    """The table of the documents, in Markdown."""
    rows = [f"| {it.number} | {it.value:g} {it.unit} | {it.meaning} |" for it in ALL]
    return "\n".join(["| Test | Figure | Meaning |", "|---|---|---|", *rows])
