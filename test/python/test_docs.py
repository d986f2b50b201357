"""The examples of docs/python, and those in Python of README.md, do what is written there.

Blocks ```python are doctests, all of a page one session; ```python with NAME are left out where there is no such module.
In blocks ```console python the lines that begin with "$ " are commands for the shell, and the others what they print.
"""

import doctest
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

import caret

PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(caret.__file__)))
SOURCE = os.path.abspath(os.environ.get("CARET_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..")))
BLOCK = re.compile(r"^```(python|console)(?: ([^\n]*))?\n(.*?)^```$", re.M | re.S)


def runs(kind, option):
    if kind == "console":
        return option == "python"
    if option is None:
        return True
    word, module = option.split(" ")
    assert word == "with", option
    return importlib.util.find_spec(module) is not None


def commands(text):
    """(command, what it prints) of a block for the shell."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


class Pages(unittest.TestCase):
    def run_python(self, source, scope, path):
        test = doctest.DocTestParser().get_doctest(source, scope, os.path.basename(path), path, 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL, verbose=False)
        runner.run(test, out=said.append, clear_globs=False)
        scope.update(test.globs)
        self.assertEqual("".join(said), "")
        return len(test.examples)

    def run_console(self, text):
        count, environment = 0, {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": PACKAGES}
        for count, (command, output) in enumerate(commands(text), 1):
            done = subprocess.run(["sh", "-c", 'python() { "$PYTHON" "$@"; }\n' + command], text=True,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.stdout, output, command)
        return count

    def run_page(self, path):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        scope, count = {}, 0
        for kind, option, block in BLOCK.findall(text):
            if not runs(kind, option or None):
                continue
            count += self.run_console(block) if kind == "console" else self.run_python(block, scope, path)
        return count

    def test_pages(self):
        before = os.getcwd()
        pages = glob.glob(os.path.join(SOURCE, "docs", "python", "*.md")) + [os.path.join(SOURCE, "README.md")]
        examples = 0
        for page in sorted(pages):
            with self.subTest(page=os.path.basename(page)), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    examples += self.run_page(page)
                finally:
                    os.chdir(before)
        self.assertGreater(examples, 100)


if __name__ == "__main__":
    unittest.main()
