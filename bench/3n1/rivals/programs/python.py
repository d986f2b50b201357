"""The 3n+1 job through Caret's Python package: globals and locks as in bench/3n1/job.lua.

    python.py FILE parent N W
    python.py FILE worker PID
"""

import sys
import time

import caret

path, role, *numbers = sys.argv[1:]
db = caret.open(path)
queued, blocks, step = db["^queued"], db["^blocks"], db["^step"]
longest, highest = db["^longest"], db["^highest"]
reads = updates = 0


@db.transactional(sync=False)
def keep(way, total, high):
    """Store the lengths of all on the way, and raise the maxima; how many were raised."""
    raised = 0
    if total > longest.int(0):
        longest.value = total
        raised += 1
    if high > highest.int(0):
        highest.value = high
        raised += 1
    for here in way:
        here.value = total
        total -= 1
    return raised


def sequence(n):
    """Follow the sequence of n to a number whose length is known."""
    global reads, updates
    way, high, known = [], 0, 0
    while n > 1:
        here = step[n]
        known = here.int(0)
        if known:
            break
        way.append(here)
        n = 3 * n + 1 if n % 2 else n // 2
        if n > high:
            high = n
    reads += len(way) + (n > 1)
    if way:
        reads += 2
        updates += len(way) + keep(way, len(way) + known, high)


def until(node, ready):
    """Sleep until the value of the node is as it should be."""
    while True:
        place = db.durable()[1]
        if ready(node.int()):
            return
        node.wait(place=place)


def worker(pid):
    until(queued, lambda n: n is not None)
    finished, trigger = db["^finished", pid], db["^trigger", pid]
    finished.acquire()
    queued.incr(-1)
    trigger.acquire()
    trigger.release()
    for i in range(1, blocks.int() + 1):
        block = blocks[i]
        if not block["taken"].has_value and block["taken"].incr() == 1:
            for n in range(block["first"].int(), block["last"].int() + 1):
                sequence(n)
    db["^reads"].incr(reads)
    db["^updates"].incr(updates)
    finished.release()


def parent(n, workers):
    count = min(10 * workers, n)
    for i in range(count):
        blocks[i + 1].settree({"first": n * i // count + 1, "last": n * (i + 1) // count})
    trigger, finished = db["^trigger"], db["^finished"]
    trigger.acquire()
    blocks.value = count
    queued.value = workers
    until(queued, lambda missing: missing == 0)
    start = time.monotonic()
    trigger.release()
    finished.acquire()
    seconds = time.monotonic() - start
    finished.release()
    form = '{"seconds":%.6f,"longest":%d,"highest":%d,"reads":%d,"updates":%d}'
    print(form % (seconds, longest.int(0), highest.int(0), db["^reads"].int(), db["^updates"].int()))


if role == "parent":
    parent(*map(int, numbers))
else:
    worker(int(numbers[0]))
db.close()
