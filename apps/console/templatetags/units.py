"""Fields with a choice of units in templates that are written by hand."""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from apps.kernel.unit_fields import MEMORY, MINUTES, SECONDS, UnitWidget

register = template.Library()
_SCALES = {"seconds": SECONDS, "minutes": MINUTES, "memory": MEMORY}


@register.simple_tag
def unit_field(
    scale: str, name: str, value: Any = "", *, at: str, test: str = "", required: bool = False
) -> SafeString:
    """`{% unit_field "memory" "size_mib" 1024 at="volume-size" %}`: what a `UnitField` of that name reads; `at` is
    its id, and how tests find it where `test` does not say so."""
    given = {"id": at, "data-test": test or at}
    return UnitWidget(_SCALES[scale]).render(name, value, given | ({"required": True} if required else {}))
