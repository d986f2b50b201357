-- What a cache costs: tools/lua.sh luajit bench/cache.lua [--json], and the other Luas. Nanoseconds of
-- processor time, the median of 7 runs: 100,000 keys of 20 bytes, values of 20 bytes, keys in random order
-- and in order; a bare get and set of nodes beside it, in turns.  Numbers beside works: bars for LuaJIT.

local caret = require "caret"
local path = os.tmpname()
os.remove(path)
local db = assert(caret.open(path, {sync = "off"}))
local json = arg and arg[1] == "--json"
local jit = rawget(_G, "jit") ~= nil
local KEYS, CALLS = 100000, 200000

local node, cache = db.node "^t", require "caret.cache".new(db, "^cache")
local ordered, random, keys = {}, {}, nil
for i = 1, KEYS do ordered[i] = ("key of a page %07d"):format(i) end
math.randomseed(7)
for i = 1, CALLS do random[i] = ordered[math.random(KEYS)] end
for i = KEYS + 1, CALLS do ordered[i] = ordered[i - KEYS] end
local value = ("v"):rep(20)
local kept -- luacheck: ignore 231

local works = {
    {"node(key).__ = v", function() for i = 1, CALLS do node(keys[i]).__ = value end end},
    {"cache:set(key, v, 60)", function() for i = 1, CALLS do cache:set(keys[i], value, 60) end end, 300},
    {"node(key).__", function() for i = 1, CALLS do kept = node(keys[i]).__ end end},
    {"cache:get(key)", function() for i = 1, CALLS do kept = cache:get(keys[i]) end end, 150},
}

local function median(times)
    table.sort(times)
    return times[4]
end

local function measure(order, list)
    keys = list
    for _, work in ipairs(works) do
        work.times = {}
        work[2]()
    end
    for _ = 1, 7 do
        for _, work in ipairs(works) do
            collectgarbage()
            local start = os.clock()
            work[2]()
            work.times[#work.times + 1] = (os.clock() - start) / CALLS * 1e9
        end
    end
    local bare
    for i, work in ipairs(works) do
        local ns = median(work.times)
        if i % 2 == 1 then bare = ns end
        if json then
            print(('{"interpreter":"%s","work":"%s, %s","ns":%.1f,"ratio":%.2f%s}'):format(
                jit and "LuaJIT" or _VERSION, work[1], order, ns, ns / bare,
                jit and work[3] and (',"bar":' .. work[3]) or ""))
        else
            print(("%-24s %-10s %8.1f ns %6.2f of bare%s"):format(work[1], order, ns, ns / bare,
                jit and work[3] and (" (bar " .. work[3] .. " ns)") or ""))
        end
    end
end

for i = 1, KEYS do cache:set(ordered[i], value, 60) end
measure("in order", ordered)
measure("random", random)

db:close()
for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
