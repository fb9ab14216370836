"""A real Ray joins by the operators' page, is seen there, and is told by what the command line reads."""

import pytest

from apps.centers.models import Center
from tests.harness.ray import RayCluster

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("engine ray")]


@pytest.mark.req("JC-6.1.1-2", "JC-6.4-4")
def test_a_ray_joins_by_page_with_its_own_fields(operator, ray: RayCluster, settings):
    settings.WEIR_CENTER_LOCAL_ADDRESSES = True
    person = operator("cluster_administrator")
    admin = person.page()
    page = admin.get("/centers/join/?kind=ray", headers={"accept-language": "zh-hans"}).content.decode()
    for text in (
        'data-test="kind-ray"',
        'data-test="center-kind-token"',
        "RAY_AUTH_MODE=token",
        "集群仪表板的地址",
    ):
        assert text in page
    # Nothing of the other kind's.
    assert "kind_partition" not in page
    form = {
        "ai_center_id": "rays", "name": "光线", "security_grade": "1", "stale_after_s": "30", "lost_after_s": "300",
        "kind_address": ray.address, "kind_devices": "user_define=my_card", "kind_token": "x" * 43,
    }  # fmt: skip
    answer = admin.post("/centers/join/?kind=ray", form)
    assert answer.status_code == 400
    assert 'data-code="center_refused"' in answer.content.decode()
    assert not Center.objects.exists()
    answer = admin.post("/centers/join/?kind=ray", form | {"kind_token": ray.token})
    assert answer.status_code == 302, answer.content.decode()
    # Whom it serves is asked first: a cluster of this kind keeps nobody apart.
    assert answer["Location"] == "/centers/rays/tenants/"
    asked = admin.get(answer["Location"], headers={"accept-language": "en"}).content.decode()
    assert "Only another cluster keeps tenants apart." in asked
    page = admin.get("/centers/rays/", headers={"accept-language": "en"}).content.decode()
    for text in ("光线", "Available", "ray 2."):
        assert text in page
    assert ray.token not in page
    api = person.api()
    [told] = api.get("/api/v1/centers").json()["results"]
    assert (told["kind"], told["status"]) == ("ray", 1)
    [kind] = [each for each in api.get("/api/v1/center-kinds").json() if each["code"] == "ray"]
    assert [each["name"] for each in kind["inputs"]] == ["address", "authority", "token", "devices"]
