"""The page that submits work: grouped, what is rare folded, what is there chosen by name; and filled in once more."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.fleet.services.secrets import secret_set
from apps.images.models import Image
from apps.kernel.planes import in_tenant
from apps.scheduling.forms.submit import SubmitForm
from apps.scheduling.models import Workload
from apps.storage.models import Volume
from apps.storage.services.volumes import volume_make
from tests.apps.images.test_work import made, running  # noqa: F401
from tests.apps.scheduling.test_submit import alice, api, pool, row_of, submit  # noqa: F401
from tests.apps.scheduling.test_volumes import seeing

pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-501")]
PAGE = "/resources/submit/"


@pytest.fixture(autouse=True)
def places(settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"


@pytest.fixture
def volume(alice):  # noqa: F811
    with in_tenant("acme"):
        return volume_make(actor=alice.actor, name="data", size_mib=8)


def folds(page: str) -> dict[str, bool]:
    """By the title of each folded part, whether it is open."""
    found = re.findall(r'<details[^>]*data-test="submit-rare"([^>]*)>\s*<summary>\s*([^<]+?)\s*<', page)
    return {html.unescape(title): "open" in more for more, title in found}


def picked(page: str, name: str) -> tuple[str, str]:
    """What a field in which rows are chosen is sent as, and how its rows are called."""
    (field,) = re.findall(rf'<textarea name="{name}"([^>]*)>\s*(.*?)</textarea>', page, re.DOTALL)
    return html.unescape(field[1]), html.unescape(re.findall(r'data-picked="(.*?)"', field[0])[0])


def options(person, path: str, text: str = "") -> list[tuple[str, str]]:
    answer = person.page().get(path, {"q": text})
    assert answer.status_code == 200, answer.content
    shown = answer.content.decode()
    return re.findall(r'data-value="([^"]*)" data-title="([^"]*)"', shown)


def test_what_is_rare_is_folded_and_every_field_is_there_once(alice):  # noqa: F811
    page = alice.page().get(PAGE).content.decode()
    assert list(folds(page).values()) == [False] * 5
    names = re.findall(r'data-test="submit-((?!rare")[a-z_]+)"', page)
    assert len(names) == len(set(names))
    form = SubmitForm(queues=[], specs=[], environments=[])
    assert set(form.fields) <= set(names), "no field is left out of all parts"


def test_work_is_asked_for_again_with_all_its_values(alice, api, pool, volume, made):  # noqa: F811
    version = made()
    running("n1")
    seeing("n1")
    asked = {"image": "box:1", "volumes": ["data:/data:ro"], "outputs": "data", "signal": "USR1@90"}
    found = row_of(
        submit(api, **asked, checkpoint_signal="USR2", single_node=True, priority=3, run_timeout_s=3600)
    )
    page = alice.page().get(PAGE, {"again": str(found.uid)}).content.decode()
    assert picked(page, "image") == (str(version.uid), f'{{"{version.uid}": "box:1"}}')
    word = f"{volume.uid}:/data:ro"
    assert picked(page, "volumes") == (word, f'{{"{word}": "data:/data:ro"}}')
    assert picked(page, "outputs") == (str(volume.uid), f'{{"{volume.uid}": "data"}}')
    assert 'value="USR1@90"' in page
    assert folds(page) == {
        "More that the program needs": True,
        "How its shares lie": True,
        "Order and time": True,
        "After other work": False,
        "When it is stopped or lost": True,
    }
    assert "Not taken over" not in page
    # What the form then sends is the same work once more.
    given = {"name": "train", "kind": "program", "queue": "default", "command": "true", "compute_percent": 30}
    sent = {"image": str(version.uid), "volumes": word, "outputs": str(volume.uid), "memory_mib": 1024}
    assert alice.page().post(PAGE, given | sent).status_code == 302
    again = Workload.objects.across().exclude(pk=found.pk).get()
    assert again.work["volumes"] == found.work["volumes"]
    assert (again.work["image"], again.outputs) == (found.work["image"], found.outputs)


def test_what_may_be_used_no_longer_is_not_taken_over_and_the_page_says_so(
    alice,  # noqa: F811
    api,  # noqa: F811
    pool,  # noqa: F811
    volume,
    made,  # noqa: F811
    member,
):
    made()
    running("n1")
    seeing("n1")
    found = row_of(submit(api, image="box:1", volumes=["data"], outputs="data"))
    with in_tenant("acme"):
        other = member("acme", "tenant_front_line")
        Volume.objects.filter(pk=volume.pk).update(person=other.user)
    Image.objects.update(person=other.user)
    page = alice.page().get(PAGE, {"again": str(found.uid)}).content.decode()
    assert [picked(page, name)[0] for name in ("image", "volumes")] == ["", ""]
    assert str(volume.uid) not in page
    told = page.split("Not taken over")[1][:400]
    assert all(
        words in told for words in ("volumes or assets", "the container image", "the volume for its outputs")
    )


def test_volumes_and_images_are_offered_to_who_may_use_them_alone(alice, volume, made, member):  # noqa: F811
    made()
    made(tag="2")
    made(name="kept", owner="tenant")
    stranger, colleague = member("globex", "tenant_front_line"), member("acme", "tenant_front_line")
    assert options(alice, "/files/picks/", "da") == [("data", "data")]
    assert options(alice, "/files/picks/", "nothing") == []
    assert options(alice, "/images/picks/", "box:2") == [("box:2", "box:2")]
    assert {value for value, _title in options(alice, "/images/picks/")} == {"box:1", "box:2", "kept:1"}
    assert options(colleague, "/files/picks/") == []
    assert options(colleague, "/images/picks/") == [("kept:1", "kept:1")]
    assert options(stranger, "/files/picks/") == options(stranger, "/images/picks/") == []


def test_several_of_a_name_are_told_apart_by_uid(alice, volume, made, member):  # noqa: F811
    keeper = member("acme", "tenant_operations_manager")
    with in_tenant("acme"):
        shared = volume_make(actor=keeper.actor, name="data", size_mib=8, owner="tenant")
    mine, theirs = made(), made(owner="tenant")
    assert {value for value, _ in options(alice, "/files/picks/")} == {str(volume.uid), str(shared.uid)}
    assert {value for value, _ in options(alice, "/images/picks/")} == {str(mine.uid), str(theirs.uid)}


def test_a_volume_whose_order_ended_keeps_no_outputs_and_is_not_offered_for_them(alice, volume):  # noqa: F811
    with in_tenant("acme"):
        Volume.objects.filter(pk=volume.pk).update(kept_until=timezone.now() + timedelta(days=1))
    assert options(alice, "/files/picks/") == [("data", "data")]
    assert options(alice, "/files/picks/outputs/") == []


def test_secrets_and_other_work_are_offered_by_name(alice, api, pool, acme, member):  # noqa: F811
    secret_set(actor=alice.actor, tenant=acme, name="HF_TOKEN", secret_value="x", is_shared=False)
    row = row_of(submit(api))
    other = member("acme", "tenant_front_line")
    assert options(alice, "/resources/secrets/picks/", "hf") == [("HF_TOKEN", "HF_TOKEN")]
    assert options(other, "/resources/secrets/picks/") == []
    assert options(alice, "/resources/picks/", "train") == [(row.no, row.no)]
