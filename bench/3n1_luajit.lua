-- The 3n+1 job under LuaJIT, by one process: with nodes, or on plain tables.
--
--     sh tools/lua.sh luajit bench/3n1_luajit.lua nodes|tables [N]
--
-- Both print seconds, longest, highest, reads, updates.  `tables` is the program beside this one, whose //
-- is / here, as LuaJIT has no other; `nodes` does what a worker of `caret 3n1` does, which counts
-- through a subclass of nodes and raises the maxima in a transaction.
local what, N = arg and arg[1], tonumber(arg and arg[2]) or 100000
local folder = arg[0]:match("^(.*/)") or ""

if what == "tables" then
    local file = assert(io.open(folder .. "3n1_tables.lua"))
    local program = file:read("*a"):gsub("//", "/")
    file:close()
    rawset(arg, 1, N)
    return assert(loadstring(program, "=3n1_tables.lua"))()
elseif what ~= "nodes" then
    error("nodes or tables?", 0)
end

local caret = require "caret"
local path = os.tmpname()
os.remove(path)
local db = assert(caret.open(path))
local reads, updates = 0, 0

local new, class, node = caret.inherit(db.node)
local get, set = node.get, node.set
function class.get(n)
    reads = reads + 1
    return get(n)
end
function class.set(n, value)
    updates = updates + 1
    return set(n, value)
end

local step, longest, highest = new("^step"), new("^longest"), new("^highest")
local raise = db:transaction("BATCH", function(length, high)
    if length > (tonumber(longest.__) or 0) then longest.__ = length end
    if high > (tonumber(highest.__) or 0) then highest.__ = high end
end)

local path_of = {} -- luacheck: ignore 241 (the nodes on the way)
local function sequence(start)
    local n, length, high = start, 0, 0
    local here = step[n]
    while n > 1 and not here.__ do
        length = length + 1
        path_of[length] = here
        n = n % 2 == 0 and n / 2 or 3 * n + 1
        if n > high then high = n end
        here = step[n]
    end
    if length == 0 then return end
    local total = length
    if n > 1 then total = total + tonumber(here.__) end
    raise(total, high)
    for i = 1, length do path_of[i].__ = total - i + 1 end
end

local ffi = require "ffi"
ffi.cdef "int clock_gettime(int clock, int64_t time[2]);"
local function clock() -- by the wall, as `caret 3n1`: the engine's thread works beside this one
    local time = ffi.new("int64_t[2]")
    ffi.C.clock_gettime(1, time)
    return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

local start = clock()
for n = 1, N do sequence(n) end
local seconds = clock() - start
print(("%.6f %s %s %d %d"):format(seconds, longest.__, highest.__, reads, updates))
db:close()
for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
