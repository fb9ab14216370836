"""JupyterLab as a browser speaks with it, behind the gateway: Jupyter's own REST, and a kernel's WebSocket."""

import json
import socket
import time
import uuid
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection, connect

from portal.devstack.stack import Stack
from tests.harness.web_pages import START_MS, Caller

_XSRF = "_xsrf"


def cell_computed(stack: Stack, url: str, code: str) -> str:
    """What a cell of a new Python kernel prints, in the JupyterLab that the one-time address `url` opens.

    Fails with the kernel's traceback where the cell fails, and after a while of silence.
    """
    browser = Caller(stack, url)
    cookies = browser.cookie()
    page = browser.ready(cookies)
    page = browser.get("/lab", Cookie=cookies) if page.is_redirect else page
    assert page.status_code == 200, (page.status_code, page.text)
    xsrf = page.cookies[_XSRF]
    cookies = f"{cookies}; {_XSRF}={xsrf}"
    headers = {"Host": browser.host, "Cookie": cookies, "X-XSRFToken": xsrf}
    made = browser.http.post("/api/kernels", json={"name": "python3"}, headers=headers)
    assert made.status_code == 201, made.text
    kernel = made.json()["id"]
    port = urlsplit(stack.base_url).port
    with connect(
        f"ws://{browser.host}/api/kernels/{kernel}/channels",
        sock=socket.create_connection(("127.0.0.1", port)),
        additional_headers={"Cookie": cookies, "Origin": f"http://{browser.host}"},
        open_timeout=START_MS / 1000,
    ) as channels:
        asked = _asked(code)
        channels.send(json.dumps(asked))
        return _printed(channels, asked["header"]["msg_id"])


def _asked(code: str) -> dict[str, Any]:
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "session": uuid.uuid4().hex,
        "username": "",
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    return {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}


def _printed(channels: ClientConnection, msg_id: str) -> str:
    """All that the cell prints until its kernel is idle again."""
    text, end_s = "", time.monotonic() + START_MS / 1000
    while True:
        message = json.loads(channels.recv(timeout=max(0.0, end_s - time.monotonic())))
        if message["parent_header"].get("msg_id") != msg_id:
            continue
        kind, content = message["msg_type"], message["content"]
        assert kind != "error", "\n".join(content["traceback"])
        if kind == "stream":
            text += content["text"]
        if kind == "status" and content["execution_state"] == "idle":
            return text
