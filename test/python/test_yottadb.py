"""caret.yottadb: what programs for YDBPython 2 see.  Its own tests are run by test/torture/ydbpython.sh."""

import os
import subprocess
import sys
import tempfile
import unittest

folder = tempfile.TemporaryDirectory(prefix="caret-python-")
os.environ.pop("ydb_gbldir", None)
os.environ["CARET_DB"] = os.path.join(folder.name, "test.caret")

import caret  # noqa: E402
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

    def test_a_local_that_moves_away_while_its_node_is_known(self):
        yottadb.set("t", ("a",), "1")
        self.assertEqual(yottadb.get("t", ("a",)), b"1")
        yottadb.set("t", ("x" * 5000,), "long")  # all of t is in another place now
        yottadb.set("t", ("a",), "2")
        self.assertEqual((yottadb.get("t", ("a",)), yottadb.get("t", ["a"])), (b"2", b"2"))
        self.assertEqual(list(yottadb.nodes("t")), [(b"a",), (b"x" * 5000,)])

    def test_what_is_looked_at_also_in_known_variables(self):
        for name in ("^t", "t", b"^t", b"t"):
            for _ in range(2):
                yottadb.set(name, ("1",), "x")
                self.assertEqual(yottadb.get(name, (b"1",)), b"x")
                for bad in ((1,), (None,), (True,), ("1", 2.0), (["1"],), ({},), 1):
                    for f in (yottadb.get, yottadb.set, yottadb.data, yottadb.lock_incr, yottadb.node_next):
                        self.assertRaises(TypeError, f, name, bad)
                self.assertRaises(ValueError, yottadb.get, name, ("1",) * 32)
                self.assertRaises(ValueError, yottadb.get, name, ("x" * (1 << 20) + "x",))
            yottadb.set(name, ("2", "3"), "y")
            self.assertEqual([yottadb.subscript_next(name, ("1",)), yottadb.get(name, (b"2", "3"))], [b"2", b"y"])
            for f in (yottadb.lock_incr, yottadb.lock_decr) * 2:
                f(name, ("1", "x" * 255))
            with self.assertRaises(yottadb.YDBError) as e:
                yottadb.lock_incr(name, ("1", "x" * 256))
            self.assertEqual(e.exception.code(), yottadb.YDB_ERR_LOCKSUB2LONG)

    def test_more_places_than_are_kept(self):
        for i in range(3000):
            yottadb.set("^t", (str(i),), str(i))
        self.assertEqual([yottadb.get("^t", (str(i),)) for i in range(3000)], [b"%d" % i for i in range(3000)])
        self.assertEqual(list(yottadb.subscripts("^t", ("",))), [b"%d" % i for i in range(3000)])
        self.assertEqual(len(list(yottadb.nodes("^t"))), 3000)
        for table in (_yottadb._kept, _yottadb._tops, _yottadb._locks):
            self.assertLessEqual(len(table), _yottadb._KEPT)

    def test_another_database(self):
        before = yottadb.get("$zgbldir") or os.environ["CARET_DB"]
        yottadb.set("^t", ("a",), "here")
        yottadb.lock_incr("^t", ("a",))
        yottadb.set("$zgbldir", (), os.path.join(folder.name, "other.caret"))
        self.assertEqual((yottadb.get("^t", ("a",)), yottadb.get("^t", ("b",))), (None, None))
        other = _yottadb.database()
        with other.session() as s:
            self.assertTrue(s["^t", "a"].acquire(0))  # what is held is of the first one
        yottadb.lock_incr("^t", ("a",))
        with other.session() as s:
            self.assertFalse(s["^t", "a"].acquire(0))
        yottadb.lock()
        yottadb.set("$zgbldir", (), before)
        self.assertEqual(yottadb.get("^t", ("a",)), b"here")
        yottadb.lock()

    def test_the_empty_subscript_ends_loops(self):
        for name in ("^t", "t"):
            yottadb.set(name, ("",), "first")
            yottadb.set(name, ("5",), "x")
            self.assertRaises(yottadb.YDBNodeEnd, yottadb.subscript_previous, name, ("5",))
            self.assertEqual(list(reversed(yottadb.subscripts(name, ("",)))), [b"5"])
            yottadb.delete_node(name, ("",))
            self.assertEqual(list(reversed(yottadb.nodes(name, ("",)))), [(b"5",)])

    def test_values_that_are_not_bytes(self):
        for sub in ("n", "x" * 5000):
            yottadb.set("t", (sub,), "text")
            self.assertEqual(yottadb.get("t", (sub,)), b"text")
        for node in (yottadb.Node("^t"), yottadb.Node("t")):
            node.value = None
            self.assertEqual(node.value, b"")
            self.assertRaises(TypeError, node.set, 1)
            self.assertRaises(ValueError, node.incr, b"seven")

    def test_special_variables(self):
        self.assertEqual((yottadb.get(b"$tlevel"), yottadb.get("$tlevel")), (b"0", b"0"))
        yottadb.set(b"$zmaxtptime", (), b"7")
        self.assertEqual(yottadb.get("$zmaxtptime"), b"7")
        for code, call in (("ISVSUBSCRIPTED", lambda: yottadb.get("$none", ("x",))),
                           ("ISVSUBSCRIPTED", lambda: yottadb.data("$tlevel", ("x",))),
                           ("ISVSUBSCRIPTED", lambda: yottadb.set("$zstatus", ("x",), "1")),
                           ("SVNOSET", lambda: yottadb.set("$tlevel", ("x",), "1")),
                           ("INVSVN", lambda: yottadb.set("$none", (), "1"))):
            with self.assertRaises(yottadb.YDBError) as e:
                call()
            self.assertEqual(e.exception.code(), getattr(yottadb, "YDB_ERR_" + code))

    def test_zstatus_is_the_last_error(self):
        with self.assertRaises(yottadb.YDBError) as e:
            yottadb.get("a b")
        self.assertEqual(yottadb.get("$ZSTATUS"), str(e.exception).encode())
        yottadb.set("^t", (), "1")                      # what goes well leaves it alone
        self.assertIn(b"INVVARNAME", yottadb.get("$zstatus"))
        yottadb.set("$ZSTATUS", (), "none")
        self.assertEqual(yottadb.get("$ZSTATUS"), b"none")

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

    def test_what_a_transaction_is_left_by(self):
        class Odd(int):
            pass

        def left_by(body):
            try:
                return _yottadb.tp(body)
            except BaseException as e:
                return type(e)

        def raising(e):
            yottadb.set("^t", (), "1")
            raise e

        for e in (caret.Rollback("x"), caret.NotLocked("x"), KeyboardInterrupt(), ValueError()):
            self.assertIs(left_by(lambda: raising(e)), type(e))
        self.assertEqual([left_by(lambda: status) for status in (False, Odd(0), 7, "0", None, yottadb.YDB_TP_ROLLBACK)],
                         [0, 0, yottadb.YDBError, TypeError, TypeError, yottadb.YDBTPRollback])
        runs = []
        self.assertEqual(left_by(lambda: runs.append(1) or 0 if runs else raising(runs.append(0) or caret.Restart())), 0)
        self.assertEqual((yottadb.get("^t"), runs, yottadb.get("$tlevel")), (None, [0, 1], b"0"))

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
        for value in (b"", b"a", b'"', b"\0\1x\x80", bytes(range(256)), b"1", b"-1.5", b".5", b"-0", b"1E5", b"07"):
            self.assertEqual(yottadb.zwr2str(yottadb.str2zwr(value)), value)
        self.assertEqual([yottadb.str2zwr(value) for value in ("1", "-.5", "-0.5", "07", b"\0\xffa\x80", "\xe9")],
                         [b"1", b"-.5", b'"-0.5"', b'"07"', b'$C(0,255)_"a"_$C(128)', b'"\xc3\xa9"'])
        texts = {"-1.5": b"-1.5", "00": b"00", "-": b"-", '"a"_': b"a", '"a""b"_$c(0,7)_1': b'a"b\0\x07' + b"1",
                 '"a': b"", "$C(1,": b"\1", "$C(1,2": b"", "$C(256)": b"", "$CHAR(5)": b"", "1E5": b"", "$C()": b"", '"a"1': b"",
                 "$ZCH(255)": b"\xff", "1_2": b""}
        self.assertEqual({text: yottadb.zwr2str(text) for text in texts}, texts)
        os.environ["ydb_chset"] = "UTF-8"
        self.addCleanup(os.environ.pop, "ydb_chset")
        self.assertEqual([yottadb.str2zwr(value) for value in ("\xe9\x85", b"a\xff")],
                         [b'"\xc3\xa9"_$C(133)', b'"a"_$ZCH(255)'])
        self.assertEqual([yottadb.zwr2str(text) for text in ("$C(233)", "$ZCH(233)", "$C(55296)", "$ZCH(256)")],
                         [b"\xc3\xa9", b"\xe9", b"", b""])

    def test_messages_of_the_system(self):
        self.assertEqual([yottadb.message(number) for number in (2, 1000)],
                         ["%SYSTEM-E-ENO2, No such file or directory", "%SYSTEM-E-ENO1000, Unknown error 1000"])
        self.assertRaises(OverflowError, yottadb.message, 1 << 31)
        self.assertRaises(yottadb.YDBError, yottadb.message, -5)

    def test_backwards_from_an_empty_subscript(self):
        """It is not told by subscript_previous(); what lies before it is not lost for that."""
        yottadb.set("^t", (), "0")
        yottadb.set("^t", ("1",), "1")
        yottadb.set("^t", ("x", "", "y", ""), "2")
        self.assertEqual(list(reversed(yottadb.nodes("^t"))), [(b"x", b"", b"y", b""), (b"1",), ()])
        self.assertEqual(list(yottadb.nodes("^t")), [(), (b"1",), (b"x", b"", b"y", b"")])

    def test_what_is_told_first(self):
        """Of several things that are wrong, as YDBPython does."""
        for call, what in ((lambda: yottadb.set(5, (5,), 5), "item 0"), (lambda: yottadb.set("x" * 32, (), 5), "length 32"),
                           (lambda: yottadb.set("1bad", (), 5), "^argument is not"),
                           (lambda: yottadb.data(5, ["1"] * 32), "sequence length 32"),
                           (lambda: yottadb.subscript_previous("^t", 5), "must be list or tuple"),
                           (lambda: yottadb.subscript_previous("$ztrap", ("",)), "ISVSUBSCRIPTED"),
                           (lambda: list(yottadb.nodes("$zyrelease", ("1",))), "ydb_data_s")):
            with self.assertRaisesRegex((TypeError, ValueError, yottadb.YDBError), what):
                call()


class Strictly(unittest.TestCase):
    @unittest.skipIf(sys.flags.bytes_warning, "it is done already")
    def test_bytes_and_str_are_not_compared(self):
        """All of the above again in a Python that takes a comparison of both for an error, and trees with both."""
        mixed = ("import caret; n = caret.local()['n']; n.settree({b'k': {b'1': 1, 'l': 2}, 'x': 3, '__': 4}); "
                 "assert n.tree() == {'__': '4', 'k': {1: '1', 'l': '2'}, 'x': '3'}")
        for what in ["-c", mixed], [os.path.abspath(__file__)]:
            done = subprocess.run([sys.executable, "-bb", *what], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
