"""Work that serves web pages, and who asks for them without a browser."""

import time
from urllib.parse import urlsplit

import httpx

from portal.devstack.stack import Stack

START_MS = 120_000
# Says what it was asked and by which headers; 5 MiB back at /large, one line a second at /slow.
ECHO = """
import http.server, json, os, socket, socketserver, time
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    address_family, daemon_threads = socket.AF_UNIX, True
    def server_bind(self):
        self.socket.bind(os.environ["WEIR_WEB_SOCKET"])
        self.server_name, self.server_port = "work", 0
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self): return "portal"
    def do_POST(self): self.answer(len(self.rfile.read(int(self.headers["Content-Length"]))))
    def do_GET(self):
        if self.path == "/large":
            self.send_response(200); self.send_header("Content-Length", str(5 * 2**20)); self.end_headers()
            self.wfile.write(b"x" * (5 * 2**20))
        elif self.path == "/slow":
            self.send_response(200); self.send_header("Connection", "close"); self.end_headers()
            for _ in range(600): self.wfile.write(b"tick\\n"); self.wfile.flush(); time.sleep(1)
        else: self.answer(0)
    def answer(self, size):
        body = json.dumps({"path": self.path, "size": size, "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Set-Cookie", "sessionid=stolen; Domain=localhost")
        self.send_header("Set-Cookie", "own=1")
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
Server("", Handler).serve_forever()
"""

# The same without Python, for images that hold little: one page, in Perl without its library.
SERVE_PAGE = rb"""
my ($path, $listening, $caller) = $ENV{WEIR_WEB_SOCKET};
socket($listening, 1, 1, 0) && bind($listening, pack('S a*', 1, "$path\0")) && listen($listening, 8) or die $!;
while (accept($caller, $listening)) {
    my $asked = ''; sysread $caller, $asked, 4096, length $asked until $asked =~ /\r\n\r\n/;
    syswrite $caller, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\nof the image\n"; close $caller;
}
"""


class Caller:
    """A browser without its protections: what a program can send to the pages of work."""

    def __init__(self, stack: Stack, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.enter = parts.netloc, f"{parts.path}?{parts.query}"
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{urlsplit(stack.base_url).port}", timeout=60)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers={"Host": self.host, **headers})

    def cookie(self) -> str:
        """What the ticket is changed for."""
        return self.get(self.enter).headers["set-cookie"].partition(";")[0]

    def ready(self, cookie: str) -> httpx.Response:
        """The first answer of the work's own."""
        end_s = time.monotonic() + START_MS / 1000
        while (answer := self.get("/", Cookie=cookie)).status_code == 503 and time.monotonic() < end_s:
            time.sleep(0.2)
        return answer
