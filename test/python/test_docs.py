"""The examples of docs/python, and those in Python of README.md, do what is written there."""

import doctest
import glob
import os
import re
import tempfile
import unittest

SOURCE = os.environ.get("CARET_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


class Pages(unittest.TestCase):
    def run_page(self, path):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        blocks = [(m.start(), m[1]) for m in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]
        source = "\n".join(block for _, block in blocks)
        test = doctest.DocTestParser().get_doctest(source, {}, os.path.basename(path), path, 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL, verbose=False)
        runner.run(test, out=said.append)
        self.assertEqual("".join(said), "")
        return len(test.examples)

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
        self.assertGreater(examples, 60)


if __name__ == "__main__":
    unittest.main()
