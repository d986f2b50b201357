-- The functions of the module yottadb: arguments, results, constants, errors.
local lu = require "luaunit"
local ydb = require "yottadb"
local caret = require "caret"
local fixture = require "fixture"
local list, code_of = fixture.list, fixture.code_of

ydb.set("$ZGBLDIR", fixture.path)

TestFunctions = {}

function TestFunctions:setUp()
    ydb.kill("^t")
    ydb.kill("t")
end

function TestFunctions:test_everything_is_there()
    for name in ([[node key inherit isnode get set incr data kill delete_node delete_tree lock lock_incr
        lock_decr grab release subscript_next subscript_previous subscripts node_next node_previous str2zwr
        zwr2str tp transaction trestart trollback dump get_error_code init block_M_signals ydb_eintr_handler
        require]]):gmatch "%S+" do
        lu.assertEquals(type(ydb[name]), "function", name)
    end
    lu.assertEquals(type(ydb._VERSION), "string")
    lu.assertNotNil(ydb.DELETE)
end

function TestFunctions:test_an_address_has_many_forms()
    ydb.set("^t", {1, "b"}, "v")
    for _, got in ipairs {
        ydb.get("^t", {1, "b"}) or 1, ydb.get("^t", 1, "b") or 2, ydb.get("^t", {1}, "b") or 3,
        ydb.get("^t", {"1"}, "b") or 4, ydb.get(ydb.node("^t"), 1, "b") or 5,
        ydb.get(ydb.node("^t", 1), {"b"}) or 6, ydb.get(ydb.node("^t")[1].b) or 7,
        ydb.get("^t", 2 / 2, "b") or 8, ydb.get(ydb.key("^t", {1}), "b") or 9,
    } do
        lu.assertEquals(got, "v")
    end
    lu.assertNil(ydb.get("^t"))
    lu.assertNil(ydb.get("^t", {}))
    ydb.set("^t", {}, "root")
    lu.assertEquals(ydb.get("^t", {}), "root")
    ydb.set(ydb.node("^t"), "again")
    lu.assertEquals(ydb.get("^t"), "again")
end

function TestFunctions:test_names_without_caret_are_local()
    ydb.set("t", 1, "here")
    lu.assertEquals(ydb.get("t", 1), "here")
    lu.assertNil(ydb.get("^t", 1))
    fixture.elsewhere "assert(db.node('t', 1).__ == nil)"
    ydb.set("^t", 1, "there")
    fixture.elsewhere "assert(db.node('^t', 1).__ == 'there')"
end

function TestFunctions:test_values_come_back_as_strings_written_by_lua()
    lu.assertEquals(ydb.set("^t", 5), 5)
    lu.assertEquals(ydb.get("^t"), "5")
    for _, v in ipairs {0.5, -2.25, 1e100, 2 ^ 60 + 0.0, 1 / 3} do
        lu.assertEquals(ydb.set("^t", 1, v), v)
        lu.assertEquals(ydb.get("^t", 1), tostring(v))
        ydb.node("^t", 2).__ = v
        lu.assertEquals(ydb.get("^t", 2), ydb.get("^t", 1))
    end
    lu.assertEquals(ydb.set("^t", 3.0), 3)
    lu.assertEquals(ydb.get("^t"), tostring(3.0))
    local bytes = {}
    for i = 0, 255 do bytes[i + 1] = string.char(i) end
    lu.assertEquals(ydb.set("^t", table.concat(bytes)), table.concat(bytes))
    lu.assertEquals(ydb.get("^t"), table.concat(bytes))
    ydb.set("^t", "")
    lu.assertEquals(ydb.get("^t"), "")
    lu.assertErrorMsgContains("boolean", ydb.set, "^t", true)
    lu.assertErrorMsgContains("#2 to 'set' (string expected, got no value)", ydb.set, "^t")
    ydb.set("^t", nil)
    lu.assertNil(ydb.get("^t"))
end

function TestFunctions:test_large_integers_are_exact()
    local big, digits = 2 ^ 53, "9007199254740992"
    if math.maxinteger then big, digits = math.maxinteger, "9223372036854775807" end
    ydb.set("^t", big, big)
    lu.assertEquals(ydb.get("^t", digits), digits)
end

function TestFunctions:test_incr_returns_text()
    lu.assertEquals(ydb.incr("^t"), "1")
    lu.assertEquals(ydb.incr("^t", 4), "5")
    lu.assertEquals(ydb.incr("^t", {1}), "1")
    lu.assertEquals(ydb.incr("^t", {1}, -3), "-2")
    lu.assertEquals(ydb.incr("^t", 1, 7), "5")
    for _, by in ipairs {0 / 0, 1 / 0, -1 / 0} do -- as text, which has no digits
        lu.assertEquals(ydb.incr("^t", 1, by), "5")
        lu.assertEquals(ydb.node("^t", 1):incr(by), "5")
    end
    lu.assertEquals(ydb.incr("^t", "x", "y", ".5"), ".5")
    lu.assertEquals(ydb.incr("^t", "x", "y", 0.25), ".75")
    lu.assertEquals(ydb.incr(ydb.node("^t", 1)), "6")
    lu.assertEquals(ydb.incr("^t", {"exact"}, "123456789012345678"), "123456789012345678")
    lu.assertEquals(ydb.incr("^t", {"cut"}, "1234567890123456789"), "1234567890123456780")
    ydb.set("^t", "cut", "999999999999999999")
    lu.assertEquals(ydb.incr("^t", {"cut"}, ".6"), "999999999999999999")
    lu.assertEquals((ydb.node("^t", "cut") + "1.6").__, "1000000000000000000")
    ydb.set("^t", "cut", "9E46")
    lu.assertErrorMsgContains("NUMOFLOW", ydb.incr, "^t", {"cut"}, "1E46")
    lu.assertEquals(ydb.incr("^t", {"word"}, "five"), "0")
    lu.assertEquals(ydb.incr("^t", {"word"}, ""), "1") -- no increment at all
    lu.assertEquals(ydb.node("^t", "word"):incr(""), "2")
    lu.assertEquals(ydb.incr("^t", {"exact"}), "123456789012345679")
    ydb.set("^t", "oaks", "12 oaks")
    lu.assertEquals(ydb.incr("^t", {"oaks"}), "13")
    ydb.set("^t", "9E46")
    lu.assertEquals(code_of(ydb.incr, "^t", "9E46"), ydb.YDB_ERR_NUMOFLOW)
end

function TestFunctions:test_data_kill_and_delete()
    lu.assertEquals(ydb.data("^t"), ydb.YDB_DATA_UNDEF)
    ydb.set("^t", 1, "a", "v")
    lu.assertEquals(ydb.data("^t", {1}), ydb.YDB_DATA_NOVALUE_DESC)
    ydb.set("^t", {1}, "v")
    lu.assertEquals(ydb.data("^t", 1), ydb.YDB_DATA_VALUE_DESC)
    lu.assertEquals(ydb.data("^t", 1, "a"), ydb.YDB_DATA_VALUE_NODESC)
    ydb.delete_node("^t", {1})
    lu.assertEquals(ydb.data("^t", 1), 10)
    ydb.kill("^t", 1, "a")
    lu.assertEquals(ydb.data("^t"), 0)
    ydb.set("^t", 1, "a", "v")
    ydb.set("^t", 2, "v")
    ydb.delete_tree("^t", {1})
    lu.assertEquals({ydb.data("^t", 1), ydb.data("^t", 2)}, {0, 1})
    ydb.delete_node(ydb.node("^t")[2])
    ydb.kill(ydb.node("^t"))
    lu.assertEquals(ydb.data("^t"), 0)
end

-- ------------------------------------------------------------------ moving

function TestFunctions:test_subscript_next_goes_to_siblings()
    for _, sub in ipairs {10, 9, -1, "b", "a", 1.5} do ydb.set("^t", sub, 1) end
    ydb.set("^t", "a", "below", 1)
    local seen, sub = {}, ""
    repeat
        sub = ydb.subscript_next("^t", {sub})
        seen[#seen + 1] = sub
    until sub == nil
    lu.assertEquals(seen, {"-1", "1.5", "9", "10", "a", "b"})
    seen, sub = {}, ""
    repeat
        sub = ydb.subscript_previous("^t", {sub})
        seen[#seen + 1] = sub
    until sub == nil
    lu.assertEquals(seen, {"b", "a", "10", "9", "1.5", "-1"})
    lu.assertEquals(ydb.subscript_next("^t", 9), "10")
    lu.assertEquals(ydb.subscript_next("^t", 9.5), "10")
    lu.assertEquals(ydb.subscript_next("^t", {"a"}, ""), "below")
    lu.assertEquals(ydb.subscript_next(ydb.node("^t").a), "b")
    lu.assertNil(ydb.subscript_next("^t", "zz"))
    lu.assertNil(ydb.subscript_previous("^t", "nothing", ""))
end

function TestFunctions:test_the_empty_subscript_begins_and_ends_the_siblings()
    ydb.set("^t", "", 1)
    ydb.set("^t", "a", 1)
    lu.assertEquals(ydb.subscript_next("^t", {""}), "a")
    lu.assertEquals(ydb.subscript_previous("^t", {""}), "a")
    lu.assertNil(ydb.subscript_previous("^t", {"a"}))
    lu.assertEquals(list(ydb.subscripts("^t", {""})), {"a"})
    lu.assertEquals(list(ydb.node("^t"):subscripts()), {"", "a"})
end

function TestFunctions:test_without_subscripts_it_goes_to_variables()
    ydb.set("^t", 1)
    ydb.set("^u", 1, 1)
    lu.assertEquals(ydb.subscript_next("^t"), "^u")
    lu.assertEquals(ydb.subscript_previous("^u"), "^t")
    lu.assertEquals(ydb.subscript_next("^%"), "^t")
    lu.assertEquals(list(ydb.subscripts("^%")), {"^t", "^u"})
    lu.assertEquals(list(ydb.subscripts("^zz", true)), {"^u", "^t"})
    ydb.set("t", 1)
    lu.assertEquals(ydb.subscript_next("s"), "t")
    ydb.kill("^u")
end

function TestFunctions:test_subscripts_iterates_siblings()
    for i = 1, 4 do ydb.set("^t", i, "v") end
    lu.assertEquals(list(ydb.subscripts("^t", {""})), {"1", "2", "3", "4"})
    lu.assertEquals(list(ydb.subscripts("^t", {2})), {"3", "4"})
    lu.assertEquals(list(ydb.subscripts("^t", 3, false)), {"4"})
    lu.assertEquals(list(ydb.subscripts("^t", {3}, true)), {"2", "1"})
    lu.assertEquals(list(ydb.subscripts("^t", {""}, true)), {"4", "3", "2", "1"})
    lu.assertEquals(list(ydb.subscripts(ydb.node("^t", 3))), {"4"})
    lu.assertEquals(list(ydb.subscripts("^t", {9})), {})
    lu.assertEquals(list(ydb.subscripts("^t", {1, ""}, true)), {})
    local seen = {}
    for sub in ydb.subscripts("^t", {""}) do -- killing what is walked
        seen[#seen + 1] = sub
        ydb.kill("^t", sub + 1)
    end
    lu.assertEquals(seen, {"1", "3"})
end

function TestFunctions:test_node_next_walks_the_variable()
    ydb.set("^t", "root")
    ydb.set("^t", 1, "a", "v")
    ydb.set("^t", 1, "b", 2, "v")
    ydb.set("^t", 10, "v")
    local seen, subs = {}, ydb.node_next("^t")
    while subs do
        seen[#seen + 1] = subs
        subs = ydb.node_next("^t", subs)
    end
    lu.assertEquals(seen, {{"1", "a"}, {"1", "b", "2"}, {"10"}})
    lu.assertEquals(ydb.node_previous("^t", "10"), {"1", "b", "2"})
    lu.assertEquals(ydb.node_previous("^t", {1, "b", 2}), {"1", "a"})
    lu.assertEquals(ydb.node_previous("^t", 1, "a"), {})
    lu.assertNil(ydb.node_previous("^t"))
    lu.assertEquals(ydb.node_next(ydb.node("^t")[1].b), {"1", "b", "2"})
    lu.assertNil(ydb.node_next("^none"))
end

-- -------------------------------------------------------------------- text

function TestFunctions:test_zwr_text()
    lu.assertEquals(ydb.str2zwr("X\0ABC"), '"X"_$C(0)_"ABC"')
    lu.assertEquals(ydb.str2zwr('say "oak"'), '"say ""oak"""')
    lu.assertEquals(ydb.str2zwr("\195\169\10"), '"\195\169"_$C(10)')
    lu.assertEquals(ydb.str2zwr("\133"), "$C(133)") -- bytes, as $ydb_chset says M
    for _, number in ipairs {"208", "-.5", "0", "1000000000000000000", "99999999999999999900000"} do
        lu.assertEquals(ydb.str2zwr(number), number) -- a number as M writes it stands for itself
    end
    for _, word in ipairs {"0.5", "01", "-0", "1E5", "", ".50", "1234567890123456789"} do
        lu.assertEquals(ydb.str2zwr(word), '"' .. word .. '"')
    end
    lu.assertEquals(ydb.str2zwr(5), "5")
    lu.assertEquals(ydb.zwr2str('"X"_$C(0)_"ABC"'), "X\0ABC")
    local long = ("\1a"):rep(5000)
    lu.assertEquals(ydb.zwr2str(ydb.str2zwr(long)), long)
    lu.assertEquals(ydb.zwr2str("-.5"), "-.5")
    lu.assertEquals(ydb.zwr2str('"a"_'), "a")
    for _, wrong in ipairs {"word", "$X(1)", '"a"b', "$C()", "$CHAR(65)", "$ZCHAR(200,201)", "$C(256)"} do
        lu.assertEquals(ydb.zwr2str(wrong), "")
    end
end

function TestFunctions:test_dump()
    ydb.set("^t", 1, "a", "x\ty")
    ydb.set("^t", 2, 5)
    lu.assertEquals(ydb.dump("^t"), '^t(1,"a")="x"_$C(9)_"y"\n^t(2)=5')
    lu.assertEquals(ydb.dump("^t", {1}), '^t(1,"a")="x"_$C(9)_"y"')
    lu.assertEquals(ydb.dump("^t", "2"), '^t(2)=5')
    lu.assertStrContains(ydb.dump("^t", 1), '"y"\n...etc')
    lu.assertEquals(ydb.dump(ydb.node("^t")[2]), '^t(2)=5')
    lu.assertNil(ydb.dump("^none"))
    lu.assertNil(ydb.node("^none"):dump())
    ydb.set("^t", 2, "\133", "\255\195\128") -- bytes, as str2zwr() has them
    lu.assertEquals(ydb.dump("^t", 2, 9), '^t(2)=5\n^t(2,$C(133))=$C(255)_"\195"_$C(128)')
    local child = ydb.node("^t")[2]["\133"]
    lu.assertEquals(tostring(child) .. "=" .. ydb.str2zwr(child.__), child:dump())
end

-- ------------------------------------------------------------------ errors

function TestFunctions:test_constants()
    local expected = {
        YDB_OK = 0, YDB_TP_RESTART = 2147483646, YDB_TP_ROLLBACK = 2147483645, YDB_NOTOK = 2147483644,
        YDB_LOCK_TIMEOUT = 2147483643, YDB_DEFER_HANDLER = 2147483642, YDB_DEL_TREE = 1, YDB_DEL_NODE = 2,
        YDB_DATA_UNDEF = 0, YDB_DATA_VALUE_NODESC = 1, YDB_DATA_NOVALUE_DESC = 10, YDB_DATA_VALUE_DESC = 11,
        YDB_MAX_IDENT = 31, YDB_MAX_NAMES = 35, YDB_MAX_STR = 1048576, YDB_MAX_SUBS = 31,
        YDB_ERR_GVUNDEF = -150372994, YDB_ERR_LVUNDEF = -150373850, YDB_ERR_INVVARNAME = -151027762,
        YDB_ERR_VARNAME2LONG = -151027842, YDB_ERR_MAXNRSUBSCRIPTS = -150373282,
        YDB_ERR_NUMOFLOW = -150373506, YDB_ERR_NODEEND = -151027922, YDB_ERR_INVSVN = -150373074,
        YDB_ERR_TPTIMEOUT = -150377322,
        YDB_ERR_ZGBLDIRACC = -418809578, YDB_ERR_TIME2LONG = -151027834, YDB_ERR_SVNOSET = -150373770,
        YDB_ERR_KEY2BIG = -150373178, YDB_ERR_PARAMINVALID = -151027770, YDB_ERR_UNIMPLOP = -150373858,
        YDB_SEVERITY_FATAL = 4, YDB_MAX_TIME_NSEC = 2147483647000000, YDB_RELEASE = 206,
    }
    for name, value in pairs(expected) do lu.assertEquals(ydb[name], value, name) end
end

function TestFunctions:test_errors_are_strings_with_codes()
    local code, text = code_of(ydb.get, "1x")
    lu.assertEquals(code, ydb.YDB_ERR_INVVARNAME)
    lu.assertStrMatches(text, "YDB Error: %-151027762: %%YDB%-E%-INVVARNAME, .+")
    lu.assertEquals(ydb.get("$ZSTATUS"):match "^.-, ?", "151027762,")
    lu.assertEquals(code_of(ydb.set, "^" .. ("x"):rep(32), 1), ydb.YDB_ERR_VARNAME2LONG)
    lu.assertEquals(code_of(ydb.node, ""), ydb.YDB_ERR_INVVARNAME)
    local subs = {}
    for i = 1, 32 do subs[i] = i end
    lu.assertEquals(code_of(ydb.get, "^t", subs), ydb.YDB_ERR_MAXNRSUBSCRIPTS)
    lu.assertEquals(code_of(ydb.data, "^t", ("x"):rep(2000)), ydb.YDB_ERR_GVSUBOFLOW)
    lu.assertEquals(code_of(function() return ydb.node("^t")[("x"):rep(2000)] end), ydb.YDB_ERR_GVSUBOFLOW)
    lu.assertEquals(code_of(ydb.set, "^t", ("x"):rep(2 ^ 24 + 1)), ydb.YDB_ERR_REC2BIG)
    lu.assertEquals(code_of(ydb.set, "$ZGBLDIR", "/dev/null"), ydb.YDB_ERR_ZGBLDIRACC)
    lu.assertEquals(code_of(ydb.require, "no/arithmetic.ci"), ydb.YDB_ERR_CITABOPN)
    lu.assertEquals(code_of(ydb.require, "/"), ydb.YDB_ERR_CITABOPN)
end

-- As ydb_ci's reader refuses them, which is compared with GT.M.
function TestFunctions:test_call_in_tables_that_are_wrong()
    local wrong = {
        [": long* f^r()"] = "CIRCALLNAME", ["f-g: long* f^r()"] = "COLON", ["f: foo* f^r()"] = "CIRTNTYP",
        ["f: void* f^r()"] = "CIRTNTYP", ["f: long** f^r()"] = "CIRTNTYP", ["f: long* ()"] = "CIENTNAME",
        ["f: long* f^r"] = "CIENTNAME", ["f: long* f^r+1()"] = "CIRPARMNAME",
        ["f: long* f^r(i:long)"] = "CIDIRECTIVE", ["f: long* f^r(long)"] = "CIDIRECTIVE",
        ["f: long* f^r(I:long,)"] = "CIDIRECTIVE", ["f: long* f^r(I:foo)"] = "CIUNTYPE",
        ["f: long* f^r(I:void)"] = "CIUNTYPE", ["f: long* f^r(I:ydb_char_t)"] = "CIUNTYPE",
        ["f: long* f^r(I:long O:long)"] = "CIRPARMNAME", ["f: long* f^r(I:long"] = "CIRPARMNAME",
        ["f: long* f^r(O:long)"] = "CIPARTYPE",
    }
    for line, name in pairs(wrong) do
        lu.assertEquals(code_of(ydb.require, line), ydb["YDB_ERR_" .. name], line)
    end
    local right = {"f : gtm_long_t*f^r ( I : long ) x", "f:string[9] ^r( )", "%f: void r(IO:char*[2])"}
    for _, line in ipairs(right) do
        lu.assertIsFunction(ydb.require(line)[line:match "%%?%a"])
    end
end

function TestFunctions:test_get_error_code_takes_anything()
    lu.assertEquals(ydb.get_error_code("prog.lua:5: YDB Error: -150372994: %YDB-E-GVUNDEF, x"), -150372994)
    lu.assertNil(ydb.get_error_code("attempt to index nil"))
    lu.assertNil(ydb.get_error_code(nil))
    lu.assertNil(ydb.get_error_code({}))
end

function TestFunctions:test_wrong_types_blame_the_caller()
    for _, f in ipairs {
        function() ydb.get() end, function() ydb.get(5) end, function() ydb.get("^t", nil) end,
        function() ydb.get("^t", {}, true) end, function() ydb.set(nil, 1) end,
        function() ydb.kill("^t", nil) end, function() ydb.subscripts() end,
        function() ydb.incr({}) end, function() ydb.node_next(print) end, function() ydb.lock(5) end,
        function() ydb.lock_incr("^t", {}, "soon") end, function() ydb.tp(5) end,
        function() ydb.node("^t"):settree(5) end, function() ydb.node("^t").x = 1 end,
    } do
        local ok, err = pcall(f)
        lu.assertFalse(ok)
        lu.assertStrContains(err, "test_yottadb.lua:")
    end
end

function TestFunctions:test_errors_of_caret_stay_its_own()
    local db = caret.open(fixture.path)
    local ok, err = pcall(db.incr, db, "^t", "9E99")
    lu.assertStrContains(select(2, pcall(ydb.incr, "^t", "9E99")), "Numeric overflow")
    lu.assertFalse(ok)
    lu.assertEquals(err.name, "NUMOFLOW")
    lu.assertErrorMsgContains("NAME: ", db.get, db, "1x")
    db:close()
end

function TestFunctions:test_what_there_is_no_need_for()
    lu.assertNil(ydb.init())
    lu.assertNil(ydb.block_M_signals(true))
    lu.assertEquals(ydb.ydb_eintr_handler(), 0)
end

fixture.run(function() require("yottadb.database").current():close() end)
