-- The module _yottadb, which has the names of the C part of lua-yottadb.
local lu = require "luaunit"
local c = require "_yottadb"
local ydb = require "yottadb"
local fixture = require "fixture"
local code_of = fixture.code_of

ydb.set("$ZGBLDIR", fixture.path)

TestC = {}

function TestC:setUp()
    ydb.kill("^t")
    c.delete_excl {}
end

function TestC:test_everything_is_there()
    for name in ([[get set delete delete_excl data incr lock lock_incr lock_decr tp subscript_next
        subscript_previous node_next node_previous str2zwr zwr2str message init block_M_signals
        ydb_eintr_handler ci_tab_open register_routine cip cachearray_create cachearray_fromtable
        cachearray_append cachearray_tomutable cachearray_subst cachearray_flatten cachearray_depth
        cachearray_subscript cachearray_tostring]]):gmatch "%S+" do
        lu.assertEquals(type(c[name]), "function", name)
    end
    for name, value in pairs(ydb) do
        if name:find "^YDB_" then lu.assertEquals(c[name], value, name) end
    end
    lu.assertEquals(code_of(c.ci_tab_open, "x.ci"), ydb.YDB_ERR_UNIMPLOP)
end

function TestC:test_m_is_called_by_the_module()
    for _, name in ipairs {"ci_tab_open", "register_routine", "cip"} do
        lu.assertErrorMsgContains("M is called by yottadb.require", c[name], "hello")
    end
end

function TestC:test_data()
    lu.assertEquals(c.set("t", {"a", 1}, "v"), "v")
    lu.assertEquals({c.get("t", {"a", 1}), c.get("t", "a", 1), c.get("t") or "none"}, {"v", "v", "none"})
    lu.assertEquals({c.data("t"), c.data("t", {"a", 1}), c.data("none")}, {10, 1, 0})
    lu.assertEquals({c.incr("t", {"n"}), c.incr("t", {"n"}, 2), c.incr("t", {"n"}, "")}, {"1", "3", "4"})
    lu.assertEquals({c.subscript_next("t", {""}), c.subscript_next("t", {"a"})}, {"a", "n"})
    lu.assertNil(c.subscript_next("t", {"n"}))
    lu.assertEquals({c.node_next("t"), c.node_previous("t", {"n"})}, {{"a", "1"}, {"a", "1"}})
end

function TestC:test_delete()
    for _, case in ipairs {{{c.YDB_DEL_NODE}, 10}, {{}, 10}, {{c.YDB_DEL_TREE}, 0}} do
        c.set("t", {"a"}, 1)
        c.set("t", {"a", "b"}, 1)
        c.delete("t", {"a"}, case[1][1])
        lu.assertEquals(c.data("t", {"a"}), case[2])
    end
    c.set("t", 1)
    c.delete("t", c.YDB_DEL_NODE)
    lu.assertEquals(c.data("t"), 0)
end

function TestC:test_delete_excl()
    for _, name in ipairs {"a", "b", "c"} do c.set(name, {1}, 1) end
    c.set("^t", 1)
    c.delete_excl {"b", "none"}
    lu.assertEquals({c.data("a"), c.data("b"), c.data("c"), c.data("^t")}, {0, 10, 0, 1})
    c.delete_excl()
    lu.assertEquals({c.data("b"), c.data("^t")}, {0, 1})
    lu.assertEquals(code_of(c.delete_excl, {"1"}), ydb.YDB_ERR_INVVARNAME)
end

function TestC:test_messages()
    lu.assertStrContains(c.message(c.YDB_ERR_NUMOFLOW), "%YDB-E-NUMOFLOW, Numeric overflow")
    lu.assertEquals(c.message(-c.YDB_ERR_NUMOFLOW), c.message(c.YDB_ERR_NUMOFLOW))
end

function TestC:test_transactions()
    lu.assertEquals(code_of(c.tp, function() c.set("^t", 1); return c.YDB_TP_ROLLBACK end), c.YDB_TP_ROLLBACK)
    lu.assertEquals(c.data("^t"), 0)
    c.tp("BATCH", {"a"}, c.set, "^t", "from C")
    lu.assertEquals(c.get("^t"), "from C")
end

function TestC:test_cachearrays()
    local a = c.cachearray_create("^t", 1, "b")
    lu.assertEquals({c.cachearray_tostring(a), c.cachearray_depth(a)}, {'^t(1,"b")', 2})
    lu.assertEquals(c.cachearray_flatten(a), {"1", "b"})
    for i, sub in pairs {[0] = "^t", "1", "b", [-1] = "b", [-2] = "1"} do
        lu.assertEquals(c.cachearray_subscript(a, i), sub)
    end
    lu.assertNil(c.cachearray_subscript(a, 3))
    lu.assertNil(c.cachearray_subscript(a, -3))
    for _, same in ipairs {c.cachearray_fromtable {"^t", 1, "b"}, c.cachearray_fromtable("^t", {1, "b"}),
        c.cachearray_append(c.cachearray_create("^t"), 1, "b"), c.cachearray_create(a)} do
        lu.assertTrue(same == a)
    end
    c.set(a, "v")
    lu.assertEquals({c.get(a), ydb.node(a).__, ydb.get("^t", 1, "b")}, {"v", "v", "v"})
    c.lock({a}, 0)
    c.lock()
end

function TestC:test_mutable_cachearrays()
    local a = c.cachearray_create("^t", 1, "b")
    local m = c.cachearray_tomutable(a)
    lu.assertTrue(m == a)
    lu.assertIs(c.cachearray_subst(m, "c"), m)
    lu.assertEquals({c.cachearray_tostring(m), c.cachearray_tostring(a)}, {'^t(1,"c")', '^t(1,"b")'})
    local other = c.cachearray_subst(a, 5) -- a copy
    lu.assertEquals({c.cachearray_tostring(other), c.cachearray_tostring(a)}, {"^t(1,5)", '^t(1,"b")'})
    c.set(m, "moved")
    lu.assertEquals(ydb.get("^t", 1, "c"), "moved")
    lu.assertEquals(code_of(c.cachearray_subst, c.cachearray_create("^t"), 1), ydb.YDB_ERR_INSUFFSUBS)
end

function TestC:test_methods_by_name()
    local n = ydb.node("^t", 1)
    for name in ([[get set incr kill lock lock_incr lock_decr grab release subscripts pairs settree gettree
        dump name varname depth data has_value has_tree ismutable subsarray delete_node]]):gmatch "%S+" do
        lu.assertEquals(type(ydb._node[name]), "function", name)
        lu.assertIs(ydb._node["__" .. name], ydb._node[name])
    end
    ydb._node.set(n, 5)
    lu.assertEquals({ydb._node.__get(n), ydb._node.name(n), ydb._node.__repr(n)}, {"5", "1", "^t(1)"})
end

fixture.run(function() require("yottadb.database").current():close() end)
