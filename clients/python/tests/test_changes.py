"""The iterator of changes with a stub: the ends of attempts, their consequences, and the waits."""

import threading
import time
from typing import Any, List, Tuple
from unittest import mock

import topicd

from .service import patience
from .stub import Answer, Response, StubTest, end, event, page, refused, stream

topic = '{"path":"a","type":"json","value":1.0}'
removed = '{"path":"a","removed":true}'


class StubChanges(StubTest):
    def changes(self, *answers: Answer, **options: Any) -> topicd.Changes:
        """Returns the changes of a stub that sends these responses and is then silent."""
        self.source = self.stub(lambda _, index: answers[index] if index < len(answers) else "be silent")
        self.told: List[str] = []
        return self.connect(self.source.url).changes(
            "*.*",
            on_connected=lambda: self.told.append("connected"),
            on_disconnected=lambda error: self.told.append(f"disconnected: {error}"),
            **options,
        )

    def waits(self) -> List[float]:
        """Records the waits between attempts, and ends each wait immediately."""
        waits: List[float] = []
        wait = threading.Event.wait

        def record(event: threading.Event, timeout: Any = None) -> bool:
            if timeout is None:
                return wait(event)
            waits.append(timeout)
            return wait(event, 0)

        patch = mock.patch.object(threading.Event, "wait", record)
        patch.start()
        self.addCleanup(patch.stop)
        return waits

    def taken(self, changes: topicd.Changes, count: int) -> List[Tuple[str, str]]:
        return [(change.kind, change.path) for _, change in zip(range(count), changes)]

    def test_changes_arrive_as_they_are_sent(self) -> None:
        text = '{"path":"é\\u2028: b","type":"string","value":"x:\u2028 😀"}'
        changes = self.changes(stream(": still searching", event("1", topic, text, has_more=True), event("2", removed), ":", event("3")))
        first, second, third, complete, again = (next(changes) for _ in range(5))
        assert first.item and second.item
        self.assertEqual((first.kind, first.path, first.item.text, first.item.value), ("topic", "a", "1.0", 1.0))
        self.assertEqual((second.path, second.item.value), ("é\u2028: b", "x:\u2028 😀"))
        self.assertEqual((third, complete, again), (("removed", "a", None), ("complete", "", None), ("complete", "", None)))
        self.assertEqual(self.source.requests[0].members, {"selector": "*.*"})
        self.assertEqual(self.source.requests[0].headers["accept"], "text/event-stream")
        self.assertEqual(changes.next, "3")

    def test_a_stream_resumes_after_its_last_page(self) -> None:
        changes = self.changes(stream(event("1"), event("2", topic)), stream(then="close"), "close", stream(event("3")),
                               since="0", size=7, with_version=True)
        self.waits()
        self.assertEqual(len(self.taken(changes, 4)), 4)
        self.assertEqual([request.members["since"] for request in self.source.requests], ["0", "2", "2", "2"])
        self.assertEqual(self.source.requests[3].members, {"selector": "*.*", "since": "2", "size": 7, "with_version": True})

    def test_next_is_the_token_after_the_changes_taken(self) -> None:
        changes = self.changes(stream(event("1", topic), event("2", topic, removed)))
        tokens = []
        for _ in range(5):
            next(changes)
            tokens.append(changes.next)
        self.assertEqual(tokens, [None, "1", "1", "1", "2"])

    def test_an_outage_is_reported_once_for_any_number_of_attempts(self) -> None:
        changes = self.changes("close", refused(503, "overloaded"), stream(event("1")), "close", Response("<html>", 502), stream(event("2")), stream(event("3")))
        self.waits()
        self.taken(changes, 3)
        begun, ended = self.told[0], "disconnected: the stream has ended"
        self.assertIn("disconnected: ", begun)
        self.assertEqual(self.told[1:], ["connected", ended, "connected", ended, "connected"])

    def test_a_planned_end_is_an_outage_unless_the_stream_resumes_immediately(self) -> None:
        waits = self.waits()
        changes = self.changes(stream(event("1"), end("rotated")), stream(event("2"), end("rotated")), stream(event("3")))
        self.taken(changes, 3)
        self.assertEqual((self.told, changes.is_connected, changes.is_complete), (["connected"], True, True))
        self.assertEqual(set(waits), {0})
        for code in ("draining", "store_unavailable"):
            changes = self.changes(stream(event("1"), end(code)), stream(event("2")))
            self.taken(changes, 2)
            self.assertEqual(self.told, ["connected", f"disconnected: It has ended: {code}.", "connected"])

    def test_waits_grow_with_each_attempt_until_an_attempt_gets_a_page(self) -> None:
        waits = self.waits()
        self.taken(self.changes(*["close"] * 8, stream(event("1")), *["close"] * 2, stream(event("2"))), 2)
        expected = [0.5, 1, 2, 4, 8, 16, 30, 30]
        for wait, longest in zip(waits, expected):
            self.assertTrue(longest / 2 <= wait <= longest, f"{wait} s of {longest}")
        self.assertLess(waits[8], 0.5, "the wait after the end of the stream")
        self.assertLessEqual(waits[9], 0.5)

    def test_an_attempt_waits_as_long_as_the_service_asks(self) -> None:
        waits = self.waits()
        self.taken(self.changes(*[refused(status, "overloaded", retry_after="77") for status in (429, 503)], stream(event("1"))), 1)
        self.assertEqual(waits, [77, 77])

    def test_missed_changes_restart_without_the_token(self) -> None:
        waits = self.waits()
        changes = self.changes(refused(410, "since_gone"), stream(event("1"), end("since_gone")),
                               stream(event("2"), end("access_changed")), stream(event("3", topic)), since="0")
        kinds = [kind for kind, _ in self.taken(changes, 7)]
        self.assertEqual(kinds, ["restarted", "complete", "restarted", "complete", "restarted", "topic", "complete"])
        self.assertEqual([request.members.get("since") for request in self.source.requests], ["0", None, None, None])
        for wait, longest in zip(waits, (0.5, 1, 2)):
            self.assertTrue(longest / 2 <= wait <= longest, f"{wait} s of {longest}")

    def test_polls_replace_a_stream_that_a_proxy_buffers(self) -> None:
        polls = [Response(page(str(index), topic)) for index in range(3)]
        for held in ("be silent", Response(page("x"))):
            with mock.patch("topicd.changes._first_line_seconds", 0.2):
                changes = self.changes(held, *polls)
                self.taken(changes, 6)
            self.assertEqual(self.told, ["connected"], "not an outage")
            asked = [(request.headers["accept"], request.members.get("wait"), request.members.get("since")) for request in self.source.requests]
            self.assertEqual(asked, [("text/event-stream", None, None), ("application/json", 0, None),
                                     ("application/json", 30, "0"), ("application/json", 30, "1")])

    def test_a_poll_continues_while_there_is_more(self) -> None:
        with mock.patch("topicd.changes._first_line_seconds", 0.2):
            changes = self.changes("be silent", Response(page("1", topic, has_more=True)), "close", Response(page("2")))
            self.waits()
            self.assertEqual([kind for kind, _ in self.taken(changes, 2)], ["topic", "complete"])
        self.assertEqual([request.members.get("wait") for request in self.source.requests], [None, 0, 0, 0])

    def test_a_silent_stream_is_an_outage(self) -> None:
        silent = stream(event("1"), then="be silent")
        with mock.patch("topicd.changes._silence_seconds", 0.2):
            changes = self.changes(silent, stream(event("2")))
            self.taken(changes, 2)
        self.assertEqual(len(self.told), 3)
        self.assertIn("disconnected: ", self.told[1])

    def test_a_permanent_rejection_ends_the_iteration(self) -> None:
        answers: List[Tuple[Answer, str]] = [
            (refused(401, "unauthorized"), "unauthorized"),
            (refused(400, "invalid_selector"), "invalid_selector"),
            (stream(end("unauthorized")), "unauthorized"),
            *[(stream(f"data: {data}"), "unexpected_answer") for data in ("<html>", "{}", page("1", "{}"), "null")],
            (stream("event: end\ndata: <html>"), "unexpected_answer"),
            (Response("<html>", 404), "unexpected_answer"),
        ]
        waits = self.waits()
        for answer, code in answers:
            with self.subTest(answer=answer):
                changes = self.changes(answer, stream(event("1")))
                if code == "unexpected_answer" and isinstance(answer, Response) and answer.status != 200:
                    self.assertEqual(next(changes).kind, "complete", "a proxy may respond like this during a restart")
                    continue
                with self.assertRaises(topicd.TopicdError) as raised:
                    next(changes)
                self.assertEqual(raised.exception.code, code)
                self.assertFalse(changes.is_connected)
                self.assertEqual(list(changes), [])
        self.assertEqual(len(waits), 1)

    def test_the_wait_for_a_change_has_a_limit(self) -> None:
        changes = self.changes(stream(event("1")), timeout=0.3)
        self.assertEqual(next(changes).kind, "complete")
        with self.assertRaisesRegex(TimeoutError, "no change within 0.3 s"):
            next(changes)
        self.assertEqual(changes.next, "1")
        refusing = self.changes(*[refused(503, "overloaded", retry_after="77")] * 9, timeout=0.3)
        with self.assertRaisesRegex(TimeoutError, "no change within 0.3 s") as raised:
            next(refusing)
        self.assertIn("overloaded", str(raised.exception.__cause__))

    def test_close_ends_the_iteration_of_another_thread(self) -> None:
        for answer in (stream(event("1"), then="be silent"), "be silent", refused(503, "overloaded", retry_after="77")):
            with self.subTest(answer=answer):
                changes = self.changes(answer)
                thread = threading.Thread(target=lambda: list(changes))
                thread.start()
                while not self.source.requests:
                    time.sleep(0.001)
                changes.close()
                thread.join(patience)
                self.assertFalse(thread.is_alive())

    def test_close_ends_a_poll_that_waits(self) -> None:
        with mock.patch("topicd.changes._first_line_seconds", 0.2):
            changes = self.changes("be silent", Response(page("1")))
            thread = threading.Thread(target=lambda: list(changes))
            thread.start()
            while len(self.source.requests) < 3:
                time.sleep(0.001)
            changes.close()
            thread.join(patience / 4)
            self.assertFalse(thread.is_alive())

    def test_a_host_that_does_not_respond_is_an_outage(self) -> None:
        waits = self.waits()
        with mock.patch("socket.create_connection", side_effect=[TimeoutError("timed out"), OSError("unreachable"), KeyError]):
            self.assertRaises(KeyError, next, self.changes())
        self.assertEqual(self.told, ["disconnected: no complete response: timed out"])
        self.assertEqual(len(waits), 2, "streams are still tried")

    def test_close_ends_an_iteration_in_progress(self) -> None:
        with self.changes(stream(event("1", topic, removed))) as changes:
            next(changes)
        self.assertEqual(list(changes), [])
        changes.close()
        client = self.connect(self.source.url)
        left = client.changes("*.*")
        client.close()
        self.assertEqual(list(left), [])
