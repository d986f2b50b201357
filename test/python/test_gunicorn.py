"""Under gunicorn, where it is installed: the database is opened by the master (preload) or by each worker."""

import http.client
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from support import Case, main

APP = """
import os
import caret
db = caret.open(%r)
hits = db["^hits"]

@db.transactional
def hit():
    hits["all"].value = hits["all"].int(0) + 1
    hits["by", os.getpid()].value = hits["by", os.getpid()].int(0) + 1
    return hits["all"].value

def app(environ, start):
    if environ["PATH_INFO"] == "/lock":
        hits["waits"].value = os.getpid()
        with hits.lock(60):
            pass
    body = ("%%s %%d" %% (hit(), os.getpid())).encode()
    start("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


@unittest.skipIf(importlib.util.find_spec("gunicorn") is None, "gunicorn is not installed (make deps installs it)")
class Gunicorn(Case):
    def start(self, *options):
        with open(os.path.join(self.folder, "app_of_caret.py"), "w") as f:
            f.write(APP % self.path)
        self.address = os.path.join(self.folder, "socket")
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-b", "unix:" + self.address, "--chdir", self.folder, "--workers", "2", *options,
             "app_of_caret:app"], stdout=self.log, stderr=self.log, env={**os.environ, "HOME": self.folder})
        self.addCleanup(self.end)

    def end(self):
        if self.server.poll() is None:
            self.server.kill()
            self.server.wait()

    def ask(self, path="/"):
        """What the page says; a worker that is not there yet, or was killed, is asked again."""
        while self.server.poll() is None:
            connection = Unix(self.address)
            try:
                connection.request("GET", path)
                return connection.getresponse().read().decode().split()
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)
            finally:
                connection.close()
        self.fail(self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def counts(self):
        return self.db["^hits"]["all"].int(0), sum(self.db["^hits"]["by"][pid].int() for pid in self.db["^hits"]["by"])

    def hammer(self, times):
        def work():
            for _ in range(times):
                pids.add(self.ask()[1])

        pids = set()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return pids

    def used(self, *options):
        self.db["^hits"].kill()
        self.start(*options)
        workers = {self.ask()[1]}
        while len(workers) < 2:
            workers |= self.hammer(10)
        before = self.counts()[0]
        with self.db["^hits"].lock():  # a worker that waits for it is killed; the question goes to the other one
            waits = threading.Thread(target=self.ask, args=("/lock",))
            waits.start()
            while self.db["^hits"]["waits"].value is None:
                time.sleep(0.01)
            os.kill(self.db["^hits"]["waits"].int(), signal.SIGKILL)
        waits.join()
        self.hammer(10)
        self.assertGreater(self.counts()[0], before + 40)
        self.assertEqual(*self.counts())
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(), 0, self.said())
        self.assertNotIn("Traceback", self.said())
        self.assertEqual(self.db.check(online=True), [])

    def test_preload(self):
        self.used("--preload")

    def test_each_worker_opens_it(self):
        self.used()

    def test_threads(self):
        self.used("--preload", "--worker-class", "gthread", "--threads", "3")


if __name__ == "__main__":
    main()
