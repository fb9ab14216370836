"""Every answer of every read, asked for by the people of a living centre, is what the API's description says."""

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world"), pytest.mark.req("PLAT-CMP-4")]

PEOPLE = ("alice", "dan", "olga", "sam", "admin", "ops")
PLACE = re.compile(r"\{(\w+)\}")
# By which field of a row its own address is made.
KEYS = ("uid", "code", "schema_name", "username", "id", "name")
# What the living centre has nothing above of; tests/apps/assets reads the files of a version, tests/apps/centers a
# centre's work, tests/apps/jointcloud a job's decisions.
EMPTY = {
    "/api/v1/resource-groups/{code}/grants",
    "/api/v1/assets/{uid}/versions/{number}/files",
    "/api/v1/centers/{ai_center_id}/remote-tasks",
    "/api/v1/jobs/{job_id}/decisions",
}
# Addresses that are tried for one path, and answers after which no further one is.
TRIES, ENOUGH = 25, 2


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        return SchemaGenerator(urlconf="portal.urls_api").get_schema(request=None, public=True)


def test_what_is_read_is_what_is_described(document, world):
    """Lists with their pages, details, and refusals, by everybody who may and who may not."""
    seen, lists, wrong, checkers = set(), _lists(document), {}, Checkers(document)
    for path, operation, answer in _read(document, world):
        described = _described(document, operation, answer)
        if described is None:
            wrong[path, answer.status_code] = ["not described"]
        elif answer["Content-Type"].startswith("application/json"):
            errors = list(checkers.of(described).iter_errors(answer.json()))
            if errors:
                wrong[path, answer.status_code] = [
                    f"{error.json_path}: {error.message}" for error in errors[:3]
                ]
        if answer.status_code == 200:
            seen.add(path)
    assert not wrong
    assert lists - seen <= EMPTY, f"lists that nobody could read: {sorted(lists - seen)}"
    assert len(seen) >= 100


def test_a_list_says_how_it_is_paged(document):
    """Each takes `cursor` and `page_size`; the few that answer whole take neither."""
    for path in _lists(document):
        operation = document["paths"][path]["get"]
        named = {parameter["name"] for parameter in operation.get("parameters", [])}
        body = operation["responses"]["200"]["content"]["application/json"]["schema"]
        assert ({"cursor", "page_size"} <= named) == ("$ref" in body), path


def test_every_operation_says_how_it_may_be_refused(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            said = set(operation["responses"])
            assert {"400", "401", "403", "404", "503"} <= said, (method, path)
            assert method == "get" or "409" in said, (method, path)
    assert "429" in document["paths"]["/api/v1/auth/login"]["post"]["responses"]


def test_a_file_that_is_sent_is_described_as_one(document):
    sent = [
        part
        for operations in document["paths"].values()
        for operation in operations.values()
        if set(content := operation.get("requestBody", {}).get("content", {})) == {"multipart/form-data"}
        for part in content.values()
    ]
    assert len(sent) >= 3
    for part in sent:
        properties = _resolved(document, part["schema"])["properties"].values()
        assert [one for one in properties if one.get("format") == "binary"], part
        assert not [one for one in properties if one.get("format") == "uri"], part


def _lists(document: dict[str, Any]) -> set[str]:
    """Paths whose GET answers with rows."""
    return {
        path
        for path, operations in document["paths"].items()
        if "get" in operations and operations["get"]["operationId"].endswith("_list")
    }


def _read(document: dict[str, Any], world: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Every GET, by everybody; the places of a path are filled from the list above it, and with what acme has."""
    clients = [world.api(name) for name in PEOPLE]
    keys: dict[str, list[str]] = {}
    reads = sorted(path for path, operations in document["paths"].items() if "get" in operations)
    for path in sorted(reads, key=lambda path: len(PLACE.findall(path))):
        operation = document["paths"][path]["get"]
        count = 0
        for address in islice(_addresses(path, keys, world), TRIES):
            for client in clients:
                answer = client.get(address)
                yield path, operation, answer
                if answer.status_code == 200 and answer["Content-Type"].startswith("application/json"):
                    keys.setdefault(path, []).extend(_keys(answer.json()))
                    count += 1
            if count >= ENOUGH:
                break


def _addresses(path: str, keys: dict[str, list[str]], world: Any) -> Iterator[str]:
    places = PLACE.findall(path)
    own = ["acme", "alice", *map(str, world.uids["acme"].values())]
    above = path.partition("{")[0].rstrip("/")
    found = list(dict.fromkeys([*keys.get(above, [])[:4], *own]))
    for values in product(found, repeat=len(places)):
        address = path
        for value in values:
            address = PLACE.sub(value, address, count=1)
        yield address


def _keys(body: Any) -> list[str]:
    rows = body.get("results", []) if isinstance(body, dict) else body
    found = [str(row[key]) for row in rows if isinstance(row, dict) for key in KEYS if row.get(key)]
    return list(dict.fromkeys(found))


def _described(document: dict[str, Any], operation: dict[str, Any], answer: Any) -> dict[str, Any] | None:
    described = operation["responses"].get(str(answer.status_code))
    return _resolved(document, described) if described is not None else None


def _resolved(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        found: Any = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part


class Checkers:
    """A validator for what an operation answers with a status, each made once."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.components = _strict(document["components"])
        self.made: dict[int, Draft202012Validator] = {}

    def of(self, described: dict[str, Any]) -> Draft202012Validator:
        if id(described) not in self.made:
            whole = {
                "allOf": [_strict(described["content"]["application/json"]["schema"])],
                "components": self.components,
            }
            checked = Draft202012Validator.FORMAT_CHECKER
            self.made[id(described)] = Draft202012Validator(whole, format_checker=checked)
        return self.made[id(described)]


def _strict(part: Any) -> Any:
    """OpenAPI 3.0's own words in those of JSON Schema; a field that is not described is wrong."""
    if isinstance(part, list):
        return [_strict(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    made = {name: _strict(inner) for name, inner in part.items() if name != "nullable"}
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return {"anyOf": [made, {"type": "null"}]} if part.get("nullable") is True else made
