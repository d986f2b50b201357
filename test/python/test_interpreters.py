"""Subinterpreters: each imports the package for itself, and they may have one database open."""

import sys

import caret
from support import Case, main

try:
    import _xxsubinterpreters as interpreters  # 3.12; _interpreters afterwards
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        interpreters = None

BODY = """
import sys
sys.path[:0] = %r
import caret
with caret.open(%r) as db:
    db["^n"].incr(int(db["^n"]["by"].value))
    db["^n"]["id"].value = id(caret.Error)
tree = caret.local()
tree["x"].value = 5
assert list(tree.names(local=True)) == ["x"] and tree["x"].int() == 5
"""


class Interpreters(Case):
    def test_each_has_its_own(self):
        if interpreters is None:
            self.skipTest("this Python has no subinterpreters to be had")
        self.n["by"].value = 2
        for i in range(1, 4):
            other = interpreters.create()
            try:
                self.assertIsNone(interpreters.run_string(other, BODY % (sys.path, self.path)))
            finally:
                interpreters.destroy(other)
            self.assertEqual(self.n.int(), 2 * i)
            self.assertNotEqual(self.n["id"].int(), id(caret.Error))
        self.n.value = "still ours"
        self.assertEqual(self.db.check(), [])


if __name__ == "__main__":
    main()
