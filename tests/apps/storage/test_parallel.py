"""Real threads with real transactions: an upload has one sender at a time."""

import threading

import pytest
from django.db import connection

from apps.kernel.planes import in_tenant
from apps.storage.drivers.directory import Directory
from apps.storage.errors import UploadBusy, VolumeFull
from apps.storage.services.uploads import upload_make, upload_take
from tests.apps.catalog.racing import race

pytestmark = pytest.mark.usefixtures("committed")


def test_of_two_who_send_to_one_upload_at_once_one_is_refused(made, ann, monkeypatch):
    volume = made()
    with in_tenant("acme"):
        upload = upload_make(actor=ann.actor, volume_uid=volume.uid, path="a", size_bytes=10)
    begun, go_on, told = threading.Event(), threading.Event(), []
    write = Directory.upload_write

    def slowly(*args):
        begun.set()
        go_on.wait(20)
        write(*args)

    monkeypatch.setattr(Directory, "upload_write", slowly)

    def send():
        try:
            with in_tenant("acme"):
                upload_take(actor=ann.actor, uid=upload.uid, offset=0, piece=b"hello")
            told.append("taken")
        finally:
            connection.close()

    thread = threading.Thread(target=send)
    thread.start()
    assert begun.wait(20)
    with in_tenant("acme"), pytest.raises(UploadBusy):
        upload_take(actor=ann.actor, uid=upload.uid, offset=0, piece=b"other")
    go_on.set()
    thread.join(20)
    with in_tenant("acme"):
        upload.refresh_from_db()
    assert (told, upload.received_bytes) == (["taken"], 5)


def test_of_several_at_once_no_more_begin_than_there_is_room_for(made, ann):
    volume = made(size_mib=1)

    def begin(number):
        def run():
            with in_tenant("acme"):
                return upload_make(
                    actor=ann.actor, volume_uid=volume.uid, path=f"f{number}", size_bytes=400_000
                )

        return run

    results = race(*(begin(number) for number in range(4)))
    refused = [one for one in results if isinstance(one, VolumeFull)]
    assert len(refused) == 2, results
