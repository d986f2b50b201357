"""Random histories beside a model, a dict of paths: in one thread, dealt to three, and each step in a forked child.

Hypothesis makes the histories; without it the test is skipped.  CARET_TORTURE=n makes n times as many, other ones.
"""

import os
import pickle
import queue
import re
import tempfile
import threading
import unittest
from decimal import Decimal

import caret
from support import Case, main

scratch = tempfile.TemporaryDirectory(prefix="caret-python-")
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = scratch.name  # else it leaves a folder here
try:
    import hypothesis.strategies as st
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
except ImportError:
    st = None

TIMES = int(os.environ.get("CARET_TORTURE", "1"))

# ------------------------------------------------------------------ the model


def text_of(x):
    """A subscript or value as bytes."""
    if isinstance(x, bytes):
        return x
    if isinstance(x, (float, Decimal)):
        x = format(Decimal(repr(x)) if isinstance(x, float) else x, "f")
        x = re.sub(r"^(-?)0\.", r"\1.", x.rstrip("0").rstrip(".") if "." in x else x) if float(x) else "0"
    return str(x).encode("utf-8", "surrogateescape")


def is_number(text):
    if not re.fullmatch(rb"-?(0|[1-9]\d*|\.\d*[1-9]|[1-9]\d*\.\d*[1-9])", text) or text == b"-0":
        return False
    digits = text.lstrip(b"-").replace(b".", b"").strip(b"0")
    size = abs(Decimal(text.decode()))
    return len(digits) <= 18 and (size == 0 or Decimal("1e-43") <= size < Decimal("1e47"))


def order(sub):
    return (0,) if sub == b"" else (1, Decimal(sub.decode())) if is_number(sub) else (2, sub)


def sub_out(sub):
    return int(sub) if is_number(sub) and b"." not in sub else sub.decode("utf-8", "surrogateescape")


def below(model, path):
    return {p: v for p, v in model.items() if p[:len(path)] == path}


def children(model, path):
    return sorted({p[len(path)] for p in model if len(p) > len(path) and p[:len(path)] == path}, key=order)


def inside(sub, a, b):
    return (a is None or order(sub) >= order(text_of(a))) and (b is None or order(sub) < order(text_of(b)))


class Undo(Exception):
    pass


class Model(dict):
    """{path: value}: paths and values as they are stored.  A method for each operation: it gives what the call gives."""

    def kill(self, path):
        for p in below(self, path):
            del self[p]

    def set(self, path, value):
        self[path] = text_of(value)

    def delete(self, path):
        self.pop(path, None)

    def add(self, path, value):
        return path not in self and (self.set(path, value) or True)

    def swap(self, path, value):
        old = self.get(path)
        self.set(path, value)
        return old

    def replace(self, path, old, new):
        same = self.get(path) == (None if old is None else text_of(old))
        if same:
            self.set(path, new)
        return same

    def incr(self, path, by):
        total = Decimal(self.get(path, b"0").decode()) + Decimal(by)
        self.set(path, total)
        return total

    def kill_range(self, path, a, b):
        for sub in children(self, path):
            if inside(sub, a, b):
                self.kill((*path, sub))

    def kill_prefix(self, path, text):
        for sub in children(self, path):
            if not is_number(sub) and sub.startswith(text) and sub:
                self.kill((*path, sub))

    def copy(self, path, to):
        self.kill(to)
        self.update({to + p[len(path):]: v for p, v in below(self, path).items()})

    def move(self, path, to):
        self.copy(path, to)
        self.kill(path)

    def settree(self, path, value, sub, deep):
        self.kill(path)
        self.update({path: text_of(value), (*path, text_of(sub)): text_of(deep)})


# ------------------------------------------------------------------ the same, done

CALLS = {
    "kill": lambda n: n.kill(), "set": lambda n, v: n.set(v), "delete": lambda n: n.delete(), "add": lambda n, v: n.add(v),
    "swap": lambda n, v: n.view(bytes).swap(v), "replace": lambda n, old, new: n.replace(old, new),
    "incr": lambda n, by: n.incr(by), "kill_range": lambda n, a, b: n.__delitem__(slice(a, b)),
    "kill_prefix": lambda n, text: n.prefix(text).kill(), "copy": lambda n, to: n.copy_to(to),
    "move": lambda n, to: n.move_to(to), "settree": lambda n, value, sub, deep: n.settree({"__": value, sub: deep}),
}


def do(node, step):
    """A step on the database: ("transaction", how, steps) or (operation, path, arguments...)."""
    if step[0] == "transaction":
        return transaction(node, *step[1:])
    name, path, *more = step
    if name in ("copy", "move"):
        more = [node[more[0]] if more[0] else node]
    return CALLS[name](node[path] if path else node, *more)


def transaction(node, how, steps):
    runs = []

    def body():
        runs.append(1)
        results = [do(node, step) for step in steps]
        if how == "restart" and len(runs) < 3:
            caret.restart()
        if how == "rollback":
            caret.rollback(results)
        if how == "raise":
            raise Undo
        return results

    try:
        return node.db.run(body)
    except Undo:
        return "undone"


def expected(model, step):
    """What it gives, in the model."""
    if step[0] != "transaction":
        name, path, *more = step
        more = [paths(more[0])] if name in ("copy", "move") else more
        return getattr(model, name)(paths(path), *more)
    before = dict(model)
    results = [expected(model, one) for one in step[2]]
    if step[1] in ("rollback", "raise"):
        model.clear()
        model.update(before)
    return "undone" if step[1] == "raise" else results


def paths(path):
    return tuple(text_of(sub) for sub in path)


def sensible(model, step):
    """Leaves out what the model does not tell: sums of what are not short numbers, copies into themselves."""
    if step[0] == "transaction":
        trial = Model(model)
        return all(sensible(trial, one) and (expected(trial, one), True)[1] for one in step[2])
    name, path, *more = step
    if name == "incr":
        old = model.get(paths(path), b"0")
        return is_number(old) and len(old) < 15
    if name in ("copy", "move"):
        a, b = paths(path), paths(more[0])
        return a[:len(b)] != b and b[:len(a)] != a
    return True


# ------------------------------------------------------------------ where calls are made


class Here:
    def call(self, number, f):
        return f()

    def close(self):
        pass


class Dealt(Here):
    """To three threads, one after the other."""

    def __init__(self):
        self.inbox, self.outbox = [queue.Queue() for _ in range(3)], queue.Queue()
        self.threads = [threading.Thread(target=self.work, args=(q,)) for q in self.inbox]
        for thread in self.threads:
            thread.start()

    def work(self, inbox):
        for f in iter(inbox.get, None):
            try:
                self.outbox.put((f(), None))
            except BaseException as e:
                self.outbox.put((None, e))

    def call(self, number, f):
        self.inbox[number % 3].put(f)
        result, error = self.outbox.get()
        if error is not None:
            raise error
        return result

    def close(self):
        for q in self.inbox:
            q.put(None)
        for thread in self.threads:
            thread.join()


class Forked(Here):
    """Each in a child of its own."""

    def call(self, number, f):
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                try:
                    told = pickle.dumps((f(), None))
                except BaseException as e:
                    told = pickle.dumps((None, e))
                os.write(writes, told)
            finally:
                os._exit(0)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            told = pipe.read()
        os.waitpid(pid, 0)
        result, error = pickle.loads(told)
        if error is not None:
            raise error
        return result


# ------------------------------------------------------------------ histories

if st is not None:
    SUBS = st.one_of(
        st.sampled_from([1, 2, -1, 0, 0.5, -0.5, 10**17, 10**18 - 1, 10**18, 1 - 10**18, 10**18 + 1, 1e20, "07", "", "1.50", "0.5",
                         "-0", "a", "ab", "b", "\0", "\0\0", "a\0", "\udcff", "\udc80x", b"\xff\x00", "ü", "z" * 300, "z" * 301,
                         Decimal("1.25"), Decimal("0.00000000000000000001"), "9" * 19]),
        st.integers(-(10**20), 10**20), st.binary(max_size=4), st.text(st.characters(max_codepoint=255), max_size=4),
        st.decimals(-10**6, 10**6, places=3).map(lambda d: d.normalize() if d else Decimal(0)))
    PATHS = st.lists(SUBS, max_size=3).map(tuple)
    VALUES = st.one_of(st.sampled_from(["", "v", 0, 7, -3, 0.5, b"\xff", "\0"]), st.integers(-99, 99), st.binary(max_size=9),
                       st.sampled_from([500, 3000, 70000]).map(lambda n: "x" * n))
    BYTES = VALUES.map(text_of)
    ENDS = st.none() | SUBS
    STEPS = st.one_of(
        st.tuples(st.just("set"), PATHS, VALUES), st.tuples(st.just("set"), PATHS, VALUES),
        st.tuples(st.just("add"), PATHS, VALUES), st.tuples(st.just("swap"), PATHS, BYTES),
        st.tuples(st.just("replace"), PATHS, st.none() | VALUES, VALUES), st.tuples(st.just("delete"), PATHS),
        st.tuples(st.just("kill"), PATHS), st.tuples(st.just("incr"), PATHS, st.sampled_from([1, -1, "0.5", 1000])),
        st.tuples(st.just("kill_range"), PATHS, ENDS, ENDS), st.tuples(st.just("kill_prefix"), PATHS, st.sampled_from([b"a", b"z", b"\0"])),
        st.tuples(st.just("copy"), PATHS, PATHS), st.tuples(st.just("move"), PATHS, PATHS),
        st.tuples(st.just("settree"), PATHS, VALUES, SUBS, VALUES))
    HOWS = st.sampled_from(["commit", "commit", "rollback", "raise", "restart"])
    TRANSACTIONS = st.recursive(
        st.tuples(st.just("transaction"), HOWS, st.lists(STEPS, max_size=4)),
        lambda inner: st.tuples(st.just("transaction"), HOWS, st.lists(STEPS | inner, max_size=4)), max_leaves=4)

    class Histories(RuleBasedStateMachine):
        where = Here

        def __init__(self):
            super().__init__()
            self.db = caret.open(":memory:") if self.where is not Forked else caret.open(PATH[0], sync="off")
            self.node, self.model, self.place = self.db["^n"], Model(), self.where()
            self.node.kill()

        def teardown(self):
            self.place.close()
            self.db.close()

        @rule(step=STEPS | TRANSACTIONS, thread=st.integers(0, 2))
        def change(self, step, thread):
            if not sensible(self.model, step):
                return
            want = expected(self.model, step)
            got = self.place.call(thread, lambda: do(self.node, step))
            assert got == want, (step, got, want)
            self.same()

        @rule(step=STEPS, thread=st.integers(0, 2))
        def change_beside_a_snapshot(self, step, thread):
            if not sensible(self.model, step):
                return
            other = self.db.session()
            with self.db.snapshot():
                self.same()
                do(other["^n"], step)
                self.same()
            other.close()
            expected(self.model, step)
            self.same()

        def same(self):
            got = [(paths(n.subs), n.bytes) for n in self.node.walk()]
            if () in self.model:
                got.insert(0, ((), self.node.bytes))
            want = sorted(self.model.items(), key=lambda item: [order(sub) for sub in item[0]])
            assert got == want, (got, want)

        @rule(path=PATHS, a=ENDS, b=ENDS, thread=st.integers(0, 2))
        def look(self, path, a, b, thread):
            got = self.place.call(thread, lambda: looked(self.node[path] if path else self.node, a, b))
            want = looked_in(self.model, paths(path), a, b)
            assert got == want, (got, want)

        @rule(path=PATHS, sub=SUBS)
        def step(self, path, sub):
            here, subs = text_of(sub), children(self.model, paths(path))
            node = (self.node[path] if path else self.node)[sub]
            after = [s for s in subs if order(s) > order(here)]
            before = [s for s in subs if order(s) < order(here)]
            got = (node.sub, node.next and node.next.sub, node.previous and node.previous.sub, node.data, node.get())
            value = self.model.get((*paths(path), here))
            assert got == (sub_out(here), sub_out(after[0]) if after else None, sub_out(before[-1]) if before else None,
                           data(self.model, (*paths(path), here)),
                           None if value is None else value.decode("utf-8", "surrogateescape")), got


def data(model, path):
    return (path in model) + 10 * bool(children(model, path))


def looked(n, a, b):
    n = n.view(bytes)
    part = n[a:b]
    return (n.data, n.bytes, list(n), list(n.values()), n.count(), [c.sub for c in n.nodes()], list(reversed(n)), list(part.items()),
            list(part.reversed(2)), n.first and n.first.sub, n.last and n.last.sub, a is not None and a in n)


def looked_in(model, path, a, b):
    subs = children(model, path)
    outs = [sub_out(s) for s in subs]
    values = [model.get((*path, s)) for s in subs]
    part = [s for s in subs if inside(s, a, b)]
    return (data(model, path), model.get(path), outs, values, len(below(model, path)), outs, outs[::-1],
            [(sub_out(s), model.get((*path, s))) for s in part], [sub_out(s) for s in part[:-3:-1]],
            outs[0] if outs else None, outs[-1] if outs else None, a is not None and data(model, (*path, text_of(a))) > 0)


PATH = []


@unittest.skipIf(st is None, "hypothesis is not installed (make deps installs python3-hypothesis)")
class Models(Case):
    def run_it(self, kind, examples):
        PATH[:] = [os.path.join(self.folder, "model.caret")]
        machine = type(kind.__name__, (Histories,), {"where": kind})
        run_state_machine_as_test(machine, settings=settings(
            max_examples=examples * TIMES, stateful_step_count=20, phases=[Phase.generate], deadline=None, database=None, derandomize=TIMES == 1,
            suppress_health_check=list(HealthCheck)))

    def test_in_one_thread(self):
        self.run_it(Here, 60)

    def test_dealt_to_three_threads(self):
        self.run_it(Dealt, 20)

    def test_each_step_in_a_child(self):
        self.run_it(Forked, 10)


if __name__ == "__main__":
    main()
