from uuid import uuid4

import pytest
from django.utils import translation
from django.utils.translation import gettext_noop

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import NotFound
from apps.notices.models import Message
from apps.notices.selectors import message_get, message_list, message_unread_count
from apps.notices.services import message_delete, message_read, message_read_all, notice_send

pytestmark = pytest.mark.django_db
APPROVED = gettext_noop("Your application %(no)s is approved.")


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line")


def tell(person, no="F1", tenant=None, link="/forms/1/"):
    sent = notice_send(
        actor=SYSTEM, user_ids=[person.user.pk], msgid=APPROVED, params={"no": no}, link=link, tenant=tenant
    )
    return sent[0]


@pytest.mark.req("PLAT-TODO-15")
def test_one_message_reaches_each_user_once_and_reads_in_the_readers_language(ann, member, acme):
    bob = member("acme", "tenant_decision_maker")
    people = [ann.user.pk, bob.user.pk, ann.user.pk]
    sent = notice_send(actor=SYSTEM, user_ids=people, msgid=APPROVED, params={"no": "F7"}, tenant=acme)
    assert [row.user_id for row in sent] == sorted({ann.user.pk, bob.user.pk})
    with translation.override("en"):
        assert sent[0].title == "Your application F7 is approved."
    with translation.override("zh-hans"):
        assert sent[0].title == "您的申请 F7 已批准。"


@pytest.mark.req("PLAT-TODO-16", "PLAT-TODO-17")
def test_reading_and_deleting_move_the_unread_count(ann):
    first, second, third = tell(ann, "F1"), tell(ann, "F2"), tell(ann, "F3")
    assert message_unread_count(ann.actor) == 3
    assert message_read(actor=ann.actor, uids=[first.uid]) == 1
    assert message_read(actor=ann.actor, uids=[first.uid]) == 0
    assert message_unread_count(ann.actor) == 2
    assert message_delete(actor=ann.actor, uids=[first.uid, second.uid]) == 2
    assert message_read_all(actor=ann.actor) == 1
    assert list(message_list(actor=ann.actor)) == [third]
    assert message_unread_count(ann.actor) == 0


@pytest.mark.req("PLAT-TODO-18")
def test_search_finds_a_part_of_the_title_in_either_language(ann):
    tell(ann, "F1")
    wanted = tell(ann, "F2")
    message_read(actor=ann.actor, uids=[wanted.uid])
    assert list(message_list(actor=ann.actor, search="F2")) == [wanted]
    assert message_list(actor=ann.actor, search="已批准").count() == 2
    assert list(message_list(actor=ann.actor, search="APPROVED", is_read=True)) == [wanted]
    assert not message_list(actor=ann.actor, search="refused").exists()


@pytest.mark.req("PLAT-TEN-2")
def test_nobody_touches_anothers_messages(ann, member):
    gus = member("globex", "tenant_front_line")
    mine = tell(ann)
    for act in (message_read, message_delete):
        with pytest.raises(NotFound):
            act(actor=gus.actor, uids=[mine.uid])
    with pytest.raises(NotFound):
        message_get(actor=gus.actor, uid=mine.uid)
    assert Message.objects.get(pk=mine.pk).read_at is None


def test_a_batch_with_one_unknown_message_changes_none(ann):
    mine = tell(ann)
    with pytest.raises(NotFound):
        message_delete(actor=ann.actor, uids=[mine.uid, uuid4()])
    assert message_unread_count(ann.actor) == 1


def test_a_tenants_portal_shows_that_tenants_messages_only(ann, acme, globex):
    here, elsewhere, anywhere = tell(ann, "A", acme), tell(ann, "B", globex), tell(ann, "C")
    assert set(message_list(actor=ann.actor)) == {here, anywhere}
    with pytest.raises(NotFound):
        message_get(actor=ann.actor, uid=elsewhere.uid)
