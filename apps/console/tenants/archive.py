"""Everything that is kept of a tenant, as one archive: its records from the centre's tables, its data from its own."""

import base64
import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from django.apps import apps
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction

from apps.kernel.planes import in_tenant
from apps.tenancy.models import Tenant

_CHUNK = 2000
# What lets somebody in, or proves who he is, leaves the centre in no file.
_SECRET = ("digest", "secret", "token", "password", "credential", "sealed", "hash", "session")
_IN_MEMORY = 8 * 2**20
README = """What this archive holds of the tenant {name} ({schema})

records/  what the centre keeps of it for good: bills and their lines, the ledger, metering records, workloads,
          slices, messages
data/     what only it has: organizations, people's posts, business systems, roles, forms,
          orders, tickets, tasks

Each file is a table as CSV in UTF-8: a head, then a line for each row, in the order in which they were made. Times are
UTC, amounts as in the database. JSON and bytes (base64) stand in their cells. Passwords, tokens, keys and what proves
them are left out. All files show the same moment.
"""


class _Cells(DjangoJSONEncoder):
    def default(self, o: Any) -> Any:
        return (
            base64.b64encode(bytes(o)).decode() if isinstance(o, bytes | memoryview) else super().default(o)
        )


def tenant_archive(tenant: Tenant) -> IO[bytes]:
    """A ZIP archive of all rows of a tenant, of one moment, at its beginning; a file on disk where it is large."""
    target: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    is_inside = connection.in_atomic_block
    with transaction.atomic(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        if not is_inside:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        archive.writestr("README.txt", README.format(name=tenant.name, schema=tenant.schema_name))
        for model, way in _records():
            _table(archive, f"records/{_name(model)}.csv", model._base_manager.filter(**{way: tenant}))
        with in_tenant(tenant.schema_name):
            for model in _data():
                _table(archive, f"data/{_name(model)}.csv", model._base_manager.all())
    target.seek(0)
    return target


def _name(model: type[models.Model]) -> str:
    return str(model._meta.label_lower).replace(".", "_")


def _records() -> Iterator[tuple[type[models.Model], str]]:
    """The centre's tables whose rows belong to one tenant each, and the parts of such rows; by which way to it."""
    ours = {app for app in getattr(settings, "SHARED_APPS", ()) if app.startswith("apps.")}
    shared = [model for model in apps.get_models() if apps.get_app_config(model._meta.app_label).name in ours]
    owned = {model for model in shared if _keys(model, {Tenant})}
    for model in shared:
        if model in owned:
            yield model, _keys(model, {Tenant})[0]
        elif keys := _keys(model, owned):
            yield model, f"{keys[0]}__tenant"


def _keys(model: type[models.Model], to: set[type[models.Model]]) -> list[str]:
    """The names of the model's foreign keys to one of these."""
    return [
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and field.related_model in to
    ]


def _data() -> Iterator[type[models.Model]]:
    """The tables of a tenant's own schema."""
    for name in getattr(settings, "TENANT_APPS", ()):
        yield from apps.get_app_config(name.rpartition(".")[2]).get_models()


def _table(archive: zipfile.ZipFile, name: str, rows: models.QuerySet[Any]) -> None:
    columns = [
        field.attname
        for field in rows.model._meta.concrete_fields
        if not any(word in field.attname for word in _SECRET)
    ]
    with archive.open(name, "w") as raw, io.TextIOWrapper(raw, "utf-8", newline="") as text:
        lines = csv.writer(text)
        lines.writerow(columns)
        found = rows.order_by("pk").values_list(*columns)
        lines.writerows([_cell(value) for value in row] for row in found.iterator(chunk_size=_CHUNK))


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, cls=_Cells, ensure_ascii=False).strip('"')
