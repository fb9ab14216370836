"""The setup page: what the first person at an empty centre sees, once, without an account."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from apps.centre.errors import AlreadySetUp, SetupTokenUnknown
from apps.centre.models import Centre
from apps.centre.selectors import centre_is_set_up, mail_by_environment
from apps.centre.setup_token import setup_token_is
from apps.console.centre.forms import SetupForm
from apps.console.centre.services import centre_setup
from apps.identity.pages.access import LOGIN
from apps.identity.pages.requests import PortalRequest
from apps.identity.pages.sessions import session_begin
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.money import CURRENCY


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: PortalRequest) -> HttpResponse:
    """Ask for the first operator and the centre's settings; afterwards the page is the way to sign in."""
    if request.method != "POST":
        return redirect(LOGIN) if centre_is_set_up() else _asked(request)
    if centre_is_set_up():
        raise AlreadySetUp()
    if not setup_token_is(request.POST.get("token", "")):
        return _token_page(request, SetupTokenUnknown())
    form = SetupForm(request.POST)
    if not form.is_valid():
        form.mark()
        return _form_page(request, form, status=400)
    try:
        centre, user = centre_setup(actor=SYSTEM, **form.setup())
    except InvalidInput as error:
        form.refuse(error)
        return _form_page(request, form, status=error.status)
    session_begin(request, user)
    answer = redirect("operator:home")
    answer.set_cookie(settings.LANGUAGE_COOKIE_NAME, centre.language, samesite="Lax")
    return answer


def _asked(request: PortalRequest) -> HttpResponse:
    token = request.GET.get("token", "")
    if not setup_token_is(token):
        return _token_page(request, SetupTokenUnknown() if token else None)
    defaults = Centre()
    first = {
        "token": token,
        "language": get_language(),
        "timezone": defaults.timezone,
        "mail_port": defaults.mail_port,
        "mail_security": defaults.mail_security,
    }
    form = SetupForm(initial=first)
    # Until it is sent the browser may put its own zone there.
    form.fields["timezone"].widget.attrs["data-guess-zone"] = ""
    return _form_page(request, form)


def _token_page(request: PortalRequest, error: WeirError | None) -> HttpResponse:
    status = error.status if error else 200
    return render(request, "console/setup_token.html", {"error": error}, status=status)


def _form_page(request: PortalRequest, form: SetupForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "currency": CURRENCY, "has_mail": mail_by_environment() is not None}
    return render(request, "console/setup.html", context, status=status)
