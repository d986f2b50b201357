"""Each allocation of every public call fails once: MemoryError or a result, no open transaction, no lock, no damage.

The calls are those of the stubs; one that has no line below fails the test.  CPython 3.12 and 3.13 crash by themselves
when a Python function that is called finds no memory for its frame, without this package, too; so 3.11 runs this.
"""

import ast
import copy
import inspect
import json
import os
import pickle
import sys
import unittest
import weakref

import caret
from support import Case, main

TEXT, BIG = "y" * 100, 10**30
FAR = 25  # so many calls that went well: there is nothing more to fail


def entered(context):
    with context as value:
        return value


def fresh(t, name="x"):
    path = os.path.join(t.folder, name)
    if os.path.exists(path):
        os.unlink(path)
    return path


def opened(t, **options):
    with caret.open(os.path.join(t.folder, "second.caret"), thread=False, **options) as db:
        return db.path


def session_of(t):
    with t.db.session() as s:
        s["^n"][1].value


def attempts(t):
    for attempt in t.db.attempts():
        with attempt:
            t.n[1].value = 1


def put(t, key, value):
    t.n[key] = value


def take(t, key):
    del t.n[key]


def summed(t):
    node = t.n["sum"]
    node += 1
    node -= TEXT and 1


def moved(t):
    t.n["from"].value = 1
    t.n["from"].move_to(t.n["to"])


def valued(t):
    t.n[1].value = TEXT
    t.n["gone"].value = BIG
    del t.n["gone"].value


def fed(t):
    """A value, a range that is killed, and nothing more."""
    with t.db.changes(below=t.json) as feed:
        t.json[1].value = TEXT
        t.json[7].value = 1
        del t.json[7:]
        while feed.next(0):
            feed.place


class Oak(caret.Node):
    def __init__(self, node):
        self.rings = [TEXT]


def swallowed(call):
    """For calls that raise even when all goes well."""
    try:
        call()
    except (caret.Error, caret.Rollback, caret.Restart, AttributeError, TypeError, StopIteration):
        pass


NODE = {
    "__new__": lambda t: caret.Node(t.n[1]), "value": valued, "bytes": lambda t: t.n[1].bytes, "data": lambda t: t.n.data,
    "has_value": lambda t: t.n.has_value, "has_children": lambda t: t.n.has_children, "name": lambda t: t.n.name,
    "subs": lambda t: t.n[1, "a", 2.5].subs, "sub": lambda t: (t.n[1].sub, t.n["a"].sub), "depth": lambda t: t.n.depth,
    "is_local": lambda t: t.n.is_local, "db": lambda t: t.n.db, "parent": lambda t: t.n[1].parent,
    "variable": lambda t: t.n[1].variable, "first": lambda t: t.n.first, "last": lambda t: t.n.last,
    "next": lambda t: t.n[1].next, "previous": lambda t: t.n[2].previous, "next_node": lambda t: t.n.next_node,
    "previous_node": lambda t: t.n[2].previous_node,
    "__getitem__": lambda t: (t.n[TEXT], t.n[BIG], t.n[1, "a", b"b"], t.n[1:3], t.n[t.decimal]),
    "__setitem__": lambda t: (put(t, 1, TEXT), put(t, (1, "a", 2.5), BIG), put(t, 2, t.decimal)),
    "__delitem__": lambda t: (take(t, 1), take(t, slice("a", "b"))), "__contains__": lambda t: (1 in t.n, TEXT in t.n),
    "__iter__": lambda t: list(t.n), "__reversed__": lambda t: list(reversed(t.n)), "__iadd__": summed, "__isub__": summed,
    "__lt__": lambda t: t.n < t.n[1], "__le__": lambda t: t.n <= t.n[1], "__gt__": lambda t: t.n > t.n[1],
    "__ge__": lambda t: t.n >= t.n[1], "__hash__": lambda t: hash(t.n[1]), "get": lambda t: t.n[1].get(2),
    "int": lambda t: t.n["big"].int(), "float": lambda t: t.n["big"].float(), "number": lambda t: t.n["half"].number(),
    "set": lambda t: (t.n[1].set(TEXT), t.n[1].set(1.5), t.json[1].set([1])), "add": lambda t: t.n[1].add("v"),
    "swap": lambda t: t.n[1].swap("v"), "replace": lambda t: t.n[1].replace("v", TEXT), "delete": lambda t: t.n[9].delete(),
    "kill": lambda t: t.n[9].kill(), "count": lambda t: t.n.count(),
    "incr": lambda t: (t.n["i"].incr(), t.n["i"].incr("0.5"), t.n["i"].incr(BIG)), "merge": lambda t: t.n["m"].merge(t.n[1]),
    "copy_to": lambda t: t.n[1].copy_to(t.n["m"]), "move_to": moved, "random": lambda t: t.n.random(),
    "keys": lambda t: list(t.n.keys()), "values": lambda t: list(t.n.values()), "items": lambda t: list(t.json.items()),
    "nodes": lambda t: list(t.n.nodes()), "walk": lambda t: list(t.n.walk(2)), "prefix": lambda t: list(t.n.prefix("b")),
    "view": lambda t: (t.n.view(bytes), t.n.view("json"), t.n.view((str, int))), "tree": lambda t: t.n.tree(),
    "mapping": lambda t: (dict(t.n.mapping()), t.n.mapping().setdefault(TEXT, 1), t.n.mapping().pop(TEXT)),
    "settree": lambda t: t.n["t"].settree({"a": {"b": 1}, "__": 2}), "json": lambda t: t.n.json(),
    "setjson": lambda t: t.n["j"].setjson('{"a": [1, "b"], "c": 1.5}'), "records": lambda t: list(t.n.records(1)),
    "lock": lambda t: entered(t.n.lock(1)), "acquire": lambda t: t.n.acquire(0) and t.n.release(),
    "release": lambda t: swallowed(t.n.release), "wait": lambda t: t.n.wait(0),
    "__copy__": lambda t: copy.copy(t.n[1]), "__deepcopy__": lambda t: copy.deepcopy(Oak(t.n[1])),
    "__class_getitem__": lambda t: caret.Node[str],
}
RANGE = {
    "__iter__": lambda t: list(t.n[1:3]), "__reversed__": lambda t: list(reversed(t.n[1:3])),
    "keys": lambda t: list(t.n[1:].keys()), "values": lambda t: list(t.n[:3].values()), "items": lambda t: list(t.n[1:].items()),
    "nodes": lambda t: list(t.n[1:].nodes()), "reversed": lambda t: list(t.n[TEXT:].reversed(2)),
    "limit": lambda t: list(t.n["a":].limit(2)), "kill": lambda t: t.n["z":"zz"].kill(), "count": lambda t: t.n[1:3].count(),
    "__copy__": lambda t: copy.copy(t.n[1:3]), "__deepcopy__": lambda t: copy.deepcopy(t.n[1:3]),
    "__class_getitem__": lambda t: caret.Range[str],
}
OWNER = {
    "path": lambda t: t.db.path, "options": lambda t: t.db.options, "closed": lambda t: t.db.closed,
    "readonly": lambda t: t.db.readonly, "database": lambda t: t.db.session, "__getitem__": lambda t: t.db["^n", 1, TEXT],
    "__setitem__": lambda t: t.db.__setitem__(("^n", 1), TEXT), "__delitem__": lambda t: t.db.__delitem__(("^n", "z")),
    "__contains__": lambda t: "^n" in t.db, "__iter__": lambda t: list(t.db), "__enter__": opened, "__exit__": opened,
    "close": opened, "names": lambda t: list(t.db.names(local=True)),
    "run": lambda t: t.db.run(lambda a, b=1: t.n[1].set(a), 1, b=2),
    "transactional": lambda t: t.db.transactional(lambda: t.n[1].set(1))(), "attempts": attempts,
    "snapshot": lambda t: entered(t.db.snapshot()), "savepoint": lambda t: t.db.run(lambda: entered(t.db.savepoint())),
    "exclusive": lambda t: entered(t.db.exclusive()), "level": lambda t: t.db.level(), "restarts": lambda t: t.db.restarts(),
    "lock_all": lambda t: entered(t.db.lock_all([t.n, t.n["b"]], 1)),
    "acquire_all": lambda t: t.db.acquire_all([t.n["b"], t.n["c"]], 0) and t.db.release_all(),
    "release_all": lambda t: t.db.release_all(), "sync": lambda t: t.db.sync(), "checkpoint": lambda t: t.db.checkpoint(),
    "durable": lambda t: t.db.durable(), "backup": lambda t: t.db.backup(fresh(t), progress=lambda *a: None),
    "check": lambda t: t.db.check(), "stat": lambda t: t.db.stat(), "batch": lambda t: (t.db.batch(), t.db.batch(False)),
    "__copy__": lambda t: copy.copy(t.db), "__deepcopy__": lambda t: copy.deepcopy(t.db), "changes": fed,
    "memoize": lambda t: t.db.memoize(lambda x: TEXT)(5), "view": lambda t: t.db.view(json)["^n"][1].get(),
}
MODULE = {
    "open": opened, "local": lambda t: caret.local().close(), "parse": lambda t: caret.parse(t.db, '^n(1,"%s")' % TEXT),
    "str2zwr": lambda t: caret.str2zwr("\0ü" + TEXT), "zwr2str": lambda t: caret.zwr2str('$C(0)_"a"'),
    "rollback": lambda t: swallowed(lambda: t.db.run(caret.rollback)), "restart": lambda t: swallowed(caret.restart),
}
HIDDEN = {  # what the stubs do not have, and programs use all the same
    "repr": lambda t: (repr(t.n[1]), str(t.n), repr(t.db)), "pickle": lambda t: pickle.loads(pickle.dumps(t.n[1])),
    "pickle range": lambda t: pickle.loads(pickle.dumps(t.n["a":TEXT].limit(2))), "weak": lambda t: weakref.ref(t.db.session()),
    "==": lambda t: (t.n == t.n[1], t.n != 5), "_put": lambda t: t.n["p"]._put("x", 8, "y"), "raise": lambda t: swallowed(
        lambda: t.n[None]), "raise value": lambda t: swallowed(lambda: t.n.set(None)),
    "raise name": lambda t: swallowed(lambda: t.db["bad name"]), "long": lambda t: (t.n["l"].set("x" * 100000), t.n["l"].value),
    "short": lambda t: (t.n["s"].set("short"), [t.n["s"].value for _ in range(3)]), "no such attribute": lambda t: swallowed(
        lambda: setattr(t.n, "no", 1)), "locals": lambda t: t.db["l"].settree({"a": 1}),
}
RAISES = ("release", "rollback", "restart", "raise", "raise value", "raise name", "no such attribute", "pickle", "pickle range")
PLAIN = {"Database": {**OWNER, "session": session_of}, "Session": OWNER, "Node": NODE, "Range": RANGE, "": MODULE}


def of_stubs():
    """(class, name) of whatever can be called, or asked for, by the stubs."""
    where = os.path.join(os.path.dirname(inspect.getfile(caret)), "__init__.pyi")
    with open(where) as f:
        tree = ast.parse(f.read())
    classes = {c.name: c for c in tree.body if isinstance(c, ast.ClassDef)}
    found = {("", f.name) for f in tree.body if isinstance(f, ast.FunctionDef)}
    for name, bases in {"Database": ["_Owner", "Database"], "Session": ["_Owner"], "Node": ["Node"], "Range": ["Range"]}.items():
        for base in bases:
            found |= {(name, f.name) for f in classes[base].body if isinstance(f, ast.FunctionDef)}
    return found


class NoMemory(Case):
    def setUp(self):
        try:
            import _testcapi
        except ImportError:
            self.skipTest("this Python has no _testcapi")
        from decimal import Decimal

        super().setUp()
        self.hooks, self.decimal = _testcapi, Decimal("1.25")
        self.n.settree({1: "v", 2: "v", 3: {"a": "w"}, "big": BIG, "half": "0.5", "b1": 1, "b2": 2})
        self.json = self.n["json"].view("json")
        self.json[1].value = {"a": 1}
        self.other = self.db.session()

    def fails(self, call, first, also):
        """Was it told of the allocation that failed?  `also`: what CPython makes of it while an exception is on its way."""
        self.hooks.set_nomemory(first, first + 1)
        try:
            call(self)
            told = False
        except (MemoryError, *also):
            told = True
        finally:
            self.hooks.remove_mem_hooks()
        return told

    def attack(self, name, call):
        also = (SystemError, pickle.PicklingError) if name in RAISES else ()
        call(self)  # whatever is loaded at the first call
        first = last = 0
        while first < last + FAR:
            last = first if self.fails(call, first, also) else last
            self.assertEqual(self.db.level(), 0, first)
            first += 1
        node = self.other["^n"]
        self.assertTrue(node.acquire(0), "a lock was left")
        node.release()
        call(self)

    def test_each_call_of_the_stubs_is_here(self):
        here = {(owner, name) for owner, calls in PLAIN.items() for name in calls}
        self.assertEqual(of_stubs(), here)
        self.assertGreater(len(here), 130)

    @unittest.skipIf(sys.version_info >= (3, 12), "this CPython crashes by itself when it has no memory for a frame")
    def test_every_allocation_fails_once(self):
        calls = {call: name for table in (*PLAIN.values(), HIDDEN) for name, call in table.items()}
        for call, name in calls.items():
            with self.subTest(call=name):
                self.attack(name, call)
        self.assertEqual(self.db.check(), [])


if __name__ == "__main__":
    main()
