"""The stubs: what programs write (typed.py) is sound to mypy --strict and to pyright, and the stubs say what the module
has, to stubtest.  Each is left out where it is not installed.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import caret

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(caret.__file__)))
MYPY = "[mypy]\ncache_dir = {0}/cache\n[mypy-aiocache.*]\nignore_missing_imports = True\n[mypy-django.*]\nignore_missing_imports = True\n"
# Checkers older than PEP 800 do not know the decorator that stubtest asks for; the classes can be derived from by themselves.
ALLOWED = "caret.Node\ncaret._core.Node\ncaret._core.Frame\n"
WRONG = "import caret\nn: int = caret.open('x')['^n'].value\n"


class Typing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="caret-python-")
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(os.path.join(HERE, "typed.py"), self.folder)
        self.write("wrong.py", WRONG)
        self.write("mypy.ini", MYPY.format(self.folder))
        self.write("allowed", ALLOWED)
        self.write("pyrightconfig.json", json.dumps({"typeCheckingMode": "strict", "extraPaths": [PACKAGE]}))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def run_it(self, module, *arguments):
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            self.skipTest("%s is not installed" % module)
        done = subprocess.run([sys.executable, "-m", module, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": PACKAGE, "MYPYPATH": PACKAGE})
        return done.returncode, done.stdout + done.stderr

    def sound(self, module, *arguments):
        status, said = self.run_it(module, *arguments)
        self.assertEqual(status, 0, said)

    def unsound(self, module, *arguments):
        status, said = self.run_it(module, *arguments)
        self.assertEqual(status, 1, said)
        self.assertIn("wrong.py:2", said)

    def test_mypy(self):
        self.sound("mypy", "--strict", "typed.py")
        self.unsound("mypy", "--strict", "wrong.py")

    def test_pyright(self):
        self.sound("pyright", "typed.py")
        self.unsound("pyright", "wrong.py")

    def test_stubtest(self):
        self.sound("mypy.stubtest", "caret", "--ignore-missing-stub", "--ignore-unused-allowlist", "--allowlist", "allowed",
                   "--mypy-config-file", "mypy.ini")


if __name__ == "__main__":
    unittest.main()
