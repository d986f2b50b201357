"""The examples of the pages about other libraries, as doctests, each page in a folder and a process of its own."""

import doctest
import os
import subprocess
import sys
import tempfile
import unittest

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "migrating")


class Pages(unittest.TestCase):
    def page(self, name):
        with tempfile.TemporaryDirectory(prefix="caret-python-") as folder:
            environment = {**os.environ, "CARET_DB": os.path.join(folder, "data.caret")}
            environment.pop("ydb_gbldir", None)
            done = subprocess.run([sys.executable, os.path.abspath(__file__), "--page", os.path.join(DOCS, name)],
                                  cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_ydbpython(self):
        self.page("ydbpython.md")

    def test_diskcache(self):
        self.page("diskcache.md")

    def test_py_lmdb(self):
        self.page("py-lmdb.md")

    def test_shelve(self):
        self.page("shelve.md")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--page"]:
        failed, tried = doctest.testfile(os.path.abspath(sys.argv[2]), module_relative=False)
        sys.exit(failed > 0 or tried == 0)
    unittest.main()
