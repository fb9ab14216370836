"""Where work would go among the centres of the network; for operators, how centres are chosen."""

from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import as_json, heading, one, rows, said, say, say_json
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api_types import PlacementSettingsOut, TrialOut, TriedCenterOut

placement = App(help="Where work would go among the AI computing centres of the network.")
_CENTERS = [
    ("centre", "ai_center_id"), ("name", "center_name"), ("rank", "rank"), ("points", "final_score"),
    ("price/h", "price"), ("why", "why"),
]  # fmt: skip
_SETTINGS = [
    ("version", "number"), ("weights", "weights"), ("model", "model"), ("figures count s", "stale_s"),
    ("failures before a rest", "cool_off_failures"), ("rest s", "cool_off_s"), ("largest data bytes", "move_bytes"),
    ("usual duration s", "usual_duration_s"), ("changed by", "changed_by"), ("since", "created_at"),
]  # fmt: skip
_WEIGHT = typer.Option(
    [], "--weight", help="POLICY=PART: price=0.6; may be repeated, they sum to 1. Else those in force."
)
_NAMED = typer.Option([], "--center", help="Only in this centre; may be repeated.")
_DATA = typer.Option([], "--data", help="The ID of data that it reads; may be repeated.")


def _weights(given: list[str]) -> dict[str, str]:
    """POLICY=PART, each once."""
    found: dict[str, str] = {}
    for text in given:
        policy, sign, part = text.partition("=")
        if not sign or not policy or policy in found:
            raise WeirClientError(f"{text!r} is no POLICY=PART.", "Write each once, as price=0.6.")
        found[policy] = part
    return found


@placement.command("try")
def try_(
    ctx: typer.Context,
    spec: list[str] = typer.Argument(
        ..., help="The specification's code; of several tasks one for each, in their order."
    ),
    replicas: int = typer.Option(1, help="Of each task."),
    center: list[str] = _NAMED,
    image: str = typer.Option("", help="The ID of its image."),
    data: list[str] = _DATA,
    deadline: str = typer.Option(None, help="When it has to have ended: 2027-01-31T12:00:00+08:00."),
    duration: int = typer.Option(None, help="How many seconds it runs."),
    security_grade: int = typer.Option(0, help="The least that a centre has to have."),
    job_type: str = typer.Option("", help="interactive, batch or streaming."),
    gang: bool = typer.Option(False, "--gang", help="All tasks start together, or none."),
    split: bool = typer.Option(False, "--split", help="Replicas may go to several centres."),
    weight: list[str] = _WEIGHT,
) -> None:
    """Where a job would go now: every centre with its points or why it is refused; nothing is kept."""
    tasks: list[Any] = [
        {
            "resource_spec_id": code,
            "replicas": replicas,
            "center_ids": center,
            "image_id": image,
            "data": data,
            "deadline": deadline,
            "duration_s": duration,
            "security_grade": security_grade,
            "may_split": split,
        }
        for code in spec
    ]
    body: dict[str, Any] = {"tasks": tasks, "job_type": job_type, "is_gang": gang}
    if weight:
        body["weights"] = _weights(weight)
    with caller(ctx) as client:
        found = client.placement_try(**body)
    if as_json(ctx):
        say_json(found)
        return
    _show(ctx, found)


def _show(ctx: typer.Context, found: "TrialOut") -> None:
    for task in found["tasks"]:
        heading(task["name"])
        for sentence in task["sentences"]:
            say(sentence["message"])
        rows(ctx, [{**each, "why": _why(each)} for each in task["centers"]], _CENTERS)


def _why(center: "TriedCenterOut") -> str:
    """Why it is refused, or the policies that give the most points."""
    if center["reasons"]:
        return " ".join(reason["message"] for reason in center["reasons"])
    best = sorted(center["scores"], key=lambda score: -score["milli_points"])[:4]
    return ", ".join(f"{score['name']} {score['score']} × {score['weight']}" for score in best)


@placement.command("settings")
def settings(ctx: typer.Context) -> None:
    """For operators: how centres are chosen now."""
    with caller(ctx) as client:
        one(ctx, _in_words(client.placement_settings()), _SETTINGS)


@placement.command("history")
def history(ctx: typer.Context) -> None:
    """For operators: all versions of how centres are chosen, the last first."""
    with caller(ctx) as client:
        rows(ctx, [_in_words(row) for row in client.placement_settings_history()], _SETTINGS)


def _in_words(found: "PlacementSettingsOut") -> dict[str, Any]:
    weights = " ".join(f"{policy}={part}" for policy, part in found["weights"].items() if float(part))
    return {**found, "weights": weights}


@placement.command("set")
def set_(
    ctx: typer.Context,
    weight: list[str] = typer.Option(
        [], "--weight", help="POLICY=PART; may be repeated, they sum to 1: those not named are 0."
    ),
    model: str = typer.Option(None, help="weighted_sum or worst_score."),
    stale: int = typer.Option(None, help="Figures of a centre count for so many seconds."),
    failures: int = typer.Option(None, help="After so many failed dispatches a centre rests."),
    rest: int = typer.Option(None, help="For so many seconds."),
    move_bytes: int = typer.Option(None, help="Larger data does not move."),
    duration: int = typer.Option(None, help="Seconds that work runs where nothing is said."),
    version: int = typer.Option(None, help="The version that is meant; another one in force is a conflict."),
) -> None:
    """For operators: change what is given; the next cycle follows it."""
    given = {
        "weights": _weights(weight) or None,
        "model": model,
        "stale_s": stale,
        "cool_off_failures": failures,
        "cool_off_s": rest,
        "move_bytes": move_bytes,
        "usual_duration_s": duration,
        "number": version,
    }
    body: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with caller(ctx) as client:
        found = client.placement_settings_change(**body)
    said(ctx, found, f"version {found['number']} is in force")
