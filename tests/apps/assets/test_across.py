"""The operators' page of all tenants' assets (PLAT-ASSET-8): whose, of what kind, where and how much; who sees it; and
the platform on the tenant's own page."""

import re

import pytest

from apps.assets.across_tenants import AssetsAcross
from apps.assets.models import Asset, AssetVersion
from apps.assets.states import CENTRE
from apps.centre.models import StorageClass
from apps.kernel.errors import Forbidden
from apps.kernel.planes import in_tenant
from apps.storage.models import Volume

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-8")]
GIB = 2**30


@pytest.fixture
def nas(db):
    return StorageClass.objects.create(
        code="nas", name_zh="网络存储", name_en="Lake NAS", kind="mounted", path="/srv/nas"
    )


@pytest.fixture
def kept(acme, globex, member, nas):
    """By name: whose it is, of what kind, where its ready versions lie, and their bytes."""
    made = {
        "digits": ("acme", "dataset", [(None, 3 * GIB), (nas, 9 * GIB)]),
        "net": ("acme", "model", [(None, 7)]),
        "words": ("globex", "dataset", [(nas, 2 * GIB)]),
        "sorter": ("globex", "algorithm", []),
    }
    people = {schema: member(schema, "tenant_front_line") for schema in ("acme", "globex")}
    for name, (schema, kind, versions) in made.items():
        with in_tenant(schema):
            owner = people[schema].user
            asset = Asset.objects.create(kind=kind, name=name, owner=owner, introduction=f"100%_of {name}")
            for number, (place, size) in enumerate(versions, 1):
                volume = Volume.objects.create(
                    name=f"{name}-{number}",
                    size_mib=16384,
                    owner="tenant",
                    is_asset=True,
                    storage_class=place,
                )
                AssetVersion.objects.create(
                    asset=asset, number=number, state="ready", volume=volume, source_uid=volume.uid, files=1,
                    size_bytes=size, sha256="a" * 64, made_by=owner,
                )  # fmt: skip
    return people


def names(page, **given):
    answer = page.get("/assets/", given)
    assert answer.status_code == 200, answer.content.decode()[:800]
    return re.findall(r'data-name="([^"]+)"', answer.content.decode())


def test_operators_find_the_assets_of_all_tenants_by_each_condition(kept, operator):
    page = operator("operations_manager").page()
    assert names(page) == ["digits", "net", "sorter", "words"]
    assert names(page, tenant="acme") == ["digits", "net"]
    assert names(page, tenant="nobody") == []
    assert names(page, kind="dataset") == ["digits", "words"]
    assert names(page, platform="nas") == ["digits", "words"]
    assert names(page, platform="~centre") == ["digits", "net"]
    assert names(page, size="10") == ["digits"]
    assert names(page, size="1") == ["digits", "words"]
    assert names(page, search="WORD") == ["words"]
    assert names(page, search="100%_of n") == ["net"]
    assert names(page, search="100_") == []
    assert names(page, search=kept["globex"].user.display_name) == ["sorter", "words"]
    assert names(page, tenant="globex", kind="dataset", platform="nas", size="1", search="w") == ["words"]
    assert page.get("/assets/", {"kind": "secret"}).status_code == 400
    assert page.get("/assets/", {"size": "1; DROP"}).status_code == 400


def test_a_row_says_all_of_it_and_leads_nowhere_into_the_tenant(kept, operator):
    person = operator("operations_manager")
    (row, *_others) = AssetsAcross(actor=person.actor, tenant="acme")
    assert (row.tenant.schema_name, row.newest, row.size_bytes) == ("acme", 2, 12 * GIB)
    assert set(row.platforms) == {CENTRE, "nas"}
    text = person.page().get("/assets/").content.decode()
    for said in ("Acme Research", "12.0", "Lake NAS", "Dataset", 'data-test="nav-assets_admin-assets"'):
        assert said in text, said
    assert "/t/acme/" not in text
    assert (
        "<form"
        not in text.partition('<section class="card">')[2].partition("</form>")[2].partition("</section>")[0]
    )


def test_pages_are_read_one_by_one(kept, operator):
    rows = AssetsAcross(actor=operator("executive").actor)
    assert len(rows) == 4
    assert [row.name for row in rows[1:3]] == ["net", "sorter"]
    assert [row.name for row in rows[3:9]] == ["words"]
    assert rows[9:] == []


def test_each_part_of_the_list_is_read_of_the_tenants_it_lies_in(kept, operator):
    """Pages that end within a tenant, between two, and beyond the last."""
    rows = AssetsAcross(actor=operator("operations_manager").actor)
    assert len(rows) == 4
    for start, stop, found in (
        (0, 1, ["digits"]), (0, 2, ["digits", "net"]), (1, 3, ["net", "sorter"]), (2, 3, ["sorter"]),
        (3, 4, ["words"]), (2, 20, ["sorter", "words"]), (4, 8, []),
    ):  # fmt: skip
        assert [row.name for row in rows[start:stop]] == found
    assert rows[3].tenant.schema_name == "globex"
    found = AssetsAcross(actor=operator("operations_manager").actor, search="100%_of n", kind="model")
    assert [row.name for row in found[0:9]] == ["net"]


def test_only_who_may_see_them_comes_to_them(kept, operator):
    with pytest.raises(Forbidden):
        AssetsAcross(actor=kept["acme"].actor)
    line = operator("front_line").page()
    assert line.get("/assets/").status_code == 403
    assert 'data-test="nav-assets_admin-assets"' not in line.get("/").content.decode()
    assert operator("executive").page().post("/assets/", {}).status_code == 405
    assert kept["acme"].page().get("/assets/", headers={"host": "localhost"}).status_code == 403


def test_a_tenants_list_says_the_platform_and_is_narrowed_by_it(kept):
    page = kept["acme"].page()
    assert names(page) == ["digits", "net"]
    assert names(page, platform="nas") == ["digits"]
    assert names(page, platform="~centre") == ["digits", "net"]
    assert names(page, platform="elsewhere") == []
    text = page.get("/assets/").content.decode()
    assert len(re.findall(r'data-test="asset-platforms">[^<]*Lake NAS', text)) == 1
