"""A whole portal in real processes, shared by the stories over the API and those in a browser."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from portal.devstack.demo_order import Journey
from portal.devstack.servers.registry_server import registry_is_here
from portal.devstack.stack import Stack
from tests.factories.wheels import wheel
from tests.harness.prepared import folder_prepare
from tests.harness.registry import running_registry


def password_of(stack: Stack) -> str:
    """The password of all demo people of that portal."""
    return (stack.var_dir / "run" / "demo.password").read_text().strip()


@contextmanager
def own_environment() -> Iterator[None]:
    """Without what the tests' own settings were given: a stack starts its servers and runs as `make run` does."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("WEIR_DATABASE_URL", "WEIR_REDIS_URL", "WEIR_SECRET_KEY"):
            environment.delenv(name, raising=False)
        environment.setenv("DJANGO_SETTINGS_MODULE", "portal.settings.dev")
        yield


def open_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A new folder whose way is open to the users of agents' work."""
    folder = tmp_path_factory.mktemp(name)
    for path in (folder, *folder.parents[:2]):
        path.chmod(0o755)
    return folder


def portal_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """A new folder for a portal, its database migrated and seeded."""
    folder = open_folder(tmp_path_factory, name) / "var"
    folder_prepare(folder, is_demo=True)
    return folder


@contextmanager
def empty_centre(
    tmp_path_factory: pytest.TempPathFactory, name: str, *, is_prepared: bool = True, **more: object
) -> Iterator[Stack]:
    """A portal of `make serve`: no operator, no tenant, no node. Unprepared, it makes its database itself. `more` is
    for `Stack.in_folder`."""
    with own_environment():
        folder = open_folder(tmp_path_factory, name) / "var"
        if is_prepared:
            folder_prepare(folder, is_demo=False)
        found = Stack.in_folder(folder, nodes=0, is_demo=False, **more)
        found.start()
        try:
            yield found
        finally:
            found.stop()


def _wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels, from which nodes install what work asks for."""
    folder = open_folder(tmp_path_factory, "wheels")
    wheel(folder, "tone", "2.1", {"tone.py": "HIGH = 'high'\n"})
    wheel(
        folder,
        "greeter",
        "1.0",
        {"greeter.py": "import tone\ndef main(): print('GREETS', tone.HIGH)\n"},
        needs=("tone>=2",),
        programs={"greet": "greeter:main"},
    )
    return folder


class SharedPortal:
    """One portal, on a folder and a port of its own, for all tests of this process that ask for it in a row.

    It ends with the last of them: an idle one takes a tenth of a processor from the tests that follow.
    """

    def __init__(self) -> None:
        self._stack: Stack | None = None
        self._environment = ExitStack()

    def running(self, tmp_path_factory: pytest.TempPathFactory) -> Stack:
        """Web, worker, beat, two agents and, where this machine has one, a registry, started by the first who asks."""
        if self._stack is None:
            self._environment.enter_context(own_environment())
            environment: dict[str, str] = {}
            if registry_is_here():
                folder = tmp_path_factory.mktemp("registry")
                registry = self._environment.enter_context(running_registry(folder))
                environment["WEIR_REGISTRY_URL"] = registry.url
            wheels = self._environment.enter_context(pytest.MonkeyPatch.context())
            wheels.setenv("WEIR_AGENT_PACKAGE_INDEX", str(_wheels(tmp_path_factory)))
            made = Stack.in_folder(portal_folder(tmp_path_factory, "portal"), environment=environment)
            try:
                made.start()
            except BaseException:
                self._environment.close()
                raise
            self._stack = made
        return self._stack

    def stop(self) -> None:
        """Stop it where it runs."""
        if self._stack is not None:
            self._stack.stop()
            self._stack = None
            self._environment.close()


SHARED = SharedPortal()


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The portal that this process's tests share."""
    return SHARED.running(tmp_path_factory)


@pytest.fixture
def journey(stack: Stack) -> Journey:
    """The story's people on that portal, each with a session over the API."""
    return Journey(f"http://127.0.0.1:{stack.options.port}", password_of(stack), say=print)
