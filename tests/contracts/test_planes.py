"""Which schema a table belongs to, and what may point where (docs/decisions/0001-two-planes-one-database.md)."""

import pytest
from django.apps import apps
from django.db import models
from django_tenants.utils import get_public_schema_name

from apps.kernel.planes import PlaneError, SharedForeignKey, TenantOwned
from portal.settings.planes import SHARED_APPS, TENANT_APPS

OURS = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
TENANT_LABELS = {name.removeprefix("apps.") for name in TENANT_APPS}
TENANT_MODELS = [model for model in OURS if model._meta.app_label in TENANT_LABELS]
PROVIDER_MODELS = [model for model in OURS if model._meta.app_label not in TENANT_LABELS]


def keys(model):
    return [field for field in model._meta.get_fields() if isinstance(field, models.ForeignKey)]


def test_every_app_is_on_exactly_one_plane():
    assert not set(SHARED_APPS) & set(TENANT_APPS)
    assert get_public_schema_name() == "public"


@pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda model: model._meta.label)
def test_tenant_rows_point_at_provider_rows_by_shared_keys_only(model):
    for field in keys(model):
        is_to_provider = field.related_model._meta.app_label not in TENANT_LABELS
        assert is_to_provider == isinstance(field, SharedForeignKey), f"{model._meta.label}.{field.name}"


@pytest.mark.parametrize("model", PROVIDER_MODELS, ids=lambda model: model._meta.label)
def test_provider_rows_never_point_at_tenant_rows(model):
    for field in keys(model):
        assert field.related_model._meta.app_label not in TENANT_LABELS, f"{model._meta.label}.{field.name}"


@pytest.mark.parametrize(
    "model", [m for m in PROVIDER_MODELS if issubclass(m, TenantOwned)], ids=lambda model: model._meta.label
)
def test_rows_of_many_tenants_are_not_read_without_saying_whose(model):
    with pytest.raises(PlaneError):
        model.objects.all()


@pytest.mark.parametrize("model", OURS, ids=lambda model: model._meta.label)
def test_models_override_no_save_and_have_no_float_money(model):
    assert "save" not in vars(model), "rules live in services, not in save()"
    for field in model._meta.get_fields():
        name = getattr(field, "name", "")
        if any(word in name for word in ("amount", "price", "balance", "total", "face_value")):
            assert not isinstance(field, models.FloatField), f"{model._meta.label}.{name}"
