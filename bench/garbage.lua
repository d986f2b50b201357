-- How many bytes of Lua memory each operation takes: none but for the strings it returns and the
-- objects that it is there to make.
--
--     sh tools/lua.sh lua5.4 bench/garbage.lua        also lua5.1, luajit; --json
--
-- Bytes per call are what the memory in use grows by in N calls with the collector stopped, after as
-- many calls to warm up (remembered children and interned strings are there then).

local caret = require "caret"

local N = 2000
local json = arg and arg[1] == "--json"
local path = os.tmpname()
os.remove(path)
local db = assert(caret.open(path, {sync = "off"}))
local n = db.node("^garbage")
local a, list, number, text = n.a, n.list, n.number, n.text
for i = 1, 100 do list[i].__ = i end
text.__ = "some text"
local step, pair, walk, range = list:subscripts(), list:pairs(), list:walk(), list:range()
local cursor = list:cursor(1)
local changing = db:transaction(function() number:incr() end)
local reading = db:transaction("BATCH", function(x) return x end)
local batch = function() text:set("x") end
local locals = {"v"}
local lock_list = {a, {"^garbage", "b"}}
local options = {from = 10, limit = 1}
local other = db.node("^garbage", "a")
local long = ("x"):rep(300)

local works = { -- what, the function, bytes that it must make
    {"(an empty call)", function() end},
    {"n:get(), no value", function() return a:get() end},
    {"n.__, no value", function() return a.__ end},
    {"n.__, 9 bytes of text (its string is known)", function() return text.__ end},
    {"n:set(text)", function() text:set("some text") end},
    {"n.__ = text", function() text.__ = "some text" end},
    {"n.__ = integer", function() number.__ = 5 end},
    {"n.__ = float", function() number.__ = 5.25 end},
    {"n.__ = 300 bytes", function() n.long.__ = long end},
    {"n:incr()", function() return number:incr() end},
    {"n:incr(0.5)", function() return number:incr(0.5) end},
    {"n:incr('1E3')", function() return number:incr("1E3") end},
    {"n + 1", function() return number + 1 end},
    {"n:number()", function() return list[3]:number() end, "node"},
    {"n:number(), a float", function() return number:number() end},
    {"n:data()", function() return list:data() end},
    {"n:has_value(), n:has_tree()", function() return list:has_value(), list:has_tree() end},
    {"n:delete()", function() a:delete() end},
    {"n:kill()", function() a:kill() end},
    {"n:next(i)", function() return list:next(7) end},
    {"n:previous(i)", function() return list:previous(7) end},
    {"n:next()", function() return list:next() end},
    {"n.a.b.c", function() return n.a.b.c end},
    {"n.a.b.c.__", function() return n.a.b.c.__ end},
    {"n:__data()", function() return a:__data() end},
    {"n[i]", function() return list[7] end, "node"},
    {"n(i)", function() return list(7) end, "node"},
    {"n('a', 'b')", function() return n("a", "b") end, "node"},
    {"db.node(name, i)", function() return db.node("^garbage", 7) end, "node"},
    {"n:cursor(i)", function() return list:cursor(7) end, "node"},
    {"cursor:__move(i)", function() return cursor:__move(7) end},
    {"cursor:move(i)", function() return cursor:move(7) end, "node"},
    {"n:subscripts()", function() return list:subscripts() end, "iterator"},
    {"n:pairs()", function() return list:pairs() end, "iterator"},
    {"n:range(options)", function() return list:range(options) end, "iterator"},
    {"n:walk()", function() return list:walk() end, "iterator"},
    {"n:subscripts(), a step", function() step = step() and step or list:subscripts() end, "iterator/101"},
    {"n:pairs(), a step", function() pair = pair() and pair or list:pairs() end, "iterator/101"},
    {"n:range(), a step", function() range = range() and range or list:range() end, "iterator/101"},
    {"n:walk(), a step", function() walk = walk() and walk or list:walk() end, "iterator/101"},
    {"n:pairs(), a loop over 100", function() for _ in list:pairs() do end end, "iterator"},
    {"n == m", function() return a == other end},
    {"n:depth(), n:ismutable()", function() return a:depth(), a:ismutable() end},
    {"n:name(), n:varname()", function() return a:name(), a:varname() end},
    {"tostring(n) (its string is known)", function() return tostring(a) end},
    {"n:subsarray()", function() return a:subsarray() end, "table"},
    {"n:grab(0), n:release()", function() a:grab(0) a:release() end},
    {"n:lock(0)", function() a:lock(0) end},
    {"db:lock(list, 0)", function() db:lock(lock_list, 0) end},
    {"db:lock()", function() db:lock() end},
    {"f = db:transaction(g); f()", function() changing() end},
    {"f(x), which returns x", function() return reading(7) end},
    {"db:tp(g)", function() db:tp(batch) end},
    {"db:tp('BATCH', g)", function() db:tp("BATCH", batch) end},
    {"db:tp(locals, g)", function() db:tp(locals, batch) end},
    {"db:tp(f), a transaction inside", function() db:tp(changing) end},
    {"db:get(name, i)", function() return db:get("^garbage", "list", 7) end},
    {"db:set(name, i, value)", function() db:set("^garbage", "list", 7, 7) end},
    {"db:incr(name, i, by)", function() return db:incr("^garbage", "number", 1) end},
    {"db:data(name)", function() return db:data("^garbage") end},
    {"db:kill(name, i)", function() db:kill("^garbage", "none") end},
    {"caret.isnode(n)", function() return caret.isnode(a) end},
}

-- Bytes that a call of f takes.
local function bytes(f)
    for _ = 1, N do f() end
    for _ = 1, 3 do collectgarbage() end
    collectgarbage("stop")
    for _ = 1, 10 do f() end -- what is remembered weakly is there again
    local before = collectgarbage("count")
    for _ = 1, N do f() end
    local after = collectgarbage("count")
    collectgarbage("restart")
    return (after - before) * 1024 / N
end

if rawget(_G, "jit") then require("jit").off() end -- traces are memory too; the calls are the same
for _, work in ipairs(works) do
    local what, f, makes = work[1], work[2], work[3]
    local got = bytes(f)
    if json then
        print(('{"work":"garbage","call":"%s","bytes":%.1f,"makes":"%s"}'):format(what, got, makes or ""))
    else
        local note = makes and " (makes: " .. makes .. ")" or got >= 1 and "  !" or ""
        print(("%9.1f  %s%s"):format(got, what, note))
    end
end
db:close()
for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
