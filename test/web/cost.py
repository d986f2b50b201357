"""What a database costs more while it is watched: rows of `make bench` in a process of its own, in turns with a window
that looks on and without; and what `caret web` takes meanwhile. Processor time, medians of pairs. Told, and never
asserted.

    CARET=build/caret /usr/bin/python3 test/web/cost.py [VIEW [NODES [PAIRS]]]

VIEW is live, locks, log or tree.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from client import Server, cpu

CARET = os.environ["CARET"]
SECONDS = 3  # of a round: some samples fall into it

# Reads "row times", does it, says the processor time that it took.
PROGRAM = """
local db = assert(require "caret".open(arg[1]))
local n = tonumber(arg[2])
db:tp(function() for i = 1, n do db:set("^big", i, "value " .. i) end end)
local big, count, one = db.node("^big"), db.node("^count"), db.node("^big", 1)
local at = 0
local function place() at = (at * 7919 + 104729) % n return at + 1 end
local keep = db:transaction(function(i) local v = big[i].__ big[i].__ = v end)
local following = 1
local rows = {
    get = function() return big[place()].__ end,
    set = function() big[place()].__ = at end,
    next = function() following = big:next(following) or 1 end,
    incr = function() count:incr() end,
    lock = function() one:grab() one:release() end,
    transaction = function() keep(place()) end,
}
print "ready" io.flush()
for line in io.lines() do
    local name, times = line:match "(%a+) (%d+)"
    local f, before = rows[name], os.clock()
    for _ = 1, tonumber(times) do f() end
    print(os.clock() - before) io.flush()
end
"""


class Worker:
    def __init__(self, folder, path, nodes):
        program = os.path.join(folder, "rows.lua")
        with open(program, "w", encoding="ascii") as f:
            f.write(PROGRAM)
        self.process = subprocess.Popen([CARET, "run", program, path, str(nodes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def seconds(self, row, times):
        self.process.stdin.write(f"{row} {times}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Look:
    """A window with that view, until it is closed. Each asks for the heartbeat."""

    STREAMS = {"live": ("live", {"every": 1}), "locks": ("live", {"every": 1, "locks": 1}), "log": ("log", {"from_": -1})}

    def __init__(self, server, view):
        self.server, self.on, self.view = server, True, view
        self.threads = [threading.Thread(target=self.beat)]
        if view in self.STREAMS:
            self.threads.append(threading.Thread(target=self.follow, args=self.STREAMS[view]))
        for t in self.threads:
            t.start()

    def follow(self, path, query):
        events = self.server.events(path, **query)
        for _ in events:
            if not self.on:
                break
        events.close()

    def beat(self):
        """As the page does: once a second, and what is shown again if something has changed."""
        place = None
        while self.on:
            now = self.server.get("info")["place"]
            if self.view == "tree" and now != place:
                self.server.get("children", node="", limit=100)
                self.server.get("children", node="^big", limit=100)
                self.server.get("value", node="^big(1)", at=0, n=65536)
            place = now
            time.sleep(1)


def pair(worker, server, view, row, times, first):
    """Processor time of the row, watched and not; part of a core that the server took while it was watched."""
    took, part = {}, 0
    for watched in (first, not first):
        look = Look(server, view) if watched else None
        before, began = cpu(server.process.pid), time.monotonic()
        took[watched] = worker.seconds(row, times)
        if watched:
            part = (cpu(server.process.pid) - before) / (time.monotonic() - began)
            keep_telling(worker, look)
    return took[True], took[False], part


def keep_telling(worker, look):
    """Changes, until the window has closed: its stream ends at its next event."""
    look.on = False
    while any(t.is_alive() for t in look.threads):
        worker.seconds("set", 1)
        time.sleep(0.05)


def main():
    view = sys.argv[1] if len(sys.argv) > 1 else "live"
    nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    folder = tempfile.mkdtemp(prefix="caret-web-")
    path = os.path.join(folder, "cost.caret")
    worker = Worker(folder, path, nodes)
    server = Server(CARET, path, "--write")
    server.sign_in()
    try:
        for row in ("get", "set", "next", "incr", "lock", "transaction"):
            times = int(20000 * SECONDS / worker.seconds(row, 20000))
            all_pairs = [pair(worker, server, view, row, times, i % 2 == 0) for i in range(pairs)]
            ratio = statistics.median(a / b for a, b, _ in all_pairs)
            least = min(a for a, _, _ in all_pairs) / min(b for _, b, _ in all_pairs)
            part = statistics.median(p for _, _, p in all_pairs)
            print(f"{view}, {row}: watched {ratio:.3f} of unwatched (of the quickest rounds {least:.3f}); the page took {100 * part:.2f} % of a core", flush=True)
    finally:
        worker.close()
        server.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
