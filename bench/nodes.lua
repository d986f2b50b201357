-- What node objects cost, beside naive designs of the same in plain Lua.
-- tools/lua.sh lua5.4 bench/nodes.lua [--json]; likewise luajit and the others.
-- Nanoseconds, the median of 7 runs.  Bars in brackets: Lua 5.4, LuaJIT.

local caret = require "caret"
local path = os.tmpname()
os.remove(path)
local db = assert(caret.open(path, {sync = "off"}))
local json = arg and arg[1] == "--json"
local jit = rawget(_G, "jit") ~= nil

local function median(count, f)
    local times = {}
    f(count)
    for i = 1, 7 do
        collectgarbage()
        local start = os.clock()
        f(count)
        times[i] = (os.clock() - start) / count * 1e9
    end
    table.sort(times)
    return times[4]
end

local function show(work, count, f, bar, bar_jit)
    local ns, wanted = median(count, f), jit and bar_jit or bar
    if json then
        local form = '{"interpreter":"%s","work":"%s","ns":%.1f%s}'
        print(form:format(jit and "LuaJIT" or _VERSION, work, ns, wanted and (',"bar":' .. wanted) or ""))
    else
        print(("%-44s %8.1f %s"):format(work, ns, wanted and ("(bar " .. wanted .. ")") or ""))
    end
end

-- The naive designs: a table for each node, which copies its parent's subscripts, or leads to its parent.
local copying = {}
function copying.__index(node, sub)
    local child = {n = node.n + 1}
    for i = 1, node.n do child[i] = node[i] end
    child[child.n] = sub
    return setmetatable(child, copying)
end
local linked = {}
function linked.__index(node, sub)
    return setmetatable({[1] = node, [2] = sub}, linked)
end
-- With LuaJIT: a cdata for each node, made by a call of C for each step.
local function cdata_root()
    local ffi = require "ffi"
    local library = package.cpath:match("([^;]-)/lua/[^/]*/%?%.so") .. "/libcaret.so"
    local ok, c = pcall(ffi.load, library)
    if not ok then return end
    ffi.cdef [[
        struct naive_node { uint32_t words, dummy; uint64_t node[?]; };
        int caret_node_var(void *n, size_t bytes, const char *name, size_t len);
        int caret_node_child(void *n, size_t bytes, const void *parent, const char *sub, size_t len);
        int caret_node_child_int(void *n, size_t bytes, const void *parent, int64_t sub);]]
    local node = ffi.typeof("struct naive_node")
    ffi.metatype(node, {__index = function(parent, sub)
        local words = parent.words + 2
        local child = ffi.new(node, words)
        child.words = words
        if type(sub) == "string" then
            c.caret_node_child(child.node, 8 * words, parent.node, sub, #sub)
        else
            c.caret_node_child_int(child.node, 8 * words, parent.node, sub)
        end
        return child
    end})
    local root = ffi.new(node, 8)
    root.words = 8
    return c.caret_node_var(root.node, 64, "^t", 2) == 0 and root
end
local copy_root = setmetatable({n = 1, "^t"}, copying)
local link_root = setmetatable({false, "^t"}, linked)

local t = db.node("^t")
local one = db.node("^t", "one")
one.__ = 1

-- A function for each design: LuaJIT compiles a function once, for what it met first.
local function chain(root)
    return assert((rawget(_G, "loadstring") or load)([[
        local root = ...
        return function(count)
            for _ = 1, count do
                local _ = root.a.b.c.d.e.f.g.h.i.j.k.l.m.o.p.q.r.s.t.u.v.w.x.y.z.aa
            end
        end]]))(root)
end

show("chain of 26, tables that copy subscripts", 2000, chain(copy_root))
show("chain of 26, tables that lead to parents", 20000, chain(link_root))
local naive = jit and cdata_root()
if naive then
    show("chain of 26, a cdata for each node", 20000, chain(naive))
    show("node[i], a cdata for each node", 300000, function(count)
        for i = 3, count + 2 do local _ = naive[i] end
    end)
end
show("chain of 26", 100000, chain(t), 400, 100)
show("node[i], tables that lead to parents", 300000, function(count)
    for i = 3, count + 2 do local _ = link_root[i] end
end)
show("node[i]", 300000, function(count) for i = 1, count do local _ = t[i] end end, 70, 40)
local cursor = t:cursor(1)
local move = cursor.__move
show("move(cursor, i)", 300000, function(count) for i = 1, count do move(cursor, i) end end)
-- Values are looked at: LuaJIT makes no strings that nobody wants.
local kept -- luacheck: ignore 231
show("node.__", 300000, function(count) for _ = 1, count do kept = one.__ end end, 60)
show("node:get()", 300000, function(count) for _ = 1, count do kept = one:get() end end, 75)
show("node:__get()", 300000, function(count) for _ = 1, count do kept = one:__get() end end, 75)
show("node.__ = v", 300000, function(count) for i = 1, count do one.__ = i end end, 130)
show("node:incr()", 300000, function(count) for _ = 1, count do one:incr() end end, 160)
show("node[i].__ = v, a million in order", 1000000, function(count)
    for i = 1, count do t[i].__ = i end
end, 280)
show("node[i].__, a million in order", 1000000, function(count)
    for i = 1, count do kept = t[i].__ end
end, 180)
local number = cursor.__number
show("number(move(cursor, i)), a million in order", 1000000, function(count)
    for i = 1, count do kept = number(move(cursor, i)) end
end)
show("subscripts(), a step", 1000000, function() for _ in t:subscripts() do local _ = nil end end, 60, 30)
show("pairs(), a step", 1000000, function() for _ in t:pairs() do local _ = nil end end, 110, 100)
show("pairs(), a step, and its value", 1000000, function() for _, v in t:pairs() do kept = v end end)
local set = db:transaction(function(v) one.__ = v end)
show("transaction of one set", 100000, function(count) for i = 1, count do set(i) end end, 500)
local group = {} -- luacheck: ignore 241
for i = 1, 10 do group[i] = t[i * 1001] end
local ten = db:transaction(function(v) for i = 1, 10 do group[i].__ = v end end)
show("transaction of ten sets", 20000, function(count) for i = 1, count do ten(i) end end)

-- Values that come back as they went in, beside node.__ above.
local typed = require "caret.typed".new(db)("^typed")
for _, case in ipairs {{"a number", 5}, {"a string", "text of 20 letters.."}, {"a boolean", true},
                       {"a table of three", {1, "two", {x = 3}}}} do
    local child, name, value = typed[case[1]], case[1], case[2]
    show("typed.__ = " .. name, 100000, function(count) for _ = 1, count do child.__ = value end end)
    show("typed.__, " .. name, 100000, function(count) for _ = 1, count do kept = child.__ end end)
end

db:close()
for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
