"""A stub of the service that sends a test's responses, for events that the service itself produces only by chance."""

import http.server
import json
import socket
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, NamedTuple, Union

import topicd

Answer = Union["Response", str]


class Response(NamedTuple):
    """A response. Instead of sending one, a connection can `close`, `close within the response`, or `be silent`."""

    text: str
    status: int = 200
    headers: Dict[str, str] = {}


class Request(NamedTuple):
    path: str
    headers: Dict[str, str]
    text: str
    #: The client's port, which identifies the connection.
    port: int

    @property
    def members(self) -> Any:
        return json.loads(self.text)


def fine(request: Request, index: int = 0) -> Response:
    """Returns a response that the method can read."""
    if request.headers["content-type"] == "application/x-ndjson":
        return Response('{"done":true,"durable":1,"refused":0}\n')
    results = "[{}]" if request.path.endswith("/batch") else "[]"
    return Response(f'{{"path":"a","type":"json","has_more":false,"results":{results},"removed":1,"count":0}}')


def refused(status: int, code: str, **headers: str) -> Response:
    text = json.dumps({"code": code, "message": f"It is {code}."})
    return Response(text, status, {name.replace("_", "-"): value for name, value in headers.items()})


def stream(*events: str, then: str = "") -> Response:
    """Returns a stream of these events. Then the stream ends, or the connection does what `then` says."""
    headers = {"content-type": "text/event-stream", **({"x-then": then} if then else {})}
    return Response("retry: 1\n" + "".join(f"{event}\n\n" for event in events), 200, headers)


def page(next: str, *results: str, has_more: bool = False) -> str:
    more = "true" if has_more else "false"
    return f'{{"has_more":{more},"results":[{",".join(results)}],"next":"{next}"}}'


def event(next: str, *results: str, has_more: bool = False) -> str:
    return f"id: {next}\ndata: {page(next, *results, has_more=has_more)}"


def end(code: str) -> str:
    return f'event: end\ndata: {{"code":"{code}","message":"It has ended: {code}."}}'


class Stub:
    """A running stub. `answer` receives each request, and the number of requests before it."""

    def __init__(self, answer: Callable[[Request, int], Answer]) -> None:
        self.requests: List[Request] = []
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._open: List[socket.socket] = []
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                stub._open.append(self.connection)

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["content-length"])).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.path, headers, text, self.client_address[1])
                with stub._lock:
                    stub.requests.append(request)
                    index = len(stub.requests) - 1
                self.send(answer(request, index))

            def send(self, answer: Answer) -> None:
                if isinstance(answer, str):
                    self.close_connection = True
                    if answer == "close within the response":
                        self.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"path":"a",')
                    elif answer == "be silent":
                        stub._released.wait()
                    return
                self.send_response(answer.status)
                is_stream = "content-type" in answer.headers
                body = answer.text.encode()
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header(*(("transfer-encoding", "chunked") if is_stream else ("content-length", str(len(body)))))
                self.end_headers()
                # Small pieces, which split characters and lines.
                for at in range(0, len(body), 7) if is_stream else ():
                    piece = body[at : at + 7]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                if answer.headers.get("x-then") == "trickle":
                    # Until the client closes the connection.
                    for at in range(len(body)):
                        self.wfile.write(body[at : at + 1])
                        time.sleep(0.02)
                    return
                self.wfile.write(b"" if is_stream else body)
                if is_stream and "x-then" in answer.headers:
                    self.send(answer.headers["x-then"])
                elif is_stream:
                    self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # A client may close a connection at any time.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close_connections(self) -> None:
        for connection in self._open:
            connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()


class StubTest(unittest.TestCase):
    """A test that stops its stubs and clients at its end."""

    def stub(self, answer: Callable[[Request, int], Answer]) -> Stub:
        stub = Stub(answer)
        self.addCleanup(stub.stop)
        return stub

    def connect(self, url: str, **options: Any) -> topicd.Client:
        topics = topicd.connect(url, "k", **options)
        self.addCleanup(topics.close)
        return topics
