"""What nodes can do that needs no C: views, pickling, trees, JSON."""

import os

from . import _core
from ._core import Database, Node, Range, View, find

_opened: dict = {}  # by path: databases that unpickling has opened


# ------------------------------------------------------------------ views


def _codec(values):
    """A View of what values= was told; None: str."""
    if values is None or values is str:
        return None
    if isinstance(values, View):
        return values
    if values is bytes:
        return View(bytes, None, None)
    if isinstance(values, str):
        import importlib

        return _codec(importlib.import_module(values))
    if isinstance(values, tuple) and len(values) == 2:
        return View(values, *values)
    for writes, reads in (("dumps", "loads"), ("packb", "unpackb"), ("encode", "decode")):
        if hasattr(values, writes) and hasattr(values, reads):
            name = getattr(values, "__name__", None) if type(values) is type(os) else None
            return View(name or values, getattr(values, writes), getattr(values, reads))
    if callable(values):
        return View(values, None, values if values in (int, float) else lambda data: values(data.decode()))
    raise TypeError("values is str, bytes, a type, a module with dumps and loads, its name, or a pair (encode, decode)")


def view(self, values=str):
    """The same node with values of another kind: bytes, int, json, pickle, or a pair (encode, decode).

    Its children have them, too.
    """
    return self._with(_codec(values))


class DatabaseView:
    """A database whose nodes have values of another kind; for all else there is .db."""

    __slots__ = ("db", "_view")

    def __init__(self, db, codec):
        self.db, self._view = db, codec

    def __getitem__(self, key):
        return self.db[key]._with(self._view)

    def __iter__(self):
        return iter(self.db)

    def __contains__(self, key):
        return key in self.db

    def __reduce__(self):
        return database_view, (self.db, self._view.how if self._view else str)


def database_view(self, values=str):
    """db.view(values=bytes)["^x"].value is bytes; see Node.view."""
    return DatabaseView(self, _codec(values))


# ------------------------------------------------------------------ pickling


def _reopen(path, options):
    """The Database of this path: one that is open here, else it is opened, and stays open."""
    db = find(path)
    if db is None:
        options.pop("create", None)
        db = _opened[path] = _core.open(path, create=False, **options)
    return db


def _reopen_node(path, options, name, subs, how, kind):
    node = _reopen(path, options)[(name, *subs)]
    if how is not None:
        node = node._with(_codec(how))
    return node if kind is None else Node.__new__(kind, node)


def _reduce_database(db):
    if not isinstance(db, Database):
        raise TypeError("a Session can't be pickled: it belongs to its process")
    if not db.path or db.path == ":memory:":
        raise TypeError("a database in memory can't be pickled: it belongs to its process")
    return _reopen, (db.path, db.options)


def _reduce_node(node):
    path, options = _reduce_database(node.db)[1]
    how = node._view.how if node._view else None
    kind = None if type(node) is Node else type(node)
    return _reopen_node, (path, options, node.name, node.subs, how, kind), node.__getstate__()


def _with_state(node, state):
    if hasattr(node, "__setstate__"):
        node.__setstate__(state)
    elif state:
        node.__dict__.update(state)
    return node


def _copy_node(node):
    """Addresses do not change, so a copy is the node itself; one of a class of the program's has attributes, too."""
    if not hasattr(node, "__dict__"):
        return node
    return _with_state(Node.__new__(type(node), node), node.__getstate__())


def _deepcopy_node(node, memo):
    if not hasattr(node, "__dict__"):
        return node
    import copy

    made = memo[id(node)] = Node.__new__(type(node), node)
    return _with_state(made, copy.deepcopy(node.__getstate__(), memo))


def _range(node, begin, end, prefix, back, limit):
    made = node.prefix(begin) if prefix else node[begin:end]
    return (made.reversed if back else made.limit)(limit)


def _reduce_range(some):
    return _range, some._bounds


def _itself(self):
    return self


def _itself_deep(self, memo=None):
    return self


# ------------------------------------------------------------------ small things


def add(self, value):
    """Set the value if there is none; was it set?"""
    return self._put(value, 1)[0]


def swap(self, value):
    """Set the value, and tell the one before, or None."""
    return self._put(value, 0)[2]


def replace(self, old, new):
    """Set the value if it is `old` (None: if there is none); was it set?"""
    return self._put(new, 8, old)[0]


def random(self):
    """A child, each as likely as the others whatever is below it; None: there is none."""
    return self._random(int.from_bytes(os.urandom(8), "little"))


def mapping(self, codec=str):
    """The direct children that have values, as a MutableMapping."""
    from .mapping import Mapping

    return Mapping(self.view(codec) if codec is not str else self)


def tree(self, depth=None):
    """The value, or a dict of what is below: {subscript: value or dict}; a value beside children stands at "__"."""
    from .trees import tree

    return tree(self, depth)


def settree(self, data):
    """Replace the node and all below by what tree() would give, in one transaction."""
    from .trees import settree

    settree(self, data)


def json(self, indent=None):
    """The node and all below as JSON text."""
    from .json import dumps

    return dumps(self, indent)


def setjson(self, text):
    """Replace the node and all below by what JSON text says, in one transaction."""
    from .json import load

    load(self, text)


def records(self, depth=1):
    """A dict for each node `depth` levels below: its children with values, and its subscripts at "sub1", ..."""
    from .trees import records

    return records(self, depth)


def changes(self, place=None, below=None, wait=None):
    """A feed of what is committed, change by change: an iterator that waits for the next one, for `wait` seconds.

    place: go on after this one, as feed.place tells it; None: after the last commit; 0: the oldest that there is.
    below: only changes at this node and below it.
    """
    from .changes import Changes

    return Changes(self, place, below, wait)


def memoize(self, body=None, *, expire=None, node=None):
    """Keep what a function returns, also an async one, for so many seconds: below ^memoize, or below this node."""
    from .expiring import memoize

    decorate = memoize(self["^memoize"] if node is None else node, expire)
    return decorate if body is None else decorate(body)


def attach(database, session, node):
    for f in (view, add, swap, replace, random, mapping, tree, settree, json, setjson, records):
        setattr(node, f.__name__, f)
    node.__reduce__, node.__copy__, node.__deepcopy__ = _reduce_node, _copy_node, _deepcopy_node
    Range.__reduce__ = _reduce_range
    for kind in (database, session, Range, View):
        kind.__copy__, kind.__deepcopy__ = _itself, _itself_deep
    for owner in (database, session):
        owner.view = database_view
        owner.memoize, owner.changes = memoize, changes
        owner.__reduce__ = _reduce_database


