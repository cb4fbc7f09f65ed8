"""The built service as a separate process, on a free port and in a new directory, until it is stopped."""

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
import threading
from typing import List

root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
_program = os.path.join(root, "dist/main.js")

#: How long a test waits for an event, in s: ample even for a busy machine.
patience = 90


class Service:
    """A running service. Its `key` has all permissions."""

    def __init__(self, *flags: str, workers: int = 1) -> None:
        if not os.path.exists(_program):
            raise RuntimeError(f"{_program} is missing: run `npm run build` first")
        self._directory = tempfile.mkdtemp(prefix="topicd-python-")
        self._data = os.path.join(self._directory, "db")
        address = "--host 127.0.0.1 --port 0 --admin-port 0".split()
        command = ["node", _program, "serve", *address, "--workers", str(workers), "--data", self._data, "--first-key", *flags]
        # Makes the service exit with this process in any case.
        tie = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("TOPICD_")}
        self.process = subprocess.Popen([*tie, *command], stdout=subprocess.PIPE, env=self._environment, text=True)
        self.url = self.key = ""
        self.lines: List[str] = []
        self._printed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.printed(r'"msg":"listening"')
        self.url = self.printed(r'"url":"([^"]+?)/?"')
        self.key = self.printed(r"Apikey ([\w.~+/=-]+)")

    @classmethod
    @functools.lru_cache(maxsize=None)
    def shared(cls) -> "Service":
        """Returns one service for all tests that use only their own topics. It is stopped with this process."""
        service = cls(workers=2)
        atexit.register(service.stop)
        return service

    def printed(self, pattern: str) -> str:
        """Waits for a line that contains this pattern. Returns the pattern's group, if any, otherwise the match."""

        def find() -> "re.Match[str] | None":
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)

        with self._printed:
            found = self._printed.wait_for(find, patience)
        if found is None:
            raise RuntimeError(f"no {pattern} within {patience} s:\n" + "".join(self.lines))
        return found[found.re.groups]

    def run(self, *arguments: str) -> str:
        """Runs a command on this service's store and returns its output."""
        command = ["node", _program, *arguments, "--data", self._data]
        return subprocess.run(command, env=self._environment, text=True, check=True, stdout=subprocess.PIPE).stdout

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(patience)
        self._reader.join()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            for line in output:
                with self._printed:
                    self.lines.append(line)
                    self._printed.notify_all()
