"""What its neighbours are delayed by, in the process and beside it.

Threads: a call that takes nanoseconds keeps the GIL, or each would wait for a whole turn of a thread that computes (a
convoy); one that sleeps lets it go.  Issues: what users of py-lmdb, diskcache and aiocache ran into, by the numbers of
those projects, done with Caret.
"""

import asyncio
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading

import caret
from caret.expiring import Expiring
from support import Case, main


def started(body, *args):
    thread = threading.Thread(target=body, args=args)
    thread.start()
    return thread


def joined(threads):
    for thread in threads:
        thread.join()


class Threads(Case):
    options = {"sync": "off", "thread": False}

    def others_turns(self, body):
        """How often another thread, which waits for its turn, has had one after the body ran."""
        go, turns, interval = threading.Event(), [], sys.getswitchinterval()
        thread = started(lambda: (go.wait(), turns.append(1)))
        sys.setswitchinterval(1000)  # s: whoever computes keeps the GIL until it lets it go
        try:
            go.set()
            body()
            return len(turns)
        finally:
            sys.setswitchinterval(interval)
            thread.join()

    def test_the_counting_of_turns(self):
        import time

        self.assertEqual(self.others_turns(lambda: time.sleep(0.05)), 1)

    def test_no_convoys(self):
        n = self.n
        for i in range(10):
            n[i].value = i
        calls = {
            "get": lambda: n[1].value, "set": lambda: n[1].set("x"), "incr": lambda: n[2].incr(), "data": lambda: n.data,
            "next": lambda: n[1].next, "keys": lambda: list(n), "items": lambda: list(n.items()), "walk": lambda: list(n.walk()),
            "tree": lambda: n.tree(), "kill": lambda: n[11].kill(), "lock": lambda: (n.acquire(0), n.release()),
            "transaction": lambda: self.db.run(lambda: n[1].set(n[1].value)), "long value": lambda: n[12].set("x" * 60000)}
        for name, call in calls.items():
            call()
            with self.subTest(call=name):
                self.assertEqual(self.others_turns(lambda: [call() for _ in range(300)]), 0)

    def test_who_waits_for_a_lock_lets_others_run(self):
        got = []
        self.n.acquire()
        other = self.db.session()
        thread = started(lambda: got.append(other["^n"].acquire(60)))
        while not self.asleep(other):
            pass
        self.n.release()
        thread.join()
        self.assertEqual(got, [True])

    @staticmethod
    def asleep(session):
        try:
            session["^y"].value
        except caret.InvalidError:
            return True

    def test_who_waits_for_a_writer_lets_it_run(self):
        """A set waits for a transaction that is alone, a second at most; if it kept the GIL, that one would conflict."""
        def lone():
            come = threading.Event()
            with self.db.exclusive():
                before = self.n.int(0)
                thread = started(lambda: (come.set(), self.n.incr()))
                come.wait()
                for _ in range(100):
                    self.n["other"].value = before
                self.n.value = before + 1
            thread.join()

        for _ in range(20):  # a machine that is busy may take the second
            try:
                lone()
                break
            except (caret.Error, caret.Restart):
                continue
        else:
            self.fail("it has conflicted each time")

    def test_closing_lets_others_run(self):
        """close() waits for a call that sleeps, and that one for the GIL."""
        said, other = [], self.db.session()
        self.n.acquire()

        def wait():
            try:
                other["^n"].acquire()
            except caret.Closed:
                said.append("closed")

        thread = started(wait)
        while not self.asleep(other):
            pass
        self.db.close()
        thread.join()
        self.assertEqual(said, ["closed"])


def read(node, count, answers):
    answers.put(sum(node[i].int() for i in range(count)))


def fill(path, first):
    with caret.open(path, sync="off") as db:
        for i in range(40):
            db["^big"][first + i].value = "%d" % (first + i) * 5000


class Lmdb(Case):
    def test_py_lmdb_346(self):
        """A child that never touches what it inherited takes no reader of its parent away."""
        self.n.value = 1
        with self.db.snapshot():
            for _ in range(5):
                self.assertEqual(self.in_child(lambda: None), 0)
                self.assertEqual(self.n.value, "1")
        self.n.value = 2
        self.assertEqual(self.n.value, "2")

    def test_py_lmdb_350_and_pytorch_113228(self):
        """Workers as those of a DataLoader, forked from a process that reads in threads, epoch after epoch."""
        for i in range(100):
            self.n[i].value = i
        stop = threading.Event()

        def readers():
            while not stop.is_set():
                self.n[7].value

        threads = [started(readers) for _ in range(2)]
        context = multiprocessing.get_context("fork")
        try:
            for _ in range(4):
                answers = context.SimpleQueue()
                workers = [context.Process(target=read, args=(self.n, 100, answers)) for _ in range(4)]
                for worker in workers:
                    worker.start()
                self.assertEqual([answers.get() for _ in workers], [4950] * 4)
                joined(workers)
                self.assertEqual([worker.exitcode for worker in workers], [0] * 4)
        finally:
            stop.set()
            joined(threads)

    def test_py_lmdb_340_and_269(self):
        """The file grows by several processes at once."""
        self.n.value = 1
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=fill, args=(self.path, 1000 * i)) for i in range(3)]
        for worker in workers:
            worker.start()
        fill(self.path, 5000)
        joined(workers)
        self.assertEqual([worker.exitcode for worker in workers], [0] * 3)
        big = self.db["^big"]
        self.assertEqual([sub for sub, value in big.items() if value != "%d" % sub * 5000], [])
        self.assertEqual((big.count(), self.n.value, self.db.check()), (160, "1", []))

    def test_allennlp_5027_and_sorel_14(self):
        """More readers than LMDB's 126, and readers that were killed."""
        self.n.value = "old"
        sessions = [self.db.session() for _ in range(200)]
        blocks = [session.snapshot() for session in sessions]
        for block in blocks:
            block.__enter__()
        self.n.value = "new"
        self.assertEqual({session["^n"].value for session in sessions}, {"old"})
        for block in blocks:
            block.__exit__(None, None, None)
        for _ in range(40):
            reads, writes = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    self.db.snapshot().__enter__()
                    os.write(writes, self.n.bytes)
                    signal.pause()
                finally:
                    os._exit(1)
            self.assertEqual(os.read(reads, 9), b"new")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reads), os.close(writes)
        self.n.value = 3
        self.assertEqual((self.n.value, self.db.check()), ("3", []))


class Diskcache(Case):
    def test_diskcache_300_and_299(self):
        """Fork while a thread has a lock: the child has none, waits, and gets it when it is free."""
        has, give = threading.Event(), threading.Event()
        thread = started(lambda: (self.n.acquire(), has.set(), give.wait(), self.n.release()))
        has.wait()
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(writes, b"%d" % self.n.acquire(0))
                os.write(writes, b"%d" % self.n.acquire(60))
            finally:
                os._exit(0)
        self.assertEqual(os.read(reads, 1), b"0")
        give.set()
        thread.join()
        self.assertEqual((os.read(reads, 1), os.waitpid(pid, 0)[1]), (b"1", 0))
        os.close(reads), os.close(writes)

    def test_diskcache_325(self):
        """Two objects of one file, and a fork."""
        second = caret.open(self.path)
        self.n.value = 1
        self.assertEqual(second["^n"].incr(), 2)
        self.assertEqual(self.in_child(lambda: (self.n.incr(), second["^n"].incr())), 0)
        self.assertEqual((self.n.value, second["^n"].value), ("4", "4"))
        second.close()
        self.assertEqual(self.n.incr(), 5)

    def test_diskcache_85(self):
        """Threads that open a file at once, which is not there yet."""
        path, barrier, said = self.path + "2", threading.Barrier(16), []

        def work():
            barrier.wait()
            try:
                with caret.open(path) as db:
                    said.append(db["^n"].incr())
            except Exception as e:
                said.append(e)

        joined([started(work) for _ in range(16)])
        self.assertEqual(sorted(map(str, said)), sorted(str(i) for i in range(1, 17)))

    def test_diskcache_231_241_282_116_and_aiocache_402(self):
        """Tasks of asyncio use it side by side, and none of them is inside of another's transaction."""
        cache = Expiring(self.n)

        async def work(task):
            for i in range(20):
                cache.set("%d %d" % (task, i), i, 60)
                await asyncio.sleep(0)
                self.db.run(lambda: self.db["^sum"].set(self.db["^sum"].int(0) + cache.get("%d %d" % (task, i))))

        async def all_of_them():
            await asyncio.gather(*map(work, range(10)))

        asyncio.run(all_of_them())
        self.assertEqual(self.db["^sum"].int(), 1900)

    def test_diskcache_pull_358(self):
        """Coroutines are remembered by their results, also when several ask at once."""
        calls = []

        @self.db.memoize
        async def square(x):
            calls.append(x)
            await asyncio.sleep(0)
            return x * x

        async def ask():
            return await asyncio.gather(*(square(x) for x in (2, 3, 2))), await square(3)

        self.assertEqual((asyncio.run(ask()), asyncio.run(square(2)), set(calls)), (([4, 9, 4], 9), 4, {2, 3}))
        self.assertLessEqual(len(calls), 3)

    def test_diskcache_rs_125(self):
        """A second process opens it, and the modules for frameworks are in the package."""
        self.n.value = 1
        process = multiprocessing.get_context("spawn").Process(target=fill, args=(self.path, 0))
        process.start()
        process.join()
        self.assertEqual((process.exitcode, self.db["^big"].count()), (0, 40))
        for name in ("django", "cachelib", "aiocache"):
            self.assertIsNotNone(importlib.util.find_spec("caret.contrib." + name))


if __name__ == "__main__":
    main()
