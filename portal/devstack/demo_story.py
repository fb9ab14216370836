"""The story that `make run` tells: an order from the catalogue to the paid bill, then a job over the network's centres.

python -m portal.devstack.demo_story        (needs a running portal; `make run` calls it)
"""

import os
import sys
from pathlib import Path

from weir.errors import WeirClientError

from portal.devstack.demo_centers import SPEC
from portal.devstack.demo_job import job_tell
from portal.devstack.demo_order import Journey, JourneyFailed


def story_tell(journey: Journey) -> None:
    """All of it; the job only where a centre offers what it asks for. Raises JourneyFailed, WeirClientError."""
    journey.tell()
    specs = {row["resource_spec_id"]: row for row in journey.person("admin").network_specs()}
    if SPEC in specs and specs[SPEC]["offers"]:
        job_tell(journey)
    else:
        journey.step("no centre has joined the network, so that no job is submitted over it")


def main() -> int:
    url = f"http://127.0.0.1:{os.environ['WEIR_PORT']}"
    password = (Path(os.environ["WEIR_VAR_DIR"]) / "run" / "demo.password").read_text()
    try:
        story_tell(Journey(url, password))
    except (JourneyFailed, WeirClientError) as error:
        print(f"The journey stopped: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
