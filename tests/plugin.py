"""Loaded before anything else (`-p tests.plugin`): gives settings an environment without starting a server.

The real PostgreSQL starts with the first test that wants a database; unit tests never pay for it.
"""

import gc
import os

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

from tests.examples import IS_SEARCH, examples
from tests.skipping import Skip, is_all_required, requirements_note, skips_of, told

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "portal.settings.test",
    "WEIR_DATABASE_URL": "postgresql://weir@127.0.0.1:1/weir",
    "WEIR_REDIS_URL": "redis://127.0.0.1:1/0",
    "WEIR_METRICS_TOKEN": "figures-for-tests",
    "WEIR_SECRET_KEY": "only-for-tests-" + "x" * 32,
}
# The header with which `/metrics` is asked.
METRICS = {"authorization": f"Bearer {ENVIRONMENT['WEIR_METRICS_TOKEN']}"}
for name, value in ENVIRONMENT.items():
    os.environ.setdefault(name, value)
settings.register_profile(
    "weir", settings.get_profile("ci"), max_examples=examples(100), derandomize=not IS_SEARCH
)
# Loading makes hundreds of thousands of objects that all stay: the collector looks for none that go meanwhile.
gc.disable()


def pytest_collection_finish() -> None:
    """What is loaded by now is never looked through again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    requirements_note(item)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where everything can be had, what is left out is a failure."""
    refused = is_all_required() and any(not skip.is_allowed for skip in _skips(session.config))
    if refused and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Say what this run did not check."""
    skips = _skips(config)
    if not skips:
        return
    terminalreporter.section("not checked on this machine", red=is_all_required())
    for line in told(skips):
        terminalreporter.write_line(line)
    if is_all_required() and (refused := told([skip for skip in skips if not skip.is_allowed])):
        terminalreporter.write_line("WEIR_TEST_REQUIRE_ALL=1, and these can be had here:", red=True)
        for line in refused:
            terminalreporter.write_line(line, red=True)


def _skips(config: pytest.Config) -> list[Skip]:
    """None in the workers: whoever started them hears of all."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return skips_of(reporter.stats.get("skipped", ()), config.rootpath) if reporter else []
