"""README.md is correct: its examples form one program and print the output shown below them, and its lists are complete."""

import os
import re
import subprocess
import sys
import unittest

import topicd

from .service import Service, patience, root

home = os.path.join(root, "clients/python")
with open(os.path.join(home, "README.md"), encoding="utf-8") as file:
    page = file.read()

#: Printed on a separate line after the output of each example.
separator = "--- the next example ---"


class ReadMe(unittest.TestCase):
    maxDiff = None

    def test_each_example_prints_the_output_shown_below_it(self) -> None:
        examples = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual(len(examples), page.count("```python"), "each example has its output")
        self.assertGreater(len(examples), 7)
        service = Service.shared()
        with topicd.connect(service.url, service.key) as topics:
            topics.remove_matches("?.*//")
        program = "".join(f"{text}print({separator!r})\n" for text, _ in examples)
        program = program.replace("http://127.0.0.1:8080", service.url)
        environment = {**os.environ, "KEY": service.key, "PYTHONPATH": home}
        ran = subprocess.run([sys.executable, "-c", program], env=environment, timeout=patience, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(ran.stderr, "")
        printed = ran.stdout.split(f"{separator}\n")
        for (text, output), found in zip(examples, printed):
            with self.subTest(text):
                self.assertEqual(found, output)

    def test_the_table_of_methods_lists_every_method(self) -> None:
        methods = {name for name in dir(topicd.Client) if not name.startswith("_")}
        table = page[page.index("| Method |") : page.index("Options are keyword arguments")]
        self.assertEqual(set(re.findall(r"`(\w+)\(", table)), methods - {"close"})

    def test_the_table_of_contents_is_complete(self) -> None:
        headings = re.findall(r"^## (.+)$", page, re.M)
        self.assertEqual(re.findall(r"^- \[(.+)\]\(#.+\)$", page, re.M), headings)
        anchors = [heading.lower().replace(" ", "-") for heading in headings]
        for anchor in re.findall(r"\]\(#(.+?)\)", page):
            self.assertIn(anchor, anchors)
