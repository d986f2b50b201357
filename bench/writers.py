#!/usr/bin/env python3
"""writers.py - what committers on many cores would reach, by simulation of events.

usage: bench/writers.py [--check] [--seconds S]

Two protocols: the engine's (a commit's page changes under the writer mutex), and the plan of docs/engine.md ("Page
changes outside the writer mutex": leaf latches, a short critical section, changes in parallel, visible in order).
Each core runs one process that thinks, then commits, again and again.  The loads alone are random; the seed is fixed.

The costs are measurements on a guest with two cores of a Xeon of 2023: stamps of the clock around each step of 3n+1 in
Lua, with one process and with two, and build/bench/writers.  LINE is what a line takes from another core, by the
difference between both.  The plan's own steps, LATCH and ENTRY, are not measured: they are counted.

What is assumed, and what that hides:
  - a line takes LINE wherever it comes from.  On two sockets it takes two to four times as much, for both protocols.
  - a writer that waits for the mutex looks at it every EVERY ns and takes it when it is free just then, so the one
    that has just had it often gets it again.  Processes never sleep: right while fewer run than there are cores.
  - the latches of a commit are taken all at once; one whose leaves are taken tries again after LINE.
  - no memory bandwidth, no checkpoints (after one, each leaf is copied once, which is not done in parallel), no
    growth, no deaths; flushing takes another core.
  - which core changed a leaf last is followed for writers; the misses of readers are a number of the load.
"""
import argparse
import heapq
import random

LINE = 110          # ns: a line that another core has changed
EVERY = 800         # ns between two looks of a waiter (shm/mutex.c)
WRITES = 2          # of the holder to the mutex's line: log_head, release; each is slow if somebody has looked
LOCK = 55           # ns: taking and releasing the mutex, its line being here
COMMON_LINES = 4    # lines that every commit writes: mutex, log_applied, two of the ring
LEAF_LINES = 5      # of a leaf that another core has changed: page-table entry, header, hints, slots, entry
OVERLAP = 0.5       # of several lines asked for at once
LOCATE = 27         # ns a set: record, place and room are looked at under the mutex
PUBLISH = 25        # ns: the record into the ring
SLOW = 4800         # ns: a set that splits a leaf
LATCH = 25          # ns a leaf: compare-and-swap of a latch, and its release
ENTRY = 40          # ns: entry in the table of commits in flight, done, log_applied moved on


class Load:
    """What a process does: think so many ns, then commit sets to leaves."""

    def __init__(self, name, think, miss, sets, set_ns, leaves, splits, choose):
        self.name, self.think, self.miss, self.sets = name, think, miss, sets
        self.set_ns, self.leaves, self.splits, self.choose = set_ns, leaves, splits, choose


def own(core, cores, r, leaves):
    """A leaf of its own part."""
    part = leaves // cores
    return core * part + r.randrange(part)


def uniform(_core, _cores, r, leaves):
    return r.randrange(leaves)


def mixed(core, cores, r, leaves):
    """As 3n+1: half of the sets go to the process's own numbers, half anywhere."""
    return own(core, cores, r, leaves) if r.random() < 0.5 else r.randrange(leaves)


# name, ns of thinking, ns of misses in it when others write, sets a commit, ns a set, leaves, part that splits
LOADS = [
    Load("leaves of their own", 300, 0, 1, 45, 1600, 0, own),
    Load("any leaf", 250, LINE, 1, 45, 1600, 0, uniform),
    Load("one node", 20, 0, 1, 15, 1, 0, uniform),
    Load("3n+1", 1900, 350, 5, 75, 1800, 0.025, mixed),
]
# Thousand commits a second, one and two processes on two cores: build/bench/writers; 43,300 transactions of 3n+1.
MEASURED = {"leaves of their own": (2230, 2430), "any leaf": (2530, 2150), "one node": (7610, 2750), "3n+1": (352, 481)}


def lines(n):
    """So many lines from elsewhere, asked for at once."""
    return 0 if n == 0 else LINE * (1 + (n - 1) * (1 - OVERLAP))


class Commit:
    def __init__(self, sets, leaves, splits):
        self.sets, self.leaves, self.splits = sets, leaves, splits
        self.latched = self.waits = False


class Machine:
    """One simulation.  Events are (when, core, its commit; None: it has thought)."""

    def __init__(self, load, cores, plan):
        self.load, self.cores, self.plan = load, cores, plan
        self.random = random.Random(1)
        self.owner = [-1] * load.leaves       # the core that changed the leaf last
        self.latched = [0.0] * load.leaves    # until when
        self.until, self.last = 0.0, -1       # the mutex: until when, which core had it last
        self.visible = 0.0                    # log_applied: when all commits so far are done
        self.waiters = 0
        miss = load.miss * (1 - 1 / cores)
        self.think = load.think + miss
        self.events = [(self.random.random() * load.think, c, None) for c in range(cores)]
        heapq.heapify(self.events)

    def make(self, core):
        load, r = self.load, self.random
        sets = max(1, round(r.expovariate(1 / load.sets))) if load.sets > 1 else 1
        leaves = {load.choose(core, self.cores, r, load.leaves) for _ in range(sets)}
        return Commit(sets, leaves, r.random() < load.splits)

    def away(self, core, leaf):
        return self.owner[leaf] not in (-1, core)

    def latch(self, now, core, c):
        """All of them, or another try.  The time after it, or None."""
        if any(self.latched[i] > now for i in c.leaves):
            heapq.heappush(self.events, (now + LINE, core, c))
            return None
        c.latched = True
        for i in c.leaves:
            now += LATCH + (LINE if self.away(core, i) else 0)
            self.latched[i] = float("inf")
        return now

    def costs(self, core, c):
        """Nanoseconds under the mutex, and after it."""
        change = c.sets * self.load.set_ns + sum(lines(LEAF_LINES) for i in c.leaves if self.away(core, i))
        under = LOCK + PUBLISH + (lines(COMMON_LINES) if self.last not in (-1, core) else 0)
        if c.latched:
            under += ENTRY
        else:
            under += c.sets * LOCATE + change + (SLOW if c.splits else 0)
        under += LINE * min(WRITES, self.waiters * under / EVERY)
        return under, change if c.latched else 0

    def commit(self, now, core, c):
        """One look at the mutex.  When the commit is over, or None."""
        if now < self.until or (self.plan and c.splits and now < self.visible):
            self.waiters += not c.waits
            c.waits = True
            heapq.heappush(self.events, (now + EVERY, core, c))
            return None
        self.waiters -= c.waits
        under, after = self.costs(core, c)
        self.until, self.last = now + under, core
        self.visible = max(self.visible, self.until + after)
        for i in c.leaves:
            self.owner[i] = core
            if c.latched:
                self.latched[i] = self.until + after
        return self.visible

    def run(self, end):
        """Commits until then."""
        commits = 0
        while True:
            now, core, c = heapq.heappop(self.events)
            if now > end:
                return commits
            c = c or self.make(core)
            if self.plan and not c.splits and not c.latched:
                now = self.latch(now, core, c)
                if now is not None:
                    heapq.heappush(self.events, (now, core, c))
                continue
            over = self.commit(now, core, c)
            if over is not None:
                commits += 1
                heapq.heappush(self.events, (over + self.think, core, None))


def thousands(load, cores, plan, seconds):
    return Machine(load, cores, plan).run(seconds * 1e9) / seconds / 1000


def table(seconds):
    counts = [1, 2, 4, 8, 16, 32, 64]
    print("thousand commits a second, by cores".ljust(36) + "".join(f"{c:>8}" for c in counts))
    for load in LOADS:
        for plan in (False, True):
            row = [thousands(load, c, plan, seconds) for c in counts]
            print(f"{load.name}, {'plan' if plan else 'today'}".ljust(36) + "".join(f"{x:8.0f}" for x in row))


def check(seconds):
    """Beside what was measured."""
    for load in LOADS:
        for cores, real in zip((1, 2), MEASURED[load.name]):
            x = thousands(load, cores, False, seconds)
            print(f"{load.name}, {cores}: simulated {x:.0f}, measured {real} thousand a second, {x / real:.2f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--check", action="store_true", help="compare with what was measured")
    p.add_argument("--seconds", type=float, default=0.02, help="simulated (0.02)")
    o = p.parse_args()
    (check if o.check else table)(o.seconds)


main()
