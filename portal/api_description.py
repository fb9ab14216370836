"""The API's description (OpenAPI) as it is served: made once for each language and format, and kept.

It is the same for everybody as long as a process runs, and takes a second of a processor to make: made for each who
asks, it would be a way for strangers to keep the portal busy.
"""

from functools import lru_cache
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

_ROUTES = "portal.urls_api"
_making = Lock()


class DescriptionView(SpectacularAPIView):
    """The description in the reader's language or in that of `lang`; YAML or JSON as `Accept` says."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        """The whole of it."""
        renderer = request.accepted_renderer
        kind: Any = type(renderer)
        asked = request.GET.get("lang", "")
        language = asked if asked in dict(settings.LANGUAGES) else translation.get_language()
        # Whoever comes while it is made waits for it instead of making it, too.
        with _making:
            body: bytes = _rendered(kind, language or settings.LANGUAGE_CODE)
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        name = f"{spectacular_settings.TITLE}.{renderer.format}"
        return HttpResponse(
            body,
            content_type=f"{renderer.media_type}{charset}",
            headers={"Content-Disposition": f'inline; filename="{name}"'},
        )


@lru_cache(maxsize=4 * len(settings.LANGUAGES))
def _rendered(kind: type[BaseRenderer], language: str) -> bytes:
    with translation.override(language):
        generator: Any = SchemaGenerator
        described = generator(urlconf=_ROUTES).get_schema(request=None, public=True)
        rendered = kind().render(described, renderer_context={})
    return rendered.encode() if isinstance(rendered, str) else rendered
