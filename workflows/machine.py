"""SpiffWorkflow behind a narrow interface: it sees a rebuilt tree of checked elements and never runs any text.

The form's values do not live in the tasks: one flat dictionary beside the workflow holds them, so the saved
state stays small and nothing from a form can pose as an object of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from lxml import etree
from SpiffWorkflow.bpmn import BpmnWorkflow
from SpiffWorkflow.bpmn.parser.BpmnParser import BpmnParser
from SpiffWorkflow.bpmn.script_engine import PythonScriptEngine
from SpiffWorkflow.bpmn.serializer import BpmnWorkflowSerializer
from SpiffWorkflow.exceptions import SpiffWorkflowException
from SpiffWorkflow.task import Task
from SpiffWorkflow.util.task import TaskState

from workflows.expressions import expression_check, expression_evaluate
from workflows.types import Definition, StateRefused, WorkflowError, WorkflowStuck
from workflows.vocabulary import RUN
from workflows.xml_reader import MODEL, local, main_processes, model, namespace

MOVE_LIMIT = 500
# The library looks for waiting tasks at most 1000 deep; beyond that an instance would seem done.
TASK_LIMIT = 900
KEPT_ATTRIBUTES = ("id", "name", "default", "sourceRef", "targetRef", "calledElement")
_SERIALIZER = BpmnWorkflowSerializer()


class SafeScriptEngine(PythonScriptEngine):
    """Evaluates conditions in the safe language over fixed values; refuses scripts and service calls."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def validate(self, expression: str) -> None:
        """Refuse text outside the condition language."""
        expression_check(expression)

    def evaluate(self, task: Task, expression: str, external_context: object = None) -> bool:
        """The condition's truth over the instance's values."""
        return expression_evaluate(expression, self.values)

    def execute(self, task: Task, script: str, external_context: object = None) -> bool:
        """Always refuses: no process runs code."""
        raise WorkflowError("A process runs no scripts. Use a service task with a named handler.")

    def call_service(self, task: Task, **kwargs: object) -> str:
        """Always refuses: handlers are run by the caller."""
        raise WorkflowError("A process calls no services itself. The caller runs the named handlers.")


def rebuilt(root: etree._Element) -> etree._Element:
    """A fresh tree with only the elements that run; service tasks become steps that the adapter passes."""
    clean = etree.Element(root.tag, nsmap={None: MODEL})
    for process in root.findall(model("process")):
        copy = _copied(process, clean)
        copy.set("isExecutable", "true")
    return clean


def _copied(element: etree._Element, parent: etree._Element) -> etree._Element:
    tag = model("task") if element.tag == model("serviceTask") else element.tag
    attributes = {key: element.get(key) for key in KEPT_ATTRIBUTES if element.get(key) is not None}
    copy = etree.SubElement(parent, tag, attributes)
    if element.tag == model("conditionExpression"):
        copy.text = (element.text or "").strip()
    for child in element:
        if namespace(child.tag) == MODEL and local(child.tag) in RUN:
            _copied(child, copy)
    return copy


@lru_cache(maxsize=64)
def _specs_json(xml: bytes) -> str:
    """The parsed process of a checked file as JSON: parsed once, restored for each instance."""
    root = etree.fromstring(
        xml, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    )
    parser = BpmnParser()
    process_id = main_processes(root)[0].get("id")
    parser.add_bpmn_xml(rebuilt(root))
    main = parser.get_spec(process_id)
    others = parser.get_subprocess_specs(process_id)
    return json.dumps({
        "spec": _SERIALIZER.to_dict(main),
        "subprocess_specs": {name: _SERIALIZER.to_dict(spec) for name, spec in others.items()},
    })  # fmt: skip


def machine_check(xml: bytes) -> str:
    """What the engine has against a file that passed our own checks; empty when nothing."""
    try:
        _specs_json(xml)
    except (SpiffWorkflowException, ValueError, KeyError, AttributeError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""


@contextmanager
def _damage_named() -> Iterator[None]:
    """A saved state that the library stumbles over is told as damaged, not as the library's own error."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, SpiffWorkflowException) as error:
        message = "The saved state is damaged. Restore it from a backup or start again."
        raise StateRefused(message) from error


class Machine:
    """One running instance: a SpiffWorkflow workflow with its values and what happened in this step."""

    def __init__(self, workflow: BpmnWorkflow, definition: Definition, values: Mapping[str, Any]) -> None:
        self.workflow = workflow
        self.handlers = dict(definition.handlers)
        self.ends = dict(definition.outcomes)
        self.passed: list[str] = []
        self.reached: list[str] = []
        self.moves = 0
        workflow.script_engine = SafeScriptEngine(values)

    @classmethod
    def fresh(cls, definition: Definition, values: Mapping[str, Any]) -> Machine:
        """A new instance, before its first move."""
        specs = json.loads(_specs_json(definition.xml))
        others = {name: _SERIALIZER.from_dict(spec) for name, spec in specs["subprocess_specs"].items()}
        return cls(BpmnWorkflow(_SERIALIZER.from_dict(specs["spec"]), others), definition, values)

    @classmethod
    def restored(cls, definition: Definition, saved: dict[str, Any], values: Mapping[str, Any]) -> Machine:
        """The instance of a saved state; the process itself always comes from the definition."""
        specs = json.loads(_specs_json(definition.xml))
        with _damage_named():
            machine = cls(_SERIALIZER.from_dict({**saved, **specs}), definition, values)
            machine.waiting()
            return machine

    def decide(self, task: Task, values: Mapping[str, Any]) -> None:
        """Finish a waiting task and move on; conditions from here on read the new values."""
        self.workflow.script_engine = SafeScriptEngine(values)
        with _damage_named():
            task.run()
            self.advance()

    def advance(self) -> None:
        """Move until only people are waited for, or the end; bounded, so that a loop without people stops."""
        while True:
            self.workflow.do_engine_steps(did_complete_task=self._moved)
            ready = [task for task in self.waiting() if task.task_spec.name in self.handlers]
            if not ready:
                break
            for task in ready:
                task.run()
                self.passed.append(task.task_spec.name)
                self._moved(task)
        if self._task_count() > TASK_LIMIT:
            raise WorkflowStuck(
                f"The process went through more than {TASK_LIMIT} steps. Start a new process."
            )

    def _task_count(self) -> int:
        return sum(len(one.tasks) for one in (self.workflow, *self.workflow.subprocesses.values()))

    def _moved(self, task: Task) -> None:
        self.moves += 1
        if self.moves > MOVE_LIMIT:
            raise WorkflowStuck(
                f"The process made {MOVE_LIMIT} moves without a person. Break the loop that is drawn."
            )
        if task.task_spec.name in self.ends:
            self.reached.append(task.task_spec.name)

    def waiting(self) -> list[Task]:
        """The tasks that are ready and need somebody."""
        return [task for task in self.workflow.get_tasks(state=TaskState.READY) if task.task_spec.manual]

    def is_done(self) -> bool:
        """Whether the process has reached its end."""
        return bool(self.workflow.is_completed())

    def saved(self) -> dict[str, Any]:
        """The instance as plain JSON values, without the process and without the clock's readings."""
        saved: dict[str, Any] = _SERIALIZER.to_dict(self.workflow)
        del saved["spec"], saved["subprocess_specs"]
        for part in (saved, *saved["subprocesses"].values()):
            for task in part["tasks"].values():
                task["last_state_change"] = 0
        return saved
