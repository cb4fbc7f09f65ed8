"""Lost connections, time limits, kept connections, and responses from elsewhere, provoked by a stub."""

import errno
import http.client
import socket
import threading
from typing import Any, Callable, Dict, List, Tuple
from unittest import mock

import topicd

from .service import patience
from .stub import Answer, Response, Stub, StubTest, fine, refused

Call = Callable[[topicd.Client], Any]

operations = [{"op": "set", "path": "a", "value": 1}]

repeated: Dict[str, Call] = {
    "get": lambda topics: topics.get("a"),
    "page": lambda topics: topics.page(">a"),
    "walk": lambda topics: list(topics.walk(">a")),
    "list": lambda topics: list(topics.list("a")),
    "count": lambda topics: topics.count(">a"),
    "set": lambda topics: topics.set("a", 1),
    "add_and_set": lambda topics: topics.add_and_set("a", 1),
    "add": lambda topics: topics.add("a"),
    "remove": lambda topics: topics.remove("a"),
    "remove_matches": lambda topics: topics.remove_matches(">a"),
}

not_repeated: Dict[str, Call] = {
    "set with a constraint": lambda topics: topics.set("a", 1, constraint={"value": 0}),
    "add_and_set with a constraint": lambda topics: topics.add_and_set("a", 1, constraint={"no_topic": True}),
    "add with a constraint": lambda topics: topics.add("a", constraint={"no_topic": True}),
    "remove with a constraint": lambda topics: topics.remove("a", constraint={"no_value": True}),
    "increment": lambda topics: topics.increment("a", 1),
    "batch": lambda topics: topics.batch(operations),
    "batch_each": lambda topics: topics.batch_each(operations),
    "upload": lambda topics: topics.upload(operations),
}


class Connections(StubTest):
    def losing(self, loss: str, losses: int) -> Tuple[Stub, topicd.Client]:
        """Responds to one request, so that its connection is kept, and loses the next `losses` requests by `loss`."""
        stub = self.stub(lambda request, index: loss if 0 < index <= losses else fine(request))
        topics = self.connect(stub.url)
        topics.get("warm-up")
        return stub, topics

    def test_a_lost_request_is_repeated_once_if_that_is_harmless(self) -> None:
        for loss in ("close", "close within the response"):
            for name, request in repeated.items():
                with self.subTest(name, loss=loss):
                    stub, topics = self.losing(loss, 1)
                    request(topics)
                    self.assertEqual(len(stub.requests), 3)
                    self.assertEqual(stub.requests[1].text, stub.requests[2].text)
            stub, topics = self.losing(loss, 2)
            self.assertRaises(topicd.ConnectionLost, topics.get, "a")
            self.assertEqual(len(stub.requests), 3, "but only once")

    def test_a_lost_request_is_not_repeated_if_that_could_do_harm(self) -> None:
        for loss in ("close", "close within the response"):
            for name, request in not_repeated.items():
                with self.subTest(name, loss=loss):
                    stub, topics = self.losing(loss, 1)
                    self.assertRaises(topicd.ConnectionLost, request, topics)
                    self.assertEqual(len(stub.requests), 2)

    def test_every_request_is_repeated_once_after_a_refused_connection(self) -> None:
        connect = http.client.HTTPConnection.connect
        for name, request in {**repeated, **not_repeated}.items():
            for refusals in (1, 2):
                with self.subTest(name, refusals=refusals):
                    stub = self.stub(fine)
                    attempts: List[int] = []

                    def attempt(link: http.client.HTTPConnection) -> None:
                        attempts.append(1)
                        if len(attempts) <= refusals:
                            raise ConnectionRefusedError
                        connect(link)

                    with mock.patch.object(http.client.HTTPConnection, "connect", attempt):
                        if refusals == 1:
                            request(self.connect(stub.url))
                        else:
                            self.assertRaises(topicd.NotConnected, request, self.connect(stub.url))
                    self.assertEqual((len(attempts), len(stub.requests)), (2, 2 - refusals))

    def test_other_failures_to_connect_are_not_repeated(self) -> None:
        for reason in (socket.gaierror("unknown name"), TimeoutError(errno.ETIMEDOUT, "unknown host")):
            with mock.patch("socket.create_connection", side_effect=reason) as connect:
                with self.assertRaisesRegex(topicd.NotConnected, "unknown "):
                    self.connect("http://topicd.invalid").get("a")
            self.assertEqual(connect.call_count, 1)

    def test_a_write_that_may_have_been_applied_is_not_reported_as_unsent(self) -> None:
        stub, topics = self.losing("close", 1)
        with mock.patch("socket.create_connection", side_effect=ConnectionRefusedError):
            self.assertRaises(topicd.ConnectionLost, topics.set, "a", 1)
        self.assertEqual(len(stub.requests), 2)

    def test_a_request_that_exceeds_its_time_limit_fails_and_is_not_repeated(self) -> None:
        stub = self.stub(lambda *_: "be silent")
        for request in (
            lambda: self.connect(stub.url, timeout=0.5).get("a"),
            lambda: self.connect(stub.url).get("a", timeout=0.5),
            lambda: self.connect(stub.url, timeout=patience).upload(operations, timeout=0.5),
            lambda: next(self.connect(stub.url).walk(">a", timeout=0.5)),
        ):
            self.assertRaises(TimeoutError, request)
        self.assertEqual(len(stub.requests), 4)

    def test_a_response_that_trickles_exceeds_the_time_limit(self) -> None:
        stub = self.stub(lambda *_: Response('{"count":1}' + " " * 10**5, headers={"x-then": "trickle"}))
        self.assertRaises(TimeoutError, self.connect(stub.url, timeout=0.3).count, "*a")

    def test_a_connection_is_kept_and_reused(self) -> None:
        stub = self.stub(fine)
        with self.connect(stub.url) as topics:
            for _ in range(3):
                topics.get("a")
                topics.batch(operations)
            self.assertEqual(len({request.port for request in stub.requests}), 1)
            with mock.patch("topicd.connection._idle_seconds_max", 0):
                topics.get("a")
            self.assertEqual(len({request.port for request in stub.requests}), 2, "a connection that was idle for too long is not reused")

    def test_a_rejection_keeps_the_connection(self) -> None:
        stub = self.stub(lambda *_: refused(429, "too_many_requests", retry_after="7"))
        topics = self.connect(stub.url)
        for _ in range(3):
            self.assertRaises(topicd.TopicdError, topics.get, "a")
        self.assertEqual(len({request.port for request in stub.requests}), 1)
        topics.close()

    def test_a_connection_that_was_closed_while_idle_loses_no_request(self) -> None:
        stub = self.stub(lambda request, _: fine(request)._replace(headers={"connection": "close"}))
        topics = self.connect(stub.url)
        for _ in range(3):
            topics.batch(operations)
        # The service closes the connection without a `connection: close` header.
        quiet = self.stub(fine)
        topics = self.connect(quiet.url)
        topics.get("a")
        quiet.close_connections()
        topics.batch(operations)
        self.assertEqual(len(quiet.requests), 2)

    def test_threads_have_separate_connections(self) -> None:
        barrier = threading.Barrier(4)

        def answer(request: Any, _: int) -> Answer:
            barrier.wait(patience)
            return fine(request)

        stub = self.stub(answer)
        with self.connect(stub.url, timeout=patience) as topics:
            threads = [threading.Thread(target=topics.get, args=("a",)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len({request.port for request in stub.requests}), 4)

    def test_a_rejection_has_all_members_of_its_response_and_is_not_repeated(self) -> None:
        text = '{"code":"overloaded","message":"Later.","operation":3}'
        stub = self.stub(lambda *_: Response(text, 503, {"retry-after": "7"}))
        with self.assertRaises(topicd.TopicdError) as raised:
            self.connect(stub.url).batch(operations)
        error = raised.exception
        found = (error.status, error.code, error.message, error.operation, error.retry_after_seconds)
        self.assertEqual(found, (503, "overloaded", "Later.", 3, 7))
        self.assertEqual(str(error), "Later. (503 overloaded)")
        self.assertEqual(len(stub.requests), 1)

    def test_a_response_that_is_not_from_topicd_raises_unexpected_answer(self) -> None:
        answers = [(502, "<html>Bad Gateway</html>"), (400, '{"code":1,"message":"x"}'), (400, "[1]"),
                   (200, "<html>Welcome</html>"), (200, '{"results":{}}'), (200, "[]"), (204, ""),
                   (200, '{"path":7,"type":"json","results":[],"has_more":1}')]
        for status, text in answers:
            stub = self.stub(lambda *_: Response(text, status, {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}))
            topics = self.connect(stub.url)
            for name in ("get", "page", "walk", "count", "batch"):
                with self.subTest(text, name=name):
                    with self.assertRaises(topicd.TopicdError) as raised:
                        {**repeated, **not_repeated}[name](topics)
                    error = raised.exception
                    self.assertEqual((error.status, error.code), (status, "unexpected_answer"))
                    self.assertIsNone(error.retry_after_seconds)

    def test_a_request_is_a_post_below_the_base_path_with_the_key(self) -> None:
        stub = self.stub(fine)
        for base in ("", "/base/x//"):
            with topicd.connect(stub.url + base, " the-key\n") as topics:
                topics.set("a", 1)
            request = stub.requests[-1]
            self.assertEqual(request.path, base.rstrip("/") + "/topics/set")
            self.assertEqual(request.headers["authorization"], "Apikey the-key")
            self.assertEqual(request.headers["content-type"], "application/json")
            self.assertEqual(request.text, '{"path":"a","value":1}')

    def test_connect_rejects_wrong_arguments_with_a_message_that_does_not_show_the_key(self) -> None:
        for key in ("", " ", "two\nlines", "Apikey secret", "sécret", None, 7):
            with self.assertRaises(ValueError) as raised:
                topicd.connect("http://127.0.0.1:8080", key)  # type: ignore[arg-type]
            self.assertNotIn("cret", str(raised.exception))
        for url in ("", "localhost:8080", "/base", "ftp://h", "http://", "http://u:p@h", "http://h/?x", "http://h/#x"):
            with self.assertRaisesRegex(ValueError, "must be an http or https URL"):
                topicd.connect(url, "k")
        with self.assertRaisesRegex(ValueError, "numbers must be one of float, decimal, text"):
            topicd.connect("http://h", "k", numbers="int")  # type: ignore[arg-type]
