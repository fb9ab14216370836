"""The figures of the menu, asked for again while a page stays open."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.console.navigation.selectors import menu_counts, navigation_for
from apps.identity.pages.access import page
from apps.identity.pages.requests import PortalRequest


@require_GET
@page(plane="provider")
def counts(request: PortalRequest) -> HttpResponse:
    """What waits now, each figure to be put in its place of the menu."""
    groups = navigation_for(request.actor, in_tenant=request.entered_tenant is not None)
    found = menu_counts(request.actor, request.entered_tenant)
    response = render(request, "_menu_counts.html", {"groups": groups, "menu_counts": found})
    response.headers["Cache-Control"] = "no-store"
    return response
