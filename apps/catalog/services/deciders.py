"""That a process has somebody for each of its steps, before anybody applies by it."""

from django.utils.translation import gettext as _

from apps.catalog.errors import Undecidable
from apps.catalog.models import ProcessApp
from apps.catalog.selectors.processes import operator_roles_asked, steps_undecidable
from apps.identity.selectors import operator_role_title
from apps.kernel.translatable import localized


def decidable_check(row: ProcessApp) -> None:
    """Undecidable, naming the step and the cure, where an application by it would wait for nobody."""
    node = next(iter(steps_undecidable(row.process_template)), None)
    if node is None:
        return
    roles = [operator_role_title(code) or code for code in operator_roles_asked(node)]
    cure = _("Name somebody in the drawing who can decide it, and import it again.")
    if roles:
        cure = _("Give an operator the role %(roles)s, which must be allowed to decide.") % {
            "roles": ", ".join(roles)
        }
    step = {"step": localized(node.name_zh, node.name), "process": row}
    raise Undecidable(_("Nobody can decide the step %(step)s of %(process)s.") % step, cure=cure)
