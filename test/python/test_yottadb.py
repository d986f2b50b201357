"""caret.yottadb: what programs for YDBPython 2 see.  Its own tests are run by test/torture/ydbpython.sh."""

import os
import tempfile
import unittest

folder = tempfile.TemporaryDirectory(prefix="caret-python-")
os.environ.pop("ydb_gbldir", None)
os.environ["CARET_DB"] = os.path.join(folder.name, "test.caret")

from caret import yottadb  # noqa: E402
from caret.yottadb import _yottadb  # noqa: E402


class Functions(unittest.TestCase):
    def setUp(self):
        yottadb.delete_tree("^t")
        yottadb.delete_except()

    def test_values_of_both_kinds(self):
        for name in ("^t", "t"):
            self.assertIsNone(yottadb.get(name))
            yottadb.set(name, ("a", b"\xff"), "é")
            self.assertEqual(yottadb.get(name, ("a", b"\xff")), "é".encode())
            self.assertEqual([yottadb.data(name, s) for s in ((), ("a",), ("a", b"\xff"), ("b",))], [10, 10, 1, 0])
            self.assertEqual(yottadb.incr(name, ("n",), 1.5), b"1.5")
            self.assertEqual(yottadb.incr(name, ("n",), b"1E2"), b"101.5")
            self.assertEqual(list(yottadb.nodes(name)), [(b"a", b"\xff"), (b"n",)])
            self.assertEqual(list(reversed(yottadb.nodes(name))), [(b"n",), (b"a", b"\xff")])
            self.assertEqual(list(yottadb.subscripts(name, ("",))), [b"a", b"n"])
            self.assertEqual(list(reversed(yottadb.subscripts(name, ("",)))), [b"n", b"a"])
            yottadb.delete_tree(name, ("a",))
            self.assertEqual(yottadb.data(name, ("a",)), 0)

    def test_long_names_of_locals(self):
        long = b"x" * 5000
        yottadb.set("t", ("2",), "two")
        yottadb.set("t", (long, "b"), "long")
        yottadb.set("t", ("10",), "ten")
        yottadb.set("t", (), "top")
        self.assertEqual(list(yottadb.nodes("t")), [(), (b"2",), (b"10",), (long, b"b")])
        self.assertEqual(list(reversed(yottadb.nodes("t"))), [(long, b"b"), (b"10",), (b"2",), ()])
        self.assertEqual(list(yottadb.subscripts("t", ("",))), [b"2", b"10", long])
        self.assertEqual((yottadb.data("t"), yottadb.data("t", (long,))), (11, 10))
        self.assertEqual(yottadb.incr("t", (long, "n"), "5"), b"5")
        yottadb.set("u", (), "")
        self.assertEqual(yottadb.subscript_next("t"), b"u")
        self.assertEqual(yottadb.subscript_previous("u"), b"t")
        yottadb.delete_except(("u",))
        self.assertEqual(yottadb.data("t"), 0)
        with self.assertRaises(yottadb.YDBError) as e:
            yottadb.set("^t", (long,), "")
        self.assertEqual(e.exception.code(), yottadb.YDB_ERR_GVSUBOFLOW)

    def test_errors(self):
        for code, call in ((yottadb.YDB_ERR_INVVARNAME, lambda: yottadb.get("a b")),
                           (yottadb.YDB_ERR_INVSVN, lambda: yottadb.get("$none")),
                           (yottadb.YDB_ERR_ISVUNSUPPORTED, lambda: yottadb.data("$job")),
                           (yottadb.YDB_ERR_NUMOFLOW, lambda: yottadb.incr("^t", (), "1E47")),
                           (yottadb.YDB_ERR_TIME2LONG, lambda: yottadb.lock_incr("^t", (), -1)),
                           (yottadb.YDB_ERR_CINOENTRY, lambda: yottadb.ci("x"))):
            with self.assertRaises(yottadb.YDBError) as e:
                call()
            self.assertEqual(yottadb.get_error_code(e.exception), code)
        self.assertRaises(TypeError, yottadb.get, "t", (1,))
        self.assertRaises(ValueError, yottadb.get, "x" * 32)
        self.assertRaises(yottadb.YDBNodeEnd, yottadb.node_next, "^t")
        self.assertEqual(yottadb.message(yottadb.YDB_ERR_GVUNDEF), "%YDB-E-GVUNDEF, Global variable undefined: !AD")

    def test_transactions(self):
        node, runs = yottadb.Node("^t"), []

        @yottadb.transaction
        def again(fail=None):
            node["n"] += 1
            yottadb.incr("local")
            runs.append(1)
            if len(runs) < 3:
                raise yottadb.YDBTPRestart
            if fail:
                raise fail

        self.assertEqual(again(), yottadb.YDB_OK)
        self.assertEqual((node["n"].value, len(runs), yottadb.get("local")), (b"1", 3, b"3"))
        self.assertRaises(ZeroDivisionError, again, ZeroDivisionError)
        self.assertRaises(yottadb.YDBTPRollback, again, yottadb.YDBTPRollback)
        self.assertEqual(node["n"].value, b"1")
        self.assertEqual(yottadb.get("$tlevel"), b"0")

    def test_restarts_restore_locals(self):
        runs = []

        def body():
            yottadb.incr("a")
            yottadb.incr("b", ("x" * 2000,))
            runs.append(1)
            return yottadb.YDB_OK if len(runs) == 2 else yottadb.YDB_TP_RESTART

        _yottadb.tp(body, varnames=("*",))
        self.assertEqual((yottadb.get("a"), yottadb.get("b", ("x" * 2000,))), (b"1", b"1"))

    def test_nested_restart(self):
        runs = []

        def inner():
            yottadb.incr("^t")
            runs.append(1)
            return yottadb.YDB_TP_RESTART if len(runs) == 1 else yottadb.YDB_OK

        _yottadb.tp(lambda: _yottadb.tp(inner))
        self.assertEqual((yottadb.get("^t"), len(runs)), (b"1", 2))

    def test_nodes_and_trees(self):
        node = yottadb.Node("^t")
        node["a"]["b"] = "1"
        node["a"].value = "2"
        self.assertEqual(node["a"], b"2")
        self.assertEqual([child.leaf for child in node], [b"a"])
        self.assertEqual(node.load_tree(), {"a": {"value": "2", "b": {"value": "1"}}})
        for data in ({}, [], [1, [2.5, "x"]], {"1": "5", "a": None}, {"1": "one"}, "7", {"a": {"b": [True, {}, []]}}):
            node.delete_tree()
            node.save_json(data)
            self.assertEqual(node.load_json(), data)

    def test_a_fork_while_a_thread_opens_the_database(self):
        yottadb.set("^t", ("a",), "x")
        _yottadb._opening.acquire()
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    os._exit(_yottadb.database()["^t", "a"].value != "x")
                finally:
                    os._exit(2)
        finally:
            _yottadb._opening.release()
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_zwr(self):
        for value in (b"", b"a", b'"', b"\0\1x\x80", bytes(range(256))):
            self.assertEqual(yottadb.zwr2str(yottadb.str2zwr(value)), value)


if __name__ == "__main__":
    unittest.main()
