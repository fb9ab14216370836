"""In which zone sentences name times: the caller's who says his, else the centre's."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from portal.middleware import centre_defaults


@pytest.mark.django_db
@pytest.mark.req("ELA-1102")
@pytest.mark.parametrize(
    ("named", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("", "Asia/Shanghai"),
        ("../../etc/passwd", "Asia/Shanghai"),
        ("Nowhere/Land", "Asia/Shanghai"),
        ("x" * 5000, "Asia/Shanghai"),
    ],
)
def test_who_says_his_zone_reads_times_in_it(named, zone):
    handle = centre_defaults(lambda _request: HttpResponse(timezone.get_current_timezone_name()))
    request = RequestFactory().get("/api/v1/workloads", headers={"weir-time-zone": named})
    request.entered_tenant = None
    assert handle(request).content.decode() == zone
