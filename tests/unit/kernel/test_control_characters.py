"""A text that people give holds no control character, whichever way it comes in."""

import pytest
from django import forms
from rest_framework import serializers

from apps.identity.api.sound import ProgramField, SoundSerializer, TextField
from apps.kernel.control_characters import control_fault, control_removed
from apps.kernel.errors import InvalidInput
from apps.kernel.forms import SoundForm
from apps.kernel.spreadsheet import table_read
from apps.scheduling.api.serializers.workloads import WorkloadIn
from apps.scheduling.api.work.bulk import jobs_read
from apps.storage.errors import PathRefused
from apps.storage.paths import names_of
from apps.ticketing.ticket_form import values_take

# Escape, bell, delete, the one-character CSI, a direction overridden and isolated.
WRONG = ["\x1b", "\x07", "\x7f", "\x9b", "\u202e", "\u2066", "\u2069", "\r", "\x00"]
SHAPES = ["plain", "训练 ①", "naïve — “quoted”", "مرحبا", "👩‍💻", "a\u00a0b"]


@pytest.mark.parametrize("text", SHAPES)
def test_what_people_write_is_taken(text):
    assert control_fault(text) == ""
    assert control_fault(f"{text}\r\n\t{text}\n", has_lines=True) == ""


@pytest.mark.parametrize("wrong", WRONG)
def test_the_character_and_its_place_are_named(wrong):
    fault = control_fault(f"ab{wrong}c")
    assert f"U+{ord(wrong):04X}" in fault
    assert "Character 3" in fault
    assert "leave it out" in fault
    assert control_fault(f"ab{wrong}c", has_lines=True)


@pytest.mark.parametrize("wrong", ["\n", "\t", "\u2028"])
def test_a_line_has_no_further_lines(wrong):
    assert control_fault(f"a{wrong}b")
    assert not control_fault(f"a{wrong}b", has_lines=True)


# --- forms -----------------------------------------------------------------------------------------------------


class Named(SoundForm):
    name = forms.CharField()
    kept = forms.UUIDField(required=False)
    remark = forms.CharField(required=False, widget=forms.Textarea)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["later"] = forms.CharField(required=False)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("field", ["name", "remark", "later"])
def test_a_form_names_the_field(field, wrong):
    form = Named({"name": "a", "kept": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", field: f"a{wrong}b"})
    assert set(form.errors) == {field}


def test_a_text_area_keeps_its_lines():
    assert Named({"name": "a", "remark": "1\r\n\t2"}).is_valid()
    assert set(Named({"name": "a\nb"}).errors) == {"name"}


# --- the API ---------------------------------------------------------------------------------------------------


class Asked(SoundSerializer):
    name = serializers.CharField(required=False)
    names = serializers.ListField(child=serializers.CharField(), required=False)
    text = TextField(required=False)
    data = serializers.DictField(required=False)
    value = serializers.JSONField(required=False)
    argv = serializers.ListField(child=ProgramField(trim_whitespace=False), required=False)


@pytest.mark.parametrize("wrong", WRONG[:-1])
def test_a_body_names_the_field(wrong):
    text = f"a{wrong}b"
    for body in (
        {"name": text}, {"names": ["a", text]}, {"text": text}, {"data": {"a": [{"b": text}]}},
        {"data": {text: 1}}, {"value": {text: 1}}, {"value": text},
    ):  # fmt: skip
        asked = Asked(data=body)
        assert not asked.is_valid(), body
        assert set(asked.errors) == set(body)


def test_a_text_of_several_lines_and_a_program_are_as_they_were_sent():
    body = {"text": "1\n\t2", "data": {"note": "1\n2"}, "argv": ["printf", "\x1b[1m%s\n", "x"]}
    asked = Asked(data=body)
    assert asked.is_valid(), asked.errors
    assert asked.validated_data == body


@pytest.mark.parametrize("wrong", [*WRONG[:-1], "\n"])
def test_work_is_not_called_so_alone_or_among_many(wrong):
    job = {"name": f"a{wrong}b", "argv": ["true"]}
    asked = WorkloadIn(data=job)
    assert not asked.is_valid()
    assert set(asked.errors) == {"name"}
    with pytest.raises(InvalidInput) as refused:
        jobs_read([{"name": "a", "argv": ["true"]}, job])
    assert set(refused.value.fields) == {"jobs[1].name"}
    with pytest.raises(InvalidInput):
        jobs_read([{"name": "a", "argv": ["true"], "env": {f"A{wrong}": "1"}}])
    with pytest.raises(InvalidInput):
        jobs_read([{"name": "a", "argv": ["true"], "affinity": f"a{wrong}b"}])
    assert jobs_read([{"name": "a", "argv": ["echo", wrong], "env": {"A": wrong}}])[0].argv == ("echo", wrong)


# --- files, paths, forms of tickets ----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", WRONG)
def test_a_path_a_cell_and_a_ticket_hold_none(wrong):
    with pytest.raises(PathRefused):
        names_of(f"folder/a{wrong}b")
    with pytest.raises(InvalidInput):
        values_take([TICKET_FIELD], {}, {"what": f"a{wrong}b"}, step="opening", is_final=True)
    if wrong not in "\r\x00":
        assert table_read(f"Name\na{wrong}b\n".encode())[1].fault


TICKET_FIELD = {
    "name": "what", "label_en": "What", "label_zh": "What", "kind": "text", "opening": "read_write",
    "is_required": True, "choices": [],
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_machines_tell_loses_them(wrong):
    assert control_removed(f"a{wrong}b 训练") == "ab 训练"
    assert control_removed(f"a{wrong}b\n\tc", has_lines=True) == "ab\n\tc"
    assert control_removed("half \ud800 of one").encode() == b"half ? of one"
