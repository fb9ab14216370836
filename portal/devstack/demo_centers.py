"""The demo's centres join the network by the public API: our own pool, and the engines that run beside the portal.

python -m portal.devstack.demo_centers KIND ...        (needs a running portal; `make run` calls it)

Whatever is there stays: a later start joins what lacks, and tells a centre where its engine is now.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import weir
from weir.errors import WeirClientError

from portal.devstack.engines.kinds import Reach, reach_read
from portal.devstack.servers.processes import wait_until

if TYPE_CHECKING:
    from weir.api_types import CenterOut

# Who is charged for the network's jobs in our own pool, and submits them there.
POOL = Reach({"tenant": "acme", "user": "sam"}, {})
# By the kind: code, name, and what an hour of the specification costs there, in the least unit of money.
CENTERS = {
    "local": ("pool", "Our own pool", 60),
    "slurm": ("slurm", "Slurm of this machine", 50),
    "ray": ("ray", "Ray of this machine", 40),
}
SPEC = "core-1"
_SPEC_NAME = "One core, 512 MiB"
_SPEC_HOLDS = {"cpu": "1", "memory": "512Mi"}
_AVAILABLE = 1
# How long an engine may take to start.
PATIENCE_S = 180


def centers_join(operator: weir.Client, var_dir: Path, kinds: list[str]) -> list[str]:
    """Join the kinds that lack, offer the specification at each; a sentence for each that is not there in the end."""
    trouble: list[str] = []
    for kind in kinds:
        name = CENTERS[kind][1]
        try:
            reach = POOL if kind == "local" else _reach(var_dir, kind)
            if reach is None:
                trouble.append(f"{name} takes no jobs after {PATIENCE_S} s; see {var_dir / 'log' / kind}.log")
                continue
            _joined(operator, kind, reach)
            _offered(operator, kind)
        except WeirClientError as error:
            trouble.append(f"{name} is no centre of the network: {error}")
    return trouble


def centers_away(operator: weir.Client, kinds: list[str]) -> list[str]:
    """A sentence for each centre of an earlier start whose engine does not run this time."""
    return [
        f"{CENTERS[row['kind']][1]} joined before and does not run now: WEIR_CENTERS={','.join([*kinds, row['kind']])}"
        " make run starts it too"
        for row in operator.centers()
        if row["kind"] not in kinds and CENTERS.get(row["kind"], ("",))[0] == row["ai_center_id"] != "pool"
    ]


def _reach(var_dir: Path, kind: str) -> Reach | None:
    """How an engine that is starting is reached, once it takes jobs."""
    wait_until(lambda: reach_read(var_dir, kind) is not None, timeout_s=PATIENCE_S, every_s=0.3)
    return reach_read(var_dir, kind)


def _joined(operator: weir.Client, kind: str, reach: Reach) -> None:
    code, name, _price = CENTERS[kind]
    there = _center(operator, code)
    if there is None:
        # The demo's tenants are all of this machine's own: they may share an engine.
        operator.center_join(
            ai_center_id=code,
            name=name,
            kind=kind,
            settings=reach.settings,
            credential=reach.credential,
            serves="all",
            may_share=True,
        )
        return
    # What an operator has said of it beside the way to it stays as it is.
    settings = there["settings"] | reach.settings
    if kind == "local":
        return
    if settings == there["settings"]:
        # An engine that lost its folder has another secret at the same address.
        if there["status"] != _AVAILABLE or there["trouble"]:
            operator.center_credential(code, reach.credential)
        return
    operator.center_change(code, settings=settings, credential=reach.credential)


def _center(operator: weir.Client, code: str) -> "CenterOut | None":
    try:
        return operator.center(code)
    except weir.ApiError as error:
        if error.status == 404:
            return None
        raise


def _offered(operator: weir.Client, kind: str) -> None:
    code, _name, price = CENTERS[kind]
    spec: Any = next((row for row in operator.network_specs() if row["resource_spec_id"] == SPEC), None)
    if spec is None:
        spec = operator.network_spec_make(
            resource_spec_id=SPEC, resource_spec_name=_SPEC_NAME, resource_quantity=_SPEC_HOLDS, price=60
        )
    if all(offer["ai_center_id"] != code for offer in spec["offers"]):
        operator.network_spec_offer(SPEC, code, price=price)


def main() -> int:
    kinds, var_dir = sys.argv[1:], Path(os.environ["WEIR_VAR_DIR"])
    password = (var_dir / "run" / "demo.password").read_text()
    try:
        operator, _answer = weir.Client.sign_in(
            f"http://127.0.0.1:{os.environ['WEIR_PORT']}", "admin", password
        )
        trouble = centers_join(operator, var_dir, kinds)
        for sentence in centers_away(operator, kinds):
            print(f"weir: {sentence}")
    except WeirClientError as error:
        trouble = [f"no centre joins the network: {error}"]
    for sentence in trouble:
        print(f"weir: {sentence}", file=sys.stderr)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
