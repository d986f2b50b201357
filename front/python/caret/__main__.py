"""python -m caret COMMAND FILE [NODE] [VALUE]: look at a database, and change it.

    get FILE NODE             the value                 set FILE NODE VALUE     set it
    incr FILE NODE [BY]       add; the sum              kill FILE NODE          the node and all below
    ls FILE [NODE]            variables, or subscripts  dump FILE [NODE]        each node with a value, as ZWR text
    tree FILE NODE            as JSON                   load FILE NODE          the JSON of standard input
    check FILE                findings                  stat FILE               numbers
    backup FILE TARGET        a copy                    repl FILE               Python, with db

NODE is as ^oaks(1,"shadow").  Status: 0 well; 1 nothing to get, ls or tree, or there are findings; 2 misuse, or an error.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Optional

import caret


def _say(text: Any) -> None:
    """A line, as UTF-8 whatever the terminal takes; what came of bytes that are not UTF-8 is those bytes."""
    sys.stdout.buffer.write(str(text).encode("utf-8", "surrogateescape") + b"\n")


def get(db: Any, node: Any) -> int:
    value = node.bytes
    if value is None:
        return 1
    sys.stdout.buffer.write(value + b"\n")
    return 0


def put(db: Any, node: Any, value: str) -> None:
    node.set(value.encode("utf-8", "surrogateescape"))


def incr(db: Any, node: Any, by: str = "1") -> Any:
    return node.incr(by)


def kill(db: Any, node: Any) -> int:
    node.kill()
    return 0


def ls(db: Any, node: Any = None) -> int:
    status = 1
    for name in db.names() if node is None else node:
        _say(name)
        status = 0
    return status


def dump(db: Any, node: Any = None) -> int:
    for top in [node] if node is not None else [db[name] for name in db.names()]:
        if top.has_value:
            _line(top)
        for below in top.walk():
            _line(below)
    return 0


def _line(node: Any) -> None:
    _say("%s=%s" % (node, caret.str2zwr(node.value)))  # of a str, as the node is: one mode for the line


def tree(db: Any, node: Any) -> int:
    text = node.json(indent=2)
    if text is None:
        return 1
    _say(text)
    return 0


def load(db: Any, node: Any, text: bytes) -> None:
    node.setjson(text)


def check(db: Any) -> int:
    findings = db.check()
    for finding in findings:
        _say(finding)
    return 1 if findings else 0


def stat(db: Any) -> int:
    for name, number in db.stat().items():
        _say("%s %s" % (name, number))
    return 0


def backup(db: Any, target: str) -> int:
    db.backup(target)
    return 0


def repl(db: Any) -> int:
    import code

    names = {"db": db, "caret": caret}
    _complete(db, names)
    code.interact("db is %r" % db.path, local=names, exitmsg="")
    return 0


def _complete(db: Any, names: dict[str, Any]) -> None:
    """The tabulator completes names of Python, and the variables in db["^oa."""
    try:
        import readline
        import rlcompleter
    except ImportError:  # a Python may be built without
        return
    python = rlcompleter.Completer(names)
    found: list[str] = []

    def complete(text: str, state: int) -> Optional[str]:
        line = readline.get_line_buffer()[: readline.get_begidx()]
        if not line.endswith(('db["', "db['")):
            return python.complete(text, state)
        if state == 0:
            found[:] = [name for name in db.names() if name.startswith(text)]
        return found[state] if state < len(found) else None

    readline.set_completer_delims(" \t\n`~!@#$&*()-=+[{]}\\|;:'\",<>/?")  # not ^ and %, which begin names
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")


# What is opened for reading alone; for writing, where that is allowed; for writing.  Where no database is: an error for
# these; then it is made; it is made if the command succeeds in memory.  Functions of the last kind return what is to be
# said, or None; the others the status.
READS, LOOKS, NEEDS, OPENS, MAKES = range(5)

# By name: the function, how many arguments after the file, is the first a node, and one of these.
COMMANDS: dict[str, tuple[Callable[..., Any], int, int, bool, int]] = {
    "get": (get, 1, 1, True, READS), "set": (put, 2, 2, True, MAKES), "incr": (incr, 1, 2, True, MAKES),
    "kill": (kill, 1, 1, True, NEEDS), "ls": (ls, 0, 1, True, READS), "dump": (dump, 0, 1, True, READS),
    "tree": (tree, 1, 1, True, READS), "load": (load, 1, 1, True, MAKES), "check": (check, 0, 0, False, LOOKS),
    "stat": (stat, 0, 0, False, LOOKS), "backup": (backup, 1, 1, False, NEEDS), "repl": (repl, 0, 0, False, OPENS),
}


def _node(db: Any, text: str) -> Any:
    """Of a global: a local variable would be gone with this process."""
    node = caret.parse(db, text)
    if node.is_local:
        raise ValueError("%s is not a global: write '^%s', in quotes" % (text, text))
    return node


def _rehearse(function: Callable[..., Any], told: list[Any]) -> None:
    """In memory: a mistake makes no database.  What there is no room for there says nothing."""
    try:
        with caret.open(":memory:") as trial:
            function(trial, _node(trial, told[0]), *told[1:])
    except (caret.StorageError, caret.Limit, MemoryError):
        pass


def _seen_enough() -> int:
    """Of `| head`, which has gone: of what is not written yet, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2


def _help(asked: bool) -> int:
    try:
        print(__doc__)
        sys.stdout.flush()
    except BrokenPipeError:
        _seen_enough()
    return 0 if asked else 2


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        return _help(bool(arguments))
    command, *rest = arguments
    function, least, most, is_node, kind = COMMANDS.get(command, (get, 0, -1, False, NEEDS))
    if not least <= len(rest) - 1 <= most:
        print("caret: %s; python -m caret --help" % ("no command %s" % command if most < 0 else
                                                     "%s takes other arguments" % command), file=sys.stderr)
        return 2
    if rest[0] == ":memory:" and kind < OPENS:
        print("caret: ':memory:' is a new, empty database each time: there is nothing to find", file=sys.stderr)
        return 2
    try:
        told: list[Any] = rest[1:] + ([sys.stdin.buffer.read()] if function is load else [])
        if kind == MAKES and not os.path.exists(rest[0]):
            _rehearse(function, told)
        readonly = kind == READS or kind == LOOKS and os.path.exists(rest[0]) and not os.access(rest[0], os.W_OK)
        with caret.open(rest[0], create=kind in (OPENS, MAKES), readonly=readonly) as db:
            if told and is_node:
                told[0] = _node(db, told[0])
            result = function(db, *told)
        if kind == MAKES and result is not None:
            _say(result)
        status: int = 0 if kind == MAKES else result
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        return _seen_enough()
    except (caret.Error, ValueError, OSError) as e:
        print("caret: %s" % str(e), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
