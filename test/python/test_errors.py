"""Outcomes of the engine as exceptions: every code of caret.h has a class, which is also what Python expects."""

import errno
import gc
import os
import re
import sys

import caret
from caret import _core
from support import Case, main

ALSO = {"INVALID": ValueError, "NAME": ValueError, "MAXSUBS": ValueError, "KEY2BIG": ValueError,
        "VALUE2BIG": ValueError, "SYNTAX": ValueError, "NUMOFLOW": OverflowError, "CLOSED": RuntimeError,
        "NOTXN": RuntimeError, "INTXN": RuntimeError, "NOTLOCKED": RuntimeError, "TXN_TOO_DEEP": RuntimeError,
        "NOTFOUND": FileNotFoundError, "EXISTS": FileExistsError, "OPEN": OSError, "READONLY": PermissionError,
        "DISKFULL": OSError, "IO": OSError, "IO_FAILED": OSError, "SHM": OSError, "SYSTEM": OSError,
        "LOCK_TIMEOUT": TimeoutError}

SOURCE = os.environ.get("CARET_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))


class Errors(Case):
    def classes(self):
        return {c.code: c for c in vars(caret).values()
                if isinstance(c, type) and issubclass(c, (caret.Error, caret.Restart, caret.Rollback)) and c.code}

    def test_every_code_has_one(self):
        with open(os.path.join(SOURCE, "include", "caret.h")) as f:
            found = re.findall(r"^    CARET_(E_)?([A-Z0-9_]+) = (-?\d+)[,\s]", f.read(), re.M)
        codes = {int(code): name for e, name, code in found if e or name in
                 ("RESTART", "ROLLBACK", "LOCK_TIMEOUT", "DEADLOCK")}
        self.assertGreater(len(codes), 30)
        classes = self.classes()
        for code, name in codes.items():
            self.assertEqual(_core.symbol(code), name)
            if name != "NOMEM":  # which is MemoryError
                self.assertEqual(classes[code].name, name)
                self.assertTrue(issubclass(classes[code], ALSO.get(name, BaseException)), name)
        self.assertEqual(set(classes) | {-42}, set(codes))
        for gone in (caret.Restart, caret.Rollback):
            self.assertFalse(issubclass(gone, Exception))

    def test_of_files(self):
        missing = os.path.join(self.folder, "none", "x.caret")
        with self.assertRaises(caret.OpenError):
            caret.open(missing)
        with self.assertRaises(FileNotFoundError) as caught:
            caret.open(os.path.join(self.folder, "y.caret"), create=False)
        self.assertEqual(caught.exception.errno, 2)
        self.assertIn("NOTFOUND", str(caught.exception))
        foreign = os.path.join(self.folder, "z.caret")
        with open(foreign, "w") as f:
            f.write("not one of ours" * 1000)
        with self.assertRaises(caret.Foreign):
            caret.open(foreign)
        copy = os.path.join(self.folder, "copy.caret")
        self.db.backup(copy)
        with self.assertRaises(FileExistsError):
            self.db.backup(copy)
        with self.assertRaises(ZeroDivisionError):
            self.db.backup(copy, overwrite=True, progress=lambda done, total: 1 / 0)

    def test_errno_is_what_the_system_said(self):
        place = lambda *names: os.path.join(self.folder, *names)  # noqa: E731
        os.symlink("gone", place("dangling"))
        os.symlink("loop", place("loop"))
        with open(place("file"), "w"):
            pass
        os.link(place("file"), place("other"))
        os.mkfifo(place("fifo"))
        cases = {place("none", "x.caret"): errno.ENOENT, place("dangling"): errno.ENOENT, place(""): errno.EISDIR,
                 place("file", "x.caret"): errno.ENOTDIR, place("loop"): errno.ELOOP, place("x" * 300): errno.ENAMETOOLONG,
                 place("other"): errno.EMLINK, place("fifo"): errno.EINVAL}
        if os.geteuid() != 0:
            os.mkdir(place("closed"), 0o500)
            cases[place("closed", "x.caret")] = errno.EACCES
        for path, number in cases.items():
            with self.assertRaises(caret.OpenError) as caught:
                caret.open(path)
            self.assertEqual((path, errno.errorcode[caught.exception.errno]), (path, errno.errorcode[number]))
            self.assertIn("OPEN: ", caught.exception.strerror)
        with self.assertRaises(caret.SharedMemoryError) as caught:
            caret.open(place("s.caret"), shm_dir=place("none"))
        self.assertEqual(caught.exception.errno, errno.ENOENT)

    def test_options(self):
        for bad in ({"sync": "x"}, {"memory_limit": 5}, {"log_size": 1}, {"archive": "/nowhere/at/all"}):
            with self.assertRaises((ValueError, OSError)):
                caret.open(os.path.join(self.folder, "o.caret"), **bad)
        for bad in ({"nonsense": 1}, {"sync": 5}, {"log_size": "x"}):
            with self.assertRaises(TypeError):
                caret.open(self.path, **bad)
        with self.assertRaises(TypeError):
            caret.open(5)
        for f in (lambda: caret.open(None), lambda: caret.open(path=None), lambda: caret.open(None, create=False)):
            with self.assertRaisesRegex(TypeError, "the path of a database is None: .* without it opens"):
                f()
        for f in (lambda: caret.open(None, True), lambda: caret.open(self.path, True)):
            with self.assertRaisesRegex(TypeError, "at most 1 positional argument"):
                f()
        with self.assertRaisesRegex(caret.InvalidError, "path is empty"):
            caret.open("")
        for size in ("log_size", "arena_limit", "memory_limit"):
            with self.assertRaisesRegex(ValueError, "%s is a number of bytes, not -5" % size):
                caret.open(self.path, **{size: -5})

    def test_readonly(self):
        with caret.open(self.path, readonly=True) as db:
            with self.assertRaises(PermissionError):
                db["^n"].value = 1
            self.assertTrue(db.readonly)

    def test_closed(self):
        nodes, it = self.n, iter(self.n)
        self.db.close()
        self.db.close()
        for call in (lambda: nodes.value, lambda: nodes.set(1), lambda: next(it), lambda: nodes.tree(), self.db.sync,
                     lambda: self.db.run(lambda: 1), self.db.session, nodes.acquire, self.db.stat, nodes.kill,
                     lambda: list(nodes), lambda: list(self.db), lambda: nodes.wait(0), lambda: self.db.check()):
            self.assertRaises(caret.Closed, call)
        self.assertEqual(nodes.subs, ())
        self.assertTrue(self.db.closed)

    def test_arguments(self):
        n = self.n
        for call in (lambda: n.get(1, 2), lambda: n.incr(1, 2), lambda: n.walk("x"), lambda: n.acquire("x"),
                     lambda: n.acquire(1, 2), lambda: n.merge(1), lambda: n._put(1), lambda: n.set(),
                     lambda: caret.parse(1, 2), lambda: caret.parse(self.db, 2), lambda: n._with(3),
                     lambda: caret.str2zwr(5), lambda: self.db.batch(1, 2), lambda: n.wait("x"),
                     lambda: n.wait(0, "x"), lambda: self.db._run(1), lambda: caret._core.Frame(1),
                     lambda: caret._core.Frame(5, 0, 0, 0, 0, 0).__enter__(), lambda: caret._core.Held(5, None, 0).__enter__(),
                     lambda: caret._core.Held(5, (), 0).__exit__(), lambda: caret._core.Held(self.db, 5, 0),
                     lambda: type(self.db)(), lambda: type(n)(), lambda: caret.Range()):
            self.assertRaises(TypeError, call)
        self.assertRaises(AttributeError, lambda: n.shadow)
        for wrong in ((self.path, True), (self.path, "commit"), (None, False), (None, True, True)):
            self.assertRaises(TypeError, caret.open, *wrong)
        self.assertRaises(TypeError, caret._core.find, self.folder.encode())

    def test_admin(self):
        self.n.value = 1
        self.db.sync()
        self.db.checkpoint()
        durable, committed = self.db.durable()
        self.assertEqual(durable, committed)
        self.assertEqual(self.db.check(), [])
        self.assertEqual(self.db.check(online=True), [])
        self.assertEqual(self.db.stat()["processes"], 1)
        with open(os.path.join(SOURCE, "include", "caret.h")) as f:
            struct = re.search(r"struct caret_stats {(.*?)\n}", f.read(), re.S).group(1)
        fields = {name for line in re.findall(r"uint64_t ([\w, ]+);", struct) for name in line.split(", ")}
        self.assertEqual(set(self.db.stat()), fields)
        self.db.batch()
        told = []
        self.db.backup(os.path.join(self.folder, "b.caret"), compact=True, progress=lambda *a: told.append(a))
        self.assertTrue(told)


class Leaks(Case):
    def test_calls_leak_nothing(self):
        """Blocks of memory, before and after rounds of everything, errors too.  Python keeps some for itself at first."""
        n = self.n.view("json")

        def fail(call, *args):
            try:
                call(*args)
            except (caret.Error, TypeError, ValueError):
                pass

        def boom():
            self.n.value = 1
            raise ValueError

        def everything():
            self.n[1].value, self.n["x", 2, "ü"].value, n[3].value = "v", b"\xff", {"a": 1}
            (self.n[1].value, self.n["x", 2].next, n[3].value, self.n.bytes, list(self.n.items()), list(self.n[1:]))
            (list(self.n.walk()), self.n.tree(), self.n.incr("0.5"), self.n.incr(), str(self.n[1]), hash(self.n))
            (repr(self.n), self.n.subs, self.n[1].parent, self.n == self.n[1], self.n in {self.n}, list(self.db))
            self.db.run(lambda: self.n[1].set(2))
            fail(self.db.run, boom)
            fail(self.n.set, None)
            fail(n.set, object())
            fail(self.n.__getitem__, None)
            fail(self.n.incr, "x")
            fail(self.db.__getitem__, "bad name")
            fail(self.n.prefix, 5)
            with self.db.snapshot(), self.n.lock(1):
                pass
            for attempt in self.db.attempts():
                with attempt:
                    self.n.value = 3
            with self.db.session() as s:
                s["^n"].value = 1
            self.n._put("x", 8, "y")
            self.n.prefix("a").reversed(limit=3).count()
            del self.n[1:2], self.n["x"], self.n.value

        def growth():
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(200):
                everything()
            gc.collect()
            return sys.getallocatedblocks() - before

        growths = [growth() for _ in range(4)]
        self.assertLess(min(growths), 200, growths)  # one a round would be more


if __name__ == "__main__":
    main()
