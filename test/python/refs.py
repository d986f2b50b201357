"""For a debug build of CPython: does a test that is run again and again leave references?

    python3-dbg refs.py test_node test_data ...

A test is at fault if each of its last rounds left some.
"""

import array
import gc
import importlib
import io
import sys
import unittest

FIRST, ROUNDS = 2, 3  # caches fill in the first ones


def tests_of(suite):
    for one in suite:
        yield from tests_of(one) if isinstance(one, unittest.TestSuite) else [one]


def run(kind, name):
    result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestSuite([kind(name)]))
    return result.wasSuccessful()


def grown(kind, name):
    """References that each of the last rounds left; None: it failed."""
    deltas = array.array("q", [0] * (FIRST + ROUNDS))  # numbers in a list would be references
    for i in range(FIRST + ROUNDS):
        gc.collect()
        before = sys.gettotalrefcount()
        if not run(kind, name):
            return None
        gc.collect()
        deltas[i] = sys.gettotalrefcount() - before
        before = None
    return list(deltas[FIRST:])


def main():
    passed = failed = 0
    for module in sys.argv[1:]:
        for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))):
            name = "%s.%s" % (type(test).__name__, test._testMethodName)
            deltas = grown(type(test), test._testMethodName)
            good = deltas is not None and min(deltas) <= 0
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("%s %s: %s" % (module, name, "failed" if deltas is None else "leaves %s" % deltas), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
