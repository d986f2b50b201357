"""The Python package beside py-lmdb, sqlite3 and YDBPython, as far as they are installed: thread CPU time in nanoseconds,
net of the empty loop, medians of rounds in turns.

    PYTHONPATH=build/python python3 bench/python.py [rounds] [--json]
"""

import json
import os
import statistics
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


RATIOS = [("get", "lmdb get", 0.35), ("get", "ydb get()", 0.20), ("get", "ydb Node.value", 0.13),
          ("set", "lmdb put, a txn each", 0.10), ("set", "lmdb put, one txn", 0.5),
          ("two children", "ydb two children", 0.13), ("step", "lmdb step", 0.20), ("items step", "lmdb step", 0.50),
          ("txn get+set", "ydb txn get+set", 0.18)]


def reading_threads(folder):
    """Gets of four threads with nodes of their own, as a part of those of one in the same time."""
    db = caret.open(os.path.join(folder, "threads.caret"), sync="off")
    nodes = [db["^k"][i] for i in range(4)]
    for node in nodes:
        node.value = 1

    def gets(threads):
        def work(node):
            for _ in range(100000):
                node.value

        all_of_them = [threading.Thread(target=work, args=(nodes[i],)) for i in range(threads)]
        begin = time.process_time()
        for thread in all_of_them:
            thread.start()
        for thread in all_of_them:
            thread.join()
        return threads * 100000 / (time.process_time() - begin)

    return statistics.median(gets(4) / gets(1) for _ in range(5))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 7
    with tempfile.TemporaryDirectory() as folder:
        steps = ours(folder)
        for rival in (lmdb_rival, yottadb_rival):
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
    if "--json" in sys.argv:
        print(json.dumps({"ns": net, "ratios": {"%s / %s" % (a, b): r for a, b, r, _ in ratios}, "threads": threads}))
        return
    for name, time in net.items():
        print("%-26s %8.1f ns" % (name, time))
    for a, b, ratio, bar in ratios:
        print("%-14s / %-22s %6.3f   bar %.2f  %s" % (a, b, ratio, bar, "ok" if ratio <= bar else "MISSED"))
    print("four threads / one         %6.3f   bar 0.95" % threads)


if __name__ == "__main__":
    main()
