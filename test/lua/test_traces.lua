-- LuaJIT compiles the hot paths: each loop here becomes a trace of its own, and no attempt fails.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n
local compiled = type(require("caret.core").ffi) == "table" and package.loaded["caret.ffi"]

TestTraces = {}

function TestTraces:setUp()
    lu.skipIf(not compiled, "nodes are the C module's here, not the FFI's")
    db, n = fixture.fresh()
end

function TestTraces:tearDown()
    if db then db:close() end
end

-- An attempt that begins in a function, before the loop around it was found to be hot, may end at its return.
-- Whatever else begins with NYI, or says blacklisted, would keep the loop from being compiled.
local function is_serious(text)
    return text:find("NYI", 1, true) == 1 and text ~= "NYI: return to lower frame" or
        text:find("blacklisted", 1, true)
end

-- What the compiler does while f(count) runs: what was serious about the traces that it
-- gave up, and whether a loop of the function `own` became one: a C function in it would end it.
local function watch(f, count, own)
    local vmdef, util = require "jit.vmdef", require "jit.util"
    local failed, looped, began = {}, false, {}
    local function note(what, trace, func, _, code, detail)
        if what == "start" then
            began[trace] = not code and func -- code: the trace that it goes on from
        elseif what == "abort" then
            local text = type(code) == "number" and vmdef.traceerr[code] or code
            text = text:gsub("%%[sdp]", tostring(detail))
            if is_serious(text) then failed[#failed + 1] = util.funcinfo(func).loc .. ": " .. text end
        elseif what == "stop" then
            looped = looped or began[trace] == own and util.traceinfo(trace).linktype == "loop"
        end
    end
    jit.attach(note, "trace")
    f(count)
    jit.attach(note)
    return failed, looped
end

-- f(count) is compiled without anything being in the way.  LuaJIT throws dice about when to try again.
local function assert_compiled(f, count)
    local failed, looped
    jit.flush()
    for _ = 1, 200 do
        failed, looped = watch(f, count or 300, f)
        lu.assertEquals(failed, {})
        if looped then return end
    end
    lu.fail("no trace of the loop")
end

function TestTraces:test_reading_one_node()
    local a = n.a
    a.__ = "value"
    assert_compiled(function(count) for _ = 1, count do local _ = a.__ end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a:get() end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a:__get() end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a:get("default") end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a.none:get("default") end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a:data() end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a:has_value() and a:has_tree() end end)
end

function TestTraces:test_numbers()
    local a = n.a
    assert_compiled(function(count) for _ = 1, count do a:incr() end end)
    assert_compiled(function(count) for i = 1, count do a:incr(-i) end end)
    assert_compiled(function(count) for _ = 1, count do local _ = a:number() end end)
end

function TestTraces:test_cursors()
    local c = n:cursor(1)
    local move, number, set = c.__move, c.__number, c.__set
    assert_compiled(function(count) for i = 1, count do c:move(i) end end)
    assert_compiled(function(count) for i = 1, count do move(c, i).__ = i end end)
    assert_compiled(function(count) for i = 1, count do local _ = number(move(c, i)) end end)
    assert_compiled(function(count) for i = 1, count do set(move(c, 2 * i), i) end end)
    local counted, calls = caret.counted(number)
    assert_compiled(function(count) for i = 1, count do local _ = counted(move(c, i)) end end)
    lu.assertTrue(calls() > 0)
end

function TestTraces:test_writing()
    local a = n.a
    assert_compiled(function(count) for i = 1, count do a.__ = i end end)
    assert_compiled(function(count) for i = 1, count do a.__ = i / 4 end end)
    assert_compiled(function(count) for _ = 1, count do a.__ = "text" end end)
    assert_compiled(function(count) for i = 1, count do a:set(i) end end)
    assert_compiled(function(count) for _ = 1, count do a:__set("text") end end)
end

function TestTraces:test_paths()
    assert_compiled(function(count) for _ = 1, count do local _ = n.a.b.c end end)
    assert_compiled(function(count) for _ = 1, count do n.a.b.c.__ = 1 end end)
    assert_compiled(function(count) for _ = 1, count do n.a.b.c:incr() end end)
    assert_compiled(function(count) for i = 1, count do local _ = n[i] end end)
    assert_compiled(function(count) for i = 1, count do n[i].__ = i end end)
    assert_compiled(function(count) for i = 1, count do local _ = n[i].__ end end)
    assert_compiled(function(count) for i = 1, count do local _ = n[i]:get() end end)
    assert_compiled(function(count) for i = 1, count do n[i].name.__ = "x" end end)
    assert_compiled(function(count) for i = 1, count do n[i].name:incr() end end)
    assert_compiled(function(count) for i = 1, count do n[i][i + 1].__ = i end end)
    assert_compiled(function(count) for i = 1, count do local _ = n(i):data() end end)
end

function TestTraces:test_moving()
    for i = 1, 1000 do n[i].__ = i end
    for i = 1, 300 do n["name" .. i].__ = i end
    assert_compiled(function(count)
        local sub = 0
        for _ = 1, count do sub = n:next(sub) end
    end)
    assert_compiled(function(count)
        local sub = 1001
        for _ = 1, count do sub = n:previous(sub) end
    end)
    assert_compiled(function() for _ in n:subscripts() do local _ = nil end end)
    assert_compiled(function() for _ in n:subscripts(true) do local _ = nil end end)
    assert_compiled(function() for _, _, _ in n:pairs() do local _ = nil end end)
end

function TestTraces:test_loops_around_iterators()
    for i = 1, 3 do n[i].__ = i end
    local failed = watch(function()
        for _ = 1, 500 do
            for _ in n:subscripts() do local _ = nil end
            for _ in n:pairs() do local _ = nil end
        end
    end)
    lu.assertEquals(failed, {})
end

function TestTraces:test_subclasses()
    local reads = 0
    local new, class, super = caret.inherit(db.node)
    function class:get()
        reads = reads + 1
        return super.get(self)
    end
    local c = new("^t")
    c.a.__ = 1
    assert_compiled(function(count) for _ = 1, count do local _ = c.a.__ end end)
    assert_compiled(function(count) for i = 1, count do local _ = c[i].__ end end)
    lu.assertTrue(reads >= 600)
end

function TestTraces:test_the_inner_loop_of_3n1()
    local step = n.step
    step[1].__ = 0
    local path = {} -- luacheck: ignore 241
    assert_compiled(function(start)
        local i, length, high = start, 0, 0
        local here = step[i]
        while i > 1 and not here.__ do
            length = length + 1
            path[length] = here
            i = i % 2 == 0 and i / 2 or 3 * i + 1
            if i > high then high = i end
            here = step[i]
        end
        for k = 1, length do path[k].__ = length - k + 1 end
    end, 837799) -- 524 steps
end

-- Without a compiler or the FFI nodes are those of the C module.
function TestTraces:test_the_ffi_can_be_missing()
    if not rawget(_G, "jit") then return end
    local text = [[local n = require("caret").open("]] .. fixture.path .. [[").node("^t")
        assert(type(n) == "userdata" and not package.loaded["caret.ffi"])
        n.x.__ = 5
        assert(n.x:get() == "5")]]
    local file = fixture.path .. ".lua"
    local function run(environment, option, first)
        local f = assert(io.open(file, "w"))
        f:write(first or "", text)
        f:close()
        lu.assertEquals(os.execute(("%s '%s' %s '%s'"):format(environment, arg[-1], option, file)), 0)
    end
    run("CARET_FFI=off", "")
    run("", "-joff")
    run("", "", "package.preload.ffi = function() return false end ")
    os.remove(file)
end

fixture.run()
