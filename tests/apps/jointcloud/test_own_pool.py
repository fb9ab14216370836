"""Our own pool joins the network by the operators' page, and is refused where nobody could work in its name."""

import pytest

from apps.centers.adapters.base import CenterRefused, Quantities
from apps.centers.adapters.kinds import adapter_of
from apps.centers.models import Center
from apps.jointcloud.local.accelerators import card_for, kind_of

pytestmark = [pytest.mark.django_db, pytest.mark.req("JC-6.4-5")]
FORM = {
    "ai_center_id": "own", "name": "Own", "security_grade": "1", "stale_after_s": "30", "lost_after_s": "300",
}  # fmt: skip


@pytest.fixture
def account(acme, globex, member):
    """Somebody of acme in whose name jobs run."""
    return member("acme", "tenant_front_line").user


@pytest.mark.req("JC-6.1.1-2")
def test_it_joins_by_page_and_has_no_credential(operator, account):
    admin = operator("cluster_administrator").page()
    page = admin.get("/centers/join/?kind=local", headers={"accept-language": "zh-hans"}).content.decode()
    for text in ('data-test="kind-local"', "本平台资源池", '<option value="acme"', '<option value="globex"'):
        assert text in page
    assert 'type="password"' not in page
    given = FORM | {"kind_tenant": "acme", "kind_user": account.username}
    answer = admin.post("/centers/join/?kind=local", given)
    assert answer.status_code == 302, answer.content.decode()
    assert answer["Location"] == "/centers/own/tenants/"
    page = admin.get("/centers/own/", headers={"accept-language": "en"}).content.decode()
    assert "local (weir " in page
    assert "center-credential" not in page
    assert "Credential set" not in page
    for ask in (admin.get, admin.post):
        answer = ask("/centers/own/credential/", headers={"accept-language": "en"})
        assert (answer.status_code, "Own has no credential." in answer.content.decode()) == (409, True)


@pytest.mark.parametrize(
    ("tenant", "user", "words"),
    [
        ("nowhere", "alice", "kind_tenant"),
        ("acme", "nobody-at-all", "There is no login account nobody-at-all."),
        ("globex", None, "does not belong to the tenant"),
        ("acme", "operator", "does not belong to the tenant"),
    ],
)
def test_who_may_not_work_there_is_no_account_for_it(operator, account, tenant, user, words):
    person = operator("cluster_administrator", username="operator")
    given = FORM | {"kind_tenant": tenant, "kind_user": user or account.username}
    answer = person.page().post("/centers/join/?kind=local", given, headers={"accept-language": "en"})
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not Center.objects.exists()


def test_one_whose_account_is_disabled_is_refused(account):
    adapter = adapter_of("local", {"tenant": "acme", "user": account.username}, {}, local_addresses=False)
    assert adapter.resources().total == Quantities()
    account.is_active = False
    account.save(update_fields=["is_active"])
    for call in (adapter.check, adapter.resources):
        with pytest.raises(CenterRefused, match=account.username):
            call()
    # What was sent is told all the same.
    assert adapter.job_find("weir-1") is None


@pytest.mark.parametrize("asked", [Quantities(npu=2), Quantities(gpu=1, npu=1), Quantities(user_define=1)])
def test_what_the_pool_gives_no_single_job_is_refused(asked):
    with pytest.raises(CenterRefused):
        card_for(asked)


def test_devices_are_counted_by_their_vendors():
    assert [kind_of(name) for name in ("nvidia", "ascend", "cambricon", "cpu", "unheard-of")] == [
        "gpu",
        "npu",
        "mlu",
        "user_define",
        "user_define",
    ]
