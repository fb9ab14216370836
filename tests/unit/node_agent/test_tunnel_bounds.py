"""How many streams of one slice a node opens at a time, and that another slice has its own."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from node_agent.protocol.tunnel import STREAMS_MAX_OF_SLICE
from node_agent.web.tunnel import WebTunnel

pytestmark = pytest.mark.req("PLAT-CMP-10")


class Control:
    """The portal's end of the tunnel."""

    def __init__(self) -> None:
        self.says: asyncio.Queue[str] = asyncio.Queue()
        self.heard: list[dict[str, Any]] = []

    def ask(self, number: int, slice_uid: str, kind: str = "web") -> None:
        self.says.put_nowait(json.dumps({"stream": f"{number:032}", "slice_uid": slice_uid, "kind": kind}))

    def __aiter__(self) -> "Control":
        return self

    async def __anext__(self) -> str:
        return await self.says.get()

    async def send(self, text: str) -> None:
        self.heard.append(json.loads(text))


def test_streams_of_a_slice_are_bounded_whatever_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Counter[str] = Counter()

    async def hold(_tunnel: WebTunnel, _control: Any, asked: Any) -> None:
        opened[asked.slice_uid] += 1
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(WebTunnel, "_web_stream", hold)
    monkeypatch.setattr(WebTunnel, "_exec_stream", hold)

    async def body() -> Control:
        control = Control()
        tunnel = WebTunnel("http://localhost:1", None, lambda _uid: None, lambda _uid: None)
        serving = asyncio.create_task(tunnel._serve(control))  # type: ignore[arg-type]
        for number in range(STREAMS_MAX_OF_SLICE + 3):
            control.ask(number, "one", "exec" if number % 2 else "web")
        control.ask(900, "two")
        control.says.put_nowait("what a later portal says")
        async with asyncio.timeout(20):
            while opened["two"] == 0 or len(control.heard) < 3:
                await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return control

    control = asyncio.run(body())
    assert opened == {"one": STREAMS_MAX_OF_SLICE, "two": 1}
    assert [said["code"] for said in control.heard] == ["busy"] * 3


@pytest.mark.parametrize(("kind", "code"), [("web", "unknown"), ("exec", "unknown")])
def test_a_slice_that_is_not_here_is_refused(kind: str, code: str) -> None:
    async def body() -> list[dict[str, Any]]:
        control = Control()
        tunnel = WebTunnel("http://localhost:1", None, lambda _uid: None, lambda _uid: None)
        control.ask(1, "other", kind)
        serving = asyncio.create_task(tunnel._serve(control))  # type: ignore[arg-type]
        async with asyncio.timeout(20):
            while not control.heard:
                await asyncio.sleep(0.01)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return control.heard

    assert [said["code"] for said in asyncio.run(body())] == [code]


def test_nothing_is_run_where_no_keeper_listens(tmp_path: Path) -> None:
    """Work that an older release started has none."""
    from node_agent.protocol.execution import Start
    from node_agent.web.execution import NotRun, _Process

    with pytest.raises(NotRun) as refused:
        _Process(tmp_path / "exec.sock", Start())
    assert refused.value.ended.code == "not_supported"
