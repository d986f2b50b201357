"""Transactions in three forms, snapshots, savepoints, exclusive ones; what comes of exceptions and conflicts."""

import asyncio
import threading

import caret
from support import Case, main


class Other:
    """Another session, in a thread of its own, that does one thing at a time."""

    def __init__(self, db):
        self.session = db.session()

    def set(self, name, value):
        thread = threading.Thread(target=self.session[name].set, args=(value,))
        thread.start()
        thread.join()


class Forms(Case):
    def forms(self):
        """Each runs a body of no arguments in a transaction, and tells what it returned."""

        def attempts(body):
            for attempt in self.db.attempts():
                with attempt:
                    result = body()
            return result

        def twice_nested(body):
            return self.db.run(self.db.run, body)

        return [self.db.run, lambda body: self.db.transactional(body)(), attempts,
                lambda body: self.db.transactional(sync=False, retries=9)(body)(), twice_nested]

    def test_commit(self):
        for run in self.forms():
            def body():
                self.n.value = 1
                self.assertGreater(self.db.level(), 0)
                return "result"

            self.assertEqual(run(body), "result")
            self.assertEqual((self.n.value, self.db.level()), ("1", 0))

    def test_an_exception_rolls_back_and_goes_on(self):
        for run in self.forms():
            error = KeyError("mine")

            def body():
                self.n.value = 1
                raise error

            with self.assertRaises(KeyError) as caught:
                run(body)
            self.assertIs(caught.exception, error)
            self.assertEqual((self.n.value, self.db.level()), (None, 0))

    def test_rollback(self):
        for run in self.forms()[:2]:
            def body():
                self.n.value = 1
                caret.rollback("instead")

            self.assertEqual(run(body), "instead")
            self.assertEqual((self.n.value, self.db.level()), (None, 0))
        for attempt in self.db.attempts():
            with attempt:
                self.n.value = 1
                raise caret.Rollback
        self.assertEqual((self.n.value, self.db.level()), (None, 0))

    def test_a_conflict_runs_it_again(self):
        for run in self.forms():
            runs, other = [], Other(self.db)
            self.n.value = 0

            def body():
                runs.append(self.n.value)
                if len(runs) < 3:
                    other.set("^n", len(runs))
                self.n["sum"].value = self.n.value

            run(body)
            self.assertEqual((runs, self.n["sum"].value), (["0", "1", "2"], "2"))

    def test_an_eaten_conflict_is_told_again(self):
        for run in self.forms():
            runs, other = [], Other(self.db)
            self.n.value = self.n["b"].value = 0

            def body():
                runs.append(self.n.value)
                if len(runs) == 1:
                    other.set("^n", 5)
                    other.set("^n", 6)
                    for _ in range(3):
                        with self.assertRaises(caret.Restart):
                            self.n.set(self.n["b"].value + self.n.value)
                            self.db.run(lambda: None)
                            for i in range(100):
                                self.n[i].value

            run(body)
            self.assertEqual(runs, ["0", "6"])

    def test_restart_by_hand(self):
        for run in self.forms():
            runs = []

            def body():
                runs.append(self.db.restarts())
                self.n.incr()
                if len(runs) < 3:
                    caret.restart()

            self.n.kill()
            run(body)
            self.assertEqual((runs, self.n.value), ([0, 1, 2], "1"))

    def test_retries_end(self):
        runs = []

        @self.db.transactional(retries=2)
        def body():
            runs.append(1)
            self.n.value = len(runs)
            caret.restart()

        with self.assertRaises(caret.Busy):
            body()
        self.assertEqual((len(runs), self.n.value, self.db.level()), (3, None, 0))
        with self.assertRaises(caret.Busy):
            for attempt in self.db.attempts(retries=0):
                with attempt:
                    caret.restart()
        self.assertEqual(self.db.level(), 0)

    def test_arguments_and_names(self):
        @self.db.transactional
        def transfer(a, b, *, amount=1):
            """Doc."""
            return a, b, amount

        self.assertEqual(transfer("x", b="y", amount=3), ("x", "y", 3))
        self.assertEqual((transfer.__name__, transfer.__doc__), ("transfer", "Doc."))
        self.assertEqual(self.db.run(transfer, 1, 2, amount=4), (1, 2, 4))

        class Bank:
            @self.db.transactional
            def pay(me, amount):
                return amount

        self.assertEqual(Bank().pay(5), 5)
        for bad in ((), (5,)):
            with self.assertRaises(TypeError):
                self.db.run(*bad)
        self.assertEqual(self.db.level(), 0)

    def test_what_can_be_left_in_the_midst_is_refused(self):
        async def coroutine():
            pass

        async def agen():
            yield

        def generator():
            yield

        for body in (coroutine, agen, generator):
            with self.assertRaises(TypeError):
                self.db.transactional(body)

    def test_transaction_tells_the_forms(self):
        for owner in (self.db, self.db.session()):
            with self.assertRaisesRegex(AttributeError, "transactional.*run.*attempts"):
                owner.transaction()

    def test_attempts_are_for_one_loop(self):
        attempts = self.db.attempts()
        for attempt in attempts:
            with attempt:
                with self.assertRaises(caret.Misuse):
                    attempt.__enter__()
        with self.assertRaises(caret.Misuse):
            list(attempts)
        with self.assertRaises(caret.Misuse):
            for _ in self.db.attempts():
                pass
        with self.assertRaises(TypeError):
            self.db.attempts(sync="x")
        with self.assertRaises(ValueError):
            self.db.attempts(retries=-1)

    def test_a_body_that_leaves_one_open(self):
        with self.assertRaises(caret.InTransaction):
            self.db.run(lambda: self.db.savepoint().__enter__())
        self.assertEqual(self.db.level(), 0)
        self.n.value = 1
        self.assertEqual(self.n.value, "1")

    def test_locals(self):
        @self.db.transactional(locals=True)
        def body():
            self.db["x"].value = 1
            raise KeyError

        self.assertRaises(KeyError, body)
        self.assertIsNone(self.db["x"].value)


class Blocks(Case):
    def test_savepoint(self):
        def body():
            self.n[1].value = 1
            with self.assertRaises(KeyError):
                with self.db.savepoint():
                    self.n[2].value = 2
                    raise KeyError
            with self.db.savepoint():
                self.n[3].value = 3
                caret.rollback()
            with self.db.savepoint():
                self.n[4].value = 4

        self.db.run(body)
        self.assertEqual(list(self.n), [1, 4])
        with self.assertRaises(caret.NoTransaction):
            with self.db.savepoint():
                pass

    def test_snapshot(self):
        other = Other(self.db)
        self.n.value = "before"
        with self.db.snapshot():
            other.set("^n", "after")
            self.assertEqual(self.n.value, "before")
            with self.assertRaises(caret.ReadOnly):
                self.n.value = 1
        self.assertEqual(self.n.value, "after")

    def test_exclusive(self):
        with self.db.exclusive():
            self.n.value = 1
            with self.db.savepoint():
                self.n.incr()
        self.assertEqual(self.n.value, "2")
        with self.assertRaises(ZeroDivisionError):
            with self.db.exclusive():
                self.n.value = 5
                1 / 0
        self.assertEqual(self.n.value, "2")

    def test_a_block_is_for_once(self):
        block = self.db.snapshot()
        with block:
            with self.assertRaises(caret.Misuse):
                block.__enter__()
        with block:
            pass
        self.assertEqual(self.db.level(), 0)

    def test_a_session_has_its_own(self):
        with self.db.session() as session:
            def body():
                session["^n"].value = 1
                self.assertEqual((self.n.value, self.db.level(), session.level()), (None, 0, 1))

            session.run(body)
            self.assertEqual(self.n.value, "1")
        with self.assertRaises(caret.Closed):
            session["^n"].value
        self.assertTrue(session.closed and not self.db.closed)

    def test_closing_inside(self):
        def body():
            self.n.value = 1
            self.db.close()

        with self.assertRaises(caret.Closed):
            self.db.run(body)
        with caret.open(self.path) as db:
            self.assertIsNone(db["^n"].value)


class Tasks(Case):
    def test_await_in_a_transaction_is_noticed(self):
        async def one(event):
            for attempt in self.db.attempts():
                with attempt:
                    self.n.value = 1
                    await event.wait()

        async def two():
            with self.assertRaisesRegex(caret.Misuse, "await"):
                self.db.run(lambda: None)

        async def both():
            event = asyncio.Event()
            task = asyncio.create_task(one(event))
            await asyncio.sleep(0)
            await asyncio.create_task(two())
            event.set()
            await task

        asyncio.run(both())
        self.assertEqual(self.n.value, "1")


class Locks(Case):
    def test_with(self):
        other = self.db.session()
        with self.n.lock() as node:
            self.assertEqual(node, self.n)
            self.assertFalse(other["^n"][1].acquire(0))
            with self.assertRaises(caret.LockTimeout) as caught:
                with other["^n"].lock(0.01):
                    self.fail()
            self.assertIsInstance(caught.exception, TimeoutError)
        self.assertTrue(other["^n"].acquire(0))
        other["^n"].release()
        with self.assertRaises(caret.NotLocked):
            other["^n"].release()

    def test_all_or_none(self):
        other = self.db.session()
        a, b = self.n["a"], self.n["b"]
        with other["^n"]["b"].lock():
            with self.assertRaises(caret.LockTimeout):
                with self.db.lock_all([a, b], 0):
                    self.fail()
            self.assertTrue(other["^n"]["a"].acquire(0))
            other["^n"]["a"].release()
        with self.db.lock_all([a, b], 1):
            self.assertFalse(other["^n"]["a"].acquire(0))
        self.assertTrue(other["^n"]["a"].acquire(0))
        for bad in (5, [1], ["x"]):
            with self.assertRaises(TypeError):
                self.db.acquire_all(bad)
        with self.assertRaises(ValueError):
            self.n.acquire(float("nan"))

    def test_a_ring_is_told(self):
        other = self.db.session()
        with self.n["a"].lock(), other["^n"]["b"].lock():
            def wait():
                with other["^n"]["a"].lock(60):
                    pass

            thread = threading.Thread(target=wait)
            thread.start()
            try:
                with self.assertRaisesRegex(caret.Deadlock, r"\^n"):
                    while True:
                        if self.n["b"].acquire(0.01):
                            self.n["b"].release()
            finally:
                self.n["a"].release()
                thread.join()
                self.n["a"].acquire()

    def test_a_thread_that_waits_leaves_the_others_the_gil(self):
        other, got = self.db.session(), []
        self.n.acquire()
        thread = threading.Thread(target=lambda: got.append(other["^n"].acquire(60)))
        thread.start()
        for i in range(1000):
            self.n[i].value = i
        with self.assertRaises(caret.InvalidError):
            while not got:
                other["^x"].value
        self.n.release()
        thread.join()
        self.assertEqual(got, [True])

    def test_waiting_for_a_change(self):
        place = self.db.durable()[1]
        self.assertFalse(self.n.wait(0))
        thread = threading.Thread(target=lambda: self.n[1].set(5))
        thread.start()
        self.assertTrue(self.n.wait(60, place))
        thread.join()


if __name__ == "__main__":
    main()
