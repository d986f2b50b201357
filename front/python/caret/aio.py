"""For asyncio: what may wait.  All else is called directly: a get takes less time than a thread for it.

    async with aio.lock(node, timeout=5): ...
    async for place in aio.changes(node): ...
    async for change in aio.watch(node): ...
    await aio.sync(db)
"""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from ._core import LockTimeout, Misuse, Node

_executor = None


def _after_fork():
    global _executor
    _executor = None  # its threads are the parent's


os.register_at_fork(after_in_child=_after_fork)


def _run(call, *args):
    """In a thread of ours; the engine lets the GIL go while it sleeps."""
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(32, "caret-aio")
    return asyncio.get_running_loop().run_in_executor(_executor, call, *args)


class _Owner:
    """A session that waits in threads.  Whoever comes last closes it: the task that leaves, or the thread that is still
    in a call for it, though the loop may be over by then.
    """

    def __init__(self, of):
        db = of.db if isinstance(of, Node) else of
        self.session = db.database.session()
        self.node = self.session[(of.name, *of.subs)] if isinstance(of, Node) else None
        self._mutex, self._calls, self._left = threading.Lock(), 0, False

    def _call(self, f, args):
        try:
            return f(*args)
        finally:
            with self._mutex:
                self._calls -= 1
                if self._left and self._calls == 0:
                    self.session.close()

    async def run(self, f, *args):
        with self._mutex:
            self._calls += 1
        return await asyncio.shield(_run(self._call, f, args))

    def leave(self):
        with self._mutex:
            self._left = True
            if self._calls == 0:
                self.session.close()


class lock:
    """async with aio.lock(node, timeout=None): the lock on this name, by a session of the block's own."""

    SLICE = 0.2  # s: how long a cancelled task's thread waits on

    def __init__(self, node, timeout=None):
        self._node, self._timeout, self._owner = node, timeout, None

    async def __aenter__(self):
        if self._owner is not None:
            raise Misuse("INTXN: this lock was taken already")
        self._owner = _Owner(self._node)
        try:
            await self._wait(self._owner)
        except BaseException:
            await self.__aexit__()
            raise
        return self._node

    async def _wait(self, owner):
        loop = asyncio.get_running_loop()
        end = None if self._timeout is None else loop.time() + self._timeout
        got = owner.node.acquire(0)
        while not got:
            now = self.SLICE if end is None else min(self.SLICE, end - loop.time())
            if now <= 0:
                raise LockTimeout(110, "LOCK_TIMEOUT: %s was not free in %s s" % (self._node, self._timeout))
            got = await owner.run(owner.node.acquire, now)

    async def __aexit__(self, *what):
        owner, self._owner = self._owner, None
        owner.leave()


async def changes(node, slice=0.2):
    """Whenever something was committed at the node or below it: a place in the log, up to which all is to be seen."""
    db, owner = node.db.database, _Owner(node)
    place = db.durable()[1]
    try:
        while True:
            if await owner.run(owner.node.wait, slice, place):
                place = db.durable()[1]  # first the place, then the look: nothing is missed
                yield place
    finally:
        owner.leave()


async def watch(of, place=None, slice=0.2):
    """What is committed at a node or below it, or anywhere in a database: change by change, as of db.changes()."""
    owner = _Owner(of)
    feed = owner.session.changes(place, of if isinstance(of, Node) else None)
    try:
        while True:
            change = feed.next(0)
            if change is None:
                change = await owner.run(feed.next, slice)
            if change is not None:
                yield change
    finally:
        owner.leave()


async def sync(db):
    """Everything committed so far is durable."""
    await _run(db.sync)


async def checkpoint(db):
    await _run(db.checkpoint)


async def backup(db, path, **options):
    await _run(lambda: db.backup(path, **options))
