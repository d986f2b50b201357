"""What the tests of the Python package share: a database in a folder of its own, and children."""

import os
import shutil
import sys
import tempfile
import unittest

import caret


class Case(unittest.TestCase):
    """Each test has self.db, a new database, and self.n, a node in it."""

    options = {"sync": "off"}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="caret-python-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = os.path.join(self.folder, "test.caret")
        self.db = caret.open(self.path, **self.options)
        self.addCleanup(self.db.close)
        self.n = self.db["^n"]

    def in_child(self, body, *args):
        """Run it in a forked child; its exit status: 0 if it returned, or what it gave to sys.exit()."""
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                body(*args)
                status = 0
            except SystemExit as e:
                status = e.code
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1:]])
