from datetime import timedelta

import pytest
from django.utils import timezone, translation

from apps.centers.models import Center, CenterSample, ResourceSpec, SpecOffer
from apps.centers.states import CenterStatus
from tests.harness.money import account_funded


@pytest.fixture(autouse=True)
def _english():
    """Refusals are compared by their words."""
    with translation.override("en"):
        yield


@pytest.fixture
def spec():
    """Make a specification: one GPU and 1 GiB where nothing else is said."""

    def make(code="gpu1", **more):
        given = {"gpu": 1, "memory_mb": 1024, "service_type": "batch", "price_minor": 500} | more
        return ResourceSpec.objects.create(resource_spec_id=code, resource_spec_name=code.upper(), **given)

    return make


@pytest.fixture
def centre():
    """Keep a centre that answered just now, with eight GPUs of which some are in use, and what it offers."""

    def make(code="lake", *specs, used_gpu=0, prices=None, age_s=0, offer=None, running=0, **more):
        given = {
            "name": f"Centre {code}",
            "kind": "slurm",
            "status": CenterStatus.AVAILABLE,
            "serves": "all",
        } | more
        row = Center.objects.create(
            ai_center_id=code, settings={"address": "https://secret-address.example"}, **given
        )
        at = timezone.now() - timedelta(seconds=age_s)
        CenterSample.objects.create(
            center=row,
            asked_at=at,
            answered_at=at,
            running_tasks=running,
            waiting_tasks=1,
            total_cpu=64,
            total_gpu=8,
            total_memory=65_536,
            used_gpu=used_gpu,
        )
        for each in specs:
            price = (prices or {}).get(each.resource_spec_id)
            SpecOffer.objects.create(spec=each, center=row, price_minor=price, **(offer or {}))
        return row

    return make


@pytest.fixture(autouse=True)
def _funded(request):
    """Replicas are sent for accounts that can pay for them."""
    if request.node.get_closest_marker("django_db") or "committed" in request.fixturenames:
        for name in ("acme", "globex"):
            account_funded(request.getfixturevalue(name))
