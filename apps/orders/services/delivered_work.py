"""What an order's line delivers: its commodity as it is now, in its image, with the buyer's program and volumes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from apps.assets.mounts import mounts_of
from apps.catalog.models import Commodity
from apps.fleet.services.secrets import secrets_find
from apps.images.work import image_of
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import current_tenant
from apps.orders.types import MOUNTING

# A script is one word of its command, and nodes take no longer ones.
SCRIPT_MOST = 32_000
_NAMES = {"argv", "script", "env", "image", "assets", "secrets"}
# What stands for a program while none was asked for yet.
_ANY = {"argv": ["true"]}


def delivery_of(
    actor: Actor,
    commodity: Commodity,
    *,
    volumes: Sequence[str] = (),
    program: Mapping[str, Any] | None = None,
) -> dict[str, object]:
    """What is delivered, and where, in its image as that is now, with the volumes: a program alone can use them.

    `program` is the buyer's own, of a commodity that runs that; None: any. Raises InvalidInput for an image, an asset,
    a secret or a volume that is not there, and for what is no program. Of its secrets it holds the keys alone.
    """
    own = dict(_ANY if program is None else program) if commodity.is_own_program else {}
    delivery, work = commodity.delivery, {**commodity.work, **_own_work(own)}
    image = image_of(actor=actor, asked=own.get("image", "") or commodity.image)
    if image is not None:
        work |= {"image": image.told, "argv": work.get("argv") or list(image.entry_point)}
        delivery["containers"] = image.architecture
    if commodity.is_own_program and not work.get("argv"):
        raise InvalidInput(fields={"program": _("Say what is to run: a command, a script, or an image.")})
    mounts, storage = mounts_of(
        actor=actor, volumes=volumes if commodity.kind in MOUNTING else (), assets=own.get("assets", ())
    )
    if own.get("secrets"):
        delivery["secrets"] = secrets_find(current_tenant(), actor, own["secrets"])
    if mounts:
        work["volumes"], delivery["storage"] = mounts, storage
    return {**delivery, "work": work}


def program_check(commodity: Commodity, program: Mapping[str, Any]) -> None:
    """InvalidInput for a program of the buyer's where the centre's runs, and for what says too much or twice."""
    if program and not commodity.is_own_program:
        raise InvalidInput(fields={"program": _("It runs a program of the centre's.")})
    if set(program) - _NAMES:
        told = _("It has nothing but %(names)s.") % {"names": ", ".join(sorted(_NAMES))}
        raise InvalidInput(fields={"program": told})
    if program.get("argv") and program.get("script"):
        raise InvalidInput(fields={"program": _("Give a command or a script, not both.")})
    for name in set(program.get("secrets", ())) & set(program.get("env", {})):
        raise InvalidInput(fields={"secrets": _("%(name)s is set as a plain variable too.") % {"name": name}})
    if len(program.get("script", "")) > SCRIPT_MOST:
        told = _("At most %(most)s characters.") % {"most": SCRIPT_MOST}
        raise InvalidInput(fields={"program": told})


def _own_work(program: Mapping[str, Any]) -> dict[str, Any]:
    if not program:
        return {}
    script = program.get("script", "")
    argv = ["sh", "-c", script] if script else list(program.get("argv", ()))
    return {"argv": argv, "env": dict(program.get("env", {}))}
