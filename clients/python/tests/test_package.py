"""The wheel and the sdist: their contents, reproducible builds, and installation."""

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from typing import Dict, List, Tuple

from .service import patience, root

home = os.path.join(root, "clients/python")

with open(os.path.join(root, "package.json"), encoding="utf-8") as file:
    version = json.load(file)["version"]

#: Imports the package and creates a client.
program = "import topicd; topicd.connect('http://h', 'k'); print(topicd.__file__)"


class Package(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="topicd-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_python(self, *arguments: str, **environment: str) -> str:
        ran = subprocess.run([sys.executable, *arguments], env={**os.environ, **environment}, cwd=self.folder, text=True,
                             timeout=patience, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        return ran.stdout

    def build(self, source: str, *arguments: str) -> Tuple[str, str]:
        out = tempfile.mkdtemp(dir=self.folder)
        program = os.path.join(source, "build_backend.py")
        wheel, sdist = self.run_python(program, out, *arguments, SOURCE_DATE_EPOCH="1700000000").split()
        return wheel, sdist

    def members(self, sdist: str) -> Dict[str, bytes]:
        with tarfile.open(sdist) as archive:
            return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]

    def bytes_of(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def test_wheel_and_sdist_have_the_version_of_the_service(self) -> None:
        names = [os.path.basename(path) for path in self.build(home)]
        self.assertEqual(names, [f"topicd-{version}-py3-none-any.whl", f"topicd-{version}.tar.gz"])
        names = [os.path.basename(path) for path in self.build(home, "7.8.9")]
        self.assertEqual(names, ["topicd-7.8.9-py3-none-any.whl", "topicd-7.8.9.tar.gz"], "or a given version, for tests of upgrades")

    def test_the_wheel_has_the_package_and_a_correct_record(self) -> None:
        wheel, _ = self.build(home)
        with zipfile.ZipFile(wheel) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        info = f"topicd-{version}.dist-info"
        modules = {f"topicd/{name}" for name in os.listdir(os.path.join(home, "topicd")) if not name.startswith("__py")}
        self.assertEqual(set(files), modules | {f"{info}/{name}" for name in ("LICENSE", "METADATA", "WHEEL", "RECORD")})
        self.assertIn("topicd/py.typed", files)
        record: List[List[str]] = list(csv.reader(io.StringIO(files[f"{info}/RECORD"].decode())))
        self.assertEqual([row[0] for row in record], list(files))
        for name, digest, size in record[:-1]:
            expected = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
            self.assertEqual((digest, size), (f"sha256={expected}", str(len(files[name]))), name)
        metadata = files[f"{info}/METADATA"].decode()
        for line in ("Name: topicd", f"Version: {version}", "Requires-Python: >=3.9", "Summary: The client of topicd, a topic tree over HTTP"):
            self.assertIn(f"{line}\n", metadata)
        self.assertIn("\n\n# The Python client\n", metadata, "README.md is the description")

    def test_the_same_commit_produces_the_same_files(self) -> None:
        first, second = self.build(home), self.build(home)
        for one, other in zip(first, second):
            self.assertEqual(self.bytes_of(one), self.bytes_of(other))

    def test_the_sdist_builds_the_same_files(self) -> None:
        wheel, sdist = self.build(home)
        self.assertIn(f"topicd-{version}/PKG-INFO", self.members(sdist))
        for path, data in self.members(sdist).items():
            os.makedirs(os.path.join(self.folder, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(self.folder, path), "wb") as file:
                file.write(data)
        again = self.build(os.path.join(self.folder, f"topicd-{version}"))
        self.assertEqual([self.bytes_of(path) for path in again], [self.bytes_of(wheel), self.bytes_of(sdist)])

    def test_a_program_can_import_from_the_wheel_itself(self) -> None:
        wheel, _ = self.build(home)
        self.assertIn(".whl", self.run_python("-c", program, PYTHONPATH=wheel))

    def test_pip_installs_wheel_sdist_and_checkout(self) -> None:
        if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("pip is not installed: installation was NOT tested")
        for source in (*self.build(home), home):
            target = tempfile.mkdtemp(dir=self.folder)
            with self.subTest(source):
                # Nothing is downloaded.
                self.run_python("-m", "pip", "install", "--no-index", "--no-cache-dir", "--target", target, source)
                self.assertIn(target, self.run_python("-c", program, PYTHONPATH=target))
                self.assertIn(f"topicd-{version}.dist-info", os.listdir(target))
