"""Attachments: what is taken, what is refused, who may download, and how they are sent."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.kernel.attached_files import AttachmentRefused, name_clean
from apps.kernel.errors import Conflict, NotFound, QuotaExceeded
from apps.orders.models import Attachment
from apps.orders.selectors import attachment_get
from apps.orders.services.attachments import attachment_add, attachment_remove
from apps.orders.services.drafts import form_delete
from apps.orders.services.submissions import form_submit
from tests.apps.orders.scene import Scene

pytestmark = pytest.mark.django_db
PDF = b"%PDF-1.7 hello"


@pytest.fixture(autouse=True)
def media(settings, tmp_path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def office(folder: str) -> bytes:
    # Names without a date: the bytes name the tests, and two workers must name them alike.
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr(zipfile.ZipInfo("[Content_Types].xml"), "<Types/>")
        archive.writestr(zipfile.ZipInfo(f"{folder}/document.xml"), "<x/>")
    return body.getvalue()


def add(scene: Scene, form, name: str, body: bytes):
    return attachment_add(
        actor=scene.ann.actor, form_uid=form.uid, file=SimpleUploadedFile("sent", body), name=name
    )


@pytest.mark.req("PLAT-APPLY-5")
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("plan.pdf", PDF),
        ("a.PNG", b"\x89PNG\r\n\x1a\n rest"),
        ("a.jpg", b"\xff\xd8\xff\xe0 rest"),
        ("说明.txt", "显存".encode()),
        ("a.md", b"# title\n"),
        ("a.csv", b"a,b\r\n1,2\r\n"),
        ("a.py", b"print(1)\n"),
        ("a.ipynb", json.dumps({"cells": []}).encode()),
        ("a.docx", office("word")),
        ("a.xlsx", office("xl")),
        ("a.zip", office("any")),
    ],
)
def test_what_is_taken(scene: Scene, media, name, body):
    row = add(scene, scene.draft(), name, body)
    kept = media / row.file.name
    assert kept.read_bytes() == body
    assert row.file.name == f"acme/attachments/{row.uid}{Path(name).suffix.lower()}"
    assert (row.name, row.size, row.sha256) == (name, len(body), hashlib.sha256(body).hexdigest())


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.exe", b"MZ"),
        ("a.svg", b"<svg/>"),
        ("a.html", b"<html>"),
        ("noending", PDF),
        ("a.pdf", b"MZ not a pdf"),
        ("a.png", PDF),
        ("a.txt", b"\x00\x01binary"),
        ("a.txt", b"\xff\xfe\x00"),
        ("a.ipynb", b"print(1)"),
        ("a.ipynb", b"[]"),
        ("a.docx", office("xl")),
        ("a.xlsx", b"PK\x03\x04 broken"),
        ("a.pdf", b""),
        ("a.pdf.exe", PDF),
    ],
)
def test_what_is_refused_leaves_nothing(scene: Scene, media, name, body):
    form = scene.draft()
    with pytest.raises(AttachmentRefused) as refused:
        add(scene, form, name, body)
    assert "file" in refused.value.fields
    assert not Attachment.objects.exists()
    assert not [one for one in media.rglob("*") if one.is_file()]


def test_what_is_too_large_is_refused(scene: Scene, settings):
    settings.WEIR_UPLOAD_MAX_BYTES = 20
    form = scene.draft()
    add(scene, form, "a.pdf", PDF)
    with pytest.raises(AttachmentRefused):
        add(scene, form, "b.pdf", PDF + b"x" * 20)
    assert Attachment.objects.count() == 1


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\temp\\plan.pdf", "plan.pdf"),
        ('a"b<c>:|?*.txt', "abc.txt"),
        ("a\r\nSet-Cookie: x\u202e.txt", "aSet-Cookie x.txt"),
        ("...", "file"),
        ("x" * 300 + ".pdf", "x" * 110 + ".pdf"),
    ],
)
def test_names_are_cleaned(sent, kept):
    assert name_clean(sent) == kept


def test_who_may_have_it(scene: Scene, member):
    form = scene.draft()
    row = add(scene, form, "plan.pdf", PDF)
    with pytest.raises(NotFound):
        attachment_get(actor=scene.boss.actor, uid=row.uid)
    form_submit(actor=scene.ann.actor, form_uid=form.uid)
    for person in (scene.ann, scene.boss, scene.manager, scene.worker):
        assert attachment_get(actor=person.actor, uid=row.uid) == row
    other = member("acme", "tenant_front_line")
    with pytest.raises(NotFound):
        attachment_get(actor=other.actor, uid=row.uid)
    with pytest.raises(NotFound):
        attachment_add(actor=other.actor, form_uid=form.uid, file=SimpleUploadedFile("a", PDF), name="a.pdf")


def test_what_was_submitted_stays(scene: Scene):
    form = scene.draft()
    row = add(scene, form, "plan.pdf", PDF)
    form_submit(actor=scene.ann.actor, form_uid=form.uid)
    with pytest.raises(Conflict):
        attachment_remove(actor=scene.ann.actor, attachment_uid=row.uid)
    add(scene, form, "later.pdf", PDF)
    scene.decide(form, "refuse")
    with pytest.raises(Conflict):
        add(scene, form, "too-late.pdf", PDF)
    assert Attachment.objects.count() == 2


def test_files_go_with_their_draft(scene: Scene, media, django_capture_on_commit_callbacks):
    form = scene.draft()
    first, second = add(scene, form, "a.pdf", PDF), add(scene, form, "b.pdf", PDF)
    with django_capture_on_commit_callbacks(execute=True):
        attachment_remove(actor=scene.ann.actor, attachment_uid=first.uid)
    assert not (media / first.file.name).exists()
    assert (media / second.file.name).exists()
    with django_capture_on_commit_callbacks(execute=True):
        form_delete(actor=scene.ann.actor, form_uid=form.uid)
    assert not [one for one in media.rglob("*") if one.is_file()]


def test_a_tenants_files_have_a_bound_together(scene, settings, media):
    """S23: twenty files of 10 MiB a form, and forms without number."""
    settings.WEIR_ATTACHMENTS_TOTAL_BYTES = 3 * 2**20
    first, second = scene.draft(), scene.draft()
    kept = add(scene, first, "a.txt", b"x" * 2**20)
    add(scene, second, "b.txt", b"x" * 2**20)
    with pytest.raises(QuotaExceeded, match=r"2\.0 of 3\.0 MiB: this file of 1\.5 MiB"):
        add(scene, second, "c.txt", b"x" * (3 * 2**19))
    assert len(list(media.rglob("*.txt"))) == 2
    attachment_remove(actor=scene.ann.actor, attachment_uid=kept.uid)
    add(scene, second, "c.txt", b"x" * (3 * 2**19))
