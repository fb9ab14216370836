"""Pages travel compressed: a quarter of their bytes. What is downloaded, exported or streamed stays as it is."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

Handler = Callable[[HttpRequest], HttpResponseBase]


def compressed(get_response: Handler) -> Handler:
    """Compress what is HTML and whole, for who takes gzip.

    A secret in a page that also repeats what its caller sent could be guessed by the page's length (BREACH): Django
    lengthens each answer by chance, and masks its CSRF token anew each time.
    """
    gzip = GZipMiddleware(get_response)

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        return gzip.process_response(request, response) if is_page and not response.streaming else response

    return handle
