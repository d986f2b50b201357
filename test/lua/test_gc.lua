-- Memory: what keeps what alive, what is collected, what allocates nothing.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestGc = {}

function TestGc:setUp()
    db, n = fixture.fresh()
end

function TestGc:tearDown()
    db:close()
end

local allocated = fixture.allocated

function TestGc:test_many_children_do_not_grow_memory()
    local function loops()
        for i = 1, fixture.times(60000) do local _ = n["k" .. i][i] end
        for i = 1, fixture.times(10000) do n[i]:get() end
        for i = 1, fixture.times(10000) do n("c" .. i):data() end
    end
    loops() -- Lua's own table of strings has its size now
    local before = fixture.memory()
    loops()
    lu.assertTrue(fixture.memory() < before + 20000)
end

function TestGc:test_remembered_children_of_many_levels_go()
    local before = fixture.memory()
    for i = 1, fixture.times(40) do
        for j = 1, 40 do
            for k = 1, 40 do local _ = n["a" .. i]["b" .. j]["c" .. k] end
        end
    end
    lu.assertTrue(fixture.memory() < before + 20000)
end

function TestGc:test_a_path_outlives_the_next_collection_but_not_many()
    local weak = setmetatable({}, {__mode = "v"})
    local function walk() return n.newest.of.all.paths end
    collectgarbage("stop") -- but for the collections below
    for _ = 1, 4 do walk() end
    weak[1] = walk()
    collectgarbage()
    lu.assertTrue(rawequal(weak[1], walk()))
    fixture.memory()
    lu.assertNil(weak[1])
    for i = 1, 1000 do local _ = n.many["child" .. i] end -- only some of them are held
    for i = 1, 1000 do weak[i] = n.many["child" .. i] end
    collectgarbage()
    collectgarbage("restart")
    local held = 0
    for _ in pairs(weak) do held = held + 1 end
    lu.assertTrue(held > 0 and held <= 64, held)
end

function TestGc:test_iterators_are_collected()
    for i = 1, 3 do n[i].__ = i end
    local before = fixture.memory()
    for _ = 1, fixture.times(3000) do
        for child in n:pairs() do local _ = child:name() end
        n:subscripts()()
    end
    lu.assertTrue(fixture.memory() < before + 20000)
end

function TestGc:test_paths_through_nodes_allocate_nothing()
    local a = n.a
    a.__ = "v"
    local x
    local function loop(f)
        return function() for _ = 1, 200 do f() end end
    end
    lu.assertTrue(allocated(loop(function() x = a.__ end)) < 200)
    lu.assertTrue(allocated(loop(function() x = a:get() end)) < 200)
    lu.assertTrue(allocated(loop(function() a.__ = "w" end)) < 200)
    lu.assertTrue(allocated(loop(function() a:set("w") end)) < 200)
    lu.assertTrue(allocated(loop(function() a.__ = 5 end)) < 200)
    lu.assertTrue(allocated(loop(function() a:incr() end)) < 200)
    lu.assertTrue(allocated(loop(function() a:number() end)) < 200)
    lu.assertTrue(allocated(loop(function() x = n.a.b.c.d.__ end)) < 200)
    lu.assertNil(x)
end

-- Bytes for each call of f.
local function each(f)
    return allocated(function() for _ = 1, 200 do f() end end) / 200
end

function TestGc:test_no_call_allocates_anything_of_its_own()
    local a, list = n.a, n.list
    for i = 1, 9 do list[i].__ = i end
    local add = db:transaction(function() a:incr() end)
    local pass = db:transaction("BATCH", function(x, y) return x, y end)
    local function body() a:set("x") end
    local locals, locks = {"v", "*"}, {n.a, {"^t", "b", 3}}
    local calls = {
        function() a.__ = 1.5 end, function() return a.__ end, function() return a:number() end,
        function() return a:incr(0.5) end, function() return a:incr(-0.25) end, function() return a + 0.5 end,
        function() return a:data(), a:has_value(), a:has_tree(), a:__data() end,
        function() return list:next(3), list:previous(3), list:next(), list:previous() end,
        function() return a:name(), a:varname(), a:depth(), tostring(a) end,
        function() return a == n.b, a:ismutable(), caret.isnode(a) end,
        function() a:grab(0) a:release() end, function() a:lock(0) end,
        function() db:lock(locks, 0) end, function() db:lock() end,
        function() add() end, function() return pass(a, 5) end,
        function() db:tp(body) end, function() db:tp("BATCH", locals, body) end, function() db:tp(add) end,
        function() db:set("^t", "list", 7, 7) end, function() return db:get("^t", "list", 7) end,
        function() return db:incr("^t", "a", 1), db:data("^t") end,
        function() a:delete() a:kill() db:kill("^t", "c") db:delete("^t", "c") end,
    }
    for i, f in ipairs(calls) do
        lu.assertTrue(each(f) < 1, "call " .. i)
    end
end

function TestGc:test_steps_of_iterators_allocate_nothing()
    local list = n.list
    for i = 1, 500 do list[i].__ = i end
    for _, name in ipairs {"subscripts", "pairs", "range", "walk"} do
        local function start() return list["__" .. name](list) end
        local step = start()
        lu.assertTrue(each(function() step() end) < 1, name)
        lu.assertTrue(each(start) < 500, name) -- a closure and a cursor, which is small
    end
end

function TestGc:test_a_node_keeps_its_database_open()
    local node -- all that is left of it
    do
        local other = fixture.open()
        node = other.node("^t").kept.deeper
        node.__ = 1
    end
    local step = node:subscripts()
    fixture.memory()
    lu.assertEquals(node.__, "1")
    lu.assertEquals(node[1].x:data(), 0)
    lu.assertNil(step())
end

function TestGc:test_a_forgotten_database_is_closed()
    local locked
    do
        local other = fixture.open()
        locked = other.node("^t").l:grab(0)
        local _ = other.node("^t").cached.children[3]
    end
    lu.assertTrue(locked)
    fixture.memory()
    lu.assertTrue((n.l:grab(0))) -- its locks are free: it was collected
    n.l:release()
end

function TestGc:test_forgotten_classes_are_collected()
    local weak = setmetatable({}, {__mode = "k"})
    for _ = 1, 50 do
        local new, class = caret.inherit(db.node)
        function class:get() return self end
        local _ = new("^t").a.b
        weak[class] = true
    end
    fixture.memory()
    lu.assertNil(next(weak))
end

-- Objects whose finalizers read and set other nodes, and make such an object again.
local function disturb(work, state)
    local function finalizer()
        if not state.on then return end
        state.runs = state.runs + 1
        work()
        disturb(work, state)
    end
    if rawget(_G, "newproxy") then
        getmetatable(newproxy(true)).__gc = finalizer
    else
        setmetatable({}, {__gc = finalizer})
    end
end

function TestGc:test_finalizers_may_use_the_database()
    local state = {on = true, runs = 0}
    for i = 1, 100 do
        n[i].__, n[i].name.__, n[i]["text" .. i].__ = i, "name" .. i, "text" .. i
        n[i].long.__ = ("long"):rep(200 + i)
    end
    disturb(function()
        local _ = n[7].name.__ .. n[8].text8.__ .. n[9].long.__
        n.other.deep[state.runs % 10].__ = state.runs
        for _, v in n:pairs() do local _ = v end
    end, state)
    local kept -- luacheck: ignore 231
    local function same(got, want)
        kept = {got, want}
        if got ~= want then lu.fail(("%.40s instead of %.40s"):format(tostring(got), tostring(want))) end
    end
    for _ = 1, fixture.times(400) do
        for i = 1, 100 do
            local node = n[i]
            same(node.__, tostring(i))
            same(node:number(), i)
            same(n[i].name.__, "name" .. i)
            same(node["text" .. i].__, "text" .. i)
            same(n[i].long.__, ("long"):rep(200 + i))
            same(n:next(i - 1), i)
        end
        for child, value, sub in n:pairs() do
            if type(sub) == "number" then
                same(value, tostring(sub))
                same(child:next(), "long")
            end
        end
    end
    state.on = false
    lu.assertTrue(state.runs > 3)
end

-- LuaJIT runs finalizers wherever it leaves a trace: between the making of a key and its use, too.
function TestGc:test_finalizers_may_use_the_database_in_the_midst_of_a_use()
    local state = {on = true, runs = 0}
    disturb(function()
        local child = n.other[state.runs % 7]
        child.__ = state.runs
        local _ = child:get(), n.other:next(3) -- luacheck: ignore 531
        for _, value in n.other:pairs() do local _ = value end
        db:tp(function() n.other:incr() end)
    end, state)
    for i = 1, 50 do n.list[i].__ = i end
    local function same(what, got, want)
        if got ~= want then error(("%s: %s instead of %s"):format(what, tostring(got), want), 0) end
    end
    local jit = rawget(_G, "jit")
    local pace = jit and collectgarbage("setstepmul", 200)
    local ok, err = pcall(function()
        for i = 1, jit and 2000 or fixture.times(2000) do
            local j, key = i % 50 + 1, "some" .. i
            local node = n.list[j]
            same("read", n.list[j].__, tostring(j))
            n.list[j].deep(key).__ = key
            same("written", n.list[j].deep[key]:get(), key)
            same("next", node.deep:next("a"), key)
            for _, value, sub in node.deep:pairs() do same("pairs", value, sub) end
            node.deep:kill()
            for _, value, sub in n.list:range {to = 50} do same("range", value, tostring(sub)) end
            same("gettree", #n.list:gettree(1), 50)
        end
    end)
    if pace then collectgarbage("setstepmul", pace) end
    state.on = false
    lu.assertTrue(ok, err)
    lu.assertTrue(state.runs > 3)
end

-- A hook may use the database between any two instructions, also within a method of Lua.
function TestGc:test_hooks_may_use_the_database()
    local jit, cache = rawget(_G, "jit"), require("caret.cache").new(db, "^cache")
    local long, hooked = ("long"):rep(20000), 0
    for i = 1, 9 do n.other[i].__, n.list["some" .. i].__ = i, "value" .. i end
    n.list.some9.__ = long
    cache:set("a", 6)
    cache:set("b", "text")
    local function use()
        local seen, sum, backwards = {}, 0, {}
        for _, value, name in n.list:pairs() do seen[#seen + 1] = name .. #value end
        for _, value, name in n.other:pairs(true) do sum = sum * 2 + value + name end
        for name in n.list:subscripts(true) do backwards[#backwards + 1] = name end
        return table.concat(seen), sum, table.concat(backwards), (n.list:next("some4")), (n.other:next(4)),
            (n.other:previous(8)), n.list.some7.__, n.list:get("none"), n.other[3]:number(),
            cache:get("a"), cache:get("b"), n.count:incr(2) > 0, tostring(n.count:incr("0.5")):match("%.5$")
    end
    local wanted = {pcall(use)}
    n.count:kill()
    if jit then jit.off() end -- compiled code has no hooks
    debug.sethook(function()
        hooked = hooked + select("#", n.other:next(3), n.list:previous("some8"), n.other[2]:get(),
            n.beside:incr(), cache:get("b"))
        for _, _, name in n.list:pairs() do hooked = hooked + #name end
        for name in n.other:subscripts() do hooked = hooked + name end
    end, "", 1)
    local got = {pcall(use)}
    debug.sethook()
    if jit then jit.on() end
    lu.assertEquals(got, wanted)
    lu.assertTrue(hooked > 100)
end

-- Called wherever the module for LuaJIT of disturbed_module() asks whether another text was left since.
local others = {asked = 0, within = true, node = nil}
local function disturbed(box)
    others.asked = others.asked + 1
    if others.within or others.asked % 2 == 0 then return box end -- what was disturbed is tried again
    others.within = true
    local m = others.node
    others.answers = select("#", m.other:next(3), m.other:previous(8), m.other[2]:get(), m.list.some1:get(),
        m.other:incr())
    others.within = false
    return box
end

-- The module anew, with that; made once, as the C module keeps the first one's methods.
local function disturbed_module()
    local path = package.searchpath("caret.ffi", package.path)
    local file = assert(io.open(path))
    local source, places = file:read("*a"):gsub("box%[1%] ([~=]=) count", "disturbed(box)[1] %1 count")
    file:close()
    lu.assertTrue(places > 4)
    local chunk = assert(loadstring(source, "=disturbed")) -- luacheck: ignore
    setfenv(chunk, setmetatable({disturbed = disturbed}, {__index = _G})) -- luacheck: ignore
    local was, ffi = caret, package.loaded["caret.ffi"]
    package.loaded.caret, package.loaded["caret.ffi"] = nil, chunk()
    others.module = require "caret"
    package.loaded.caret, package.loaded["caret.ffi"] = was, ffi
    return others.module
end

-- A finalizer may run there, and use the database.
function TestGc:test_what_was_found_by_others_meanwhile_is_not_returned()
    lu.skipIf(not (type(require("caret.core").ffi) == "table" and package.loaded["caret.ffi"]),
        "nodes are the C module's here, not the FFI's")
    local module = others.module or disturbed_module()
    local second = assert(module.open(fixture.path, {sync = "off"}))
    local m = second.node("^m")
    others.node = m
    for i = 1, 9 do m.other[i].__, m.list["some" .. i].__ = i, "value" .. i end
    local function use()
        local seen = {}
        for _, value, name in m.list:pairs() do seen[#seen + 1] = name .. value end
        for _, value, i in m.other:pairs() do seen[#seen + 1] = i .. "=" .. value end
        return (m.list:next("some4")), (m.list:previous("some7")), m.list.some7.__, m.list:get("none"),
            table.concat(seen)
    end
    local wanted, before = {pcall(use)}, others.asked
    others.within = false
    local got = {pcall(use)}
    others.within = true
    second:close()
    lu.assertEquals(got, wanted)
    lu.assertTrue(others.asked > before + 20)
end

-- What is made of a cursor is of where it was before or after, whole, and of no other place.
function TestGc:test_finalizers_may_move_a_cursor_in_use()
    local state, long, longer = {on = true, runs = 0}, ("a"):rep(300), ("b"):rep(900)
    local c = n:cursor(1)
    local move, name, pairs_of, subscripts = c.__move, c.__name, c.__pairs, c.__subscripts
    for _, sub in ipairs {1, long, longer} do n(sub)[1].__ = "one" end
    disturb(function() move(c, state.runs % 3 == 0 and 1 or longer) end, state)
    local function check(sub, from)
        if sub ~= 1 and sub ~= from and sub ~= longer then lu.fail(("%q %s"):format(sub, type(sub))) end
    end
    local adjustable = _VERSION < "Lua 5.5"
    local pause = adjustable and collectgarbage("setpause", 0)
    local pace = adjustable and collectgarbage("setstepmul", 10000)
    local ok, err = pcall(function()
        for i = 1, fixture.times(2000) do
            if i > 300 and state.runs > 100 then break end
            local from = i % 2 == 0 and long or 1
            check(name(move(c, from)), from)
            check(db.node(move(c, from)):name(), from)
            check(move(c, from)[1]:subsarray()[1], from)
            check(move(c, from).below:subsarray()[1], from)
            check(move(c, from)(2 ^ 60):subsarray()[1], from)
            lu.assertEquals(tostring(move(c, from)):sub(1, 3), "^t(")
            for child, value in pairs_of(move(c, from)) do
                check(child:subsarray()[1], from)
                lu.assertEquals(value, "one")
            end
            for sub in subscripts(move(c, from)) do lu.assertEquals(sub, 1) end
        end
    end)
    if pace then collectgarbage("setstepmul", pace) end
    if pause then collectgarbage("setpause", pause) end
    state.on = false
    lu.assertTrue(ok, err)
    lu.assertTrue(state.runs > 3)
end

function TestGc:test_nodes_used_while_the_state_closes()
    fixture.elsewhere([[
        local n = db.node("^t")
        local t = {n}
        if newproxy then
            local p = newproxy(true)
            getmetatable(p).__gc = function()
                pcall(function() return t[1].x.__ end)
                pcall(t[1].pairs, t[1])
            end
            keep = p
        else
            keep = setmetatable({}, {__gc = function()
                pcall(function() return t[1].x.__ end)
                pcall(t[1].pairs, t[1])
            end})
        end
        late = assert(caret.open(]] .. ("%q"):format(fixture.path) .. [[)).node("v", 1)
        late.__ = 1]])
end

fixture.run()
