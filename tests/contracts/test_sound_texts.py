"""Every form and every body of the API stands on what refuses control characters in texts."""

from importlib import import_module

from django import forms
from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer
from apps.kernel.forms import SoundForm


def ours(base):
    """Every class of ours below a base, once all routes are known."""
    for name in ("portal.urls_api", "portal.urls_provider", "portal.urls_tenant"):
        import_module(name)
    found, waiting = set(), [base]
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {each for each in below if each.__module__.startswith(("apps.", "portal."))}
        waiting += below
    return found


def test_every_form_refuses_control_characters():
    found = ours(forms.Form) - {SoundForm}
    assert len(found) > 50
    assert not [each for each in found if not issubclass(each, SoundForm)]


def test_every_body_and_query_refuses_control_characters():
    read = [each for each in ours(serializers.Serializer) if each.__name__.endswith(("In", "Filter"))]
    assert len(read) > 100
    assert not [each for each in read if not issubclass(each, SoundSerializer)]
