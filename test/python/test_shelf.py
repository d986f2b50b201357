"""caret.shelf and caret.dbm, as shelve and dbm."""

import json
import os
import tempfile
import unittest

import caret
from caret import dbm, shelf
from support import Case, main

try:
    from test import mapping_tests  # of the interpreter's own tests; Debian leaves it out
except ImportError:
    mapping_tests = None


class Shelves(Case):
    def open(self, **options):
        self.db.close()
        made = shelf.open(self.path, **options)
        self.addCleanup(made.close)
        return made

    def test_as_a_dict(self):
        s = self.open()
        for key in ("oak", "7", "07", "", "é\udcff", "-1"):
            s[key] = {"key": key, "list": [1, 2.5, None]}
        self.assertEqual(len(s), 6)
        for key in s:
            self.assertEqual(s[key], {"key": key, "list": [1, 2.5, None]})
        self.assertEqual(sorted(s), sorted(["oak", "7", "07", "", "é\udcff", "-1"]))
        self.assertIn("oak", s)
        self.assertNotIn("ash", s)
        self.assertRaises(KeyError, lambda: s["ash"])
        del s["oak"]
        self.assertRaises(KeyError, s.__delitem__, "oak")
        self.assertEqual(s.pop("oak", 5), 5)
        self.assertRaises(TypeError, s.__setitem__, 1, 1)
        s.update(a=1, b=2)
        self.assertEqual((s["a"], s.setdefault("c", 3), s["c"]), (1, 3, 3))
        s.clear()
        self.assertEqual(list(s), [])

    def test_it_is_kept(self):
        with self.open() as s:
            s["a"] = (1, 2)
        self.assertRaises(ValueError, lambda: s["a"])
        with shelf.open(self.path, "r") as s:
            self.assertEqual(s["a"], (1, 2))
        with shelf.open(self.path, "n") as s:
            self.assertEqual(dict(s), {})

    def test_writeback(self):
        s = self.open(writeback=True)
        s["a"] = [1]
        s["a"].append(2)
        s.sync()
        self.assertEqual(s["a"], [1, 2])
        s["a"].append(3)
        s.close()
        with shelf.open(self.path) as s:
            self.assertEqual(s["a"], [1, 2, 3])

    def test_codec_and_another_process(self):
        s = self.open(codec=json)
        s["a"] = {"b": 1}
        self.assertEqual(self.in_child(lambda: s.__setitem__("child", [1])), 0)
        self.assertEqual(s["child"], [1])
        self.assertEqual(s.node[b"kchild"].value, "[1]")

    def test_two_of_one_file(self):
        a = self.open()
        b = shelf.open(self.path, name="^other")
        a["x"], b["x"] = 1, 2
        a.close()
        self.assertEqual(b["x"], 2)
        b.close()

    def test_by_other_ways_to_the_file(self):
        """It is the same one, and closed by the last that has it."""
        self.db.close()
        link = self.path + "-link"
        os.symlink(os.path.dirname(self.path), link)
        with shelf.open(self.path) as one, shelf.open(os.path.join(link, os.path.basename(self.path))) as two:
            one["a"] = 1
            self.assertEqual((two["a"], one.node.db is two.node.db), (1, True))
            db = one.node.db
        self.assertTrue(db.closed)

    def test_one_reads_while_another_writes(self):
        """Each as its flag says, whichever comes first, though they are of one process."""
        self.db.close()
        for module, value in (shelf, 1), (dbm, b"1"):
            path = self.path + module.__name__
            module.open(path, "c").close()
            for flags in ("rc", "cr", "wr", "rw", "rnr"):
                opened = [module.open(path, flag) for flag in flags]
                for flag, one in zip(flags, opened):
                    if flag != "r":
                        one["a"] = value
                for one in [one for flag, one in zip(flags, opened) if flag == "r"]:
                    self.assertEqual(list(one.values()), [value])
                    for call in (lambda: one.__setitem__("a", value), lambda: one.pop(next(iter(one))), one.clear,
                                 lambda: one.update(b=value), lambda: one.__delitem__("a")):
                        with self.assertRaises(caret.ReadOnly) as caught:
                            call()
                        self.assertEqual(caught.exception.errno, 30)
                for one in opened:
                    one.close()
        self.assertEqual(shelf._opened, {})

    def test_a_database_of_the_program_that_only_reads(self):
        self.db.close()
        with caret.open(self.path, readonly=True) as db, shelf.open(self.path) as one:
            one["a"] = 1
            with shelf.open(self.path, "r", writeback=True) as other:
                self.assertEqual((other["a"], other.node.db.closed), (1, False))
            self.assertEqual(db["^shelf"].count(), 1)

    def test_what_can_not_be_written_at_the_end(self):
        """It is told, and the shelf is closed."""
        one = self.open(writeback=True)
        one["a"], one["b"] = [1], [2]
        one["a"].append(lambda: 1)
        self.assertRaises(Exception, one.close)
        self.assertRaises(ValueError, lambda: one["b"])
        self.assertEqual((shelf._opened, one.close()), ({}, None))

    def test_in_memory(self):
        with shelf.open(":memory:") as one, shelf.open(":memory:") as two:
            one["a"] = 1
            self.assertEqual((one["a"], "a" in two), (1, False))

    def test_a_fork_while_a_thread_opens_one(self):
        self.db.close()
        shelf._lock.acquire()
        try:
            self.assertEqual(self.in_child(lambda: shelf.open(self.path).close()), 0)
        finally:
            shelf._lock.release()

    def test_wrong_flag_or_name(self):
        self.assertRaises(ValueError, shelf.open, self.path, "x")
        for module in (shelf, dbm):
            with self.assertRaisesRegex(ValueError, "others are of this thread"):
                module.open(self.path, "c", name="plans")

    def test_a_closed_one(self):
        for one in (self.open(writeback=True), dbm.open(self.path + "2", "c")):
            one["a"] = "1"
            one.close()
            self.assertEqual((one.close(), one.sync()), (None, None))
            for call in (lambda: one["a"], lambda: list(one), lambda: len(one), lambda: "a" in one, lambda: one.pop("a"),
                         lambda: one.__setitem__("a", "2")):
                self.assertRaises((ValueError, caret.Closed), call)


class Dbms(Case):
    def test_as_dbm(self):
        path = os.path.join(self.folder, "words")
        self.assertRaises(FileNotFoundError, dbm.open, path)
        with dbm.open(path, "c") as d:
            d["oak"] = "Eiche"
            d[b"\xff\0"] = b"\0\xff"
            d[b"7"] = b""
            self.assertEqual((d[b"oak"], d["oak"], d[b"\xff\0"], d["7"]), (b"Eiche", b"Eiche", b"\0\xff", b""))
            self.assertEqual(sorted(d.keys()), [b"7", b"oak", b"\xff\0"])
            self.assertEqual(len(d), 3)
            self.assertEqual((d.get("no"), d.get("no", b"x"), d.setdefault("oak", b"y")), (None, b"x", b"Eiche"))
            self.assertRaises(KeyError, d.__delitem__, "no")
            self.assertRaises(TypeError, d.__setitem__, "a", 1)
            self.assertRaises(TypeError, d.__setitem__, 1, "a")
            keys, at = [], d.firstkey()
            while at is not None:
                keys.append(at)
                at = d.nextkey(at)
            self.assertEqual(keys, d.keys())
        self.assertRaises(caret.Closed, lambda: d["oak"])
        with dbm.open(path) as d:
            self.assertEqual(d["oak"], b"Eiche")
            self.assertRaises(caret.ReadOnly, d.__setitem__, "a", "b")
        with dbm.open(path, "n") as d:
            self.assertEqual(d.keys(), [])
        self.assertEqual(dbm.whichdb(path), "caret.dbm")
        with open(path, "rb") as f:
            self.assertRaises(TypeError, dbm.whichdb, f.fileno())
            self.assertEqual(len(f.read(8)), 8)  # it is neither read nor closed


def _protocol(opened, values, text=str):
    """CPython's own tests of what a dict is, on a new one of each kind."""

    class Protocol(mapping_tests.BasicTestMappingProtocol):
        def setUp(self):
            self.folder = tempfile.TemporaryDirectory(prefix="caret-python-")
            self.addCleanup(self.folder.cleanup)

        def _reference(self):
            return {text("key%d" % i): value for i, value in enumerate(values)}

        def _empty_mapping(self):
            made, close = opened(os.path.join(self.folder.name, "%d.caret" % len(os.listdir(self.folder.name))))
            self.addCleanup(close)
            return made

        def _full_mapping(self, data):
            made = self._empty_mapping()
            made.update(data)
            return made

    return Protocol


def _shelf(**options):
    def opened(path):
        made = shelf.open(path, **options)
        return made, made.close

    return opened


def _dbm(path):
    made = dbm.open(path, "c")
    return made, made.close


def _mapping(path):
    db = caret.open(path)
    return db["^m"].mapping(), db.close


if mapping_tests:
    class ShelfProtocol(_protocol(_shelf(), ["a", 2, (3,)]), unittest.TestCase):
        pass

    class WritebackProtocol(_protocol(_shelf(writeback=True), ["a", 2, [3]]), unittest.TestCase):
        pass

    class DbmProtocol(_protocol(_dbm, [b"a", b"", b"\xff"], str.encode), unittest.TestCase):
        pass

    class MappingProtocol(_protocol(_mapping, ["a", "", "3"]), unittest.TestCase):
        pass


if __name__ == "__main__":
    main()
