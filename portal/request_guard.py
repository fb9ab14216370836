"""The outermost check: what no view could understand is refused at once, and an API call is always answered in JSON."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext as _

from apps.kernel.errors import Forbidden, InvalidInput, NotFound, TooLarge, WeirError
from portal.middleware import API, program_answer, refuse

Handler = Callable[[HttpRequest], HttpResponse]
_ERRORS: dict[int, type[WeirError]] = {403: Forbidden, 404: NotFound, 413: TooLarge}


def sound(get_response: Handler) -> Handler:
    """Refuse addresses with a NUL in them and bodies beyond the limit, before anything is read or looked up.

    A NUL is no text to the database, whichever filter it came in with. Refusals that never reached an API view
    (an unknown route, a host that is not ours) get the API's one error shape here.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        error = _unsound(request)
        if error is not None:
            with override(get_language_from_request(request)):
                return refuse(request, error)
        response = get_response(request)
        is_api = request.path_info.startswith(API)
        return _shaped(request, response) if is_api and response.status_code >= 400 else response

    return handle


def _unsound(request: HttpRequest) -> WeirError | None:
    query = request.META.get("QUERY_STRING", "")
    if "\x00" in request.path_info or "\x00" in query or "%00" in query:
        return InvalidInput(_("The address holds a NUL character."), cure=_("Leave it out."))
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdecimal()) or len(length) > 15:
        return InvalidInput(_("The length of the body is not a number."))
    if int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return TooLarge(
            _("A request holds at most %(limit)s MiB.")
            % {"limit": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // (1024 * 1024)}
        )
    return None


def _shaped(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if response.get("Content-Type", "").startswith(("application/json", "application/vnd.oai.openapi")):
        return response
    error = _ERRORS.get(response.status_code, WeirError)()
    if response.status_code >= 500:
        error = WeirError(_("The server made a mistake."), cure=_("Tell the operators the request's number."))
        error.code = "server_error"
    answer = program_answer(request, error, response.status_code)
    answer.cookies = response.cookies
    return answer
