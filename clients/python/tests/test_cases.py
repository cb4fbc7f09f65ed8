"""The cases of clients/cases.json, which the JavaScript client also runs. test/client/cases.long.test.ts explains them."""

import json
import os
import re
import unittest
from typing import Any, Dict, Set

import topicd

from .service import Service, patience, root

with open(os.path.join(root, "clients/cases.json"), encoding="utf-8") as file:
    cases = json.load(file)

#: The members that a step may have.
members = {"call", "args", "options", "returns", "fails", "then", "becomes"}

#: The methods that only this client has.
own_methods = {"close", "pages"}


def snake(name: str) -> str:
    """Returns the Python form of a JavaScript name."""
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)


def matches(found: Any, expected: Any) -> bool:
    if expected is None or isinstance(expected, (bool, str)):
        return type(found) is type(expected) and bool(found == expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(matches, found, expected))
    if not isinstance(expected, dict):
        return isinstance(found, (int, float)) and found == expected
    if "$any" in expected:
        return isinstance(found, {"number": int, "string": str}[expected["$any"]])
    part = found.get if isinstance(found, dict) else lambda name: getattr(found, snake(name), None)
    return all(matches(part(name), value) for name, value in expected.items())


class Cases(unittest.TestCase):
    called: Set[str] = set()

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service.shared()
        cls.topics = topicd.connect(cls.service.url, cls.service.key)
        cls.addClassCleanup(cls.topics.close)

    def given(self, argument: Any, last: Any) -> Any:
        """Returns an argument in this client's form. `last` is the previous result."""
        if isinstance(argument, list):
            return [self.given(part, last) for part in argument]
        if not isinstance(argument, dict):
            return argument
        if "$text" in argument:
            return topicd.JsonText(argument["$text"])
        if "$last" in argument:
            return last[argument["$last"]] if isinstance(last, dict) else getattr(last, argument["$last"])
        return {name: self.given(part, last) for name, part in argument.items()}

    def call(self, step: Dict[str, Any], last: Any) -> Any:
        call = step["call"]
        arguments = self.given(step["args"], last)
        method = getattr(self.topics, snake(call), None) or getattr(topicd, snake(call), None)
        self.assertTrue(callable(method), f"no method is called {call}")
        options = {snake(name): self.given(option, last) for name, option in step.get("options", {}).items()}
        if call == "follow":
            return self.follow(step, arguments, options)
        if call == "update":
            path, by = arguments
            return method(path, lambda item: None if by is None else (item.value if item else 0) + by, **options)
        if call == "upload":
            refusals = []
            return {**method(*arguments, on_refused=refusals.append)._asdict(), "refusals": refusals}
        if call == "changes":
            with method(*arguments, **options) as changes:
                found = []
                while not found or found[-1].kind != "complete":
                    found.append(next(changes))
                return {"changes": found, "next": changes.next}
        result = method(*arguments, **options)
        return list(result) if call in ("walk", "list") else result

    def follow(self, step: Dict[str, Any], arguments: Any, options: Any) -> Dict[str, Any]:
        with self.topics.follow(*arguments, **options) as live:
            live.wait_ready(patience)
            initial = {path: item.text for path, item in live.items()}
            for inner in step.get("then", ()):
                self.take(inner, None)
            if "becomes" in step:
                live.wait_for(lambda topics: step["becomes"] == {path: topics[path].text for path in topics}, patience)
            return initial

    def take(self, step: Dict[str, Any], last: Any) -> Any:
        """Returns the result of a step; fails if it is not the expected result."""
        self.assertLessEqual(set(step), members)
        self.assertNotEqual("returns" in step, "fails" in step, "either returns or fails")
        self.called.add(snake(step["call"]))
        what = f"{step['call']} {step['args']} {step.get('options', '')}"
        try:
            result = self.call(step, last)
        except (topicd.TopicdError, ValueError) as error:
            self.assertIn("fails", step, f"{what}: {error!r}")
            self.assertTrue(matches(error, step["fails"]), f"{what}: {error!r}")
            return None
        self.assertNotIn("fails", step, what)
        self.assertTrue(matches(result, step["returns"]), f"{what}: {result}")
        return result

    def test_cases(self) -> None:
        for case in cases:
            with self.subTest(case["name"]):
                self.topics.remove_matches("?.*//")
                last = None
                for step in case["steps"]:
                    last = self.take(step, last)
        methods = {name for name in dir(self.topics) if not name.startswith("_")}
        self.assertEqual(methods - self.called - own_methods, set(), "methods that no case calls")

    def test_wrong_cases(self) -> None:
        with self.assertRaisesRegex(AssertionError, "no method is called move"):
            self.take({"call": "move", "args": [], "returns": None}, None)
        with self.assertRaisesRegex(AssertionError, "count"):
            self.take({"call": "count", "args": ["*a"], "returns": 7}, None)
