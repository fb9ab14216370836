"""Processes to decide on: templates of small drawn files, started over a made-up subject."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from apps.approvals.models import HumanTask, ProcessInstance
from apps.approvals.services import process_start
from apps.catalog.services.processes import process_template_import
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from tests.unit.workflows.samples import APPROVED, REJECTED, START, bpmn, flow, user_task

SENT_BACK = APPROVED.replace("approved", "sent_back")
ALL = 'allowRefuse="true" allowSendBack="true"'


def candidate(value: str, kind: str = "role", side: str = "tenant") -> str:
    return f'<weir:candidate kind="{kind}" value="{value}" side="{side}"/>'


TENANT = candidate("tenant_decision_maker")
OPERATOR = candidate("operations_manager", side="operator")


def step(node_id: str, after: str, candidates: str, settings: str = ALL) -> list[str]:
    """A node behind `after` with its gateway: approve goes on, send back and refuse end it."""
    gate = f"{node_id}_gate"
    return [
        user_task(node_id, settings, candidates),
        f'<bpmn:exclusiveGateway id="{gate}" default="{gate}_no"/>',
        flow(after, node_id),
        flow(node_id, gate),
        flow(gate, "sent_back", 'decision == "send_back"'),
        flow(gate, "rejected", flow_id=f"{gate}_no"),
    ]


def drawn(*candidates: str, settings: str = ALL) -> bytes:
    """A chain of nodes, one for each set of candidates."""
    parts, after = [START, APPROVED, REJECTED, SENT_BACK], "begin"
    for place, one in enumerate(candidates):
        node = f"step_{place}"
        if after == "begin":
            parts += step(node, after, one, settings)
        else:
            inside = step(node, after, one, settings)
            inside[2] = flow(after, node, 'decision == "approve"')
            parts += inside
        after = f"{node}_gate"
    parts.append(flow(after, "approved", 'decision == "approve"'))
    return bpmn(*parts)


@dataclass
class RunningProcess:
    """A running process in acme and its subject."""

    instance: ProcessInstance
    subject_uid: UUID

    @property
    def task(self) -> HumanTask:
        return HumanTask.objects.get(instance=self.instance, state="waiting")

    @property
    def state(self) -> str:
        self.instance.refresh_from_db()
        return self.instance.state


def start(
    applicant_id: int, xml: bytes | None = None, *, schema: str = "acme", **changes: object
) -> RunningProcess:
    template = process_template_import(actor=SYSTEM, key="sample", xml=xml or drawn(TENANT, OPERATOR))
    subject = uuid4()
    given = {
        "subject_kind": "other",
        "subject_uid": subject,
        "subject_no": "F20260101-0001",
        "title_zh": "开发环境",
        "title_en": "Environment",
        "applicant_id": applicant_id,
        "data": {},
        "organization_name": "Physics",
        **changes,
    }
    with in_tenant(schema):
        return RunningProcess(process_start(actor=SYSTEM, template=template, **given), given["subject_uid"])


__all__ = ["ALL", "OPERATOR", "TENANT", "RunningProcess", "candidate", "drawn", "start"]
