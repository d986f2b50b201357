"""YDBPython 2 on Caret: the same names, in the same form, for programs that `import yottadb`.

    from caret import yottadb           # or: pip install caretdb-yottadb, and import yottadb

Values are bytes, names and subscripts str or bytes.  The database is the one of $ydb_gbldir, $CARET_DB, or
./data.caret.  Routines in M can't be called.  docs/migrating/ydbpython.md tells what else differs.
"""

from __future__ import annotations

import functools
import struct
from typing import Any, Callable, Optional, Sequence, Union

from . import _yottadb
from ._errors import CONSTANTS
from ._node import Key, Node, NodesIter, NodesIterReversed, SubscriptsIter, increment as _increment
from ._trees import load_tree, replace_tree, save_tree
from ._errors import (YDB_DEL_NODE, YDB_DEL_TREE, YDB_OK, YDBDeferHandler, YDBError, YDBException,
                      YDBLockTimeoutError, YDBNodeEnd, YDBNotOk, YDBPythonError, YDBTPException, YDBTPRestart,
                      YDBTPRollback, YDBTPTimeoutError)
from ._yottadb import adjust_stdout_stderr, delete, open_ci_table, switch_ci_table

__version__ = "2.0.1"
__author__ = __credits__ = "Caret"
Text = Union[str, bytes]
Subs = Optional[Sequence[Text]]
arch_bits = 8 * struct.calcsize("P")
max_ci_args = 34 if arch_bits == 64 else 33
DATA_UNDEF = DATA_NO_DATA = 0

globals().update(CONSTANTS)


def get(name: Text, subsarray: Subs = ()) -> Optional[bytes]:
    """The value of a node, or None."""
    return _yottadb.get(name, subsarray)


def set(name: Text, subsarray: Subs = (), value: Text = "") -> None:
    """Set the value of a node."""
    _yottadb.set(name, subsarray, value)


def data(name: Text, subsarray: Subs = ()) -> int:
    """0: nothing, 1: a value, 10: children, 11: both."""
    return _yottadb.data(name, subsarray)


def incr(name: Text, subsarray: Subs = (), increment: Union[int, float, str, bytes] = "1") -> bytes:
    """Add to a node; the sum."""
    return _yottadb.incr(name, subsarray, _increment(increment))


def delete_node(name: Text, subsarray: Subs = ()) -> None:
    """Delete the value of a node; what is below stays."""
    _yottadb.delete(name, subsarray, YDB_DEL_NODE)


def delete_tree(name: Text, subsarray: Subs = ()) -> None:
    """Delete a node and all below."""
    _yottadb.delete(name, subsarray, YDB_DEL_TREE)


def delete_except(lvns: Sequence[Any] = ()) -> None:
    """Delete all local variables but these."""
    _yottadb.delete_except([lvn.name if isinstance(lvn, Node) else lvn for lvn in lvns])


def subscript_next(name: Text, subsarray: Subs = ()) -> bytes:
    """The next subscript; YDBNodeEnd: there is none."""
    return _yottadb.subscript_next(name, subsarray)


def subscript_previous(name: Text, subsarray: Subs = ()) -> bytes:
    """The subscript before; YDBNodeEnd: there is none."""
    return _yottadb.subscript_previous(name, subsarray)


def node_next(name: Text, subsarray: Subs = ()) -> tuple[bytes, ...]:
    """The subscripts of the next node with a value."""
    return _yottadb.node_next(name, subsarray)


def node_previous(name: Text, subsarray: Subs = ()) -> tuple[bytes, ...]:
    """The subscripts of the node with a value before."""
    return _yottadb.node_previous(name, subsarray)


def subscripts(name: Text, subsarray: Sequence[Text] = ()) -> SubscriptsIter:
    """Loop over subscripts after the last of these, or over variables."""
    return SubscriptsIter(name, subsarray)


def nodes(name: Text, subsarray: Sequence[Text] = ()) -> NodesIter:
    """Loop over the nodes of a variable that have values."""
    return NodesIter(name, subsarray)


def lock(nodes: Optional[Sequence[Any]] = None, timeout_nsec: int = 0) -> None:
    """Release all locks, then take these, all or none."""
    wanted: Any = nodes
    if nodes is not None and not isinstance(nodes, (str, bytes)):
        wanted = [node._at if isinstance(node, Node) else node for node in nodes]
    _yottadb.lock(wanted, timeout_nsec)


def lock_incr(name: Text, subsarray: Subs = (), timeout_nsec: int = 0) -> None:
    """Take a lock, beside those that are held."""
    _yottadb.lock_incr(name, subsarray, timeout_nsec)


def lock_decr(name: Text, subsarray: Subs = ()) -> None:
    """Give a lock back, once."""
    _yottadb.lock_decr(name, subsarray)


def tp(callback: Callable[..., int], args: Optional[tuple[Any, ...]] = None, transid: str = "",
       names: Optional[Sequence[Text]] = None, **kwargs: Any) -> int:
    """Call a function in a transaction: tp(f, (arguments,), name=value)."""
    return _yottadb.tp(callback, args, kwargs, transid, names)


def transaction(function: Callable[..., Any]) -> Callable[..., int]:
    """Decorator: each call is a transaction; a function that returns None has done well."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> int:
        def body(*args: Any, **kwargs: Any) -> int:
            status = function(*args, **kwargs)
            return YDB_OK if status is None else status

        return _yottadb.tp(body, args, kwargs)

    return wrapper


def ci(routine: Text, args: Sequence[Any] = (), has_retval: bool = False) -> Any:
    """Call a routine written in M: there are none."""
    if len(args) > max_ci_args:
        raise ValueError("ci(): number of arguments (%d) exceeds max for a %d-bit system architecture (%d)"
                         % (len(args), arch_bits, max_ci_args))
    return _yottadb.ci(routine, args, has_retval)


cip = ci


def release() -> str:
    """pywr, its version, and $ZYRELEASE."""
    return "pywr v%s %s" % (__version__, _yottadb.release())


def message(errnum: int) -> str:
    """The text of an error."""
    return _yottadb.message(errnum)


def str2zwr(string: Text) -> bytes:
    """ZWR text of a string."""
    return _yottadb.str2zwr(string)


def zwr2str(string: Text) -> bytes:
    """The string of ZWR text."""
    return _yottadb.zwr2str(string)


def get_error_code(error: YDBError) -> int:
    """The number of an error, one of YDB_ERR_..."""
    return error.code()


__all__ = sorted({*_yottadb.__all__, "Key", "Node", "NodesIter", "NodesIterReversed", "SubscriptsIter", "arch_bits",
                  "delete_node", "delete_tree", "get_error_code", "load_tree", "max_ci_args", "nodes", "replace_tree",
                  "save_tree", "subscripts", "transaction"})
