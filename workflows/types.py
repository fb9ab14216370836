"""The words of the workflow engine: frozen values and errors that cross its border (PLAT-CFG-16 to -19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

CandidateKind = Literal["role", "user", "post", "organization", "initiator_role"]
Side = Literal["tenant", "operator"]
Rule = Literal["one_of", "all_of"]
Decision = Literal["approve", "refuse", "send_back"]
Outcome = Literal["approved", "rejected", "sent_back", ""]
ProblemKind = Literal["refused", "unfinished"]


class WorkflowError(Exception):
    """Anything the engine refuses. `code` is stable; the message says the cause and the cure."""

    code = "workflow_error"


class ExpressionRefused(WorkflowError):
    """A condition is outside the safe language, or cannot be computed from the form's values."""

    code = "expression_refused"


class DataRefused(WorkflowError):
    """The values given to an instance are not plain JSON, use a reserved name, or are too large."""

    code = "workflow_data_refused"


class DecisionRefused(WorkflowError):
    """The decision is unknown, not offered by the node, or the task no longer waits."""

    code = "decision_refused"


class StateRefused(WorkflowError):
    """The saved state is damaged, too large, or belongs to another definition."""

    code = "workflow_state_refused"


class WorkflowStuck(WorkflowError):
    """The move would leave an instance that neither waits for anybody nor ends; it is not made."""

    code = "workflow_stuck"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an uploaded file, tied to the element a person can see on the canvas.

    `refused` keeps the file from being loaded at all; `unfinished` lets it be loaded and edited,
    but no instance starts from it.
    """

    kind: ProblemKind
    code: str
    element_id: str
    element: str
    name: str
    message: str
    cure: str

    def __str__(self) -> str:
        called = f' "{self.name}"' if self.name else ""
        place = f"{self.element} {self.element_id}{called}".strip()
        return f"{place or 'file'}: {self.message} {self.cure}"


class BpmnRefused(WorkflowError):
    """The file is not accepted; `problems` says where and why, one entry per element."""

    code = "bpmn_refused"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class Candidate:
    """Who may decide a node; for `initiator_role`, a role found by the initiator's organisation."""

    kind: CandidateKind
    value: str
    side: Side


@dataclass(frozen=True)
class Node:
    """One approval node as drawn: its candidates and switches (PLAT-CFG-17 to -19); times in seconds."""

    node_id: str
    name: str
    name_zh: str
    candidates: tuple[Candidate, ...]
    rule: Rule
    allow_refuse: bool
    allow_send_back: bool
    time_limit_s: int | None
    mail_approver: bool

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions this node offers, in the order a page shows them."""
        offered: list[Decision] = ["approve"]
        if self.allow_refuse:
            offered.append("refuse")
        if self.allow_send_back:
            offered.append("send_back")
        return tuple(offered)


@dataclass(frozen=True)
class Waiting:
    """A node of a running instance that waits for people. `task_id` is unique within its instance."""

    task_id: str
    node_id: str
    name: str
    candidates: tuple[Candidate, ...]
    rule: Rule
    allow_refuse: bool
    allow_send_back: bool
    time_limit_s: int | None
    name_zh: str
    mail_approver: bool = False


@dataclass(frozen=True)
class Action:
    """A service task that was passed: the caller runs the named handler in the same transaction."""

    node_id: str
    handler: str


@dataclass(frozen=True)
class Step:
    """Where an instance stands after a move. `state` is JSON text; keep it and hand it back to `complete`."""

    state: str
    waiting: tuple[Waiting, ...]
    done: bool
    data: dict[str, Any]
    outcome: Outcome
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class StateRef:
    """Which definition a saved state was started with: key and SHA-256 of the file."""

    key: str
    sha256: str


@dataclass(frozen=True)
class Definition:
    """A loaded process: identified by its key and the SHA-256 of the file's bytes (its version)."""

    key: str
    sha256: str
    xml: bytes
    process_id: str
    name: str
    name_zh: str
    description: str
    nodes: tuple[Node, ...]
    handlers: tuple[tuple[str, str], ...]
    outcomes: tuple[tuple[str, Outcome], ...]
    problems: tuple[Problem, ...]

    @property
    def is_startable(self) -> bool:
        """Whether instances may start, that is, nothing is left unfinished."""
        return not self.problems
