"""Sentences of the standard in the reader's language, and the colours of outcomes."""

from django import template
from django.utils.translation import get_language

from apps.conformance.catalogue.entries import Text
from apps.conformance.states import Outcome

register = template.Library()
# What goes on is not green yet, what is to come has no colour.
_TONES = {Outcome.RUNNING: "in_progress", Outcome.WAITING: "to_come"}


@register.simple_tag(name="text")
def text(sentence: Text) -> str:
    return sentence.zh if (get_language() or "").startswith("zh") else sentence.en


@register.filter
def tone(outcome: str) -> str:
    """The state whose colour an outcome or a run's state has."""
    return _TONES.get(Outcome(outcome), outcome) if outcome in Outcome.values else outcome
