"""A line of the log says for which request, tenant, actor, act and task it was written, for programs or for people."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from logging.config import DictConfigurator

import pytest
from celery.contrib.testing.worker import start_worker
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import clear_url_caches, path

from apps.kernel.actor import Actor
from apps.kernel.log_context import log_context, log_fields, log_known
from apps.kernel.service import service
from apps.kernel.tasks import provider_task, tenant_task
from portal import urls_tenant
from portal.celery import app
from portal.devstack.servers.processes import wait_until
from portal.settings.logs import logging_settings

log = logging.getLogger("tests.log")


@pytest.fixture
def worker(committed: None) -> Iterator[None]:
    """A worker in a thread, with a broker in memory. It sets up Django anew, logging too."""
    with start_worker(app, perform_ping_check=False, pool="solo"):
        yield


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict]]]:
    """What is logged from now on, in the form of the settings, taken apart again."""
    written, stop = logged("json", ["x/celery", "worker"])
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    stop()


def logged(form: str, arguments: list[str]) -> tuple[io.StringIO, Callable[[], None]]:
    settings = logging_settings("INFO", form, arguments)
    configurator = DictConfigurator(settings)
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(configurator.configure_formatter(dict(settings["formatters"][form])))
    handler.addFilter(configurator.configure_filter(dict(settings["filters"]["context"])))
    logging.getLogger().addHandler(handler)
    return written, lambda: logging.getLogger().removeHandler(handler)


def test_a_line_is_an_object_with_what_is_known(lines):
    with log_context(request_id="r-12345678", tenant="acme"):
        log_known(actor="alice")
        log.warning("%s is 满", "disk", extra={"free_mib": 3})
    log.warning("later")
    first, second = lines()
    assert first.pop("at").endswith("+00:00")
    assert first == {
        "level": "WARNING", "logger": "tests.log", "message": "disk is 满", "component": "worker",
        "request_id": "r-12345678", "tenant": "acme", "actor": "alice", "free_mib": 3,
    }  # fmt: skip
    assert not {"request_id", "tenant", "actor"} & second.keys()


def test_an_error_and_a_message_of_many_lines_are_one_line(lines):
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        log.exception("it\nfailed")
    (line,) = lines()
    assert line["message"] == "it\nfailed"
    assert "ValueError: first\nsecond" in line["exc_info"]


def test_people_read_the_same_at_the_end_of_the_line():
    written, stop = logged("text", ["portal/web.py"])
    try:
        with log_context(request_id="r-12345678", tenant="acme"):
            log.warning("the disk is full")
        log.warning("later")
    finally:
        stop()
    first, second = written.getvalue().splitlines()
    assert first.endswith("WARNING tests.log the disk is full request_id=r-12345678 tenant=acme")
    assert second.endswith("WARNING tests.log later")


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="colour"), log_context(colour="red"):
        pass


def test_a_service_is_logged_with_its_actor_and_name(lines, db):
    @service(recorded=False)
    def disk_look(*, actor: Actor) -> None:
        log.warning("looked")

    with log_context(tenant="globex", actor="somebody"):
        disk_look(actor=Actor(kind="user", name="alice", tenant="acme", request_id="r-12345678"))
    (line,) = lines()
    assert (line["actor"], line["act"], line["tenant"]) == ("alice", "disk_look", "acme")
    assert line["request_id"] == "r-12345678"


@pytest.fixture
def failing() -> Iterator[str]:
    """The address of a page of every tenant that fails."""

    def fail(request: HttpRequest) -> HttpResponse:
        raise RuntimeError("out of order")

    urls_tenant.urlpatterns.append(path("out-of-order/", fail))
    clear_url_caches()
    yield "/out-of-order/"
    urls_tenant.urlpatterns.pop()
    clear_url_caches()


@pytest.mark.django_db
def test_a_page_that_fails_is_logged_with_its_request_tenant_and_reader(lines, failing, member):
    reader = member("acme", "tenant_front_line")
    page: Client = reader.page()
    page.raise_request_exception = False
    answer = page.get(failing, headers={"X-Request-ID": "told-by-the-proxy"})
    assert answer.status_code == 500
    line = next(line for line in lines() if line["logger"] == "django.request")
    assert (line["request_id"], line["tenant"]) == ("told-by-the-proxy", "acme")
    assert line["actor"] == reader.user.username
    assert "RuntimeError: out of order" in line["exc_info"]
    assert line["status_code"] == 500
    assert log_fields() == {}


@provider_task
def ask_on(schema: str) -> None:
    told.delay(schema)


@tenant_task
def told(schema: str) -> None:
    log.warning("told")


def told_lines(lines: Callable[[], list[dict]]) -> list[dict]:
    return [line for line in lines() if line["message"] == "told"]


def test_a_task_is_logged_with_its_tenant_and_the_request_it_came_from(worker, lines):
    """Over a second task, which the first one asks for."""
    with log_context(request_id="r-12345678"):
        ask_on.delay("acme")
    told.delay("globex")
    assert wait_until(lambda: len(told_lines(lines)) == 2, timeout_s=60)
    by_tenant = {line["tenant"]: line for line in told_lines(lines)}
    assert (by_tenant["acme"]["task"], by_tenant["acme"]["request_id"]) == ("told", "r-12345678")
    assert by_tenant["acme"]["task_id"] != by_tenant["globex"]["task_id"]
    assert "request_id" not in by_tenant["globex"]
