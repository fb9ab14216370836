"""What a page of ours may load and run, by Content-Security-Policy."""

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

# The kit of the operators' admin (unfold with Alpine) writes its behaviour into attributes and evaluates it.
_ADMIN = {"script-src": ["'self'", "'unsafe-eval'"]}


class PolicyMiddleware(CSPMiddleware):
    """One policy for all pages: scripts from here and none in a page; under /admin/ a script may evaluate text."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith("/admin/"):
            parts.replace = {**(parts.replace or {}), **_ADMIN}
        return parts
