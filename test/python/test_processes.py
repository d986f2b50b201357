"""Threads, forks, spawned processes, pickles, the end of the interpreter, subinterpreters."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from functools import partial
from operator import call

import caret
from support import Case, main


def add_some(node, times):
    for _ in range(times):
        node.incr()


class Threads(Case):
    def test_each_has_a_session(self):
        self.db["x"].value = "mine"
        seen = []
        for _ in range(20):
            thread = threading.Thread(target=lambda: seen.append(self.db["x"].value))
            thread.start()
            thread.join()
        self.assertEqual(set(seen), {None})
        self.assertEqual(self.db["x"].value, "mine")

    def test_count_together(self):
        threads = [threading.Thread(target=add_some, args=(self.n, 2000)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.n.value, "8000")

    def test_transactions_of_many(self):
        a, b = self.n["a"], self.n["b"]
        a.value, b.value = 1000, 0

        @self.db.transactional
        def move():
            a.value = a.int() - 1
            b.value = b.int() + 1

        def work():
            for _ in range(100):
                move()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((a.int(), b.int()), (600, 400))

    def test_the_end_of_one_gives_its_locks_back(self):
        thread = threading.Thread(target=self.n.acquire)
        thread.start()
        thread.join()
        self.assertTrue(self.n.acquire(60))

    def test_closing_wakes_a_waiter(self):
        other, said = self.db.session(), []
        self.n.acquire()

        def wait():
            try:
                other["^n"].acquire()
            except caret.Closed as e:
                said.append(e.name)

        thread = threading.Thread(target=wait)
        thread.start()
        while not said and self.asleep(other):
            pass
        self.db.close()
        thread.join()
        self.assertEqual(said, ["CLOSED"])

    def test_closing_while_a_thread_comes(self):
        """It opens its session without the GIL when the closing begins: its call is refused, too."""
        order, spin = [], partial(sum, range(1000000))
        while order[:1] != ["closing"]:  # of one step for Python each: nobody else gets the GIL but where C lets it go
            self.db, order[:] = caret.open(":memory:"), []
            node, said = self.db["^n"], []
            come = (spin, node.get, partial(order.append, "got"))
            close = (partial(order.append, "closing"), self.db.close)
            thread = threading.Thread(target=lambda: said.append(self.refused(lambda: list(map(call, come)))))
            thread.start()
            list(map(call, close))
            thread.join()
        self.assertEqual((order, said), (["closing"], ["CLOSED"]))

    @staticmethod
    def refused(body):
        try:
            body()
        except caret.Closed as e:
            return e.name

    @staticmethod
    def asleep(session):
        """Is nobody asleep in it yet?"""
        try:
            session["^y"].value
            return True
        except caret.InvalidError:
            return False

    def test_an_iterator_of_two(self):
        for i in range(5000):
            self.n[i].value = i
        it, seen = iter(self.n), []

        def work():
            for sub in it:
                seen.append(sub)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(seen), list(range(5000)))


class Forks(Case):
    def test_a_child_goes_on(self):
        self.n.value = 1
        self.assertEqual(self.in_child(self.n.set, 2), 0)
        self.assertEqual(self.n.value, "2")

    def test_no_warning(self):
        def fork():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.n.value = 1
                return self.in_child(self.n.incr)

        self.assertEqual(fork(), 0)
        self.assertEqual(self.n.value, "2")

    def test_inside_a_transaction(self):
        def child():
            for call in (lambda: self.n.value, lambda: self.n.set(1), lambda: self.db.run(lambda: 1)):
                try:
                    call()
                    sys.exit(9)
                except caret.Misuse:
                    pass

        def body():
            self.n.value = "parent"
            return self.in_child(child)

        self.assertEqual(self.db.run(body), 0)
        self.assertEqual(self.n.value, "parent")

    def test_a_child_that_leaves_the_transaction(self):
        pids = []

        def body():
            self.n[1].value = 1
            pids.append(os.fork())

        try:
            self.db.run(body)
            misuse = False
        except caret.Misuse:
            misuse = True
        if pids[-1] == 0:
            ok = misuse and self.db.level() == 0
            self.n[2].value = 2
            os._exit(0 if ok else 1)
        status = os.waitpid(pids[0], 0)[1]
        self.assertEqual((status, misuse, list(self.n)), (0, False, [1, 2]))

    def test_has_none_of_its_locks(self):
        self.n.acquire()
        self.assertEqual(self.in_child(lambda: sys.exit(self.n.acquire(0))), 0)

    def test_while_another_thread_waits(self):
        other, stop = self.db.session(), []
        self.n.acquire()
        thread = threading.Thread(target=lambda: other["^n"].acquire(60))
        thread.start()
        while Threads.asleep(other):
            pass
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(self.in_child(self.db["^m"].set, 5), 0)
            self.assertEqual(self.in_child(self.db.close), 0)
        self.n.release()
        thread.join()
        self.assertEqual((self.db["^m"].value, stop), ("5", []))

    def test_deaths(self):
        """Each child is killed at some moment of its transactions; a sum holds."""
        a, b = self.n["a"], self.n["b"]
        a.value, b.value = 0, 0

        def child():
            while True:
                with self.n.lock():
                    self.db.run(lambda: (a.incr(1), b.incr(-1)))

        for i in range(8):
            pid = os.fork()
            if pid == 0:
                try:
                    child()
                finally:
                    os._exit(1)
            before = a.int()
            while a.int() < before + 10:
                pass
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            with self.n.lock():
                self.assertEqual(self.db.run(lambda: a.int() + b.int()), 0)
        self.assertEqual(self.db.check(), [])

    def test_subprocesses(self):
        self.n.value = 1
        for _ in range(3):
            subprocess.run([sys.executable, "-c", "pass"], check=True, close_fds=True)
        self.assertEqual(self.n.incr(), 2)


class Oak(caret.Node):
    def __new__(cls, node, rings):
        return super().__new__(cls, node)

    def __init__(self, node, rings):
        self.rings = rings


class Ash(caret.Node):
    def __getstate__(self):
        return self.ages

    def __setstate__(self, state):
        self.again = state


class Pickles(Case):
    def test_nodes(self):
        node = self.n[1]["x"]["\udcff"]
        again = pickle.loads(pickle.dumps(node))
        self.assertEqual(again, node)
        self.assertIs(again.db, self.db)
        self.assertIs(pickle.loads(pickle.dumps(self.db)), self.db)
        view = pickle.loads(pickle.dumps(self.n.view(bytes)))
        self.n.value = 1
        self.assertEqual(view.value, b"1")
        self.assertEqual(pickle.loads(pickle.dumps(self.n.view("json"))).value, 1)

    def test_a_class_with_attributes(self):
        oak = Oak(self.n["oak"], rings=[300])
        for made in (pickle.loads(pickle.dumps(oak)), copy.copy(oak), copy.deepcopy(oak)):
            self.assertEqual((type(made), made, made.rings), (Oak, oak, [300]))
        self.assertIs(copy.copy(oak).rings, oak.rings)
        self.assertIsNot(copy.deepcopy(oak).rings, oak.rings)
        oak.itself = oak
        again = copy.deepcopy(oak)
        self.assertIs(again.itself, again)

    def test_a_class_with_a_state_of_its_own(self):
        node = Ash(self.n)
        node.seen, node.ages = 5, [1]
        for made in (pickle.loads(pickle.dumps(node)), copy.copy(node), copy.deepcopy(node)):
            self.assertEqual((made, made.again, hasattr(made, "seen")), (node, [1], False))
        self.assertIs(copy.copy(node).again, node.ages)
        self.assertIsNot(copy.deepcopy(node).again, node.ages)

    def test_ranges_and_views(self):
        for i in range(9):
            self.n[i].value, self.n["a%d" % i].value = i, i
        for some in (self.n[2:5], self.n["a3":], self.n[:3].reversed(limit=2), self.n.prefix("a").limit(4),
                     self.n.view(int)[3:5:-1]):
            again = pickle.loads(pickle.dumps(some))
            self.assertEqual((list(again.items()), list(reversed(again))), (list(some.items()), list(reversed(some))))
        for view in (self.db.view(int), self.db.view(), self.db.view("json")):
            value = pickle.loads(pickle.dumps(view))["^n", 3].value
            self.assertEqual((value, type(value)), (view["^n", 3].value, type(view["^n", 3].value)))

    def test_weak_references(self):
        """To databases and sessions: whoever keeps something for each does not keep it open."""
        db = caret.open(self.path + "2")
        path, told = db.path, []
        kept = weakref.WeakKeyDictionary({db: 1, db.session(): 2})
        self.assertEqual(list(kept.values()), [1])  # the session is gone
        watched = weakref.ref(db, lambda _: told.append(caret._core.find(path)))
        self.assertIs(watched(), db)
        del db
        self.assertEqual((len(kept), watched(), told), (0, None, [None]))

    def test_copies_of_what_does_not_change(self):
        memory = caret.open(":memory:")
        session = memory.session()
        for one in (self.db, memory, session, self.n, memory["^n"], session["^n"], caret.local()["x"], self.n[1:2]):
            self.assertIs(copy.copy(one), one)
            self.assertIs(copy.deepcopy([one])[0], one)

    def test_what_belongs_to_a_process(self):
        for what in (self.db.session(), caret.open(":memory:"), caret.local(), self.db.session()["^x"]):
            with self.assertRaises(TypeError):
                pickle.dumps(what)

    def test_go_to_other_processes(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                self.n.value = 0
                context = multiprocessing.get_context(method)
                process = context.Process(target=add_some, args=(self.n, 10))
                process.start()
                process.join()
                self.assertEqual((process.exitcode, self.n.value), (0, "10"))


class Ends(Case):
    def python(self, text, *more, status=0):
        done = subprocess.run([sys.executable, "-W", "error", "-c", text, self.path, *more], capture_output=True,
                              text=True)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", status))
        return sorted(f for f in os.listdir(self.folder))

    def test_of_the_interpreter(self):
        self.db.close()
        begin = "import caret, sys, threading, time\ndb = caret.open(sys.argv[1])\nn = db['^n']\nn.value = 1\nn[1] = 2\n"
        for what in ("", "it = iter(n); next(it)", "db.attempts().__enter__()", "n.acquire()", "db.snapshot().__enter__()",
                     "threading.Thread(target=lambda: n.incr()).start()",
                     "threading.Thread(target=n.wait, daemon=True).start(); time.sleep(.05)",
                     "n.acquire(); threading.Thread(target=db.session()['^n'].acquire, daemon=True).start(); time.sleep(.05)",
                     "def go():\n  while True: n.incr(); n.value\nthreading.Thread(target=go, daemon=True).start()",
                     "s = db.session(); s['^x'].acquire()", "class N(caret.Node): pass\na = N(n); a.me = a",
                     "sys.modules.clear()"):
            with self.subTest(what=what):
                self.assertEqual(self.python(begin + what), ["test.caret"])

    def test_of_the_interpreter_while_a_thread_comes(self):
        """As test_closing_while_a_thread_comes: the thread sleeps then, and says nothing."""
        self.db.close()
        for comes in ("partial(sum, range(4000000)), n.incr", "partial(sum, range(4000000)), partial(feed.next, 0)",
                      "partial(db.run, lambda: sum(range(4000000)))"):
            with self.subTest(comes=comes):
                self.python("""import atexit, caret, os, sys, threading
from functools import partial
from operator import call
db, order = caret.open(sys.argv[1]), []
n, feed = db["^n"], db.changes()
sys.setswitchinterval(.02)
late = lambda: order and os.write(2, b"a call went well after the end")
come = (%s, late)
atexit.register(list, map(call, (partial(order.append, 1), caret._core.at_exit)))
threading.Thread(target=lambda: list(map(call, come)), daemon=True).start()""" % comes)

    def test_ctrl_c(self):
        self.n.acquire()
        for what in ("n.acquire()", "db.run(lambda: caret.restart())", "n.wait()",
                     "while True: list(n.items())"):
            with self.subTest(what=what):
                text = ("import caret, sys\ndb = caret.open(sys.argv[1])\nn = db['^n']\n"
                        "try:\n  print('ready', flush=True)\n  %s\nexcept KeyboardInterrupt: sys.exit(7)" % what)
                child = subprocess.Popen([sys.executable, "-c", text, self.path], stdout=subprocess.PIPE)
                child.stdout.readline()
                time.sleep(0.02)
                child.send_signal(signal.SIGINT)
                self.assertEqual(child.wait(), 7)
                child.stdout.close()

    def test_ctrl_c_at_any_moment_of_a_block(self):
        """Also between the beginning of a block and its body, and at its end: nothing stays open."""
        a, b, other = self.n["a"], self.n["b"], self.db.session()
        a.value, b.value = 0, 0

        def interrupt(*_):
            raise KeyboardInterrupt

        def both():
            a.incr()
            b.incr()

        def work():
            while True:
                with self.db.snapshot():
                    a.get()
                with self.db.exclusive(), self.db.savepoint():
                    both()
                for attempt in self.db.attempts():
                    with attempt:
                        both()
                with self.n.lock(), self.db.lock_all([self.n["x"], self.n["y"]]):
                    self.db.run(both)

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            for i in range(300):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 + i * 0.000003)
                    work()
                except KeyboardInterrupt:
                    pass
                self.assertEqual((self.db.level(), a.int() - b.int()), (0, 0))
                self.assertTrue(other.acquire_all([other["^n"]], 0), "a lock was left")
                other.release_all()
        finally:
            signal.signal(signal.SIGALRM, before)
            other.close()

    def test_databases_are_closed_with_their_last_node(self):
        path = os.path.join(self.folder, "other.caret")
        node = caret.open(path)["^x"][1]
        node.value = 1
        self.assertTrue(os.path.exists(path + "-lock") or os.path.exists(path + "-log"))
        del node
        self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("other")], ["other.caret"])

    def test_subinterpreters(self):
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            self.skipTest("this Python has no module for subinterpreters")
        text = "import caret\ndb = caret.open(%r)\ndb['^n'].incr()\n" % self.path
        for i in range(3):
            one = interpreters.create()
            interpreters.run_string(one, text)
            interpreters.destroy(one)
            self.assertEqual(self.n.value, str(i + 1))


if __name__ == "__main__":
    main()
