"""How a program reaches what the open page is about."""

import shlex
from typing import Any

from django import template
from django.template import Context

from apps.console.help.examples import command_examples

register = template.Library()
# By what a page is about: the commands, the client's method, and the place of the API. `{name}` is what people call it.
_OF = {
    "workload": (
        "weir explain {name}\nweir logs {name}\nweir usage {name}",
        'centre.workload("{uid}")',
        "workloads",
    ),
    "volume": (
        "weir volume ls {place}\nweir cp data.csv {place}\nweir cp -r {place} .",
        'centre.volume("{uid}")',
        "volumes",
    ),
    "order": ("weir order {name}", 'centre.order("{uid}")', "orders"),
}


@register.inclusion_tag("console/help/_own_examples.html", takes_context=True)
def own_examples(context: Context, kind: str, uid: str, name: str) -> dict[str, Any]:
    """Commands, Python and curl that reach one workload, volume or order of the reader's, folded."""
    cli, python, collection = _OF[kind]
    said = {"uid": uid, "name": name, "place": shlex.quote(f"vol://{name}/")}
    portal = context["request"].build_absolute_uri("/").rstrip("/")
    path = f"/api/v1/{collection}/{uid}"
    return {
        "examples": command_examples(cli.format(**said), python.format(**said), path, portal),
        "group": collection,
    }
