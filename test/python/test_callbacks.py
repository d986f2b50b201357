"""Functions of the program that run in the midst of a call: handlers of signals, codecs of views, progress of backups.
They may do anything, also close what is in use.
"""

import os
import signal
import subprocess
import sys
import weakref

import caret
from support import Case, main


class Handlers(Case):
    def setUp(self):
        super().setUp()
        self.other = self.db.session()
        self.other["^n"].acquire()

    def waits(self, handler, call):
        """What the call comes to, in whose wait the handler runs, again and again, but never in itself."""
        over = False

        def handle(*_):
            if not over:
                handler()
                signal.setitimer(signal.ITIMER_REAL, 0.01)

        before = signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            return call()
        except caret.Error as e:
            return e.name
        finally:
            over = True
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_closes_the_database(self):
        for call in (lambda: self.n.acquire(60), lambda: self.n.wait(60), lambda: self.db.acquire_all([self.n], 60),
                     lambda: self.db.changes().next(60)):
            self.assertEqual(self.waits(self.db.close, call), "CLOSED")
            self.assertEqual(self.waits(self.db.close, call), "CLOSED")
            self.db = caret.open(self.path)
            self.n, self.other = self.db["^n"], self.db.session()
            self.other["^n"].acquire()
        self.db.close()

    def test_closes_the_session(self):
        for what in ("acquire", "wait"):
            session = self.db.session()
            self.assertEqual(self.waits(session.close, lambda: getattr(session["^n"], what)(60)), "CLOSED")

    def test_uses_other_databases(self):
        """Which are gone when the wait goes on."""
        runs = []

        def handler():
            with caret.open(":memory:") as db:
                runs.append(db["^n"].incr())
            if len(runs) == 5:
                self.other["^n"].release()

        self.assertTrue(self.waits(handler, lambda: self.n.acquire(60)))
        self.assertGreaterEqual(len(runs), 5)

    def test_raises(self):
        def handler():
            raise InterruptedError

        with self.assertRaises(InterruptedError):
            self.waits(handler, lambda: self.n.acquire(60))
        self.other["^n"].release()
        self.assertTrue(self.n.acquire(0))


class Codecs(Case):
    def test_what_is_no_value_is_not_kept(self):
        class Thing:
            pass

        made = []

        def encode(_):
            thing = Thing()
            made.append(weakref.ref(thing))
            return thing

        node = self.n.view((encode, bytes))
        for call in (lambda: node.set(1), lambda: node.add(1), lambda: node.replace(1, 2), lambda: node.replace(None, 2)):
            self.assertRaises(TypeError, call)
        self.assertEqual([one() for one in made], [None] * 4)

    def test_a_step_inside_of_a_step(self):
        """It would make pairs of subscripts and values that do not belong together."""
        for i in range(3):
            self.n[i].value = i
        steps, refused = [], []

        def decode(data):
            try:
                next(steps[0])
            except ValueError:
                refused.append(data)
            return data

        steps.append(iter(self.n.view((bytes, decode)).items()))
        self.assertEqual((list(steps[0]), len(refused)), ([(0, b"0"), (1, b"1"), (2, b"2")], 3))

    def test_closes_the_database(self):
        def close(data):
            self.db.close()
            return data

        node = self.n.view((close, close))
        for call in (lambda: node.value, lambda: list(node.items()), lambda: node.swap("x"), lambda: node.set("y"),
                     lambda: list(node[:].values())):
            self.n[1].value, self.n.value = 1, 1
            try:
                call()
            except caret.Closed:
                pass
            self.assertTrue(self.db.closed)
            self.db = caret.open(self.path)
            self.n = self.db["^n"]
            self.assertEqual(self.n.value, "1")
            node = self.n.view((close, close))
        self.db.close()

    def test_in_a_feed_of_changes(self):
        feed, refused = None, []

        def decode(data):
            for call in (feed.next, feed.close, lambda: feed.place):
                self.assertRaises(caret.InvalidError, call)
            refused.append(data)
            if data == b"2":
                self.db.close()
            return data

        feed = self.db.changes(below=self.n.view((bytes, decode)))
        self.n[1].value, self.n[2].value = 1, 2
        self.assertEqual([(c.value, c.length, c.number, c.of) for c in (feed.next(0), feed.next(0))],
                         [(b"1", 1, 0, 1), (b"2", 1, 0, 1)])
        self.assertEqual(refused, [b"1", b"2"])
        self.assertRaises(caret.Closed, feed.next, 0)

    def test_a_view_that_raises_in_a_feed(self):
        """The feed goes on after that change."""
        feed = self.db.changes(below=self.n.view((bytes, int)))
        self.n[1].value, self.n[2].value = "x", 2
        self.assertRaises(ValueError, feed.next, 0)
        self.assertEqual(feed.next(0).value, 2)

    def test_begins_a_transaction(self):
        def encode(value):
            return self.db.run(lambda: str(self.n["count"].incr()) + value)

        self.n.view((encode, bytes)).value = "x"
        self.assertEqual((self.n.value, self.n["count"].value), ("1x", "1"))


class Progress(Case):
    def test_closes_the_database(self):
        self.n.value = "x" * 100000

        def close(done, total):
            self.db.close()

        with self.assertRaisesRegex(caret.InvalidError, "progress"):
            self.db.backup(self.path + "2", progress=close)
        self.assertEqual(self.n.value, "x" * 100000)
        self.assertFalse(os.path.exists(self.path + "2"))

    def test_uses_the_database(self):
        seen = []
        self.n.value = 1
        self.db.backup(self.path + "2", progress=lambda *_: seen.append(self.n.incr()))
        self.assertGreater(len(seen), 0)
        with caret.open(self.path + "2") as copy:
            self.assertEqual(copy.check(), [])

    def test_in_a_thread_at_the_end(self):
        """The thread is told that the database is closed, and the interpreter ends."""
        self.db.close()
        text = """import caret, os, sys, threading
db = caret.open(sys.argv[1])
n, come = db["^n"], threading.Event()
n.value = "x" * 1000000
def told(done, total):
    come.set()
    try:
        while True: n.value
    except caret.Closed:
        os.write(1, b"closed")
        raise
threading.excepthook = lambda *_: None
threading.Thread(target=db.backup, args=(sys.argv[1] + "2",), kwargs={"progress": told}, daemon=True).start()
come.wait()"""
        done = subprocess.run([sys.executable, "-c", text, self.path], timeout=60, stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (0, b"closed"))


if __name__ == "__main__":
    main()
