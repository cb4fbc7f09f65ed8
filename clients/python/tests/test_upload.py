"""Uploads: chunks, rejections, progress, and early ends."""

import json
import unittest
from typing import Any, List

import topicd

from .service import Service
from .stub import Response, StubTest, refused


def lines(*answers: Any) -> Response:
    return Response("".join(json.dumps(answer) + "\n" for answer in answers))


class Uploads(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service.shared()

    def test_operations_are_sent_in_chunks_as_they_are_produced(self) -> None:
        made: List[int] = []
        progress: List[Any] = []
        refusals: List[topicd.Refusal] = []

        def operations() -> Any:
            for index in range(9000):
                made.append(index)
                yield {"op": "set" if index % 4500 == 4499 else "add", "path": f"u/{index:04}", **({"value": 1} if index % 4500 == 4499 else {})}

        with topicd.connect(self.service.url, self.service.key) as topics:
            uploaded = topics.upload(operations(), on_refused=refusals.append,
                                     on_progress=lambda uploaded: progress.append((uploaded, len(made))))
            self.assertEqual(topics.count("*u//"), 8998)
        self.assertEqual(uploaded, (8998, 2))
        self.assertEqual(progress, [((4000, 0), 4000), ((7999, 1), 8000), ((8998, 2), 9000)])
        self.assertEqual([(refusal.index, refusal.code) for refusal in refusals], [(4499, "no_such_topic"), (8999, "no_such_topic")])

    def test_large_operations_are_sent_in_smaller_chunks(self) -> None:
        progress: List[Any] = []
        with topicd.connect(self.service.url, self.service.key) as topics:
            large = "x" * 200_000
            topics.upload(({"op": "addAndSet", "path": f"large/{index}", "value": large} for index in range(5)), on_progress=progress.append)
        self.assertEqual(progress, [(2, 0), (4, 0), (5, 0)])

    def test_the_operations_before_an_exception_of_the_iterable_are_sent(self) -> None:
        def operations() -> Any:
            yield from ({"op": "add", "path": f"before/{index}"} for index in range(3))
            raise LookupError("no more")

        sources: List[Any] = [operations(), [{"op": "add", "path": "before/3"}, {"op": "add", "path": object()}]]
        for source in sources:
            with topicd.connect(self.service.url, self.service.key) as topics, self.assertRaises((LookupError, TypeError)):
                topics.upload(source)
        with topicd.connect(self.service.url, self.service.key) as topics:
            self.assertEqual(topics.count("*before//", type="any"), 4)


class StubUploads(StubTest):
    operations = [{"op": "add", "path": path} for path in "abc"]

    def test_another_worker_takes_the_rest_from_a_draining_worker(self) -> None:
        draining = {"code": "draining", "message": "This worker is stopping."}
        answers = [refused(503, "draining"), lines({"line": 1, "code": "x", "message": "X"}, {**draining, "durable": 1, "refused": 1}),
                   lines({"line": 1, "code": "y", "message": "Y"}, {"done": True, "durable": 0, "refused": 1})]
        stub = self.stub(lambda _, index: answers[index])
        refusals: List[topicd.Refusal] = []
        uploaded = self.connect(stub.url).upload(self.operations, on_refused=refusals.append)
        self.assertEqual(uploaded, (1, 2))
        self.assertEqual(refusals, [(0, "x", "X"), (2, "y", "Y")])
        self.assertEqual([len(request.text.splitlines()) for request in stub.requests], [3, 3, 1])
        self.assertEqual(stub.requests[0].headers["accept"], "application/x-ndjson")

    def test_an_early_end_raises_its_code_after_the_progress(self) -> None:
        stub = self.stub(lambda *_: lines({"durable": 1, "refused": 0}, {"code": "disk_nearly_full", "message": "Full.", "durable": 2, "refused": 0}))
        progress: List[Any] = []
        with self.assertRaises(topicd.TopicdError) as raised:
            self.connect(stub.url).upload(self.operations, on_progress=progress.append)
        self.assertEqual((raised.exception.code, progress), ("disk_nearly_full", [(2, 0)]))

    def test_a_rejected_upload_and_an_unknown_response_raise(self) -> None:
        answers = [(refused(401, "unauthorized"), "unauthorized"), (Response("<html>"), "unexpected_answer"), (Response(""), "unexpected_answer"),
                   (Response("[5]\n5"), "unexpected_answer"),
                   (Response('{"durable":3,"refused":0}'), "unexpected_answer")]
        for answer, code in answers:
            with self.subTest(code, answer=answer), self.assertRaises(topicd.TopicdError) as raised:
                self.connect(self.stub(lambda *_: answer).url).upload(self.operations)
            self.assertEqual(raised.exception.code, code)
