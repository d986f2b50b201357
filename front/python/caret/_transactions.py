"""Transactions as functions, as loops and as blocks; locks as blocks.  What decides is in C: transaction.c, block.c."""

from ._core import Frame, Held, Misuse, symbol  # noqa: F401

BATCH, SYNC, SNAPSHOT, ALONE = 1, 2, 4, 8
FOREVER = -1
_FLAGS = {None: 0, True: SYNC, False: BATCH}


def _options(sync, retries):
    if sync not in _FLAGS:
        raise TypeError("sync is True, False or None")
    if retries is None:
        return _FLAGS[sync], FOREVER
    if not isinstance(retries, int):
        raise TypeError("retries is a number of restarts, or None")
    if retries < 0:
        raise ValueError("retries is 0 or more, or None")
    return _FLAGS[sync], retries


def _refuse(body):
    """Bodies that can be left in the midst of a transaction, and what is not a function."""
    if not callable(body):
        raise TypeError("a transaction is a function: @db.transactional, or @db.transactional(retries=3)")
    while not hasattr(body, "__code__") and hasattr(body, "func"):  # functools.partial
        body = body.func
    code = getattr(getattr(body, "__func__", body), "__code__", None)
    code = code or getattr(getattr(type(body), "__call__", None), "__code__", None)
    flags = code.co_flags if code else 0
    if flags & 0x80 or flags & 0x200:  # CO_COROUTINE, CO_ASYNC_GENERATOR
        raise TypeError("a transaction can't be async: its body runs again after a conflict, and other tasks of "
                        "this thread would run inside of it; await before it, or after")
    if flags & 0x20:  # CO_GENERATOR
        raise TypeError("a transaction can't be a generator: it would stay open while others run; make a list")


def refuse_result(body, result):
    """What a body returned that run() was given: as it is, unless the body is one of those and did not begin yet."""
    if hasattr(result, "cr_code"):
        result.close()  # so that nobody is told that it was not awaited
        raise TypeError("a transaction can't be async: its body returned a coroutine, which would run after the commit")
    _refuse(body)
    return result


def transactional(self, body=None, *, sync=None, retries=None, locals=False):
    """Make a function one that runs in a transaction, as often as it takes.

    sync: True waits for the disk at the commit, False does not; None is what the database does.  retries: how often it
    may begin again, before it ends with caret.Busy; None is without limit.  locals: local variables are restored, too.
    """
    flags, most = _options(sync, retries)

    def decorate(body):
        import functools

        _refuse(body)
        run = self._run
        called = _with_locals(self, body) if locals else body

        @functools.wraps(body)
        def transaction(*args, **kw):
            return run(flags, most, called, args, kw)

        return transaction

    return decorate if body is None else decorate(body)


def _with_locals(db, body):
    def call(*args, **kw):
        if db.level() == 1:
            db._restore_locals(True)
        return body(*args, **kw)

    return call


def snapshot(self):
    """Read one state of the database for as long as the block lasts: nobody waits, and it is never run again."""
    return Frame(self, SNAPSHOT, 0, False, False, False)


def savepoint(self):
    """Inside a transaction: an exception that leaves the block, or caret.rollback(), rolls back to its beginning."""
    return Frame(self, 0, 0, True, False, False)


def exclusive(self):
    """A transaction that others wait for from its beginning, for a second at most; so it need not run again."""
    return Frame(self, ALONE, 0, False, False, False)


class _Attempts(Frame):
    """for attempt in db.attempts(): with attempt: ..."""

    __slots__ = ("number",)

    def __init__(self, *_):
        self.number = 0

    def __iter__(self):
        if self.number:
            raise Misuse("INTXN: attempts are for one loop")
        try:
            while not self._over:
                self.number += 1
                yield self
                if not self._begun and not self._over:
                    raise Misuse("INTXN: an attempt was not begun: for attempt in db.attempts(): with attempt: ...")
        finally:
            self._ended()  # by return or break, though it was to run again


def attempts(self, *, sync=None, retries=None, locals=False):
    """The attempts of a transaction: for attempt in db.attempts(): with attempt: ..."""
    return _Attempts(self, *_options(sync, retries), False, True, locals)


class _NoTransaction:
    """db.transaction does not exist, and says what does."""

    def __get__(self, db, owner=None):
        raise AttributeError("db.transaction() does not exist: a with block can't be run again after a conflict; use "
                             "@db.transactional, db.run(function), or for attempt in db.attempts(): with attempt:")


def together(node):
    """What runs a change of several nodes below this one, as db.run does: as that transaction; of local variables, which
    nobody else sees and a tree of caret.local() has no transactions for, at once."""
    return _at_once if node.is_local else node.db.run


def _at_once(body, *args, **kw):
    return body(*args, **kw)


# ------------------------------------------------------------------ locks


def lock(self, timeout=None):
    """with node.lock(): the lock on this name; LockTimeout or Deadlock if it can't be had."""
    return Held(self, None, timeout)


def lock_all(self, nodes, timeout=None):
    """with db.lock_all([a, b]): the locks on all of these, or LockTimeout and none."""
    return Held(self, nodes, timeout)


def attach(database, session, node):
    for owner in (database, session):
        for f in (transactional, snapshot, savepoint, exclusive, attempts, lock_all):
            setattr(owner, f.__name__, f)
        owner.transaction = _NoTransaction()
    node.lock = lock
