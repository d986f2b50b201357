"""Every function of the Python package yottadb, over Caret.  Prints a line for each case and then the counts."""
import os
import sys
import threading
import traceback

import yottadb
from yottadb import Key, Node, YDBError

passed = failed = 0


def check(what, ok):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("FAILED:", what)


def raises(what, code, f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except YDBError as e:
        check("%s: %s" % (what, e), yottadb.get_error_code(e) == code)
    else:
        check(what + " raises nothing", False)


def nodes_of(prefix):
    """With plain functions: global and local variables alike."""
    a = prefix + "a"
    yottadb.delete_tree(a)
    check("get of nothing", yottadb.get(a) is None)
    yottadb.set(a, ("1", "x"), "value")
    yottadb.set(a, (), b"root\x00\xff")
    check("get", yottadb.get(a, ("1", "x")) == b"value")
    check("binary", yottadb.get(a) == b"root\x00\xff")
    check("data", [yottadb.data(a), yottadb.data(a, ("1",)), yottadb.data(a, ("2",))] == [11, 10, 0])
    check("long value", (yottadb.set(a, ("long",), "v" * 70000), len(yottadb.get(a, ("long",))))[1] == 70000)
    check("31 subscripts", (yottadb.set(a, ("s",) * 31, "deep"), yottadb.get(a, ("s",) * 31))[1] == b"deep")
    check("incr", [yottadb.incr(a, ("n",)), yottadb.incr(a, ("n",), "1.5"), yottadb.incr(a, ("n",), -4)] == [b"1", b"2.5", b"-1.5"])
    check("subscript_next", yottadb.subscript_next(a, ("",)) == b"1" and yottadb.subscript_next(a, ("1",)) == b"long")
    check("subscript_previous", yottadb.subscript_previous(a, ("",)) == b"s")
    check("subscripts", list(yottadb.subscripts(a, ("",))) == [b"1", b"long", b"n", b"s"])
    check("subscripts backwards", list(reversed(yottadb.subscripts(a, ("",)))) == [b"s", b"n", b"long", b"1"])
    check("node_next", yottadb.node_next(a) == (b"1", b"x"))
    check("node_next of many", len(yottadb.node_next(a, ("n",))) == 31)
    check("node_previous", yottadb.node_previous(a, ("1", "x")) == ())
    check("nodes", [len(n) for n in yottadb.nodes(a)] == [0, 2, 1, 1, 31])
    yottadb.delete_tree(a, ("s",) * 31)  # the package can't go back from there
    check("nodes backwards", [len(n) for n in reversed(yottadb.nodes(a))] == [1, 1, 2, 0])
    yottadb.delete_node(a)
    check("delete_node", yottadb.get(a) is None and yottadb.data(a) == 10)
    long_sub = "k" * 300
    yottadb.set(a, (long_sub,), "")
    check("long subscript", yottadb.subscript_next(a, ("1",)) == long_sub.encode())
    yottadb.delete_tree(a)
    check("delete_tree", yottadb.data(a) == 0)
    try:
        yottadb.subscript_next(a, ("",))
        check("the end", False)
    except yottadb.YDBNodeEnd:
        check("the end", True)


def variables():
    yottadb.set("^va", (), "")
    yottadb.set("^vb", (), "")
    check("next variable", yottadb.subscript_next("^va") == b"^vb" and yottadb.subscript_previous("^vb") == b"^va")
    yottadb.set("keep", (), "1")
    yottadb.set("lose", (), "1")
    yottadb.delete_except(("keep",))
    check("delete_except", yottadb.get("keep") == b"1" and yottadb.get("lose") is None)
    check("release", "YottaDB" in yottadb.release())
    check("special variables", yottadb.get("$TLEVEL") == b"0" and b"YottaDB" in yottadb.get("$ZYRELEASE"))
    check("message", "GVUNDEF" in yottadb.message(yottadb.YDB_ERR_GVUNDEF))
    check("str2zwr", yottadb.str2zwr(b"a\nb") == b'"a"_$C(10)_"b"' and yottadb.zwr2str(b'"a"_$C(10)_"b"') == b"a\nb")
    check("constants", (yottadb.YDB_DEL_TREE, yottadb.YDB_MAX_STR, yottadb.YDB_NOTTP) == (1, 1048576, 0))
    yottadb.adjust_stdout_stderr()


def errors():
    raises("bad name", yottadb.YDB_ERR_INVVARNAME, yottadb.set, "^1", (), "")
    raises("special variable", yottadb.YDB_ERR_INVSVN, yottadb.get, "$nosuch")
    raises("not to be set", yottadb.YDB_ERR_SVNOSET, yottadb.set, "$JOB", (), "1")
    raises("overflow", yottadb.YDB_ERR_NUMOFLOW, yottadb.incr, "^big", (), "1E48")
    raises("time", yottadb.YDB_ERR_TIME2LONG, yottadb.lock_incr, "^l", (), yottadb.YDB_MAX_TIME_NSEC + 1)
    raises("ci", yottadb.YDB_ERR_CINOENTRY, yottadb.ci, "routine")
    raises("cip", yottadb.YDB_ERR_CINOENTRY, yottadb.cip, "routine")
    raises("open_ci_table", yottadb.YDB_ERR_CITABOPN, yottadb.open_ci_table, "table.ci")
    raises("switch_ci_table", yottadb.YDB_ERR_PARAMINVALID, yottadb.switch_ci_table, 5)


def other_process(f):
    """What f returns in a child, 0..255."""
    pid = os.fork()
    if pid == 0:
        os._exit(f())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def is_free(name, subs=()):
    def take():
        try:
            yottadb.lock_incr(name, subs)
            return 1
        except yottadb.YDBLockTimeoutError:
            return 0
    return other_process(take) == 1


def locks():
    yottadb.lock_incr("^lock", ("1",))
    check("lock_incr", not is_free("^lock") and is_free("^lock", ("2",)))
    yottadb.lock_decr("^lock", ("1",))
    check("lock_decr", is_free("^lock"))
    yottadb.lock((Node("^l1"), ("^l2", ("x",))), 1000000)
    check("lock", not is_free("^l1") and not is_free("^l2", ("x",)) and is_free("^l2", ("y",)))
    yottadb.lock()
    check("lock of none", is_free("^l1") and is_free("^l2"))
    Node("^l1").lock_incr()
    check("node.lock_incr", not is_free("^l1"))
    Node("^l1").lock_decr()
    Node("^l2").lock()
    check("node.lock", is_free("^l1") and not is_free("^l2"))
    yottadb.lock()


def transactions():
    def body(code):
        yottadb.set("^tp", (), "inside")
        return code
    check("commit", yottadb.tp(body, args=(yottadb.YDB_OK,), transid="BATCH") == yottadb.YDB_OK and yottadb.get("^tp") == b"inside")
    yottadb.set("^tp", (), "before")
    try:
        yottadb.tp(body, args=(yottadb.YDB_TP_ROLLBACK,))
        check("rollback", False)
    except yottadb.YDBTPRollback:
        check("rollback", yottadb.get("^tp") == b"before")

    def restarts():
        if yottadb.get("$TRESTART") == b"0":
            yottadb.set("seen", (), "changed")
            return yottadb.YDB_TP_RESTART
        return yottadb.YDB_OK if yottadb.get("seen") == b"as it was" else yottadb.YDB_TP_ROLLBACK
    yottadb.set("seen", (), "as it was")
    check("restart", yottadb.tp(restarts, names=("seen",)) == yottadb.YDB_OK)

    def bad():
        yottadb.set("^tp", (), "lost")
        raise ValueError("mine")
    try:
        yottadb.tp(bad)
        check("exception", False)
    except ValueError:
        check("exception", yottadb.get("^tp") == b"before")

    @yottadb.transaction
    def nested(depth):
        yottadb.set("^nested", (str(depth),), yottadb.get("$TLEVEL"))
        if depth < 5:
            nested(depth + 1)
    nested(1)
    check("nested", [yottadb.get("^nested", (str(i),)) for i in range(1, 6)] == [b"1", b"2", b"3", b"4", b"5"])


def conflicts():
    yottadb.set("^sum", (), "0")

    def add():
        n = int(yottadb.get("^sum"))
        yottadb.set("^sum", (), str(n + 1))

    def child():
        for _ in range(200):
            yottadb.transaction(add)()
        return 0
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            os._exit(child())
        pids.append(pid)
    ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    check("processes", ended == [0, 0, 0] and yottadb.get("^sum") == b"600")


def threads():
    def count():
        for _ in range(200):
            yottadb.incr("^threads")
            yottadb.incr("threads")
    all_threads = [threading.Thread(target=count) for _ in range(4)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    check("threads", yottadb.get("^threads") == b"800" and yottadb.get("threads") == b"800")


def objects():
    node = Node("^obj")
    node.delete_tree()
    node["a"].set("1")
    node["b"]["c"].value = "2"
    b = node["b"]
    b += 5
    b -= 2
    check("items", node["a"].get() == b"1" and node["b"]["c"].value == b"2" and node["b"].value == b"3")
    check("call", node("b", "c").value == b"2" and str(node("b", "c")) == "^obj('b','c')")
    check("properties", (node.name, node("b").leaf, node["a"].data, node["b"].data) == ("^obj", "b", 1, 11))
    check("has", node["a"].has_value and node["b"].has_both and not node["a"].has_subtree and node["z"].has_neither)
    check("children", [n.leaf for n in node] == [b"a", b"b"] and [n.leaf for n in reversed(node)] == [b"b", b"a"])
    check("subscripts", list(node.subscripts) == [b"a", b"b"])
    check("moves", node["a"].subscript_next() == b"b" and node["b"].subscript_previous() == b"a")
    check("incr", node["n"].incr(2) == b"2")
    check("parent", node["b"]["c"].parent == node["b"] and node["a"].copy() == node["a"])
    node["b"].delete_node()
    check("delete_node", node["b"].data == 10)
    tree = node.load_tree()
    check("load_tree", tree["b"]["c"]["value"] == "2")
    other = Node("^other")
    other.save_tree(tree)
    check("save_tree", other.load_tree() == tree)
    other.replace_tree({"x": {"value": "1"}})
    check("replace_tree", list(other.subscripts) == [b"x"])
    json = {"name": "oak", "rings": ["1", "2", "3"], "of": {"size": "big"}}
    Node("^json").save_json(json)
    check("json", Node("^json").load_json() == json)
    check("key", Key("^obj")["a"].value == b"1")


nodes_of("^")
nodes_of("")
for part in (variables, errors, locks, transactions, conflicts, threads, objects):
    try:
        part()
    except Exception as e:  # the others go on
        traceback.print_exc()
        check("%s: %r" % (part.__name__, e), False)
print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
