import pytest

from apps.kernel.planes import in_tenant
from tests.apps.orders.scene import Scene, scene_make


@pytest.fixture
def scene(db, acme, member, operator) -> Scene:
    """People, commodity, quota and account of acme; the test runs inside acme."""
    made = scene_make(acme, member, operator)
    with in_tenant("acme"):
        yield made
