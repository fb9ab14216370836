"""The page that lets a node join: the line to run on it, once, and whether it came."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.identity.models import AgentToken
from tests.apps.fleet.agent import Agent

pytestmark = pytest.mark.django_db


def text_of(answer):
    return answer.status_code, " ".join(answer.content.decode().split())


@pytest.mark.req("PLAT-CMP-17")
def test_a_node_joins_with_the_line_of_the_page_which_tells_when_it_has_come(operator):
    page = operator("cluster_administrator").page()
    status, text = text_of(page.post("/pool/nodes/join/", {"name": "rack4", "lifetime_s": "86400"}))
    assert status == 200
    line = re.search(
        r"WEIR_AGENT_SERVER=http://localhost\S* WEIR_AGENT_JOIN_TOKEN=(\S+) WEIR_AGENT_NAME=rack4 ", text
    )
    token = AgentToken.objects.get(note="rack4")
    assert token.expires_at - timezone.now() > timedelta(hours=23)
    waiting = f"/pool/nodes/join/{token.uid}/"
    assert 'data-test="join-waiting"' in text_of(page.get(waiting))[1]
    assert line[1] not in text_of(page.get(waiting))[1], "the token is shown once"
    part = {"HX-Request": "true"}
    assert page.get(waiting, headers=part).status_code == 200
    Agent("rack4", devices=2, token=line[1])
    assert "rack4 has joined: 2 devices were found." in text_of(page.get(waiting))[1]
    assert page.get(waiting, headers=part).status_code == 286, "the page asks no more"


def test_a_token_that_nobody_used_in_time_says_so(operator):
    page = operator("cluster_administrator").page()
    page.post("/pool/nodes/join/", {"name": "rack5", "lifetime_s": "3600"})
    AgentToken.objects.filter(note="rack5").update(expires_at=timezone.now() - timedelta(seconds=1))
    token = AgentToken.objects.get(note="rack5")
    assert 'data-test="join-over"' in text_of(page.get(f"/pool/nodes/join/{token.uid}/"))[1]


@pytest.mark.parametrize(
    "given", [{"name": "rack 4; rm -rf /"}, {"name": "x$(id)"}, {"lifetime_s": "60"}, {"name": ""}]
)
def test_what_is_no_name_or_time_makes_no_token(operator, given):
    page = operator("cluster_administrator").page()
    answer = page.post("/pool/nodes/join/", {"name": "rack4", "lifetime_s": "3600"} | given)
    assert answer.status_code == 400
    assert not AgentToken.objects.exists()


def test_only_who_manages_the_pool_lets_nodes_join(operator):
    assert operator("front_line").page().get("/pool/nodes/join/").status_code == 403
