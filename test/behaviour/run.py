"""The front of test/behaviour for the Python package caret: README.md has the language.

    PYTHONPATH=build/python build/test/judge FILE... -- python3 test/behaviour/run.py
"""

import re
import sys

import caret

path, how = sys.argv[1], sys.argv[2]
db = caret.open(path, readonly=True) if how == "read" else caret.open(path, sync="off")
lines = iter(sys.stdin.buffer.readline, b"")
depth, at_end, place = 0, False, None


# ------------------------------------------------------------- the language


def plain(data):
    return re.sub(rb"\\([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), data)


def coded(data):
    if not isinstance(data, bytes):
        data = str(data).encode("utf-8", "surrogateescape")
    return re.sub(rb"[^A-Za-z0-9 .+\-^%]", lambda m: b"\\%02x" % m[0][0], data)


def node_text(node):
    return b"n" + b",".join(coded(part) for part in (node.name, *node.subs))


def value_text(value):
    return b"none" if value is None else b"v" + coded(value)


def joined(parts):
    return b"\t".join(parts) or b"none"


def say(answer):
    sys.stdout.buffer.write(answer + b"\n")
    sys.stdout.buffer.flush()


class Line:
    """An operation, its nodes (each a tuple of bytes), its value and its word."""

    def __init__(self, text):
        self.op, *fields = text.rstrip(b"\n").split(b"\t")
        self.op = self.op.decode()
        self.nodes, self.value, self.word = [], None, ""
        for field in fields:
            kind, rest = field[:1], field[1:]
            if kind == b"v":
                self.value = plain(rest)
            elif kind == b"w":
                self.word = rest.decode()
            else:
                self.nodes.append(tuple(plain(part) for part in rest.split(b",")))

    def node(self, i=0):
        return db[self.nodes[i]]


def read_lines():
    global at_end
    for text in lines:
        yield Line(text)
    at_end = True


def symbol(error):
    if isinstance(error, MemoryError):
        return b"NOMEM"
    return error.name.encode() if error.name else b"INVALID"


# --------------------------------------------------------------- operations


def beside(line, step):
    node = getattr(line.node(), step)
    return b"none" if node is None else node_text(node)


def get(t):
    return value_text(t.node().bytes)


def children(t, back=False):
    subs = reversed(t.node()) if back else t.node()
    return joined([value_text(sub) for sub in subs])


def range_of(t):
    if t.value is not None:
        return t.node().prefix(t.value)
    parent = t.node().parent
    start, stop = t.nodes[0][-1], t.nodes[1][-1]
    if t.op.endswith("before"):
        return parent[start:stop]
    return Closed(parent, start, stop)


class Closed:
    """With the last one: two ranges, as a slice has no word for it."""

    def __init__(self, parent, start, stop):
        self.parent, self.start, self.stop = parent, start, stop

    def keys(self, back):
        n, last = self.parent, self.parent[self.stop]
        parts = [s for s in n[self.start:]]
        keep = [s for s in parts if n[s] <= last]
        return keep[::-1] if back else keep

    def kill(self):
        def both():
            if self.parent[self.start] <= self.parent[self.stop]:
                self.parent[self.start:self.stop].kill()
                self.parent[self.stop].kill()

        db.run(both)


def kill_range(t):
    range_of(t).kill()


def some(t):
    r, back = range_of(t), t.op.endswith("_back")
    if isinstance(r, Closed):
        return joined([value_text(sub) for sub in r.keys(back)])
    return joined([value_text(sub) for sub in (r.reversed() if back else r)])


def walk(t):
    node = t.node()
    value = node.bytes
    parts = [] if value is None else [node_text(node) + b"=" + coded(value)]
    parts += [node_text(below) + b"=" + coded(below.bytes) for below in node.walk()]
    return joined(parts)


def walk_back(t):
    """All of the variable, from its end."""
    node, parts = t.node().variable, []
    while node.last:
        node = node.last
    while node:
        if node.has_value:
            parts.append(node_text(node) + b"=" + coded(node.bytes))
        node = node.previous_node
    return joined(parts)


def incr(t):
    node = t.node()
    total = node.incr() if t.value is None else node.incr(t.value)
    return value_text(node.bytes) if node.number() == total else b"DIFFERENT"


def put(t):
    node, when = t.node(), t.word
    flags = sum(n for word, n in (("absent", 1), ("present", 2), ("childless", 4)) if word in when)
    done, had, old = node.view(bytes)._put(t.value, flags)
    return (b"" if done else b"REFUSED\t") + value_text(had) + b"\t" + value_text(old)


def random(t):
    seen = {node.sub for node in (t.node().random() for _ in range(300)) if node}
    return joined([node_text(node) for node in t.node().nodes() if node.sub in seen])


def take_place(t):
    global place
    place = db.durable()[1]


def wait(t):
    return None if t.node().wait(float(t.word), place) else b"none"


def nest(levels):
    return b"ok" if levels == 0 else db.run(nest, levels - 1)


def lock(t):
    t.node().lock(float(t.word)).__enter__()


def lock_all(t):
    nodes = [db[where] for where in t.nodes]
    if t.op == "lock_all" and len(nodes) <= 64:  # more are refused, and nothing is released
        db.release_all()
    if len(nodes) == 1:
        nodes[0].lock(float(t.word)).__enter__()
    elif not db.acquire_all(nodes, float(t.word)):
        return b"LOCK_TIMEOUT"


def clear(t):
    db.release_all()
    for local in (False, True):
        for name in list(db.names(local)):
            db[name].kill()


def no_transaction(t):
    raise caret.NoTransaction("NOTXN")


def exists(t):
    return value_text(int(t.node().data != 0))


operations = {
    "set": lambda t: t.node().set(t.value),
    "get": get,
    "get2": lambda t: get(t) + b"\t" + value_text(t.node(1).bytes),
    "put": put,
    "exists": exists,
    "random": random,
    "place": take_place,
    "wait": wait,
    "data": lambda t: value_text(t.node().data),
    "delete": lambda t: t.node().delete(),
    "kill": lambda t: t.node().kill(),
    "incr": incr,
    "incr_m": lambda t: value_text(t.node()._incr_m(b"1" if t.value is None else t.value)),
    "merge": lambda t: t.node().merge(t.node(1)),
    "copy": lambda t: t.node(1).copy_to(t.node()),
    "move": lambda t: t.node(1).move_to(t.node()),
    "kill_range": kill_range, "kill_before": kill_range, "kill_prefix": kill_range,
    "range": some, "range_back": some, "prefix": some, "prefix_back": some,
    "count": lambda t: value_text(t.node().count()),
    "next": lambda t: beside(t, "next"),
    "previous": lambda t: beside(t, "previous"),
    "first": lambda t: beside(t, "first"),
    "last": lambda t: beside(t, "last"),
    "node_next": lambda t: beside(t, "next_node"),
    "node_previous": lambda t: beside(t, "previous_node"),
    "children": children,
    "children_back": lambda t: children(t, True),
    "walk": walk,
    "walk_back": walk_back,
    "variables": lambda t: joined([node_text(db[name]) for name in db]),
    "locals": lambda t: joined([node_text(db[name]) for name in db.names(local=True)]),
    "text": lambda t: value_text(str(t.node())),
    "parse": lambda t: node_text(caret.parse(db, t.value)),
    "zwr": lambda t: value_text(caret.str2zwr(t.value)),
    "unzwr": lambda t: value_text(caret.zwr2str(t.value)),
    "float": lambda t: value_text(db["x", float(t.word)].subs[0]),
    "level": lambda t: value_text(db.level()),
    "restarts": lambda t: value_text(db.restarts()),
    "lock": lock,
    "unlock": lambda t: t.node().release(),
    "unlock_all": lambda t: db.release_all(),
    "lock_all": lock_all, "lock_more": lock_all,
    "nest": lambda t: nest(int(t.word)),
    "commit": no_transaction, "rollback": no_transaction, "restart": no_transaction,
    "close": lambda t: db.close(),
    "clear": clear,
}


# ------------------------------------------------------------- transactions


class Failed(Exception):
    name = "FAILED"


def begin(t):
    global depth
    here, times = depth + 1, 0

    def body():
        global depth
        nonlocal times
        say(b"again" if times else b"ok")
        times, depth = times + 1, here
        ended = perform_lines()
        if ended == "restart":
            caret.restart()
        if ended == "fail":
            raise Failed
        if ended != "commit":
            caret.rollback(b"ROLLBACK")
        return b"ok"

    try:
        if t.op == "snapshot":
            with db.snapshot():
                answer = b"ROLLBACK"  # what a rollback leaves
                answer = body()
        elif t.word == "restore":
            answer = db.transactional(body, locals=True)()
        else:
            answer = db.run(body)
    except (caret.Error, Failed, MemoryError) as error:
        answer = symbol(error)
    finally:
        depth = here - 1
    if not at_end:
        say(answer)


def perform(t):
    run = operations.get(t.op)
    if run is None:
        return b"UNKNOWN"
    try:
        return run(t) or b"ok"
    except (caret.Error, MemoryError) as error:
        return symbol(error)


def perform_lines():
    for t in read_lines():
        if depth > 0 and t.op in ("commit", "rollback", "fail", "restart"):
            return t.op
        if t.op in ("begin", "snapshot"):
            begin(t)
        else:
            say(perform(t))


say(b"python")
perform_lines()
db.close()
