"""Transactions in three forms, snapshots, savepoints, exclusive ones; what comes of exceptions and conflicts."""

import asyncio
import functools
import itertools
import os
import sys
import sysconfig
import threading
import time
import unittest
import warnings

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

        with self.assertRaisesRegex(caret.Busy, "others changed what it has read, or caret.restart"):
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

        for body in (coroutine, agen, generator, 5):
            with self.assertRaises(TypeError):
                self.db.transactional(body)
        with self.assertRaisesRegex(TypeError, "retries"):
            self.db.attempts(retries="3")

    def test_run_refuses_it_too(self):
        """Nothing is left open, nothing done, and nobody is told of a coroutine that was not awaited."""
        async def later():
            self.n.value = 1

        def some():
            self.n.value = 1
            yield

        async def both():
            self.n.value = 1
            yield

        class Call:
            __call__ = some

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for body in (later, some, both, functools.partial(later), functools.partial(some), Call()):
                with self.subTest(body=body):
                    self.assertRaises(TypeError, self.db.run, body)
                    self.assertRaises(TypeError, lambda: self.db.transactional(body)())
                    self.assertEqual((self.db.level(), self.n.value), (0, None))
        made = self.db.run(lambda: (i for i in range(3)))  # a generator is a result as any other
        self.assertEqual(list(made), [0, 1, 2])

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


class Left(Case):
    """A generator that is suspended inside a transaction is closed by another thread; loops that end too early."""

    def forms(self):
        """Generators that begin a transaction and are suspended in it."""

        def attempts(db):
            for attempt in db.attempts():
                with attempt:
                    yield

        def exclusive(db):
            with db.exclusive():
                yield

        def snapshot(db):
            with db.snapshot():
                yield

        return [attempts, exclusive, snapshot]

    def begun(self, form, db=None):
        generator = form(db or self.db)
        next(generator)
        return generator

    def elsewhere(self, call):
        """What another thread is told."""
        said = []

        def work():
            try:
                said.append(call())
            except BaseException as e:
                said.append(e)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        # Python's thread is over, the system's may not be: it gives its session back at its very end.
        while os.path.exists(f"/proc/self/task/{thread.native_id}"):
            time.sleep(0.001)
        return said[0]

    def close_elsewhere(self, generator):
        error = self.elsewhere(generator.close)
        self.assertIsInstance(error, caret.InTransaction)
        self.assertIn("another thread", str(error))

    def told(self, call):
        with self.assertRaisesRegex(caret.InTransaction, "left open"):
            call()

    def committed(self, *subs):
        """Another process sees these below the node."""
        self.assertEqual(self.elsewhere(lambda: list(self.n)), list(subs))

    def test_what_follows_is_told(self):
        for form in self.forms():
            with self.subTest(form=form.__name__):
                self.n.kill()
                self.close_elsewhere(self.begun(form))
                self.told(lambda: self.n[1].set("after"))
                self.assertEqual(self.db.level(), 0)
                self.n[2].value = "after"
                self.committed(2)

    @unittest.skipIf(sysconfig.get_config_var("Py_GIL_DISABLED"), "objects are freed by the thread that made them")
    def test_by_the_collector_of_another_thread(self):
        generator, said = self.begun(self.forms()[0]), []
        held, hook = [generator], sys.unraisablehook
        del generator
        sys.unraisablehook = lambda told: said.append(told.exc_type)
        try:
            self.elsewhere(held.clear)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(said, [caret.InTransaction])
        self.told(self.db.level)
        self.n[1].value = 1
        self.committed(1)

    def test_inside_of_run(self):
        def body(eat):
            self.n[1].value = 1
            generator = self.begun(self.forms()[0])
            self.n[2].value = 2
            self.close_elsewhere(generator)
            if eat:
                self.told(lambda: self.n[3].set(3))
                self.assertEqual(self.db.level(), 1)
                self.n[4].value = 4

        self.told(lambda: self.db.run(body, False))
        self.committed()
        self.db.run(body, True)
        self.committed(1, 4)
        self.assertEqual(self.db.level(), 0)

    def test_with_run_inside(self):
        for kind in (None, KeyError, caret.Rollback, caret.Restart):
            with self.subTest(kind=kind):
                generator = self.begun(self.forms()[0])

                def body():
                    self.n[1].value = 1
                    self.close_elsewhere(generator)
                    for _ in range(2):
                        self.told(lambda: self.n[2].set(2))
                    if kind:
                        raise kind

                if kind is KeyError:
                    self.assertRaises(KeyError, self.db.run, body)
                    self.told(self.db.level)
                else:
                    self.told(lambda: self.db.run(body))
                self.assertEqual(self.db.level(), 0)
                self.committed()

    def test_some_within_each_other(self):
        """However many, and in whatever order, they are left: the first call after tells it, and then all is well."""
        for order in itertools.permutations(range(3)):
            generators = [self.begun(form) for form in self.forms()[:1] * 3]
            self.assertEqual(self.db.level(), 3)
            self.n["lost"].value = 1
            for i in order[:-1]:
                self.close_elsewhere(generators[i])
            rest = generators[order[-1]]
            if order[-1] > min(order[:-1]):
                self.told(self.db.level)
                self.told(lambda: self.n["lost"].set(1))
            rest.close()
            self.told(self.db.level)
            self.assertEqual(self.db.level(), 0)
            self.n[order].value = 1
            self.n[order].kill()
            self.committed()

    def test_a_conflict_besides(self):
        """It begins again, as after any conflict: so nothing of it is lost."""
        runs, other = [], Other(self.db)
        self.n.value = 0

        def body():
            runs.append(self.n.value)
            self.n["sum"].value = runs[-1]
            if len(runs) == 1:
                generator = self.begun(self.forms()[0])
                other.set("^n", 5)
                with self.assertRaises(caret.Restart):
                    self.db["^m"].value, self.n["x"].value
                self.close_elsewhere(generator)

        self.db.run(body)
        self.assertEqual((runs, self.n["sum"].value, self.db.level()), (["0", "5"], "5", 0))

    def test_of_a_shared_session(self):
        """It belongs to no thread: whoever closes the generator ends its transaction."""
        with self.db.session() as session:
            generator = self.begun(self.forms()[0], session)
            session["^n"][1].value = 1
            self.assertIsNone(self.elsewhere(generator.close))
            self.assertEqual(session.level(), 0)
            session["^n"][2].value = 2
            self.committed(2)

    def test_of_a_session_that_is_in_a_call(self):
        with self.db.session() as session:
            generator = self.begun(self.forms()[0], session)
            session["^n"][1].value = 1
            with self.n.lock():
                thread = threading.Thread(target=session["^n"].acquire)
                thread.start()
                while self.free(session):
                    pass
                with self.assertRaises(caret.InTransaction):
                    generator.close()
            thread.join()
            self.told(lambda: session["^n"][2].set(2))
            session["^n"][3].value = 3
            self.committed(3)

    @staticmethod
    def free(session):
        try:
            return session.level() >= 0
        except caret.InvalidError:
            return False

    def test_of_a_thread_that_has_ended(self):
        generator = self.elsewhere(lambda: self.begun(self.forms()[0]))
        for reused in (False, True):
            if reused:
                self.assertEqual(self.elsewhere(lambda: self.db.run(self.db.level)), 1)
            self.assertEqual(self.db.run(self.db.level), 1)
        self.close_quietly(generator)
        self.n[1].value = 1
        self.committed(1)

    @staticmethod
    def close_quietly(generator):
        try:
            generator.close()
        except caret.Misuse:
            pass

    def test_one_of_a_link_that_another_thread_has_now(self):
        """The frame that ends is not the one that is open there at its level."""
        generator = self.elsewhere(lambda: self.begun(self.forms()[0]))

        def work():  # the session of the thread that has ended
            def body():
                self.n[1].value = 1
                generator.close()

            self.db.run(body)

        self.assertIsNone(self.elsewhere(work))
        self.committed(1)

    def test_over_with_one_around_it(self):
        kept = []
        with self.assertRaisesRegex(caret.InTransaction, "body left"):
            self.db.run(lambda: kept.append(self.begun(self.forms()[0])))

        def body():
            self.n[1].value = 1
            kept.append(self.begun(self.forms()[0]))
            kept.pop(0).close()
            self.n[2].value = 2
            kept.pop().close()

        self.db.run(body)
        self.assertEqual(self.db.level(), 0)
        self.committed(1)

    def test_a_forked_child_has_none_of_it(self):
        generator = self.begun(self.forms()[0])
        self.close_elsewhere(generator)

        def child():
            self.n[1].value = 1
            self.assertEqual(self.db.level(), 0)

        self.assertEqual(self.in_child(child), 0)
        self.told(self.db.level)
        self.committed(1)

    def conflict(self, runs):
        runs.append(self.n.value)
        self.n["sum"].value = runs[-1]
        if len(runs) == 1:
            Other(self.db).set("^n", 1)

    def test_a_loop_that_returns_before_its_commit(self):
        """The attempt had a conflict, and was to run again; Python gives no way to."""
        runs, said, hook = [], [], sys.unraisablehook

        def returns():
            for attempt in self.db.attempts():
                with attempt:
                    return self.conflict(runs)

        def breaks():
            for attempt in self.db.attempts():
                with attempt:
                    self.conflict(runs)
                    break

        def raises():
            for attempt in self.db.attempts():
                if runs:
                    raise KeyError
                with attempt:
                    self.conflict(runs)

        for body in (returns, breaks, raises):
            self.n.value, runs[:], said[:] = 0, [], []
            sys.unraisablehook = lambda told: said.append(told.exc_type)
            try:
                body()
            except KeyError:
                pass
            finally:
                sys.unraisablehook = hook
            self.assertEqual((runs, said), (["0"], [caret.InTransaction]))
            self.told(lambda: self.n["sum"].set("lost"))
            self.assertEqual((self.n["sum"].value, self.db.level()), (None, 0))

    def test_a_loop_that_returns_from_its_last_attempt(self):
        def body():
            for attempt in self.db.attempts():
                with attempt:
                    self.n.value = 7
                    return self.n.value

        self.assertEqual((body(), self.n.value, self.db.level()), ("7", "7", 0))


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

    def test_calls_of_other_tasks_do_not_become_part_of_it(self):
        """Neither is what they set lost with it, nor do they see what it did not commit."""
        blocks = {"attempts": lambda: self.db.attempts(), "exclusive": lambda: [self.db.exclusive()],
                  "snapshot": lambda: [self.db.snapshot()]}

        async def one(block, event, fails):
            for attempt in block():
                with attempt:
                    self.assertEqual(self.n["mine"].value, None)
                    self.db.run(lambda: self.n["mine"].value)
                    await event.wait()
                    self.assertEqual(self.n["mine"].value, None)
                    if fails:
                        raise KeyError

        async def two():
            for call in (lambda: self.n.value, lambda: self.n["x"].incr(), lambda: list(self.n), self.db.level,
                         lambda: self.n.acquire(0), lambda: self.db.snapshot().__enter__()):
                with self.assertRaisesRegex(caret.Misuse, "await"):
                    call()

        async def both(block, fails):
            event = asyncio.Event()
            task = asyncio.create_task(one(block, event, fails))
            await asyncio.sleep(0)
            await asyncio.create_task(two())
            told = []
            asyncio.get_running_loop().call_soon(lambda: told.append(self.assertRaises(caret.Misuse, self.n.get)))
            await asyncio.to_thread(self.n["thread"].incr)      # another thread has a session of its own
            event.set()
            await asyncio.gather(task, return_exceptions=True)
            self.assertEqual(len(told), 1)
            self.assertEqual(self.db.level(), 0)
            return await asyncio.create_task(asyncio.to_thread(self.n["x"].get))

        for name, block in blocks.items():
            for fails in (False, True):
                with self.subTest(name, fails=fails):
                    self.assertIsNone(asyncio.run(both(block, fails)))
                    self.n["x"].value = "free"
                    del self.n["x"]


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

    def test_of_another_database(self):
        with caret.open(":memory:") as other:
            for nodes in ([other["^n"]], [self.n, other["^n"]]):
                self.assertRaises(caret.InvalidError, self.db.acquire_all, nodes, 0)
        with self.db.session() as session:
            self.assertTrue(session.acquire_all([self.n], 0))
            self.assertFalse(self.n.acquire(0))

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
