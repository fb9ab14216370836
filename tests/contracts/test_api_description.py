"""The API's description as it is served: the committed one, in each language and format, made once."""

import json

import pytest
import yaml
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from tests.contracts.test_openapi import COMMITTED

PATH = "/api/schema/"
pytestmark = pytest.mark.django_db


def served(query: str = "", accept: str = "application/yaml") -> tuple[str, bytes]:
    answer = Client(headers={"host": "localhost", "accept": accept}).get(f"{PATH}{query}")
    assert answer.status_code == 200
    return f"{answer['Content-Type']} {answer['Content-Disposition']}", answer.content


@pytest.mark.req("PLAT-CMP-4", "PLAT-CMP-20")
def test_it_is_the_committed_one_as_yaml_and_as_json():
    heads, body = served("?lang=en")
    assert heads == 'application/yaml; charset=utf-8 inline; filename="Weir API.yaml"'
    assert yaml.load(body, yaml.CSafeLoader) == yaml.load(COMMITTED.read_text(), yaml.CSafeLoader)
    heads, other = served("?lang=en", "application/json")
    assert heads == 'application/json inline; filename="Weir API.json"'
    assert json.loads(other) == yaml.load(body, yaml.CSafeLoader)


def test_it_is_made_once_for_each_language_whatever_else_is_asked(monkeypatch):
    known = {language: served(f"?lang={language}") for language in ("en", "zh-hans")}

    def made(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("it is made for a caller")

    monkeypatch.setattr(SchemaGenerator, "get_schema", made)
    for language, answer in known.items():
        assert served(f"?lang={language}&version=7") == answer
    assert served("?lang=../x") in known.values()
