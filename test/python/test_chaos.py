"""Threads that do all sorts of things at once with one database, which is closed and opened among them, and hand each
other iterators, sessions and generators that are suspended in transactions.  Only the documented errors come, what
belongs together is committed together, and the database is sound.
"""

import gc
import os
import random
import sys
import threading

import caret
from support import Case, main

STEPS = 3000 * int(os.environ.get("CARET_TORTURE", "1"))
EXPECTED = (caret.Misuse, caret.LockTimeout, caret.Deadlock, caret.InvalidError, caret.Restart, caret.Busy)


def suspended(db):
    for attempt in db.attempts():
        with attempt:
            db["^g"].incr()
            yield


class Worker(threading.Thread):
    def __init__(self, case, seed):
        super().__init__()
        self.case, self.random, self.errors = case, random.Random(seed), []

    def run(self):
        actions = [f for name, f in sorted(vars(Worker).items()) if name.startswith("do_")]
        for _ in range(STEPS):
            db = self.case.db
            try:
                self.random.choice(actions)(self, db, db["^n"], self.case.bag)
            except EXPECTED:
                if db.closed:
                    self.case.db = caret.open(self.case.path, **self.case.options)
            except ValueError as e:  # two threads in one generator, or iterator
                self.expect(e, "generator already executing", "another thread is taking a step")
            except BaseException as e:
                self.errors.append(e)
            if len(self.case.bag) > 40:
                del self.case.bag[:20]

    def expect(self, error, *texts):
        if not any(text in str(error) for text in texts):
            self.errors.append(error)

    def do_set(self, db, n, bag):
        n[self.random.randrange(50)].value = self.random.randrange(1000)

    def do_both(self, db, n, bag):
        db.run(lambda: (n["a"].incr(), n["b"].incr(-1)))

    def do_begin_loop(self, db, n, bag):
        bag.append(self.random.choice([n.items, n.walk, n.nodes, n[1:9].values, lambda: iter(db)])())

    def do_step(self, db, n, bag):
        thing = self.random.choice(bag or [n])
        if hasattr(thing, "__next__"):
            next(thing, None)

    def do_suspend(self, db, n, bag):
        generator = suspended(db)
        next(generator)
        bag.append(generator)

    def do_drop(self, db, n, bag):
        del bag[:self.random.randrange(4)]

    def do_lock(self, db, n, bag):
        with n["l"].lock(0.01):
            n["l"].incr()

    def do_session(self, db, n, bag):
        bag.append(db.session())

    def do_use_session(self, db, n, bag):
        thing = self.random.choice(bag or [n])
        if isinstance(thing, caret.Session):
            thing.run(lambda: thing["^s"].incr())

    def do_snapshot(self, db, n, bag):
        with db.snapshot():
            n.tree()

    def do_kill(self, db, n, bag):
        n[self.random.randrange(50)].kill()

    def do_leave(self, db, n, bag):
        db.run(lambda: next(suspended(db)))

    def do_close(self, db, n, bag):
        if self.random.random() < 0.05:
            db.close()

    def do_collect(self, db, n, bag):
        if self.random.random() < 0.1:
            gc.collect()


class Chaos(Case):
    def test_threads(self):
        hook, said = sys.unraisablehook, []
        sys.unraisablehook = lambda told: said.append(told.exc_value)
        self.addCleanup(setattr, sys, "unraisablehook", hook)
        self.bag = []
        workers = [Worker(self, seed) for seed in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.bag.clear()
        gc.collect()
        self.assertEqual([worker.errors for worker in workers], [[]] * 4)
        self.assertEqual([e for e in said if not isinstance(e, EXPECTED)], [])
        said.clear()
        self.db.close()
        with caret.open(self.path) as db:
            self.assertEqual(db["^n"]["a"].int(0) + db["^n"]["b"].int(0), 0)
            self.assertGreater(db["^n"]["a"].int(0), 0)
            self.assertEqual(db.check(), [])


if __name__ == "__main__":
    main()
