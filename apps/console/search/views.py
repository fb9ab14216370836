"""The palette's answers while somebody types."""

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from apps.console.search.selectors import found
from apps.identity.pages.access import cleaned, page
from apps.identity.pages.requests import PortalRequest
from apps.kernel.forms import SoundForm

LONGEST = 80


class SearchForm(SoundForm):
    q = forms.CharField(label=_("Search"), required=False, max_length=LONGEST)


@require_GET
@page(plane="provider")
def find(request: PortalRequest) -> HttpResponse:
    """Pages, acts and records by any part of their names and numbers, as far as the reader may see them."""
    text = cleaned(SearchForm(request.GET))["q"]
    groups = found(request.actor, request.entered_tenant, text)
    response = render(request, "console/_found.html", {"groups": groups, "text": text})
    response.headers["Cache-Control"] = "no-store"
    return response
