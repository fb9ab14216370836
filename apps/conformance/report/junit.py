"""The report as JUnit XML, for build servers."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from apps.conformance.report.times import seconds_between


def junit_of(document: dict[str, Any]) -> str:
    """One suite, one case for each test; what was not run is skipped with its reason."""
    report = document["report"]
    counts = report["counts"]
    suite = Element(
        "testsuite",
        name="conformance",
        tests=str(len(report["tests"])),
        failures=str(counts["failed"]),
        skipped=str(counts["not_run"]),
        timestamp=report["started_at"] or "",
        time=f"{seconds_between(report['started_at'], report['ended_at']):.3f}",
    )
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", name="level_reached", value=str(report["level_reached"]))
    for test in report["tests"]:
        _case(suite, test)
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _case(suite: Element, test: dict[str, Any]) -> None:
    seconds = seconds_between(test["started_at"], test["ended_at"])
    name = f"{test['number']} {test['title']['en']}"
    case = SubElement(suite, "testcase", classname="conformance", name=name, time=f"{seconds:.3f}")
    if test["outcome"] == "failed":
        SubElement(case, "failure", message=_xml(test["reason"]))
    elif test["outcome"] != "passed":
        SubElement(case, "skipped", message=_xml(test["reason"]))
    notes = [
        f"{part['expectation']}: {n['evidence']}" for part in test["expectations"] for n in part["notes"]
    ]
    SubElement(case, "system-out").text = _xml("\n".join(notes))


def _xml(text: str) -> str:
    """Without the control characters that XML cannot hold: what work prints may have them."""
    return "".join(sign if sign in "\n\t" or ord(sign) >= 32 else " " for sign in text)
