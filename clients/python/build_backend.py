"""Builds the wheel and the sdist: for pip, as the backend in pyproject.toml, and for a release, which runs this file.

It needs only the standard library: setuptools is not part of Python, its output differs between versions, and it dates
the files of an sdist by the checkout. So a checkout and an sdist install without a network, and a commit always
produces the same files, dated by SOURCE_DATE_EPOCH like the other packages.

    python3 build_backend.py FOLDER [VERSION]     prints the paths of both files
"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time
import zipfile
from typing import Any, Dict, Optional

_here = os.path.dirname(os.path.abspath(__file__))
_package = sorted(name for name in os.listdir(os.path.join(_here, "topicd")) if name.endswith((".py", ".typed")))


def _read(*names: str) -> bytes:
    with open(os.path.join(_here, *names), "rb") as file:
        return file.read()


def _version() -> str:
    """Returns the version: in an sdist from its PKG-INFO, otherwise from package.json, its only source."""
    if os.path.exists(os.path.join(_here, "PKG-INFO")):
        return str(re.findall(r"^Version: (.+)$", _read("PKG-INFO").decode(), re.M)[0])
    return str(json.loads(_read("..", "..", "package.json"))["version"])


def _license() -> bytes:
    return _read("LICENSE") if os.path.exists(os.path.join(_here, "LICENSE")) else _read("..", "..", "LICENSE")


def _seconds() -> int:
    """Returns the time of the commit, but no earlier than 1980, because a zip cannot represent earlier times."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)


def _metadata(version: str) -> bytes:
    project = dict(re.findall(r'^([\w-]+) = "(.*)"$', _read("pyproject.toml").decode(), re.M))
    fields = {
        "Metadata-Version": "2.1", "Name": project["name"], "Version": version, "Summary": project["description"],
        "License": "MIT", "Requires-Python": project["requires-python"], "Description-Content-Type": "text/markdown",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode() + b"\n" + _read("README.md")


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None,
                version: Optional[str] = None) -> str:
    version = version or _version()
    info = f"topicd-{version}.dist-info"
    files: Dict[str, bytes] = {f"topicd/{name}": _read("topicd", name) for name in _package}
    files[f"{info}/LICENSE"] = _license()
    files[f"{info}/METADATA"] = _metadata(version)
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: topicd\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    name = f"topicd-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, time.gmtime(_seconds())[:6])
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None, version: Optional[str] = None) -> str:
    version = version or _version()
    files = {name: _read(name) for name in ("README.md", "build_backend.py", "pyproject.toml")}
    files.update({f"topicd/{name}": _read("topicd", name) for name in _package})
    files.update({"LICENSE": _license(), "PKG-INFO": _metadata(version)})
    name = f"topicd-{version}.tar.gz"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"topicd-{version}/{path}")
            entry.size, entry.mtime, entry.mode = len(data), _seconds(), 0o644
            archive.addfile(entry, io.BytesIO(data))
    with open(os.path.join(sdist_directory, name), "wb") as file:
        file.write(gzip.compress(packed.getvalue(), mtime=_seconds()))
    return name


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    out, chosen = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else _version()
    for built in (build_wheel(out, version=chosen), build_sdist(out, version=chosen)):
        print(os.path.join(out, built))
