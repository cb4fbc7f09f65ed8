"""Rules for the modules: imports run one way and need only Python 3.9, every module has a docstring, all stay small."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, List

import topicd

from .service import root

home = os.path.join(root, "clients/python")

#: A module imports only modules that precede it.
order = ["json_text", "errors", "selectors", "item", "connection", "upload", "changes", "live", "client", "__init__"]

#: The types of the methods' options.
options = ["Versioned", "Writing", "Removing", "Shown", "Reading", "Paging", "Following"]

#: Maximum number of the package's lines, without empty lines, comments and docstrings.
lines_max = 800


def read(name: str) -> str:
    with open(os.path.join(home, "topicd", f"{name}.py"), encoding="utf-8") as file:
        return file.read()


class Sources(unittest.TestCase):
    modules: Dict[str, ast.Module] = {name: ast.parse(read(name), feature_version=(3, 9)) for name in order}

    def test_every_module_is_known(self) -> None:
        names = [name for name in os.listdir(os.path.join(home, "topicd")) if name.endswith(".py")]
        self.assertEqual(sorted(names), sorted(f"{name}.py" for name in order))

    def test_imports_run_one_way_and_need_the_standard_library_alone(self) -> None:
        for name, module in self.modules.items():
            for node in ast.walk(module):
                if isinstance(node, ast.ImportFrom) and node.level:
                    self.assertLess(order.index(str(node.module)), order.index(name), f"{name} imports {node.module}")
                elif isinstance(node, (ast.Import, ast.ImportFrom)):
                    imported = str(node.module) if isinstance(node, ast.ImportFrom) else node.names[0].name
                    # Type checkers provide typing_extensions.
                    if imported != "typing_extensions":
                        self.assertIn(imported.split(".")[0], getattr(sys, "stdlib_module_names", imported), name)
        self.assertIn("if TYPE_CHECKING:\n    from typing_extensions import Unpack\n", read("client"))

    def test_each_module_and_each_public_name_has_a_docstring(self) -> None:
        missing: List[str] = []
        for name, module in self.modules.items():
            nodes = [module, *(node for node in ast.walk(module) if isinstance(node, (ast.ClassDef, ast.FunctionDef)))]
            for node in nodes:
                own = getattr(node, "name", "")
                # Nested functions and the types of options are not part of the interface.
                if not own.startswith("_") and own not in (*options, "marked", "sent", "is_over") and ast.get_docstring(node) is None:
                    missing.append(f"{name} {own}")
        self.assertEqual(missing, [])

    def test_the_package_stays_small(self) -> None:
        total = 0
        for name, module in self.modules.items():
            lines = read(name).splitlines()
            self.assertLessEqual(max(map(len, lines)), 120, name)
            for node in ast.walk(module):
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                    text = node.body[0]
                    lines[text.lineno - 1 : text.end_lineno] = [""] * (int(text.end_lineno or 0) - text.lineno + 1)
            total += sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))
        self.assertLessEqual(total, lines_max)

    def test_the_package_exports_everything_that_its_entry_imports(self) -> None:
        imported = [alias.name for node in self.modules["__init__"].body if isinstance(node, ast.ImportFrom) for alias in node.names]
        self.assertEqual(sorted(imported), sorted(topicd.__all__))

    def test_the_types_are_correct(self) -> None:
        mypy = shutil.which("mypy")
        if mypy is None:
            self.skipTest("mypy is not installed: types were NOT checked")
        # The incomplete feature is enabled by default from mypy 1.7 on.
        command = [mypy, "--no-incremental", "--enable-incomplete-feature=Unpack"]
        program = """
import topicd
topics = topicd.connect("http://h", "k")
item = topics.get("a", type="any")
text: str = "" if item is None or item.text is None else item.text
topics.get("a", type="none")
topics.get("a", sort="any")
item.text
"""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            command += ["topicd", "build_backend.py", file.name]
            ran = subprocess.run(command, cwd=home, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = [line for line in ran.stdout.splitlines() if ": error: " in line]
        expected = ['6: error: Argument "type" to "get" of "Client" has incompatible type', '7: error: Unexpected keyword argument "sort"',
                    '8: error: Item "None" of "Optional[Item]" has no attribute "text"']
        self.assertEqual(len(found), len(expected), "exactly these errors:\n" + ran.stdout)
        for line, text in zip(found, expected):
            self.assertIn(f"{file.name}:{text}", line)
