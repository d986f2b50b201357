"""What was committed, change by change."""

import asyncio
import os
import subprocess
import sys
import threading

import caret
from caret import aio
from support import Case, main


class Changes(Case):
    def test_kinds(self):
        feed, n = self.db.changes(), self.n
        n.value = "v"
        n["a", 1].value = b"\xff"
        del n.value
        n["a"].kill()
        n[3].value = "w"
        del n[2:5]
        del n[2:5]  # nothing was there: nothing is told
        self.db.run(lambda: (n[1].set(1), n[2].incr(0.5)))
        got = [(c.kind, str(c.node), c.value, c.length, c.number, c.of, c.range) for c in self.told(feed)]
        self.assertEqual(got, [
            ("set", "^n", "v", 1, 0, 1, None), ("set", '^n("a",1)', "\udcff", 1, 0, 1, None), ("delete", "^n", None, 0, 0, 1, None),
            ("kill", '^n("a")', None, 0, 0, 1, None), ("set", "^n(3)", "w", 1, 0, 1, None),
            ("kill_range", "^n", None, 0, 0, 1, ("2", "5", 2)),
            ("set", "^n(1)", "1", 1, 0, 2, None), ("set", "^n(2)", ".5", 2, 1, 2, None)])

    @staticmethod
    def told(feed):
        return list(iter(lambda: feed.next(0), None))

    def test_places(self):
        for i in range(3):
            self.n[i].value = i
        feed = self.db.changes(0)
        first = feed.next()
        self.assertEqual((first.node.sub, feed.place), (0, first.place))
        again = self.db.changes(feed.place)
        self.assertEqual([c.node.sub for c in self.told(again)], [1, 2])
        self.assertEqual((again.place, self.db.durable()[1]), (again.place, again.place))
        with self.assertRaises(caret.NotFound):
            self.db.changes(10**15)
        for wrong, error in (("x", TypeError), (-1, OverflowError), (2**70, OverflowError), (1.5, TypeError)):
            with self.assertRaises(error):
                self.db.changes(wrong)

    def test_below_with_its_class_and_view(self):
        class Oak(caret.Node):
            pass

        feed = self.db.changes(below=Oak(self.n["oaks"].view("json")))
        self.n["firs"].value = 1
        self.n["oaks", 1].view("json").value = [1, {}]
        self.n.kill()
        got = [(type(c.node), c.node.subs, c.kind, c.value) for c in self.told(feed)]
        self.assertEqual(got, [(Oak, ("oaks", 1), "set", [1, {}]), (Oak, (), "kill", None)])

    def test_what_it_refuses(self):
        with caret.open(":memory:") as other:
            self.assertRaises(caret.InvalidError, self.db.changes, below=other["^n"])
        self.assertRaises(caret.InvalidError, self.db.changes, below=self.db["local"])
        self.assertRaises(TypeError, self.db.changes, below="^n")
        feed = self.db.changes()
        self.assertRaises(TypeError, feed.next, "1")
        feed.close()
        feed.close()
        self.assertRaises(caret.Closed, feed.next)
        feed = self.db.changes()
        self.db.close()
        self.assertRaises(caret.Closed, feed.next, 0)
        self.assertRaises(caret.Closed, lambda: feed.place)
        feed.close()
        self.assertRaises(caret.Closed, self.db.changes)

    def test_waits(self):
        with self.db.changes(wait=60) as feed:
            thread = threading.Thread(target=self.n.set, args=("x",))
            thread.start()
            self.assertEqual(next(feed).value, "x")
            thread.join()
            self.assertIsNone(feed.next(0.001))
        self.assertEqual(list(self.db.changes(wait=0)), [])

    def test_one_thread_at_a_time(self):
        feed, said = self.db.changes(), []
        thread = threading.Thread(target=lambda: said.append(feed.next()))
        thread.start()
        while not said:
            try:
                feed.next(0)
            except caret.InvalidError as e:
                said.append(e)
        self.assertRaises(caret.InvalidError, feed.close)
        self.n.value = 1
        thread.join()
        self.assertEqual(said[1].value, "1")

    def test_closing_wakes_it(self):
        feed, said, come = self.db.changes(), [], threading.Event()

        def wait():
            come.set()
            try:
                feed.next()
            except caret.Closed as e:
                said.append(e.name)

        thread = threading.Thread(target=wait)
        thread.start()
        come.wait()
        self.db.close()
        thread.join()
        self.assertEqual(said, ["CLOSED"])

    def test_of_other_processes(self):
        feed = self.db.changes()
        subprocess.run([sys.executable, "-m", "caret", "set", self.path, "^n(7)", "x"], check=True)
        self.assertEqual([(c.node.subs, c.value) for c in self.told(feed)], [((7,), "x")])

    def test_in_a_child(self):
        feed = self.db.changes()
        self.n.value = 1

        def child():
            if [c.value for c in self.told(feed)] != ["1"]:
                sys.exit(3)
            self.n.value = 2

        self.assertEqual(self.in_child(child), 0)
        self.assertEqual([c.value for c in self.told(feed)], ["1", "2"])

    def test_that_was_too_slow(self):
        path = os.path.join(self.folder, "small.caret")
        with caret.open(path, log_size=8 << 20, sync="off") as db:
            feed = db.changes()
            for i in range(20000):  # twice what the log holds
                db["^n"][i % 10].value = "x" * 1000
            with self.assertRaises(caret.NotFound):
                self.told(feed)
            feed = db.changes()
            db["^n"].value = "anew"
            self.assertEqual([c.value for c in self.told(feed)], ["anew"])

    def test_in_asyncio(self):
        async def body():
            got, feed = [], aio.watch(self.n)
            async def see():
                async for change in feed:
                    got.append((change.node.subs, change.value))
                    if len(got) == 3:
                        break
                await feed.aclose()

            task = asyncio.create_task(see())
            while not got:
                self.n["first"].value = "a"
                await asyncio.sleep(0.001)
            self.db["^m"].value = "elsewhere"
            while not task.done():
                self.n["more"].value = "b"
                await asyncio.sleep(0.001)
            await task
            self.assertEqual((got[0], len(got)), ((("first",), "a"), 3))
            self.assertNotIn("elsewhere", [value for _, value in got])

        asyncio.run(body())


if __name__ == "__main__":
    main()
