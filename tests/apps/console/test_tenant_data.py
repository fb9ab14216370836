"""What is left of a tenant whose data were deleted: looked for in every table and on disk, by a word that all of it
held (PLAT-TEN-8)."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from apps.console import tasks
from apps.fleet.models import FolderUpload, LogChunk, Secret, Slice, WorkFolder
from apps.fleet.models.folder_uploads import FolderUse
from apps.fleet.services.folder_files import piece_put
from apps.fleet.services.secrets import secret_set
from apps.identity.services.tokens import api_token_make, api_token_user
from apps.identity.services.users import membership_add, user_create
from apps.images.models import Image, ImageVersion
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Unauthenticated
from apps.kernel.planes import in_tenant
from apps.notices.services import notice_send
from apps.orders.models import ApplicationForm, Attachment
from apps.orgs.models import Organization
from apps.orgs.services.organizations import organization_create
from apps.scheduling.models import Decision, Environment, HookCall, ResourceTicket, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.telemetry.services.logs import log_add
from apps.tenancy.services import tenant_close, tenant_delete, tenant_provision, tenant_suspend
from tests.apps.scheduling.pool import node_make, submit, tenant_ready

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-8")]
WORD = "zanzibar"
# Bills and what they are told under, the operation log, and people's accounts.
KEPT = ("audit_", "billing_", "identity_user")


@pytest.fixture(autouse=True)
def disk(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.WEIR_FOLDERS_DIR = tmp_path / "folders"
    return tmp_path


@pytest.fixture
def eve(settings):
    tenant = tenant_provision(actor=SYSTEM, schema="initech", name="Initech")
    tenant_ready(tenant)
    user = user_create(actor=SYSTEM, username="eve", display_name="Eve", password="correct-horse-9")
    membership_add(actor=SYSTEM, user=user, tenant=tenant)
    return SimpleNamespace(tenant=tenant, user=user)


def filled(eve):
    """Something of everything that a tenant leaves behind, each with the word in it; its work, and a kept charge."""
    tenant, user = eve.tenant, eve.user
    node_make("n1")
    row = submit(tenant, work={"argv": ["echo", WORD], "env": {"NAME": WORD}})
    cycle_run(actor=SYSTEM)
    part = Slice.plain.get(workload_uid=row.uid)
    Environment.plain.create(
        tenant=tenant, name=WORD, made_by=user, compute_percent=1, memory_mib=1, shares=1
    )
    Workload.plain.filter(pk=row.pk).update(
        state="finished", name_en=WORD, labels={"person": WORD}, client_key=WORD, ended_at=timezone.now()
    )
    Slice.plain.filter(pk=part.pk).update(
        reason=WORD, session={"host": WORD}, state="exited", final_at=timezone.now()
    )
    HookCall.objects.create(
        hook="h", kind="ended", schema="initech", workload_uid=row.uid, at=timezone.now(), params={"x": WORD}
    )
    ResourceTicket.plain.create(
        tenant=tenant, no="RT-1", applicant=user, reason=WORD, from_at=timezone.now(),
        until_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    image = Image.objects.create(tenant=tenant, owner="person", person=user, name=WORD)
    ImageVersion.objects.create(image=image, tag="1", source=WORD)
    LogChunk.objects.create(slice=part, offset=0, size=len(WORD), text=WORD)
    secret_set(actor=SYSTEM, tenant=tenant, name=WORD.upper(), secret_value="swordfish", is_shared=True)
    upload = FolderUpload.plain.create(tenant=tenant, owner=user, sha256="0" * 64, size_bytes=8, pieces=1)
    FolderUse.objects.create(workload_uid=row.uid, upload=upload)
    folder = WorkFolder.plain.create(
        tenant=tenant, workload_uid=row.uid, share=0, node=part.node, slice_uid=part.uid, problem=WORD,
        transfer="6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    )  # fmt: skip
    for uid in (upload.uid, folder.transfer):
        piece_put(uid, 0, WORD.encode())
    notice_send(actor=SYSTEM, user_ids=[user.pk], msgid=WORD, tenant=tenant)
    log_add(actor=SYSTEM, text=WORD, tenant="initech")
    with in_tenant("initech"):
        organization_create(actor=SYSTEM, name=WORD)
        form = ApplicationForm.objects.create(no="F-1", applicant=user, applicant_name=WORD, duration_s=60)
        attached = Attachment(form=form, name=WORD, size=1, content_type="text/plain", uploader=user)
        attached.file.save("a.txt", ContentFile(WORD.encode()))
        attached.save()
    _token, secret = api_token_make(actor=SYSTEM, user=user, name="t", tenant=tenant)
    return row, secret


def tables_with(word):
    """The public tables that hold the word anywhere in a row, by name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = [name for (name,) in cursor.fetchall()]
        found = set()
        for name in names:
            cursor.execute(
                f'SELECT EXISTS (SELECT 1 FROM public."{name}" one WHERE one::text ILIKE %s)', [f"%{word}%"]
            )
            found |= {name} if cursor.fetchone()[0] else set()
    return found


def files_with(folder, word):
    return [path for path in folder.rglob("*") if path.is_file() and word in path.read_text(errors="replace")]


def test_nothing_of_its_own_is_left_in_tables_and_on_disk(
    eve, disk, monkeypatch, django_capture_on_commit_callbacks
):
    row, token = filled(eve)
    assert api_token_user(token).user == eve.user
    assert len(tables_with(WORD)) > 8
    assert len(files_with(disk, WORD)) == 3
    figures = Workload.plain.values(
        "no", "shares", "compute_percent", "memory_mib", "queue", "created_at", "ended_at"
    )
    before = figures.get(pk=row.pk)
    monkeypatch.setattr(tasks, "deleted_files_sweep", SimpleNamespace(delay=tasks.deleted_files_sweep))
    tenant = tenant_close(actor=SYSTEM, tenant=tenant_suspend(actor=SYSTEM, tenant=eve.tenant))
    with django_capture_on_commit_callbacks(execute=True):
        tenant_delete(actor=SYSTEM, tenant=tenant)
    assert {name for name in tables_with(WORD) if not name.startswith(KEPT)} == set()
    assert files_with(disk, WORD) == []
    with pytest.raises(Unauthenticated):
        api_token_user(token)
    assert not Secret.plain.filter(tenant=tenant).exists()
    assert not Decision.objects.filter(workload=row).exists()
    with in_tenant("initech"):
        assert not Organization.objects.exists()
    row.refresh_from_db()
    assert (row.name_en, row.work, row.labels) == (row.no, {}, {})
    assert figures.get(pk=row.pk) == before
    assert Slice.plain.get(workload_uid=row.uid).compute_percent == 50


def test_other_tenants_keep_theirs(eve, acme, disk, monkeypatch, django_capture_on_commit_callbacks):
    filled(eve)
    tenant_ready(acme)
    mine = submit(acme, work={"argv": ["echo", "mine"], "env": {}})
    secret_set(actor=SYSTEM, tenant=acme, name="MINE", secret_value="x", is_shared=True)
    log_add(actor=SYSTEM, text="mine", tenant="acme")
    kept = disk / "media" / "acme" / "attachments" / "a.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    monkeypatch.setattr(tasks, "deleted_files_sweep", SimpleNamespace(delay=tasks.deleted_files_sweep))
    tenant = tenant_close(actor=SYSTEM, tenant=tenant_suspend(actor=SYSTEM, tenant=eve.tenant))
    with django_capture_on_commit_callbacks(execute=True):
        tenant_delete(actor=SYSTEM, tenant=tenant)
    assert {"scheduling_workload", "telemetry_logentry"} <= tables_with("mine")
    assert Secret.plain.get().name == "MINE"
    assert Workload.plain.get(pk=mine.pk).work["argv"] == ["echo", "mine"]
    assert kept.read_text() == "mine"


def test_files_that_a_killed_worker_left_go_with_the_sweep_and_of_no_one_else(eve, disk):
    left = disk / "media" / "initech" / "attachments" / "a.txt"
    left.parent.mkdir(parents=True)
    left.write_text(WORD)
    tasks.deleted_files_sweep()
    assert left.exists()
    tenant_delete(
        actor=SYSTEM,
        tenant=tenant_close(actor=SYSTEM, tenant=tenant_suspend(actor=SYSTEM, tenant=eve.tenant)),
    )
    tasks.deleted_files_sweep()
    tasks.deleted_files_sweep()
    assert not (disk / "media" / "initech").exists()


def test_the_page_says_what_goes_and_what_stays(eve, operator):
    tenant_close(actor=SYSTEM, tenant=tenant_suspend(actor=SYSTEM, tenant=eve.tenant))
    shown = operator("system_administrator").page().get("/tenants/initech/").content.decode()
    for words in (
        "This goes for good",
        "This stays",
        "Secrets, and API tokens",
        "Backups made before",
        "operation log",
    ):
        assert words in " ".join(shown.split())
