"""The Python package beside py-lmdb, sqlite3, diskcache and YDBPython, as far as they are installed: thread CPU time in
nanoseconds, net of the empty loop, medians of rounds in turns.  The bars are those that were set before it was written.

"set" is `node.value = s` by itself: each is a transaction of its own, and committed.  So is its bar of 0.5 beside
"lmdb put, one txn", a put in a transaction that stays open, which commits nothing.  The like of that is "set in one txn".

    PYTHONPATH=build/python python3 bench/python.py [rounds] [--json]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import caret

LOOPS = 20000


def timed(step, loops):
    run = range(loops)
    begin = time.thread_time_ns()
    for _ in run:
        step()
    return (time.thread_time_ns() - begin) / loops


def timed_text(text, names, loops):
    """Statements instead of a call: the loop is compiled around them."""
    scope = dict(names)
    exec("def loop(_steps, now):\n    _begin = now()\n    for i in _steps:\n        %s\n    return now() - _begin" % text, scope)
    return scope["loop"](range(loops), time.thread_time_ns) / loops


def per_element(text, names, count, times):
    return timed_text(text, names, times) / count


def ours(folder):
    db = caret.open(os.path.join(folder, "bench.caret"), sync="off")
    n, k, node = db["^oaks"], db["^k"], db["^oaks"][1]["shadow"]
    node.value = 15
    for i in range(1000):
        k[i].value = i

    def both():
        node.value = node.value

    @db.transactional
    def decorated():
        node.value = node.value

    session = node.lock()
    names = dict(db=db, n=n, k=k, node=node, count=k[0], both=both, decorated=decorated, lock=session, run=db.run, none=list().clear)
    texts = {"loop": "pass", "METH_NOARGS": "none()", "get": "node.value", "set": "node.value = 'value'",
             "incr": "count.incr()", "incr of a child": "k[0].incr()", "child": "n['a']", "child of each": "n[i]", "two children": "n['a']['b']",
             "txn get+set": "run(both)", "txn get+set, decorated": "decorated()"}
    made = {name: lambda text=text: timed_text(text, names, LOOPS) for name, text in texts.items()}

    def in_one():
        took = []
        db.run(lambda: took.append(timed_text(texts["set"], names, LOOPS)))
        return took[-1]

    made["set in one txn"] = in_one
    made["step"] = lambda: per_element("for s in k: pass", names, 1000, 20)
    made["items step"] = lambda: per_element("for s, v in k.items(): pass", names, 1000, 20)
    return made


def lmdb_rival(folder):
    import lmdb

    env = lmdb.open(os.path.join(folder, "lmdb"), map_size=1 << 31, sync=False, metasync=False)
    with env.begin(write=True) as txn:
        txn.put(b"oaks,1,shadow", b"15")
        for i in range(1000):
            txn.put(b"k%06d" % i, b"%d" % i)
    txn = env.begin()  # in an environment of its own: it would keep old pages from the writers
    env = lmdb.open(os.path.join(folder, "lmdb2"), map_size=1 << 26, sync=False, metasync=False)
    put = env.begin

    def cursor_loop():
        begin = time.thread_time_ns()
        for _ in range(20):
            for _ in txn.cursor():
                pass
        return (time.thread_time_ns() - begin) / 20000

    def held():
        with put(write=True) as w:
            return timed_text("put(b'oaks,1,shadow', b'value')", {"put": w.put}, LOOPS)

    names = dict(txn=txn, begin=put)
    return {"lmdb get": lambda: timed_text("txn.get(b'oaks,1,shadow')", names, LOOPS),
            "lmdb put, a txn each": lambda: timed_text(
                "with begin(write=True) as w: w.put(b'oaks,1,shadow', b'value')", names, LOOPS // 10),
            "lmdb put, one txn": held, "lmdb step": cursor_loop}


def yottadb_rival(folder):
    import yottadb

    node = yottadb.Node("^oaks")["1"]["shadow"]
    node.value = b"15"
    top = yottadb.Node("^oaks")

    def both():
        node.value = node.value
        return yottadb.YDB_OK

    names = dict(node=node, top=top, get=yottadb.get, tp=yottadb.tp, both=both)
    return {"ydb get()": lambda: timed_text("get('^oaks', ('1', 'shadow'))", names, LOOPS // 4),
            "ydb Node.value": lambda: timed_text("node.value", names, LOOPS // 4),
            "ydb two children": lambda: timed_text("top['a']['b']", names, LOOPS // 4),
            "ydb txn get+set": lambda: timed_text("tp(both)", names, LOOPS // 10)}


def sqlite_rival(folder):
    import sqlite3

    db = sqlite3.connect(os.path.join(folder, "bench.sqlite"), isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = off")
    db.execute("create table t (k text primary key, v text) without rowid")
    db.execute("insert into t values ('oaks,1,shadow', '15')")
    names = dict(run=db.execute)
    return {"sqlite3 get": lambda: timed_text(
                "run('select v from t where k = ?', ('oaks,1,shadow',)).fetchone()", names, LOOPS // 10),
            "sqlite3 set": lambda: timed_text(
                "run('update t set v = ? where k = ?', ('value', 'oaks,1,shadow'))", names, LOOPS // 10)}


def diskcache_rival(folder):
    import diskcache

    cache = diskcache.Cache(os.path.join(folder, "diskcache"))
    cache["oaks,1,shadow"] = "15"
    names = dict(cache=cache)
    return {"diskcache get": lambda: timed_text("cache['oaks,1,shadow']", names, LOOPS // 20),
            "diskcache set": lambda: timed_text("cache['oaks,1,shadow'] = 'value'", names, LOOPS // 50)}


RATIOS = [("get", "lmdb get", 0.35), ("get", "ydb get()", 0.20), ("get", "ydb Node.value", 0.13),
          ("set", "lmdb put, a txn each", 0.10), ("set", "lmdb put, one txn", 0.5), ("set in one txn", "lmdb put, one txn", None),
          ("two children", "ydb two children", 0.13), ("step", "lmdb step", 0.20), ("items step", "lmdb step", 0.50),
          ("txn get+set", "ydb txn get+set", 0.18), ("get", "sqlite3 get", None), ("set", "sqlite3 set", None),
          ("get", "diskcache get", None), ("set", "diskcache set", None)]


def import_times(folder):
    """Milliseconds of `import caret` in new processes, with bytecode as pip installs it, whatever the environment says of
    it; of `import decimal`, to compare it with; and modules that it needs not load."""
    env = dict(os.environ, PYTHONPYCACHEPREFIX=os.path.join(folder, "pyc"))
    env.pop("PYTHONDONTWRITEBYTECODE", None)

    def one(name):
        code = "import sys, time; a = time.process_time(); import %s; print(time.process_time() - a, *sys.modules)" % name
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout.split()

    runs = [(one("caret"), one("decimal")) for _ in range(8)][1:]  # the first one writes the bytecode
    return (statistics.median(float(run[0][0]) for run in runs) * 1000, statistics.median(float(run[1][0]) for run in runs) * 1000,
            sorted({"json", "decimal", "asyncio"} & set(runs[0][0])))


def sizes(net, folder):
    """Bars that are not ratios: name, figure, bar, unit; None: no bar."""
    took, decimal, loaded = import_times(folder)
    node = caret.local()["x"]["k" * 15]  # a key of 20 bytes, with name and ends
    return [("get - METH_NOARGS", net["get"] - net["METH_NOARGS"], 30, "ns"), ("child of each", net["child of each"], 30, "ns"),
            ("a node, key of 20 bytes", sys.getsizeof(node), 112, "bytes"),
            ("import caret", took, 5, "ms"), ("import decimal", decimal, None, "ms"), ("needless imports", len(loaded), 0, "")]


def reading_threads(folder):
    """Gets of four threads with nodes of their own, as a part of those of one in the same time.

    The time is the processor's for these threads, with what they take to wait for each other.  That of the process has
    also what databases do in the background after the rows before, which falls into this turn or that: where it fell
    into three of five, each of them as short as it is, four threads seemed to take a quarter more than one.  So both
    make as many gets, and the first turn, in which sessions are opened, does not count."""
    db = caret.open(os.path.join(folder, "threads.caret"), sync="off")
    nodes = [db["^k"][i] for i in range(4)]
    for node in nodes:
        node.value = 1

    def time_of(threads):
        took = []

        def work(node):
            begin = time.thread_time_ns()
            for _ in range(400000 // threads):
                node.value
            took.append(time.thread_time_ns() - begin)

        all_of_them = [threading.Thread(target=work, args=(nodes[i],)) for i in range(threads)]
        for thread in all_of_them:
            thread.start()
        for thread in all_of_them:
            thread.join()
        return sum(took)

    return statistics.median([time_of(1) / time_of(4) for _ in range(16)][1:])


def verdict(figure, bar):
    return "bar %s  %s" % (bar, "ok" if figure <= bar else "MISSED")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 7
    with tempfile.TemporaryDirectory() as folder:
        steps = ours(folder)
        for rival in (lmdb_rival, yottadb_rival, sqlite_rival, diskcache_rival):
            try:
                steps.update(rival(folder))
            except ImportError as error:
                print("left out: %s" % error, file=sys.stderr)
        taken = {name: [] for name in steps}
        for _ in range(rounds):
            for name, step in steps.items():
                taken[name].append(step())
        medians = {name: statistics.median(times) for name, times in taken.items()}
        loop = medians.pop("loop")
        net = {name: time - (loop if "step" not in name else 0) for name, time in medians.items()}
        ratios = [(a, b, net[a] / net[b], bar) for a, b, bar in RATIOS if b in net]
        threads = reading_threads(folder)
        absolute = sizes(net, folder)
    if "--json" in sys.argv:
        print(json.dumps({"ns": net, "ratios": {"%s / %s" % (a, b): r for a, b, r, _ in ratios}, "threads": threads,
                          "sizes": {name: figure for name, figure, _, _ in absolute}}))
        return
    for name, time in net.items():
        print("%-26s %8.1f ns" % (name, time))
    for a, b, ratio, bar in ratios:
        print("%-14s / %-22s %6.3f   %s" % (a, b, ratio, verdict(ratio, bar) if bar is not None else ""))
    for name, figure, bar, unit in absolute:
        print("%-39s %6.1f %-5s %s" % (name, figure, unit, verdict(figure, bar) if bar is not None else ""))
    print("four threads / one         %6.3f   bar 0.95  %s" % (threads, "ok" if threads >= 0.95 else "MISSED"))


if __name__ == "__main__":
    main()
