"""Which BPMN 2.0 elements run here, are kept as documentation, are drawn but not run, or hold code."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FLOW_NODES = _words(
    """startEvent endEvent userTask serviceTask exclusiveGateway parallelGateway inclusiveGateway
    subProcess callActivity"""
)
RUN = FLOW_NODES | _words("definitions process sequenceFlow conditionExpression terminateEventDefinition")
# Where an element that runs may lie; anywhere else it would escape the checks of its process.
PARENTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(FLOW_NODES | {"sequenceFlow"}, _words("process subProcess")),
    "process": _words("definitions"),
    "conditionExpression": _words("sequenceFlow"),
    "terminateEventDefinition": _words("endEvent"),
}
INERT = _words(
    """documentation extensionElements text textAnnotation association group category categoryValue
    categoryValueRef laneSet lane flowNodeRef childLaneSet collaboration participant
    participantMultiplicity messageFlow message dataObject dataObjectReference dataStore
    dataStoreReference dataState dataInput dataOutput dataInputAssociation dataOutputAssociation
    sourceRef targetRef ioSpecification inputSet outputSet inputSetRefs outputSetRefs
    dataInputRefs dataOutputRefs incoming outgoing property itemDefinition resource
    resourceParameter resourceRole performer humanPerformer potentialOwner resourceRef signal
    error escalation rendering monitoring auditing endPoint globalTask globalUserTask
    globalManualTask interface operation inMessageRef outMessageRef errorRef correlationKey
    correlationPropertyRef relationship partnerEntity partnerRole"""
)
DRAWN_ONLY = _words(
    """task manualTask businessRuleTask sendTask receiveTask scriptTask globalScriptTask
    globalBusinessRuleTask intermediateCatchEvent intermediateThrowEvent boundaryEvent
    eventBasedGateway complexGateway transaction adHocSubProcess messageEventDefinition
    timerEventDefinition signalEventDefinition errorEventDefinition escalationEventDefinition
    conditionalEventDefinition linkEventDefinition cancelEventDefinition
    compensateEventDefinition timeDate timeDuration timeCycle source target
    standardLoopCharacteristics multiInstanceLoopCharacteristics loopDataInputRef
    loopDataOutputRef inputDataItem outputDataItem eventDefinitionRef"""
)
CODE = _words(
    """script condition completionCondition loopCondition loopCardinality formalExpression expression
    transformation assignment from to activationCondition messagePath dataPath
    correlationProperty correlationPropertyRetrievalExpression resourceAssignmentExpression
    resourceParameterBinding complexBehaviorDefinition"""
)
# Execution vendors hang code on elements under names like these; whatever the namespace, they are refused.
CODE_NAME = re.compile(
    r"script|listener|expression|delegate|connector|^class$|classref|^field$|operator|method|^topic$|^eval|python",
    re.IGNORECASE,
)
CODE_MARK = re.compile(r"[$#]\{")
WEIR_ATTRIBUTES: dict[str, frozenset[str]] = {
    "process": frozenset({"nameZh"}),
    "node": frozenset({"rule", "allowRefuse", "allowSendBack", "timeLimitS", "mailApprover", "nameZh"}),
    "candidate": frozenset({"kind", "value", "side"}),
    "handler": frozenset({"name"}),
    "end": frozenset({"outcome"}),
}
