"""Sentences of the standard in the reader's language."""

from django import template
from django.utils.translation import get_language

from apps.conformance.catalogue.entries import Text

register = template.Library()


@register.simple_tag(name="text")
def text(sentence: Text) -> str:
    return sentence.zh if (get_language() or "").startswith("zh") else sentence.en
