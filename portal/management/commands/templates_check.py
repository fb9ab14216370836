"""`manage.py templates_check`: every page template can be read, its tags and filters are known, its parts are there."""

import re
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template import TemplateDoesNotExist, TemplateSyntaxError, engines
from django.template.base import Node, Template
from django.template.loader_tags import ExtendsNode, IncludeNode

# To Django a tag or a variable that does not end on its line is text.
_BROKEN_TAG = re.compile(r"\{%(?:(?!%\}).)*\n|\{\{(?:(?!\}\}).)*\n")


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        folders = [Path(folder) for folder in engines["django"].engine.dirs]
        names = [path.relative_to(folder) for folder in folders for path in sorted(folder.rglob("*.*"))]
        faults = [fault for name in names for fault in template_faults(name)]
        if faults:
            raise CommandError("\n".join(faults))
        self.stdout.write(f"{len(names)} templates can be read")


def template_faults(name: Path) -> list[str]:
    """What keeps a template from being shown; parts and frames named by an expression are not followed."""
    engine = engines["django"].engine
    try:
        if broken := _BROKEN_TAG.search(Path(engine.find_template(str(name))[0].origin.name).read_text()):
            return [
                f"{name}: {broken[0].split(chr(10))[0]} … goes over several lines, and is shown as it stands"
            ]
        template = engine.get_template(str(name))
        for part in parts_of(template):
            engine.get_template(part)
    except (TemplateSyntaxError, TemplateDoesNotExist, UnicodeDecodeError) as error:
        return [f"{name}: {type(error).__name__}: {error}"]
    return []


def parts_of(template: Template) -> list[str]:
    """The other templates that it extends or includes by name."""
    kinds: tuple[type[Node], ...] = (ExtendsNode, IncludeNode)
    nodes = [node for kind in kinds for node in template.nodelist.get_nodes_by_type(kind)]
    named = [node.parent_name if isinstance(node, ExtendsNode) else node.template for node in nodes]
    return [expression.var for expression in named if isinstance(expression.var, str)]
