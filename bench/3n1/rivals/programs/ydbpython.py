"""The 3n+1 job through YDBPython, or Caret's module of that form: globals and locks as in bench/3n1/job.lua.

    ydbpython.py MODULE parent N W          MODULE is yottadb or caret.yottadb
    ydbpython.py MODULE worker PID
"""

import ctypes
import importlib
import sys
import time

module, role, *numbers = sys.argv[1:]
yottadb = importlib.import_module(module)
Node = yottadb.Node
queued, blocks, step = Node("^queued"), Node("^blocks"), Node("^step")
longest, highest = Node("^longest"), Node("^highest")
reads = updates = 0
MINUTE = 60 * 10**9
WAIT = 0.002
# Where there is no value, YDBPython 2.0.1 takes away a reference to None that is not its own: Python ends when none is
# left.  These make up for that; the list is never freed.
spare = []
ctypes.pythonapi.Py_IncRef(ctypes.py_object(spare))


def number(node):
    value = node.value
    if value is None:
        spare.append(None)
        return None
    return int(value)


def grab(node):
    """The lock, however long it takes."""
    while True:
        try:
            return node.lock_incr(MINUTE)
        except yottadb.YDBLockTimeoutError:
            pass


def stored(way, total, high):
    """Store the lengths of all on the way, and raise the maxima; how many were raised."""
    raised = 0
    if total > (number(longest) or 0):
        longest.value = str(total)
        raised += 1
    if high > (number(highest) or 0):
        highest.value = str(high)
        raised += 1
    for here in way:
        here.value = str(total)
        total -= 1
    return raised


def body(way, total, high, told):
    told[0] = stored(way, total, high)
    return yottadb.YDB_OK


def keep(way, total, high):
    told = [0]
    yottadb.tp(body, args=(way, total, high, told), transid="BATCH")
    return told[0]


def sequence(n):
    """Follow the sequence of n to a number whose length is known."""
    global reads, updates
    way, high, known = [], 0, 0
    while n > 1:
        here = step[str(n)]
        known = number(here)
        if known:
            break
        way.append(here)
        n = 3 * n + 1 if n % 2 else n // 2
        if n > high:
            high = n
    reads += len(way) + (n > 1)
    if way:
        reads += 2
        updates += len(way) + keep(way, len(way) + (known or 0), high)


def worker(pid):
    while number(queued) is None:
        time.sleep(WAIT)
    finished, trigger = Node("^finished")[pid], Node("^trigger")[pid]
    grab(finished)
    queued.incr("-1")
    grab(trigger)
    trigger.lock_decr()
    for i in range(1, number(blocks) + 1):
        block = blocks[str(i)]
        if not number(block["taken"]) and int(block["taken"].incr("1")) == 1:
            for n in range(number(block["first"]), number(block["last"]) + 1):
                sequence(n)
    Node("^reads").incr(str(reads))
    Node("^updates").incr(str(updates))
    finished.lock_decr()


def parent(n, workers):
    count = min(10 * workers, n)
    for i in range(count):
        block = blocks[str(i + 1)]
        block["first"].value = str(n * i // count + 1)
        block["last"].value = str(n * (i + 1) // count)
    trigger, finished = Node("^trigger"), Node("^finished")
    grab(trigger)
    blocks.value = str(count)
    queued.value = str(workers)
    while number(queued) > 0:
        time.sleep(WAIT)
    start = time.monotonic()
    trigger.lock_decr()
    grab(finished)
    seconds = time.monotonic() - start
    finished.lock_decr()
    told = tuple(number(Node(name)) or 0 for name in ("^longest", "^highest", "^reads", "^updates"))
    print('{"seconds":%.6f,"longest":%d,"highest":%d,"reads":%d,"updates":%d}' % (seconds, *told))


if role == "parent":
    parent(*map(int, numbers))
else:
    worker(numbers[0])
