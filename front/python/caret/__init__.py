"""Caret: a hierarchical key-value database that lives inside the process.

    import caret
    db = caret.open("forest.caret")
    oaks = db["^oaks"]                  # an address; nothing is looked up
    oaks[1]["shadow"].value = 15
    oaks[1]["shadow"] += 0.5            # atomic, exact
    for number, value in oaks.items():
        ...

Nodes are not mappings, though loops over them are as over a dict: a node has a value *and* children, so ``oaks["x"]`` is
a node where a mapping gives a value; and there is no len(), as counting takes time (``oaks.count()``), so that a node
is always true.  ``oaks.mapping()`` is a real MutableMapping over the direct children.
"""

import atexit as _atexit
import os as _os

from . import _core
from ._core import *  # noqa: F403 - the classes of errors
from ._core import (Database, Error, Node, Range, Restart, Rollback, Session, VERSION as __version__,
                    open, parse, str2zwr, zwr2str)
from . import _transactions
from . import _views

_atexit.register(_core.at_exit)
_os.register_at_fork(after_in_child=_core.after_fork)


def local():
    """A database-less sorted tree: the local variables of a session of its own, one for each thread."""
    return _core.local()


def rollback(value=None):
    """Roll back the innermost transaction, and leave it; what runs it returns the value."""
    raise Rollback(value)


def restart():
    """Begin the outermost transaction again."""
    raise Restart("RESTART: as asked")


for _name in ("NotFound", "Exists", "Misuse"):
    assert _name in globals()
_transactions.attach(Database, Session, Node)
_views.attach(Database, Session, Node)
del _name
