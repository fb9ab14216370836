"""The report for a terminal."""

from typing import Any

_MARKS = {"passed": "✔", "failed": "✘", "not_run": "–"}


def text_of(document: dict[str, Any]) -> str:
    """One line for each test, the reasons, and the level."""
    report = document["report"]
    lines = [f"{report['product']['name']} {report['product']['version']}: {report['standard']['en']}"]
    lines += [
        f"Examined {report['started_at']} to {report['ended_at']} at {report['inventory'].get('address', '?')}"
    ]
    lines += ["", *_pool(report["inventory"]), ""]
    for test in report["tests"]:
        lines += _test(test)
    lines += ["", *_levels(report), *_end(document)]
    return "\n".join(lines) + "\n"


def _pool(inventory: dict[str, Any]) -> list[str]:
    return [
        f"  {row['node']} / {row['model']} ({row['vendor']}{', simulated' if row['is_simulated'] else ''}),"
        f" {row['memory_mib']} MiB"
        for row in inventory.get("devices", [])
    ]


def _test(test: dict[str, Any]) -> list[str]:
    mark, title = _MARKS.get(test["outcome"], "?"), f"{test['title']['en']} {test['title']['zh']}"
    head = f"{mark} {test['number']:6} {title}{_hardware(test['hardware'])}"
    return [head, *([f"         {test['outcome']}: {test['reason']}"] if test["reason"] else [])]


def _levels(report: dict[str, Any]) -> list[str]:
    rows = [
        f"  level {row['level']} ({row['title']['en']}): {len(row['passed'])} of {len(row['required'])}"
        for row in report["levels"]
    ]
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in report["counts"].items())
    hardware = report["hardware"]["text"]["en"] or "no test of the standard passed"
    return [*rows, "", f"Level reached: {report['level_reached']}   ({counts}; {hardware})"]


def _hardware(kinds: list[dict[str, Any]]) -> str:
    """What a test ran on, in brackets; nothing where it used no device."""
    names = [f"{'simulated ' * kind['is_simulated']}{kind['vendor']} {kind['model']}" for kind in kinds]
    return f" [{', '.join(names)}]" if names else ""


def _end(document: dict[str, Any]) -> list[str]:
    report = document["report"]
    lines = [f"Left behind: {text}" for text in report["left_behind"]]
    if report["note"]:
        lines.append(report["note"])
    return [*lines, f"Signed with {document['signature']['public_key']}"]
