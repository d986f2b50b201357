"""The functions of the module _yottadb of YDBPython, on nodes of this package.

Names and subscripts become a node once; the last of them are kept in a table, as programs come back to the same ones.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from typing import Any, Callable, Optional, Sequence, Union

import caret
from caret import _core

from . import _arguments as arguments
from . import _locals, _zwr
from ._errors import (CONSTANTS, NUMBER, YDB_DEL_NODE, YDB_DEL_TREE, YDB_LOCK_MAX_NODES, YDB_MAX_STR,
                      YDB_OK, YDB_TP_RESTART, YDB_TP_ROLLBACK, YDBDeferHandler, YDBError, YDBException,
                      YDBLockTimeoutError, YDBNodeEnd, YDBNotOk, YDBPythonError, YDBTPException, YDBTPRestart,
                      YDBTPRollback, YDBTPTimeoutError, error, message as message_of, node_end, of_status, set_zstatus,
                      timed_out, zstatus)

Text = Union[str, bytes]
Subs = Optional[Sequence[Text]]

__all__ = ["YDBDeferHandler", "YDBError", "YDBException", "YDBLockTimeoutError", "YDBNodeEnd", "YDBNotOk",
           "YDBPythonError", "YDBTPException", "YDBTPRestart", "YDBTPRollback", "YDBTPTimeoutError",
           "adjust_stdout_stderr", "ci", "cip", "data", "delete", "delete_except", "get", "incr", "lock", "lock_decr",
           "lock_incr", "message", "node_next", "node_previous", "open_ci_table", "release", "set", "str2zwr",
           "subscript_next", "subscript_previous", "switch_ci_table", "tp", "zwr2str", *CONSTANTS]
globals().update(CONSTANTS)

# ------------------------------------------------------------------ the database

_NAME = re.compile(r"\^?[%A-Za-z][A-Za-z0-9]*\Z")
_KEPT = 0 if sys.flags.bytes_warning else 1024  # a key may be equal to one but for str and bytes: python -b tells that
_PLAIN = frozenset((str, bytes))  # values that go to the engine as they are, unless they may be too long
_SHORT = YDB_MAX_STR // 4
_kept: dict[Any, Any] = {}  # nodes by name and subscripts, as they were told
_tops: dict[Any, Any] = {}  # variables by name, as it was told: names that were looked at
_locks: dict[Any, Any] = {}  # what locks are taken on, like _kept
_state: dict[str, Any] = {"db": None, "gbldir": None, "maxtptime": 0}
_opening = threading.Lock()


def _after_fork() -> None:
    global _opening
    _opening = threading.Lock()  # another thread of the parent may have had it


os.register_at_fork(after_in_child=_after_fork)


def _path() -> str:
    path = _state["gbldir"] or os.environ.get("ydb_gbldir") or os.environ.get("CARET_DB") or "data.caret"
    return path[:-4] + ".caret" if path.endswith(".gld") else path


def _open(path: str) -> Any:
    try:
        return getattr(_core, "find")(os.path.abspath(path)) or caret.open(path)
    except (caret.ReadOnly, caret.OpenError):
        try:
            return caret.open(path, readonly=True)
        except (caret.Error, OSError) as e:
            raise _no_directory(path, e) from None
    except (caret.Error, OSError) as e:
        raise _no_directory(path, e) from None


def _no_directory(path: str, e: Exception) -> YDBError:
    return error("ZGBLDIRACC", path, ".  Cannot continue", also=",%%SYSTEM-E-%s, %s" % (type(e).__name__.upper(), e))


def database() -> Any:
    """The database: of $ZGBLDIR, $ydb_gbldir, $CARET_DB, or ./data.caret."""
    if _state["db"] is None:
        with _opening:
            if _state["db"] is None:
                _state["db"] = _open(_path())
    return _state["db"]


def _change_database(path: bytes) -> None:
    with _opening:
        _state["gbldir"] = path.decode("utf-8", "surrogateescape")
        _state["db"] = _open(_path())
        for table in (_kept, _tops, _locks):
            table.clear()


def _engine_error(e: BaseException, what: str = "") -> BaseException:
    """What programs for YottaDB expect instead of an error of the engine."""
    if isinstance(e, caret.Restart):
        return of_status(YDB_TP_RESTART)
    if isinstance(e, (caret.LockTimeout, caret.Deadlock)):
        return timed_out()
    if isinstance(e, caret.NumericOverflow):
        return error("NUMOFLOW")
    if isinstance(e, caret.Key2Big):
        return error("GVSUBOFLOW", also=",%%YDB-I-GVIS, \t\tGlobal variable: %s" % what)
    if isinstance(e, caret.TooDeep):
        return error("TPTOODEEP", 127)
    if isinstance(e, caret.Value2Big):
        return error("REC2BIG", "", YDB_MAX_STR, "")
    if isinstance(e, caret.Error):
        return error("DBFILERR", database().path, also=",%%CARET-E-%s, %s" % (e.name, e))
    return e


ENGINE = (caret.Error, caret.Restart)

# ------------------------------------------------------------------ nodes


def _keep(table: dict[Any, Any], key: Any, node: Any) -> Any:
    if len(table) >= _KEPT:
        table.clear()
    if _KEPT:
        table[key] = node
    return node


def _known(varname: Any, subsarray: Any) -> Any:
    """The node, if nothing has to be looked at: it is kept, or its variable is and the subscripts are str or bytes."""
    try:
        node = _kept.get((varname, subsarray))
        if node is not None:
            return node
        top = _tops.get(varname)
    except TypeError:  # what has no hash: a list
        return None
    if top is None or subsarray.__class__ is not tuple:
        return None
    for sub in subsarray:
        if sub.__class__ not in _PLAIN:
            return None
    try:
        if top.is_local:
            return None if _locals.moved else top[subsarray]
        return _keep(_kept, (varname, subsarray), top[subsarray])
    except (caret.Error, ValueError):  # too long, or too many: _place() tells it in the words that are expected
        return None


def _place(varname: Any, subsarray: Any, function: str) -> Any:
    """The node of a name with subscripts."""
    node = _known(varname, subsarray)
    if node is not None:
        return node
    subs = arguments.subscripts(subsarray)  # what is wrong with them is told first
    name = arguments.name(varname)
    if name.startswith("$"):
        raise _unsupported(name, subs, function)
    if not _NAME.match(name):
        raise error("INVVARNAME", name)
    top = (database() if name.startswith("^") else _locals.store)[name]
    if varname.__class__ in _PLAIN:
        _keep(_tops, varname, top)
    if top.is_local:
        return _locals.place(name, subs)
    try:
        return top[subs]
    except caret.Key2Big as e:
        raise _engine_error(e, name + "(*") from None


def _is_special(varname: Any) -> bool:
    if isinstance(varname, str):
        return varname.startswith("$")
    return isinstance(varname, bytes) and varname.startswith(b"$")


def data(varname: Text, subsarray: Subs = ()) -> int:
    """0: nothing, 1: a value, 10: children, 11: both."""
    try:
        kind: int = _place(varname, subsarray, "data").data
        return kind
    except ENGINE as e:
        raise _engine_error(e) from None


def get(varname: Text, subsarray: Subs = ()) -> Optional[bytes]:
    """The value of a node, or None."""
    node = _known(varname, subsarray)
    if node is None:
        if _is_special(varname):
            return _special(arguments.name(varname), arguments.subscripts(subsarray))
        node = _place(varname, subsarray, "get")
    try:
        value: Optional[bytes] = node.bytes
        return value
    except ENGINE as e:
        raise _engine_error(e) from None


def set(varname: Text, subsarray: Subs = (), value: Optional[Text] = "") -> None:
    """Set the value of a node; None is the empty one."""
    if value is None:
        value = b""
    node = _known(varname, subsarray)
    if node is None:
        if _is_special(varname):
            return _set_special(arguments.name(varname), arguments.subscripts(subsarray), arguments.text(value))
        if value.__class__ not in _PLAIN:
            arguments.subscripts(subsarray), arguments.name(varname)  # what is wrong with them is told first
            value = arguments.text(value)
        node = _place(varname, subsarray, "set")
    if value.__class__ not in _PLAIN or len(value) > _SHORT:
        value = arguments.text(value)
    try:
        node.set(value)
    except ENGINE as e:
        raise _engine_error(e) from None


def incr(varname: Text, subsarray: Subs = (), increment: Text = "1") -> bytes:
    """Add to the value of a node, as M does; the sum."""
    node = _place(varname, subsarray, "incr")
    by = arguments.text(increment) or b"1"
    try:
        made: bytes = node._incr_m(by)
        return made
    except ENGINE as e:
        raise _engine_error(e) from None


def delete(varname: Text, subsarray: Subs = (), delete_type: int = YDB_DEL_NODE) -> None:
    """Delete the value of a node (YDB_DEL_NODE), or it and all below (YDB_DEL_TREE)."""
    if not isinstance(delete_type, int):
        raise TypeError("'%s' object cannot be interpreted as an integer" % type(delete_type).__name__)
    node = _place(varname, subsarray, "delete")
    if delete_type not in (YDB_DEL_NODE, YDB_DEL_TREE):
        raise error("UNIMPLOP")
    try:
        node.kill() if delete_type == YDB_DEL_TREE else node.delete()
    except ENGINE as e:
        raise _engine_error(e) from None


def delete_except(varnames: Sequence[Text] = ()) -> None:
    """Delete all local variables but these."""
    kept = arguments.names(varnames)
    for name in kept:
        if name.startswith("^"):
            raise error("GVNUNSUPPORTED", name, "ydb_delete_excl_s()")
        if not _NAME.match(name):
            raise error("INVVARNAME", name)
    for name in _locals.names():
        if name not in kept:
            _locals.delete(name)


def _step(varname: Text, subsarray: Subs, function: str, which: str) -> Any:
    try:
        return getattr(_place(varname, subsarray, function), which)
    except ENGINE as e:
        raise _engine_error(e) from None


def _ends_empty(subsarray: Any) -> bool:
    if not isinstance(subsarray, (tuple, list)) or not subsarray:
        return False
    return isinstance(subsarray[-1], (str, bytes)) and not subsarray[-1]


def _beside(varname: Text, subsarray: Subs, function: str, which: str) -> bytes:
    if not subsarray and _locals.trees.of and not arguments.name(varname).startswith(("^", "$")):
        if not _NAME.match(arguments.name(varname)):
            raise error("INVVARNAME", arguments.name(varname))
        name = _locals.beside(arguments.name(varname), 1 if which == "next" else -1)
        if name is None:
            raise node_end()
        return name.encode()
    if which == "previous" and subsarray is not None and _ends_empty(subsarray):
        if arguments.name(varname).startswith("$"):
            _place(varname, subsarray, function)  # which tells what is wrong with it
        found = _step(varname, subsarray[:-1], function, "last")
    else:
        found = _step(varname, subsarray, function, which)
    if found is None:
        raise node_end()
    if not subsarray:
        return _locals.out(found.name)
    sub = _locals.out(found.sub)
    if not sub:  # the empty one is first, and what a loop begins with
        raise node_end()
    if subsarray.__class__ is tuple and not found.is_local:  # most programs come here next
        _keep(_kept, (varname, (*subsarray[:-1], sub)), found)
    return sub


def subscript_next(varname: Text, subsarray: Subs = ()) -> bytes:
    """The next subscript of the same level; without subscripts, the next variable."""
    return _beside(varname, subsarray, "subscript_next", "next")


def subscript_previous(varname: Text, subsarray: Subs = ()) -> bytes:
    """The subscript before; without subscripts, the variable before."""
    return _beside(varname, subsarray, "subscript_previous", "previous")


def _walk(varname: Text, subsarray: Subs, function: str, which: str) -> tuple[bytes, ...]:
    found = _step(varname, subsarray, function, which)
    if found is None or found.name != arguments.name(varname):
        raise node_end()
    subs = tuple([_locals.out(sub) for sub in found.subs])
    if not found.is_local:
        _keep(_kept, (varname, subs), found)
    return subs


def node_next(varname: Text, subsarray: Subs = ()) -> tuple[bytes, ...]:
    """The subscripts of the next node of this variable that has a value, depth first."""
    return _walk(varname, subsarray, "node_next", "next_node")


def node_previous(varname: Text, subsarray: Subs = ()) -> tuple[bytes, ...]:
    """The subscripts of the node with a value before."""
    return _walk(varname, subsarray, "node_previous", "previous_node")


# ------------------------------------------------------------------ locks

_LONGEST_OF_LOCK = 255


def _lock_place(name: str, subs: tuple[bytes, ...], function: str) -> Any:
    if name.startswith("$"):
        raise _unsupported(name, subs, function)
    if not _NAME.match(name):
        raise error("INVVARNAME", name)
    if len(name.lstrip("^")) > 31:
        raise error("VARNAME2LONG", 31)
    for sub in subs:
        if len(sub) > _LONGEST_OF_LOCK:
            raise error("LOCKSUB2LONG", len(sub), _LONGEST_OF_LOCK,
                        also=",%%YDB-I-TEXT, %s" % sub.decode("latin-1"))
    try:
        return database()[(name, *subs)]
    except caret.Key2Big as e:
        raise _engine_error(e, name + "(*") from None


def _locked(varname: Any, subsarray: Any, function: str) -> Any:
    """The node that a lock is taken on."""
    try:
        node = _locks.get((varname, subsarray))
    except TypeError:  # what has no hash: a list
        node = None
    if node is None:
        node = _lock_place(arguments.name(varname), arguments.subscripts(subsarray), function)
        if subsarray.__class__ is tuple:
            _keep(_locks, (varname, subsarray), node)
    return node


def lock(nodes: Optional[Sequence[Sequence[Any]]] = (), timeout_nsec: int = 0) -> None:
    """Release all locks, then take all of these, or none."""
    wanted = arguments.nodes(nodes, YDB_LOCK_MAX_NODES)
    limit = arguments.seconds(timeout_nsec)
    places = [_lock_place(name, subs, "lock") for name, subs in wanted]
    db = database()
    db.release_all()
    try:
        made = not places or db.acquire_all(places, limit)
    except ENGINE as e:
        raise _engine_error(e) from None
    if not made:
        raise timed_out()


def lock_incr(varname: Text, subsarray: Subs = (), timeout_nsec: int = 0) -> None:
    """Take one lock, once more if it is held; others stay."""
    place = _locked(varname, subsarray, "lock_incr")
    limit = arguments.seconds(timeout_nsec)
    try:
        made = place.acquire(limit)
    except ENGINE as e:
        raise _engine_error(e) from None
    if not made:
        raise timed_out()


def lock_decr(varname: Text, subsarray: Subs = ()) -> None:
    """Give a lock back, once."""
    place = _locked(varname, subsarray, "lock_decr")
    try:
        place.release()
    except caret.NotLocked:
        pass
    except ENGINE as e:
        raise _engine_error(e) from None


# ------------------------------------------------------------------ transactions


def tp(callback: Callable[..., int], args: Any = None, kwargs: Any = None, transid: Optional[str] = None,
       varnames: Optional[Sequence[Text]] = None) -> int:
    """Call a function in a transaction; it returns YDB_OK, YDB_TP_RESTART, YDB_TP_ROLLBACK or an error."""
    if not callable(callback):
        raise TypeError("'callback' must be a callable.")
    if args is not None and not isinstance(args, tuple):
        raise TypeError("'args' must be a tuple. "
                        "(It will be passed to the callback function as positional arguments.)")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise TypeError("'kwargs' must be a dictionary. "
                        "(It will be passed to the callback function as keyword arguments.)")
    if transid is not None and not isinstance(transid, str):
        raise TypeError("argument 4 must be str, not %s" % type(transid).__name__)
    names = arguments.names(varnames)
    batch = (transid or "").upper() in ("BA", "BATCH")
    return _transaction(lambda: callback(*(args or ()), **(kwargs or {})), batch, names)


def _transaction(body: Callable[[], int], batch: bool, names: list[str]) -> int:
    saved = _locals.save(names) if names else {}
    runs = 0
    own: Optional[BaseException] = None  # what the body raised, of those that the engine raises, too

    def attempt() -> int:
        nonlocal runs, own
        runs, own = runs + 1, None
        if runs > 1 and saved:
            _locals.restore(saved)
        try:
            status = body()
            if status.__class__ is not int:
                status = _as_status(status)
            if status != YDB_OK:
                raise of_status(status)
            return YDB_OK
        except YDBTPRestart:
            raise caret.Restart("RESTART: as asked") from None
        except YDBTPRollback:
            raise of_status(YDB_TP_ROLLBACK) from None
        except (caret.Error, caret.Rollback) as e:
            own = e
            raise

    try:
        database()._run(1 if batch else 0, -1, attempt, (), None)
    except ENGINE as e:
        if e is own:
            raise
        raise _engine_error(e) from None
    if isinstance(own, caret.Rollback):
        raise own
    return YDB_OK


def _as_status(status: Any) -> int:
    """True and False are numbers, too."""
    if not isinstance(status, int):
        raise TypeError("Callback function must return value of type int.")
    return int(status)


# ------------------------------------------------------------------ special variables

_ZYRELEASE = "YottaDB r2.06 Linux " + os.uname().machine
_ZVERSION = "GT.M V7.0-005 Linux " + os.uname().machine
_SINCE = 47117  # days from M's epoch to Unix'


def _horolog() -> str:
    now = time.localtime()
    seconds = int(time.time()) + now.tm_gmtoff
    return "%d,%d" % (_SINCE + seconds // 86400, seconds % 86400)


def _zhorolog() -> str:
    return "%s,%d,%d" % (_horolog(), time.time_ns() // 1000 % 1000000, -time.localtime().tm_gmtoff)


_SPECIAL: dict[str, Callable[[], Any]] = {
    "HOROLOG": _horolog, "H": _horolog, "ZHOROLOG": _zhorolog, "ZH": _zhorolog,
    "JOB": os.getpid, "J": os.getpid,
    "TLEVEL": lambda: database().level(), "TL": lambda: database().level(),
    "TRESTART": lambda: database().restarts() if database().level() else 0,
    "ZCHSET": lambda: "UTF-8" if _utf8() else "M",
    "ZGBLDIR": _path, "ZMAXTPTIME": lambda: _state["maxtptime"],
    "ZSTATUS": zstatus, "ZUT": lambda: time.time_ns() // 1000,
    "ZVERSION": lambda: _ZVERSION, "ZYRELEASE": lambda: _ZYRELEASE,
}


def _utf8() -> bool:
    return os.environ.get("ydb_chset", "").upper() == "UTF-8"


def _subscripted(name: str, subs: tuple[bytes, ...]) -> YDBError:
    return error("ISVSUBSCRIPTED", name, len(subs))


def _unsupported(name: str, subs: tuple[bytes, ...], function: str) -> YDBError:
    if subs:
        return _subscripted(name, subs)
    if name[1:].upper() not in _SPECIAL:
        return error("INVSVN")
    return error("ISVUNSUPPORTED", name, "ydb_%s_s()" % function)


def _special(name: str, subs: tuple[bytes, ...]) -> bytes:
    if subs:
        raise _subscripted(name, subs)
    tell = _SPECIAL.get(name[1:].upper())
    if tell is None:
        raise error("INVSVN")
    return str(tell()).encode("utf-8", "surrogateescape")


def _set_special(name: str, subs: tuple[bytes, ...], value: bytes) -> None:
    which = name[1:].upper()
    if which in _SPECIAL and which not in ("ZGBLDIR", "ZMAXTPTIME", "ZSTATUS"):
        raise error("SVNOSET")
    if subs:
        raise _subscripted(name, subs)
    if which == "ZGBLDIR":
        if database().level():
            raise error("UNIMPLOP")
        _change_database(value)
    elif which == "ZMAXTPTIME":
        _state["maxtptime"] = min(60, int(re.match(rb"\d*", value).group() or 0))  # type: ignore[union-attr]
    elif which == "ZSTATUS":
        set_zstatus(value.decode("utf-8", "surrogateescape"))
    else:
        raise error("INVSVN")


# ------------------------------------------------------------------ text, and what needs M


def message(err_num: int) -> str:
    """The text of an error."""
    return message_of(err_num)


def release() -> str:
    """$ZYRELEASE."""
    return _ZYRELEASE


def str2zwr(input: Text) -> bytes:
    """ZWR text of a string."""
    made = _zwr.written(arguments.text(input), _utf8())
    if len(made) > YDB_MAX_STR + 2:
        raise error("INVSTRLEN", len(made), YDB_MAX_STR)
    return made


def zwr2str(input: Text) -> bytes:
    """The string of ZWR text; empty: it is none."""
    return _zwr.read(arguments.text(input), _utf8())


def ci(routine: Text, args: Any = (), has_retval: bool = False) -> Any:
    """Call a routine written in M: there are none."""
    raise error("CINOENTRY", arguments.text(routine).decode("utf-8", "surrogateescape"))


cip = ci


def open_ci_table(filename: Text) -> int:
    """Open a table of such routines: it can't be done."""
    name = arguments.text(filename)
    if not name:
        raise ValueError("YottaDB filenames must be one character or longer")
    raise error("CITABOPN", name.decode("utf-8", "surrogateescape"))


def switch_ci_table(handle: int) -> int:
    raise error("PARAMINVALID", "Invalid new_handle", "ydb_ci_tab_switch()")


def adjust_stdout_stderr() -> None:
    """Write errors where output goes, if both are the same file."""
    a, b = os.fstat(1), os.fstat(2)
    if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino):
        os.dup2(1, 2)


assert NUMBER
