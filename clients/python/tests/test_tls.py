"""Requests, following and closing over TLS, with a certificate that only the test trusts."""

import os
import shutil
import ssl
import subprocess
import tempfile
import unittest

import topicd

from .service import Service, patience


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed: TLS was NOT tested")
class Tls(unittest.TestCase):
    def test_the_client_works_over_tls(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="topicd-python-")
        self.addCleanup(folder.cleanup)
        certificate, key = (os.path.join(folder.name, name) for name in ("cert.pem", "key.pem"))
        request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=topicd -addext subjectAltName=IP:127.0.0.1"
        subprocess.run(["openssl", *request.split(), "-out", certificate, "-keyout", key], check=True, stderr=subprocess.DEVNULL)
        service = Service("--tls-cert", certificate, "--tls-key", key)
        self.addCleanup(service.stop)
        self.assertTrue(service.url.startswith("https://"))
        with topicd.connect(service.url, service.key) as topics:
            with self.assertRaisesRegex(topicd.NotConnected, "certificate"):
                topics.get("a")
        context = ssl.create_default_context(cafile=certificate)
        with topicd.connect(service.url, service.key, context=context) as topics:
            for value in range(3):
                topics.add_and_set("a", value)
            live = topics.follow("*.*")
            live.wait_ready(patience)
            topics.set("a", 3)
            live.wait_for(lambda topics: bool(topics["a"].value == 3), patience)
            live.close()
            live.wait_for(lambda topics: topics.closed, patience)
            self.assertIsNone(live.error)
