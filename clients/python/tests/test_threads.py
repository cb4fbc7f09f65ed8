"""One client in several threads, and in processes after a fork: each gets its own responses, and no write is lost."""

import os
import threading
import unittest
from typing import Any, List
from unittest import mock

import topicd

from .service import Service, patience
from .stub import StubTest, Response, refused


class Threads(unittest.TestCase):
    def test_no_increment_and_no_update_is_lost(self) -> None:
        service = Service.shared()
        failures: List[BaseException] = []

        def count() -> None:
            try:
                for _ in range(10):
                    topics.increment("sum", topicd.JsonText("0.1"))
                    topics.update("counter", lambda item: (item.value if item else 0) + 1)
            except BaseException as error:
                failures.append(error)

        with topicd.connect(service.url, service.key) as topics:
            topics.remove_matches("?.*//")
            topics.add_and_set("sum", 0)
            threads = [threading.Thread(target=count) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            items = topics.get_many(["sum", "counter"])
            self.assertEqual([item and item.text for item in items], ["4", "40"])

    def test_processes_after_a_fork_have_their_own_connections(self) -> None:
        service = Service.shared()
        with topicd.connect(service.url, service.key) as topics:
            topics.batch([{"op": "addAndSet", "path": f"fork/{number}", "value": number} for number in range(4)])
            children = []
            for number in range(4):
                child = os.fork()
                if child == 0:
                    # The child must not continue running the tests.
                    status = 1
                    try:
                        items = [topics.get(f"fork/{number}") for _ in range(50)]
                        status = 0 if all(item and item.value == number for item in items) else 1
                    finally:
                        os._exit(status)
                children.append(child)
            self.assertEqual([os.waitpid(child, 0)[1] for child in children], [0, 0, 0, 0])

    def test_a_forked_child_that_closes_the_client_does_not_end_its_parents_stream(self) -> None:
        service = Service.shared()
        outages: List[Exception] = []
        with topicd.connect(service.url, service.key) as topics:
            topics.remove_matches("*forked//")
            with topics.follow("*forked//", on_disconnected=outages.append) as live:
                live.wait_ready(patience)
                child = os.fork()
                if child == 0:
                    try:
                        topics.close()
                    finally:
                        os._exit(0)
                os.waitpid(child, 0)
                topics.add_and_set("forked", 1)
                live.wait_for(lambda topics: "forked" in topics, patience)
        self.assertEqual(outages, [])


class StubUpdates(StubTest):
    def test_update_fails_after_attempts_max_attempts(self) -> None:
        current = Response('{"path":"a","type":"json","version":7,"value":1}')
        conflict = refused(409, "unsatisfied_constraint")
        stub = self.stub(lambda request, _: current if request.path.endswith("fetch") else conflict)
        with mock.patch("time.sleep") as sleep:
            for options, attempts in (({}, 16), ({"attempts_max": 1}, 1)):
                sleep.reset_mock()
                stub.requests.clear()
                with self.assertRaisesRegex(topicd.TopicdError, "unsatisfied_constraint"):
                    self.connect(stub.url).update("a", lambda item: 2, **options)  # type: ignore[arg-type]
                self.assertEqual(len(stub.requests), 2 * attempts)
                self.assertEqual(sleep.call_count, attempts - 1)
        self.assertEqual(stub.requests[1].members["constraint"], {"version": 7})
        with self.assertRaisesRegex(ValueError, "attempts_max must be at least 1"):
            self.connect(stub.url).update("a", lambda item: 2, attempts_max=0)

    def test_an_error_in_change_is_raised(self) -> None:
        stub = self.stub(lambda *_: refused(400, "no_such_topic"))
        given: List[Any] = []

        def change(item: Any) -> None:
            given.append(item)
            raise KeyError("a defect")

        self.assertRaises(KeyError, self.connect(stub.url).update, "a", change)
        self.assertEqual(given, [None])
