"""What to do next, decided without I/O and without a clock: `handle(event) -> instructions`.

Level-triggered: the server's desired state and the runtime's observations come in, in any order and as
often as they like; what goes out brings the second nearer to the first and never does a thing twice.
A slice that has ended here never runs again under the same uid.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from node_agent.instructions import Discard, Forget, Instruction, Resize, Send, Start, Stop
from node_agent.protocol.join import DeviceReport
from node_agent.protocol.slices import DesiredSession, DesiredSize, DesiredSlice, SliceReport
from node_agent.protocol.sync import SyncReply
from node_agent.slice_state import LocalSlice

REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Observed:
    """All the runtime holds now."""

    slices: tuple[LocalSlice, ...]


@dataclass(frozen=True, slots=True)
class DevicesFound:
    """All the devices of this node, as reported to the server."""

    devices: tuple[DeviceReport, ...]


@dataclass(frozen=True, slots=True)
class Replied:
    """The server has answered a sync."""

    reply: SyncReply


@dataclass(frozen=True, slots=True)
class Distrusted:
    """The server no longer takes this node's word (401, 426): nothing new is started."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An instruction could not be carried out; `reason` is for people."""

    instruction: Instruction
    reason: str


Event = Observed | DevicesFound | Replied | Distrusted | Failed


class Machine:
    """The node's mind: known slices, desired slices, and what the server has acknowledged."""

    def __init__(self) -> None:
        self._devices: dict[str, DeviceReport] = {}
        self._held: dict[str, LocalSlice] = {}
        self._desired: dict[str, DesiredSlice] = {}
        self._unknown: frozenset[str] = frozenset()
        self._starting: dict[str, DesiredSlice] = {}
        self._asked: dict[str, Instruction] = {}
        self._answers: dict[str, SliceReport] = {}
        self._notes: dict[str, str] = {}
        self._forgotten: OrderedDict[str, None] = OrderedDict()
        self._is_trusted = True
        self.usage_acks: dict[str, int] = {}
        self.log_acks: dict[str, int] = {}

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        """Take an event in; returns what is to be done now, in order."""
        match event:
            case Observed(slices):
                self._observe(slices)
            case DevicesFound(devices):
                self._devices = {device.uid: device for device in devices}
            case Replied(reply):
                return self._reply(reply)
            case Distrusted():
                self._is_trusted = False
            case Failed(instruction, reason):
                self._fail(instruction, reason)
                return ()
        return tuple(self._converge())

    def reports(self) -> tuple[SliceReport, ...]:
        """What the server is to be told of every slice."""
        told = {uid: self._noted(held) for uid, held in self._held.items()}
        for uid, wanted in self._starting.items():
            told.setdefault(uid, _answer(wanted, "starting", "", "the slice is being made"))
        return tuple((self._answers | told).values())

    def slice_uids(self) -> tuple[str, ...]:
        """The slices that exist here, finished ones too."""
        return tuple(self._held)

    def _noted(self, held: LocalSlice) -> SliceReport:
        wanted, note = self._desired.get(held.slice_uid), self._notes.get(held.slice_uid, "")
        is_current = wanted is None or wanted.generation <= held.generation or held.report.state != "running"
        return held.report if is_current or not note else held.report.model_copy(update={"reason": note})

    # ---- taking in ----

    def _observe(self, slices: tuple[LocalSlice, ...]) -> None:
        self._held = {held.slice_uid: held for held in slices if held.slice_uid not in self._forgotten}
        for uid in self._held:
            self._starting.pop(uid, None)
            self._answers.pop(uid, None)

    def _reply(self, reply: SyncReply) -> tuple[Instruction, ...]:
        self._is_trusted = True
        self.usage_acks.update(reply.usage_acks)
        self.log_acks.update(reply.log_acks)
        self._desired = {
            wanted.slice_uid: self._newer(wanted)
            for wanted in reply.desired
            if wanted.slice_uid not in self._forgotten
        }
        self._unknown = frozenset(reply.unknown)
        self._answers = {uid: report for uid, report in self._answers.items() if uid in self._desired}
        return (*self._forget(reply.forget), *self._folders(reply), *self._converge())

    def _folders(self, reply: SyncReply) -> list[Instruction]:
        """Nothing is taken from under what runs, or is about to: the server asks again."""
        used = self._folders_used()
        over = [Discard(key) for key in reply.folders_over if key not in used]
        return [*over, *(Send(request) for request in reply.folders_send if request.key not in used)]

    def _folders_used(self) -> set[str]:
        starting = {wanted.folder.key for wanted in self._starting.values() if wanted.folder}
        return starting | {held.folder for held in self._held.values() if held.folder}

    def folders_idle(self, folders: Iterable[str]) -> tuple[str, ...]:
        """Of these work folders those that no slice of this node uses, ended ones among them."""
        used = self._folders_used()
        return tuple(key for key in folders if key not in used)

    def to_stop(self) -> frozenset[str]:
        """The slices that are to be stopped."""
        return frozenset(uid for uid, wanted in self._desired.items() if wanted.state == "stopped")

    def _newer(self, wanted: DesiredSlice) -> DesiredSlice:
        known = self._desired.get(wanted.slice_uid)
        return known if known is not None and known.generation > wanted.generation else wanted

    def _forget(self, uids: Iterable[str]) -> list[Instruction]:
        gone: list[Instruction] = []
        for uid in uids:
            held = self._held.get(uid)
            if uid in self._starting or (held is not None and not held.is_terminal):
                continue
            if held is not None:
                gone.append(Forget(uid))
            self._erase(uid)
        return gone

    def _erase(self, uid: str) -> None:
        stores: tuple[dict[str, object], ...] = (
            self._held,
            self._desired,
            self._asked,
            self._answers,  # type: ignore[assignment]
            self._notes,
            self.usage_acks,
            self.log_acks,  # type: ignore[assignment]
        )
        for store in stores:
            store.pop(uid, None)
        self._forgotten[uid] = None
        if len(self._forgotten) > REMEMBERED:
            self._forgotten.popitem(last=False)

    def _fail(self, instruction: Instruction, reason: str) -> None:
        match instruction:
            case Start(wanted):
                self._starting.pop(wanted.slice_uid, None)
                self._answers[wanted.slice_uid] = _answer(wanted, "refused", "refused", reason)
            case Forget(slice_uid):
                self._forgotten.pop(slice_uid, None)
            case Resize(slice_uid=uid):
                self._asked.pop(uid, None)
                self._notes[uid] = f"not resized: {reason}"[:500]
            case Stop(slice_uid=uid):
                self._asked.pop(uid, None)
            case Discard() | Send():
                # The server asks for it again as long as it is wanted.
                pass

    # ---- deciding ----

    def _converge(self) -> list[Instruction]:
        done: list[Instruction] = []
        for uid in sorted(self._unknown):
            done += self._end_unknown(uid)
        # Ends and shrinking first, so that what they free is there for what starts.
        for wanted in sorted(
            self._desired.values(), key=lambda item: (item.state == "running", item.slice_uid)
        ):
            if wanted.slice_uid not in self._unknown:
                done += self._toward(wanted)
        return done

    def _end_unknown(self, uid: str) -> list[Instruction]:
        held = self._held.get(uid)
        if held is None:
            return []
        if held.is_terminal:
            self._erase(uid)
            return [Forget(uid)]
        return self._ask(Stop(uid, held.generation))

    def _toward(self, wanted: DesiredSlice) -> list[Instruction]:
        held = self._held.get(wanted.slice_uid)
        if held is None:
            return self._begin(wanted)
        if held.is_terminal or held.report.state == "stopping" or wanted.generation < held.generation:
            return []
        if wanted.state == "stopped":
            return self._ask(Stop(wanted.slice_uid, wanted.generation, wanted.saves))
        return self._resize(wanted, held)

    def _resize(self, wanted: DesiredSlice, held: LocalSlice) -> list[Instruction]:
        session, size = wanted.session or held.session, wanted.size or held.size
        if wanted.generation == held.generation:
            return self._pass_on(held, session, size)
        is_moved = wanted.device_uid != held.device_uid
        lack = (
            "a running slice cannot move to another device"
            if is_moved
            else self._lacks(wanted, counts_ending=True)
        )
        self._notes[wanted.slice_uid] = f"not resized: {lack}" if lack else ""
        if lack:
            return self._pass_on(held, session, size)
        share = (wanted.compute_percent, wanted.memory_mib)
        run_timeout_s = wanted.work.run_timeout_s
        return self._ask(Resize(wanted.slice_uid, wanted.generation, *share, session, size, run_timeout_s))

    def _pass_on(
        self, held: LocalSlice, session: DesiredSession | None, size: DesiredSize | None
    ) -> list[Instruction]:
        """Tell the session's worker, or the work, what has changed, and leave its share as it is."""
        if (session, size) == (held.session, held.size):
            return []
        return self._ask(
            Resize(held.slice_uid, held.generation, held.compute_percent, held.memory_mib, session, size)
        )

    def _ask(self, instruction: Resize | Stop) -> list[Instruction]:
        if self._asked.get(instruction.slice_uid) == instruction:
            return []
        self._asked[instruction.slice_uid] = instruction
        return [instruction]

    def _begin(self, wanted: DesiredSlice) -> list[Instruction]:
        uid = wanted.slice_uid
        answer = self._answers.get(uid)
        is_answered = (
            answer is not None and answer.state != "starting" and answer.generation >= wanted.generation
        )
        if uid in self._starting or (is_answered and wanted.state == "running"):
            return []
        if wanted.state == "stopped":
            self._answers[uid] = answer if is_answered and answer else _never_started(wanted)
            return []
        if not self._is_trusted:
            return []
        refusal = self._refusal(wanted)
        if refusal is not None:
            self._answers[uid] = refusal
            return []
        self._starting[uid] = wanted
        self._answers.pop(uid, None)
        return [Start(wanted)]

    def _refusal(self, wanted: DesiredSlice) -> SliceReport | None:
        """Why this slice cannot be started, or only later; None where it can be started now."""
        if self.usage_acks.get(wanted.slice_uid, 0) > 0:
            return _answer(
                wanted, "failed", "lost", "it ran on this node before, and its records here are gone"
            )
        device = self._devices.get(wanted.device_uid)
        if device is None:
            return _answer(wanted, "refused", "refused", f"this node has no device {wanted.device_uid}")
        if device.health == "failed" and not wanted.is_on_host:
            return _answer(
                wanted, "refused", "refused", f"the device has failed: {device.health_reason}"[:500]
            )
        lack = self._lacks(wanted, counts_ending=False)
        if lack:
            return _answer(wanted, "refused", "refused", lack)
        if self._lacks(wanted, counts_ending=True):
            return _answer(wanted, "starting", "", "waiting for slices that are ending on this device")
        if wanted.folder and self._is_in(wanted.folder.key):
            return _answer(wanted, "starting", "", "waiting for the work that is ending in its folder")
        return None

    def _is_in(self, folder: str) -> bool:
        """Whether a work still runs in a folder, or is about to."""
        starting = {wanted.folder.key for wanted in self._starting.values() if wanted.folder}
        return folder in starting or any(
            held.folder == folder and not held.is_terminal for held in self._held.values()
        )

    def _lacks(self, wanted: DesiredSlice, *, counts_ending: bool) -> str:
        """What the device is short of for this slice, as a sentence; empty if nothing."""
        device = self._devices.get(wanted.device_uid)
        if device is None:
            return f"this node has no device {wanted.device_uid}"
        if wanted.is_on_host:
            return ""
        shares = list(self._shares(wanted, counts_ending=counts_ending))
        percent = sum(share[0] for share in shares)
        memory_mib = sum(share[1] for share in shares)
        device_mib = wanted.device_memory_mib or device.memory_mib
        if wanted.memory_mib > device.memory_mib:
            return f"{wanted.memory_mib} MiB asked, the device has {device.memory_mib} MiB"
        if percent + wanted.compute_percent > wanted.device_percent:
            free_percent = max(wanted.device_percent - percent, 0)
            return f"{wanted.compute_percent} % asked, {free_percent} % of the device is free"
        if memory_mib + wanted.memory_mib > device_mib:
            free_mib = max(device_mib - memory_mib, 0)
            return f"{wanted.memory_mib} MiB asked, {free_mib} MiB of the device is free"
        return ""

    def _shares(self, wanted: DesiredSlice, *, counts_ending: bool) -> Iterable[tuple[int, int]]:
        """Percent and MiB that others hold on the same device."""
        for uid, held in self._held.items():
            is_other = (
                uid != wanted.slice_uid and held.device_uid == wanted.device_uid and not held.is_terminal
            )
            if is_other and counts_ending:
                yield self._share(held)
            elif is_other and not self._is_ending(held):
                yield self._least(held)
        for uid, other in self._starting.items():
            if uid != wanted.slice_uid and other.device_uid == wanted.device_uid and uid not in self._held:
                yield other.compute_percent, other.memory_mib

    def _share(self, held: LocalSlice) -> tuple[int, int]:
        """What a slice holds, or will once a resize on its way has arrived, whichever is more."""
        asked = self._asked.get(held.slice_uid)
        if not isinstance(asked, Resize) or asked.generation <= held.generation:
            return held.compute_percent, held.memory_mib
        return max(held.compute_percent, asked.compute_percent), max(held.memory_mib, asked.memory_mib)

    def _least(self, held: LocalSlice) -> tuple[int, int]:
        """What a slice will hold once it has shrunk, where it is to."""
        share, wanted = self._share(held), self._desired.get(held.slice_uid)
        if wanted is None or wanted.generation < held.generation:
            return share
        return min(share[0], wanted.compute_percent), min(share[1], wanted.memory_mib)

    def _is_ending(self, held: LocalSlice) -> bool:
        wanted = self._desired.get(held.slice_uid)
        is_stopped = wanted is not None and wanted.state == "stopped" and wanted.generation >= held.generation
        return is_stopped or held.report.state == "stopping" or held.slice_uid in self._unknown


def _answer(wanted: DesiredSlice, state: str, code: str, reason: str) -> SliceReport:
    return SliceReport.model_validate(
        {
            "slice_uid": wanted.slice_uid,
            "generation": wanted.generation,
            "state": state,
            "reason_code": code,
            "reason": reason[:500],
        }
    )


def _never_started(wanted: DesiredSlice) -> SliceReport:
    return _answer(wanted, "exited", "stopped", "it was stopped before it started")
