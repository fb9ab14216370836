"""What programs write into the pool's log, and as which sentence it is read. `%(name)s` stands for what differs from
line to line; of `%(error)s` and `%(problem)s` the words are those of something that speaks English only."""

import re

from django.utils.translation import gettext_noop as _

# Read as they are written.
AS_WRITTEN = (
    _("started"),
    _("submitted"),
    _("session moves to device %(device)s"),
    _("session stays: %(error)s"),
    _("node %(name)s does not answer"),
    _("node %(name)s answers again"),
    _("node %(name)s has left the pool"),
    _("two agents speak for node %(name)s"),
    _("clock of node %(name)s is off by %(s)s s"),
    _("device %(uid)s found"),
    _("device %(uid)s is missing"),
    _("device %(uid)s is back"),
    _("device %(uid)s has left the pool"),
    _("device %(uid)s reports %(new)s MiB instead of %(old)s MiB"),
    _("device %(uid)s is left out: %(error)s"),
    _("the server answers again"),
    _("agent %(name)s ends; its work goes on"),
    _("work with a container image runs by %(by)s, from images for %(machine)s"),
    _("work with a container image is not run here: %(error)s"),
    _("packages for work are installed from %(place)s, %(mib)s MiB of them at the most"),
    _("each work has a network of its own: it reaches neither this node's ports nor other work's"),
    _("work runs walled off: it sees its own files and processes only"),
    _("work folder %(name)s is deleted: its work is over"),
    _("work folder %(name)s is sent to the portal"),
    _("work folder %(name)s is fetched from the portal"),
    _("work folder %(name)s was not sent: %(error)s"),
    _("image %(name)s is fetched from the portal"),
    _("release %(version)s is here; the agent gives way to it"),
    _("release %(version)s is rolled back: %(error)s"),
    _("configuration %(number)s is in force"),
    _("configuration %(number)s is not kept for a restart: %(error)s"),
    _("configuration %(number)s is not followed: %(error)s"),
    _("the portal's release keys were not taken: %(error)s"),
    _("the stored credential is refused; joining again with the new join token"),
    _("this node's clock agrees with the server's again"),
    _("unexpected trouble; the agent goes on"),
    _("the sizes of %(device)s are not known: %(error)s"),
    _("driver %(name)s cannot be loaded and is left out: %(error)s"),
    _("the %(vendor)s driver fails: %(error)s"),
    _("%(place)s is not deleted"),
    _("work cannot be reached through the portal: %(error)s"),
    _("%(count)s lines were dropped: the log could not keep up"),
    _("an alarm was not told by %(channel)s: %(error)s"),
    _("AI computing centre %(name)s is available"),
    _("AI computing centre %(name)s is unavailable"),
    _("AI computing centre %(name)s is unavailable: %(error)s"),
    _("AI computing centre %(name)s is unknown"),
    _("AI computing centre %(name)s is unknown: %(error)s"),
    _("centre %(name)s is asked again later"),
    _("centre %(name)s is asked again later: %(error)s"),
    _("centre %(name)s and its jobs: %(error)s"),
    _("centre %(name)s is not believed: %(error)s"),
    _("use of %(key)s is not believed: %(error)s"),
    _("centre %(name)s does not stop the job %(key)s: %(error)s"),
    _("the job %(key)s is not sent to centre %(name)s for now: %(error)s"),
    _("another process sends to centre %(name)s now"),
    _("the job %(key)s was not placed"),
    # After the longer ones that begin alike.
    _("centre %(name)s: %(error)s"),
    _("kind of centre %(kind)s cannot be loaded and is left out: %(error)s"),
    _("the adapter of a centre failed"),
    _("the watch of centres is given up: %(error)s"),
    _("an agent's message could not be taken in"),
    _("an agent's message is tried again"),
    _("an invitation's mail was not sent: %(error)s"),
    _("a mail with a link for a new password was not sent: %(error)s"),
    _("the data folder is not closed to other accounts: %(error)s"),
)  # fmt: skip

# Read as another sentence than was written: without numbers of processes, generations and slices, and in words that
# say what it means for the pool.
OTHERWISE = (
    ("no longer two agents speak for node %(name)s", _("node %(name)s has one agent again")),
    ("share %(uid)s placed on %(device)s", _("a share is placed on %(device)s")),
    (
        "share %(uid)s holds %(percent)s %% and %(mib)s MiB now",
        _("a share has %(percent)s %% of compute and %(mib)s MiB of memory now"),
    ),
    ("share %(uid)s lost with its node", _("a share was lost with its node")),
    (
        "session moved from %(source)s to %(target)s with a pause of %(ms)s ms",
        _("session moved from %(source)s to %(target)s, it stood still for %(ms)s ms"),
    ),
    ("session moved from %(source)s to %(target)s", _("session moved from %(source)s to %(target)s")),
    (
        "roll-out %(uid)s goes back at %(target)s: %(error)s",
        _("a roll-out goes back at %(target)s: %(error)s"),
    ),
    ("roll-out %(uid)s is done", _("a roll-out is done")),
    (
        "the server cannot be reached: %(problem)s (running work goes on; trying again, at the latest every %(s)s s)",
        _("the server cannot be reached; running work goes on, tried again every %(s)s s at the latest"),
    ),
    (
        "%(error)s (running work goes on; trying again, at the latest every %(s)s s)",
        _(
            "The server refuses this node: %(error)s Running work goes on, tried again every %(s)s s at the latest."
        ),
    ),
    (
        "The join token is unknown, spent, expired or revoked.%(problem)s",
        _("The join token is unknown, spent, expired or revoked. Ask an operator for a new one."),
    ),
    ("joined %(server)s as node %(uid)s", _("joined %(server)s")),
    (
        "agent %(name)s (pid %(pid)s) serves %(server)s from %(place)s",
        _("agent %(name)s serves %(server)s"),
    ),
    (
        "no packages are installed for work here: no index of packages is set: WEIR_AGENT_PACKAGE_INDEX",
        _("no packages are installed for work here: WEIR_AGENT_PACKAGE_INDEX is not set"),
    ),
    (
        "no packages are installed for work here: %(error)s",
        _("no packages are installed for work here: %(error)s"),
    ),
    (
        "this node's clock is %(s)s s ahead of the server's: set it by NTP",
        _("this node's clock is %(s)s s fast: set it by NTP"),
    ),
    (
        "this node's clock is %(s)s s behind the server's: set it by NTP",
        _("this node's clock is %(s)s s slow: set it by NTP"),
    ),
    ("slice %(uid)s: forgotten", _("nothing is left of a slice on its node")),
    (
        "slice %(uid)s: its loss cannot be written down: %(error)s",
        _("the loss of a slice is not kept: %(error)s"),
    ),
    ("slice %(uid)s: %(error)s", _("trouble with a slice: %(error)s")),
    ("the container of slice %(uid)s is saved", _("its container is saved")),
    ("the container of slice %(uid)s was not saved: %(error)s", _("its container was not saved: %(error)s")),
    (
        "metrics of slice %(uid)s are dropped, batch %(batch)s: %(kind)s: %(error)s",
        _("some of its metrics are dropped: %(error)s"),
    ),
    ("%(vendor)s cards: %(error)s", _("trouble with the cards of %(vendor)s: %(error)s")),
    ("%(error)s: going back to %(version)s", _("going back to release %(version)s: %(error)s")),
    ("%(error)s; the present one goes on", _("the present release goes on: %(error)s")),
    ("hook %(hook)s failed (try %(try)s): %(error)s", _("hook %(hook)s failed at try %(try)s: %(error)s")),
    ("what-if %(uid)s was not replayed%(problem)s", _("a what-if was not replayed: %(problem)s")),
    (
        "money of jobs: %(uid)s was not looked at%(problem)s",
        _("the money of a job was not looked at: %(problem)s"),
    ),
    (
        "the money of workload %(uid)s was not looked at%(problem)s",
        _("the money of a workload was not looked at: %(problem)s"),
    ),
    (
        "the sweep could not mend order %(uid)s%(problem)s",
        _("the sweep could not mend an order: %(problem)s"),
    ),
    ("order %(uid)s waits for the next sweep: %(error)s", _("an order waits for the next sweep: %(error)s")),
    (
        "cases of %(tenant)s are not as their rows: %(problem)s",
        _("the list of cases of %(tenant)s differs from what it is made of: %(problem)s"),
    ),
    ("an order was not told: %(problem)s", _("an order did not follow its resource: %(problem)s")),
    ("image version %(uid)s waits: %(error)s", _("a version of an image waits: %(error)s")),
    (
        "image version %(uid)s could not be taken%(problem)s",
        _("a version of an image could not be taken: %(problem)s"),
    ),
    ("hint lost, a sweep will find it: %(problem)s", _("a hint is lost, a sweep will find it: %(problem)s")),
    (
        "the database refused a request: %(error)s (SQLSTATE %(state)s)",
        _("the database refused a request (%(state)s): %(error)s"),
    ),
    (
        "it cannot be told what a page has missed%(problem)s",
        _("an open page missed what happened: %(problem)s"),
    ),
    ("pushes lost: %(count)s%(problem)s", _("open pages were not told of changes: %(problem)s")),
    ("push lost: %(problem)s", _("an open page was not told of a change: %(problem)s")),
    ("the clock could not tidy up %(problem)s", _("files were not tidied up: %(problem)s")),
    (
        "the page that says so failed, too%(problem)s",
        _("the page that tells of a failure failed, too: %(problem)s"),
    ),
    ("a pass failed%(problem)s", _("a cycle of the scheduler failed: %(problem)s")),
    ("the lead is given up: %(error)s", _("this scheduler gives up the lead: %(error)s")),
    (
        "this scheduler leads now: %(waiting)s wait, %(running)s run",
        _("this scheduler leads now: %(waiting)s wait, %(running)s run"),
    ),
    ("left for the next pass: %(error)s", _("left for the next cycle: %(error)s")),
    ("this beat leads now", _("this clock leads now")),
    ("the lead runs out by itself: %(error)s", _("the lead of a clock runs out by itself: %(error)s")),
    ("nobody knows who leads: %(error)s", _("nobody knows which clock leads: %(error)s")),
    ("this %(kind)s gives way to its successor", _("%(kind)s gives way to its successor")),
    ("the heartbeat is not heard: %(error)s", _("the heartbeat is not heard: %(error)s")),
    (
        "nobody can say who may open a terminal: %(error)s",
        _("nobody can say who may open a terminal: %(error)s"),
    ),
    (
        "the other webs of this host cannot reach this one at %(place)s: %(error)s",
        _("the other web processes of this host cannot reach this one: %(error)s"),
    ),
    (
        "the other webs cannot be told of a node's tunnel: %(error)s",
        _("the other web processes cannot be told of a node's tunnel: %(error)s"),
    ),
    ("cannot take back %(problem)s", _("the acceptance test could not take back %(problem)s")),
    (
        "audit head: %(seals)s seals, %(records)s records, %(digest)s",
        _("operation log: %(seals)s seals, %(records)s records"),
    ),
)

SLICE_STATES = {
    "starting": (_("its slice is starting"), _("a slice is starting")),
    "running": (_("its slice is running"), _("a slice is running")),
    "stopping": (_("its slice is stopping"), _("a slice is stopping")),
    "exited": (_("its slice has ended."), _("a slice has ended.")),
    "failed": (_("its slice has failed."), _("a slice has failed.")),
    "released": (
        _("its slice was released before it started."),
        _("a slice was released before it started."),
    ),
    "lost": (_("its slice is lost."), _("a slice is lost.")),
}
"""By state: where its work stands before it, and where it is about no work."""


def written_pattern(written: str) -> re.Pattern[str]:
    """What finds lines that were written by this form, with what differs under its names. A name at the end may be
    empty: `%(problem)s` there is what a traceback adds."""
    parts = re.split(r"%\((\w+)\)s", written)
    found = re.escape(parts[0].replace("%%", "%"))
    for name, rest in zip(parts[1::2], parts[2::2], strict=True):
        some = ".*" if name == "problem" and not rest else ".+?" if rest else ".+"
        found += f"(?P<{name}>{some}){re.escape(rest.replace('%%', '%'))}"
    return re.compile(found, re.DOTALL)
