"""JSON without loss: exact numbers in both directions, the text of values, and values that JSON cannot hold."""

import copy
import dataclasses
import datetime
import json
import os
import pickle
import random
import unittest
from decimal import Decimal
from typing import Any

import topicd
from topicd.item import item_of
from topicd.json_text import decoder, elements_of, encode, members_of


class Sent(unittest.TestCase):
    def test_numbers_keep_every_digit(self) -> None:
        for value, text in (
            (12345678901234567890, "12345678901234567890"), (0.1, "0.1"), (1.0, "1.0"), (True, "true"), (-0.0, "-0.0"),
            (Decimal("1.10"), "1.10"), (Decimal("-0"), "-0"), (Decimal("1E+400"), "1E+400"), (Decimal("1e-7"), "1E-7"),
            (topicd.JsonText("1.0e05"), "1.0e05"), ({"a": [Decimal("2.50"), topicd.JsonText('{ "b" : 1 }')]}, '{"a":[2.50,{ "b" : 1 }]}'),
            ((1, "é😀"), '[1,"é😀"]'), ("\ud800\x7f\u2028", '"\\ud800\x7f\u2028"'),
        ):
            self.assertEqual(encode(value), text)
            json.loads(text)

    def test_a_value_that_json_cannot_hold_raises(self) -> None:
        loop: Any = []
        loop.append(loop)
        for value in (float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity"), {1, 2}, datetime.date(2026, 1, 2), b"x", loop, {(1, 2): 3}):
            for part in (value, {"a": [value]}):
                with self.assertRaises((TypeError, ValueError)):
                    encode(part)
        with self.assertRaisesRegex(TypeError, r"JSON cannot hold datetime.date\(2026, 1, 2\), which is a date"):
            encode({"a": datetime.date(2026, 1, 2)})

    def test_a_json_text_must_be_json(self) -> None:
        topicd.JsonText("9" * 5000)
        for text in ("", "{", "NaN", "[Infinity]", "01", "'a'", "1 2"):
            with self.assertRaises(ValueError):
                topicd.JsonText(text)


class Received(unittest.TestCase):
    def value(self, text: str, numbers: Any) -> Any:
        return item_of('{"path":"a","type":"json","value":%s}' % text, decoder(numbers)).value

    def test_received_numbers_have_the_chosen_type(self) -> None:
        text = '[12345678901234567890, 1.10, 1e400, "1.10"]'
        self.assertEqual(self.value(text, "float"), [12345678901234567890, 1.1, float("inf"), "1.10"])
        self.assertEqual(repr(self.value(text, "decimal")), "[12345678901234567890, Decimal('1.10'), Decimal('1E+400'), '1.10']")
        self.assertEqual([getattr(part, "text", part) for part in self.value(text, "text")], ["12345678901234567890", "1.10", "1e400", "1.10"])
        self.assertEqual(encode(self.value(text, "text")), text.replace(", ", ","))

    def test_an_item_can_be_copied_and_pickled(self) -> None:
        item = item_of('{"path":"a","type":"json","value":1.10}', decoder("decimal"))
        for same in (copy.deepcopy(item), pickle.loads(pickle.dumps(item)), dataclasses.replace(item)):
            self.assertEqual((same, same.value), (item, Decimal("1.10")))
        self.assertEqual(dataclasses.asdict(item)["text"], "1.10")

    def test_the_text_of_a_value_needs_no_parsing(self) -> None:
        for text in ("[" * 1000 + "]" * 1000, "9" * 5000, '{"a":1,"a":2}', '"}]\\\\\\"{["', "{}", "[]", "[ ]"):
            for rest in ("", ',"properties":{}'):
                item = item_of('{"path":"a","type":"json","value": %s %s}' % (text, rest), decoder("float"))
                self.assertEqual(item.text, text)

    def test_random_json_is_sliced_as_the_parser_reads_it(self) -> None:
        seed = int(os.environ.get("SEED", random.randrange(10**6)))
        chance = random.Random(seed)

        def made(depth: int) -> Any:
            kind = chance.randrange(3 if depth < 4 else 1)
            if kind == 0:
                return chance.choice([1, -2.5, None, True, "", "a,b", '"', "\\", "[{", "é\u2028", "x" * 99])
            parts = [made(depth + 1) for _ in range(chance.randrange(4))]
            return parts if kind == 1 else {f'{index}"]\\,': part for index, part in enumerate(parts)}

        for _ in range(300):
            value = made(0)
            text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 1]))
            with self.subTest(seed=seed, text=text):
                if isinstance(value, dict):
                    self.assertEqual({name: json.loads(part) for name, part in members_of(text).items()}, value)
                elif isinstance(value, list):
                    self.assertEqual([json.loads(part) for part in elements_of(text)], value)
                for read in (members_of, elements_of):
                    with self.assertRaises(ValueError):
                        read(text[:-1])

    def test_text_of_another_form_raises(self) -> None:
        for text in ("", "1", '"a"', "[1", "1]", "[1]]", "[1}", "[[1]", "[1] 2", "null"):
            self.assertRaises(ValueError, elements_of, text)
        for text in ("[]", "{", '{"a"}', '{"a":1', '{"a":1}}', "{1:2}", '{"a":1,"b"}', '{"a":1,}'):
            self.assertRaises(ValueError, members_of, text)
