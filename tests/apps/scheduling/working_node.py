"""A node that does what it is told, for tests of the scheduler: real messages to the real service, no processes.

What runs ends when it is stopped. Instants are the test's: `clock` is how long ago what is said next happened.
"""

from datetime import UTC, datetime, timedelta

from apps.fleet.models import Slice
from tests.apps.fleet.speaking import Speaker, interval, report


class WorkingNode(Speaker):
    """`turn` hears what is wanted, does it, and tells of it, until there is nothing more to do."""

    def __init__(self, name="n1", devices=1, memory_mib=8192):
        super().__init__(name, devices, memory_mib)
        self.runs, self.saved, self.asked_to_save, self.moves_away = {}, {}, set(), set()
        self.says_stop = True
        """Whether it stops what it is to stop; else that goes on within its grace."""

    def turn(self):
        for _time in range(3):
            self.hear(self.say(slices=[self.told(uid) for uid in self.runs]))

    def hear(self, reply):
        wanted = {wish.slice_uid: wish for wish in reply.desired}
        for uid, wish in wanted.items():
            if wish.session and wish.session.move_to:
                self.moves_away.add(uid)
            if wish.state == "running":
                self.runs.setdefault(uid, "running")
            elif self.runs.get(uid) == "running":
                if wish.saves:
                    self.asked_to_save.add(uid)
                if self.says_stop:
                    self.runs[uid] = "exited"
        for uid in reply.forget:
            del self.runs[uid]

    def told(self, uid):
        row = Slice.plain.get(uid=uid)
        more = {"reason_code": "stopped"} if self.runs[uid] == "exited" else {}
        session = {"session": self.session(uid)} if row.kind == "session" else {}
        share = {"compute_percent": row.compute_percent, "memory_mib": row.memory_mib}
        saved = {"checkpoint_at": self.saved.get(uid)}
        started = {"started_at": row.started_at or datetime.now(UTC)}
        return report(row, self.runs[uid], **more, **session, **share, **saved, **started)

    def session(self, uid):
        """Its worker listens, its client is there, and its state is across as soon as it is to go."""
        move = {"move": "sent"} if uid in self.moves_away else {}
        return {"host": "h", "port": 1, "fingerprint": "ab" * 32, "attached": True} | move

    def ran(self, row, seconds):
        """The workload's slices began so long ago, and all they ran since is vouched for: billed where it was
        submitted before."""
        parts = Slice.plain.filter(workload_uid=row.uid, final_at=None)
        begin = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=seconds)
        parts.update(started_at=begin, created_at=begin)
        row.__class__.plain.filter(pk=row.pk).update(placed_at=begin, started_at=begin)
        usage = [interval(part, 1, begin=begin, seconds=seconds) for part in parts]
        self.say(slices=[self.told(uid) for uid in self.runs], usage=usage)
        row.refresh_from_db()

    def saves(self, row, ago_s=0):
        """The workload's work says that it has saved itself."""
        for part in Slice.plain.filter(workload_uid=row.uid, final_at=None):
            self.saved[str(part.uid)] = datetime.now(UTC) - timedelta(seconds=ago_s)
        self.turn()
        row.refresh_from_db()
