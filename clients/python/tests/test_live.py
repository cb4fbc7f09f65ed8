"""Followed topics across reloads, kills and restarts of the service, and at their end."""

import os
import queue
import signal
import subprocess
import threading
import time
import unittest
from typing import Any, List
from unittest import mock

import topicd

from .service import Service, patience
from .stub import StubTest, event, refused, stream


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service.shared()
        cls.topics = topicd.connect(cls.service.url, cls.service.key)
        cls.addClassCleanup(cls.topics.close)

    def test_the_mapping_has_the_current_state_across_a_reload_and_kills(self) -> None:
        self.topics.remove_matches("?.*//")
        self.topics.add_and_set("a/1", 1)
        self.topics.add_and_set("a/2", 12345678901234567890)
        changes: "queue.Queue[topicd.Change]" = queue.Queue()
        with self.topics.follow("*a//", on_change=changes.put, with_version=True) as live:
            live.wait_ready(patience)
            self.assertEqual({path: item.value for path, item in live.items()}, {"a/1": 1, "a/2": 12345678901234567890})
            self.assertTrue(live.is_connected and live.is_complete and live["a/1"].version)
            kinds = [(change.kind, change.path) for change in (changes.get(timeout=patience) for _ in range(3))]
            self.assertEqual(kinds, [("topic", "a/1"), ("topic", "a/2"), ("complete", "")])
            self.see(live, 2)
            self.service.process.send_signal(signal.SIGHUP)
            self.service.printed('"msg":"rolling restart done"')
            self.see(live, 3)
            found = subprocess.run(["pgrep", "-P", str(self.service.process.pid), "-f", "worker/worker.js"], stdout=subprocess.PIPE)
            for worker in found.stdout.split():
                os.kill(int(worker), signal.SIGKILL)
            while True:
                try:
                    self.topics.add_and_set("b", 1)
                    break
                except ConnectionError:
                    pass
            self.see(live, 4)
            self.topics.remove("a/2")
            live.wait_for(lambda topics: "a/2" not in topics, patience)
            self.assertEqual(list(live), ["a/1"])
        live.wait_for(lambda topics: topics.closed, patience)
        self.topics.add("a/3")
        self.assertEqual((len(live), live.error, live.is_connected), (1, None, False), "the mapping does not change after close")
        with self.assertRaisesRegex(ConnectionError, "closed"):
            live.wait_for(lambda topics: "a/3" in topics)

    def see(self, live: topicd.LiveTopics, value: int) -> None:
        self.topics.add_and_set("a/1", value)
        live.wait_for(lambda topics: bool(topics["a/1"].value == value), patience)

    def test_a_revoked_key_ends_following(self) -> None:
        key = self.service.run("keys", "add", "short").strip().split()[-1]
        with topicd.connect(self.service.url, key) as topics:
            live = topics.follow("*.*")
            live.wait_ready(patience)
            self.service.run("keys", "revoke", "short")
            live.wait_for(lambda topics: topics.closed, patience)
            assert isinstance(live.error, topicd.TopicdError)
            self.assertEqual(live.error.code, "unauthorized")
            with self.assertRaisesRegex(topicd.TopicdError, "unauthorized"):
                topics.follow("*.*").wait_ready(patience)


class StubLive(StubTest):
    def test_a_restart_removes_topics_that_were_not_sent_again(self) -> None:
        a, b, c = ('{"path":"%s","type":"json","value":1}' % path for path in "abc")
        answers = [stream(event("1", a, b)), refused(410, "since_gone"), stream(event("2", b, c), then="be silent")]
        stub = self.stub(lambda _, index: answers[index] if index < 3 else "be silent")
        told: List[Any] = []
        with self.connect(stub.url).follow("*.*", on_change=lambda change: told.append(change[:2])) as live:
            live.wait_for(lambda topics: "c" in topics and topics.is_complete, patience)
            self.assertEqual(list(live), ["b", "c"])
        complete = ("complete", "")
        self.assertEqual(told, [("topic", "a"), ("topic", "b"), complete, ("topic", "b"), ("topic", "c"), ("removed", "a"), complete])

    def test_wait_ready_fails_without_a_connection_but_following_continues(self) -> None:
        answers = [refused(503, "overloaded"), stream(event("1"), then="be silent")]
        stub = self.stub(lambda _, index: answers[index] if index < 2 else "be silent")
        outages: List[Exception] = []
        with self.connect(stub.url).follow("*.*", on_disconnected=outages.append) as live:
            with self.assertRaisesRegex(TimeoutError, "not within 0 s"):
                live.wait_ready(0)
            live.wait_ready(patience)
        self.assertEqual([str(error) for error in outages], ["It is overloaded. (503 overloaded)"])

    def test_an_outage_makes_the_mapping_incomplete(self) -> None:
        stub = self.stub(lambda _, index: stream(event("1")) if index == 0 else refused(503, "overloaded", retry_after="77"))
        with self.connect(stub.url).follow("*.*") as live:
            live.wait_ready(patience)
            while live.is_complete or live.is_connected:
                time.sleep(0.001)
            self.assertTrue(live.is_ready)

    def test_an_exception_in_a_callback_ends_following(self) -> None:
        for event_of_callback in ("on_change", "on_connected", "on_disconnected"):
            for defect in (KeyError("a defect"), ConnectionRefusedError("another service's")):
                with self.subTest(event_of_callback, defect=defect):
                    stub = self.stub(lambda *_: stream(event("1")))
                    callback: Any = {event_of_callback: mock.Mock(side_effect=defect)}
                    live = self.connect(stub.url).follow("*.*", **callback)
                    live.wait_for(lambda topics: topics.closed, patience)
                    self.assertIs(live.error, defect)
                    with self.assertRaises(type(defect)):
                        live.wait_for(lambda topics: False)

    def test_items_and_values_are_not_affected_by_later_changes(self) -> None:
        a, b = ('{"path":"%s","type":"json","value":1}' % path for path in "ab")
        removed = '{"path":"a","removed":true}'
        release = threading.Event()

        def answer(_: Any, index: int) -> Any:
            if index == 1:
                release.wait(patience)
            return stream(event(str(index), *((a, b) if index == 0 else (removed,))), then="" if index == 0 else "be silent")

        with self.connect(self.stub(answer).url).follow("*.*") as live:
            live.wait_ready(patience)
            items, values = iter(live.items()), iter(live.values())
            release.set()
            live.wait_for(lambda topics: "a" not in topics, patience)
            self.assertEqual([path for path, _ in items], ["a", "b"])
            self.assertEqual([item.path for item in values], ["a", "b"])

    def test_a_condition_that_was_true_once_ends_the_wait(self) -> None:
        stub = self.stub(lambda *_: stream(event("1"), then="be silent"))
        with self.connect(stub.url).follow("*.*") as live:
            outcomes = iter([True])
            live.wait_for(lambda topics: next(outcomes, False), patience)
