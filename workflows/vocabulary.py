"""Which BPMN 2.0 elements run here, which are kept as documentation, which are drawn but not run, which hold code."""

from __future__ import annotations

import re

FLOW_NODES = frozenset(
    "startEvent endEvent userTask serviceTask exclusiveGateway parallelGateway inclusiveGateway subProcess callActivity"
    .split()
)
RUN = FLOW_NODES | frozenset("definitions process sequenceFlow conditionExpression terminateEventDefinition".split())
INERT = frozenset(
    """documentation extensionElements text textAnnotation association group category categoryValue categoryValueRef
    laneSet lane flowNodeRef childLaneSet collaboration participant participantMultiplicity messageFlow message
    dataObject dataObjectReference dataStore dataStoreReference dataState dataInput dataOutput dataInputAssociation
    dataOutputAssociation sourceRef targetRef ioSpecification inputSet outputSet inputSetRefs outputSetRefs
    dataInputRefs dataOutputRefs incoming outgoing property itemDefinition resource resourceParameter resourceRole
    performer humanPerformer potentialOwner resourceRef signal error escalation rendering monitoring auditing
    endPoint globalTask globalUserTask globalManualTask interface operation inMessageRef outMessageRef errorRef
    correlationKey correlationPropertyRef relationship partnerEntity partnerRole""".split()
)
DRAWN_ONLY = frozenset(
    """task manualTask businessRuleTask sendTask receiveTask scriptTask globalScriptTask globalBusinessRuleTask
    intermediateCatchEvent intermediateThrowEvent boundaryEvent eventBasedGateway complexGateway transaction
    adHocSubProcess messageEventDefinition timerEventDefinition signalEventDefinition errorEventDefinition
    escalationEventDefinition conditionalEventDefinition linkEventDefinition cancelEventDefinition
    compensateEventDefinition timeDate timeDuration timeCycle source target standardLoopCharacteristics
    multiInstanceLoopCharacteristics loopDataInputRef loopDataOutputRef inputDataItem outputDataItem
    eventDefinitionRef""".split()
)
CODE = frozenset(
    """script condition completionCondition loopCondition loopCardinality formalExpression expression transformation
    assignment from to activationCondition messagePath dataPath correlationProperty
    correlationPropertyRetrievalExpression resourceAssignmentExpression resourceParameterBinding
    complexBehaviorDefinition""".split()
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
