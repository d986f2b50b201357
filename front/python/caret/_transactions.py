"""Transactions as functions, as loops and as blocks; locks as blocks.  What decides is in C: transaction.c."""

from ._core import LockTimeout, Misuse, symbol  # noqa: F401

BATCH, SYNC, SNAPSHOT, ALONE = 1, 2, 4, 8
FOREVER = -1
_FLAGS = {None: 0, True: SYNC, False: BATCH}


def _options(sync, retries):
    if sync not in _FLAGS:
        raise TypeError("sync is True, False or None")
    if retries is None:
        return _FLAGS[sync], FOREVER
    if retries < 0:
        raise ValueError("retries is 0 or more, or None")
    return _FLAGS[sync], retries


def _refuse(body):
    """Bodies that can be left in the midst of a transaction."""
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


class _Block:
    """One `with`; what is not to run again."""

    __slots__ = ("_db", "_flags", "_frame", "_nested")

    def __init__(self, db, flags, nested=False):
        self._db, self._flags, self._nested = db, flags, nested
        self._frame = None

    def __enter__(self):
        if self._frame is not None:
            raise Misuse("INTXN: this block has begun already")
        db = self._db
        if self._nested and db.level() == 0:
            from ._core import NoTransaction

            raise NoTransaction("NOTXN: a savepoint is one of a transaction")
        self._frame = db._begin(self._flags)
        return db

    def __exit__(self, kind, error, trace):
        frame, self._frame = self._frame, None
        return self._db._end(frame, 0, kind, error, trace)


def snapshot(self):
    """Read one state of the database for as long as the block lasts: nobody waits, and it is never run again."""
    return _Block(self, SNAPSHOT)


def savepoint(self):
    """Inside a transaction: an exception that leaves the block, or caret.rollback(), rolls back to its beginning."""
    return _Block(self, 0, True)


def exclusive(self):
    """A transaction that others wait for from its beginning, for a second at most; so it need not run again."""
    return _Block(self, ALONE)


class _Attempts:
    """for attempt in db.attempts(): with attempt: ..."""

    __slots__ = ("_db", "_flags", "_most", "_frame", "_inside", "_over", "_locals", "number")

    def __init__(self, db, flags, most, locals):
        self._db, self._flags, self._most, self._locals = db, flags, most, locals
        self._frame, self._inside, self._over, self.number = None, False, False, 0

    def __iter__(self):
        if self.number:
            raise Misuse("INTXN: attempts are for one loop")
        try:
            while not self._over:
                self.number += 1
                yield self
                if self._frame is None and not self._over:
                    raise Misuse("INTXN: an attempt was not begun: for attempt in db.attempts(): with attempt: ...")
        finally:
            self._over = True
            if self._frame is not None and not self._inside:  # by return or break, though it was to run again
                self._db._leave(self._frame)

    def __enter__(self):
        if self._over or self._inside:
            raise Misuse("INTXN: this attempt was begun already")
        if self._frame is None:
            self._frame = self._db._begin(self._flags)
            if self._locals and self._db.level() == 1:
                self._db._restore_locals(True)
        self._inside = True
        return self

    def __exit__(self, kind, error, trace):
        frame, self._frame, self._inside = self._frame, None, False
        self._over = True  # also when what follows raises
        result = self._db._end(frame, self._most, kind, error, trace)
        if result is None:
            self._frame, self._over = frame, False
            return True
        return result


def attempts(self, *, sync=None, retries=None, locals=False):
    """The attempts of a transaction: for attempt in db.attempts(): with attempt: ..."""
    return _Attempts(self, *_options(sync, retries), locals)


class _NoTransaction:
    """db.transaction does not exist, and says what does."""

    def __get__(self, db, owner=None):
        raise AttributeError("db.transaction() does not exist: a with block can't be run again after a conflict; use "
                             "@db.transactional, db.run(function), or for attempt in db.attempts(): with attempt:")


# ------------------------------------------------------------------ locks


class _Lock:
    __slots__ = ("_node", "_timeout")

    def __init__(self, node, timeout):
        self._node, self._timeout = node, timeout

    def __enter__(self):
        self._node._lock(self._timeout)
        return self._node

    def __exit__(self, kind, error, trace):
        self._node.release()


class _Locks:
    __slots__ = ("_db", "_nodes", "_timeout")

    def __init__(self, db, nodes, timeout):
        self._db, self._nodes, self._timeout = db, tuple(nodes), timeout

    def __enter__(self):
        if not self._db.acquire_all(self._nodes, self._timeout):
            raise LockTimeout(110, "LOCK_TIMEOUT: not all of %d locks in %s s" % (len(self._nodes), self._timeout))
        return self._nodes

    def __exit__(self, kind, error, trace):
        self._db._release_nodes(self._nodes)


def lock(self, timeout=None):
    """with node.lock(): the lock on this name; LockTimeout or Deadlock if it can't be had."""
    return _Lock(self, timeout)


def lock_all(self, nodes, timeout=None):
    """with db.lock_all([a, b]): the locks on all of these, or LockTimeout and none."""
    return _Locks(self, nodes, timeout)


def attach(database, session, node):
    for owner in (database, session):
        for f in (transactional, snapshot, savepoint, exclusive, attempts, lock_all):
            setattr(owner, f.__name__, f)
        owner.transaction = _NoTransaction()
    node.lock = lock
