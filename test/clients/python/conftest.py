"""What the own tests of the Python package yottadb import, and what is not in its source distribution.

They are run by test/torture/clients.sh.  All share one database, which is empty when a test begins: a process that
opens one for each keeps them all open until it ends.
"""

import os
import subprocess
import sys
import time

import pytest
import yottadb

BAD = [b"sub%d\x80" % i for i in range(1, 5)]  # no UTF-8
SIMPLE_DATA = (
    (("^Test5", ()), "test5value"),
    (("^test1", ()), "test1value"),
    (("^test2", ("sub1",)), "test2value"),
    (("^test3", ()), "test3value1"),
    (("^test3", ("sub1",)), "test3value2"),
    (("^test3", ("sub1", "sub2")), "test3value3"),
    (("^test4", ()), "test4"),
    *(
        entry
        for i in "123"
        for entry in (
            (("^test4", ("sub" + i,)), "test4sub" + i),
            *((("^test4", ("sub" + i, "subsub" + j)), "test4sub" + i + "subsub" + j) for j in "123"),
        )
    ),
    (("^test6", ("sub6", "subsub6")), "test6value"),
    (("^test7", (BAD[0],)), "test7value"),
    *((("^test7", (BAD[i], "sub7")), "test7sub%dvalue" % (i + 1)) for i in range(1, 4)),
)

WORLD = "你好世界".encode()
str2zwr_tests = [
    (b"X\0ABC", b'"X"_$C(0)_"ABC"', b'"X"_$C(0)_"ABC"'),
    (WORLD, b'"\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8"_$C(150)_"\xe7"_$C(149,140)', b'"' + WORLD + b'"'),
]


def execute(command, stdin=""):
    """Output and errors of a shell command."""
    process = subprocess.Popen(command, shell=True, stdin=-1, stdout=-1, stderr=-1)
    return process.communicate(stdin.encode())


def setup_db():
    """Remove all there is."""
    yottadb.lock()
    yottadb.delete_except(())
    names = list(yottadb.subscripts("^%"))
    for name in ["^%", *names]:
        yottadb.delete_tree(name)
    return {}


def teardown_db(_):
    """Nothing is left to do."""


def set_ci_environment(folder, table):
    """Where routines written in M would be; what the variables were."""
    before = {name: os.environ.get(name) for name in ("ydb_ci", "ydb_routines")}
    os.environ["ydb_ci"] = table
    os.environ["ydb_routines"] = folder + "/tests/m_routines"
    return before


def reset_ci_environment(before):
    """As they were."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def lock_value(node, parent, ready):
    """A process that holds a lock until it is interrupted, or its parent is gone."""
    if isinstance(node, yottadb.Node):
        name, subs = node._name, node._subsarray
    elif isinstance(node, str):
        name, subs = node, ()
    else:
        name, subs = node[0], node[1] if len(node) > 1 else ()
    try:
        yottadb.lock_incr(name, subs)
        ready.set()
        while os.getppid() == parent:
            time.sleep(0.05)
    except KeyboardInterrupt:
        pass
    yottadb.lock_decr(name, subs)
    sys.exit(0)


@pytest.fixture
def new_db():
    """An empty database."""
    yield setup_db()


@pytest.fixture
def simple_data(new_db):
    """And one with those values."""
    for (name, subs), value in SIMPLE_DATA:
        yottadb.set(name, subs, value)
    yield new_db
