-- The sandbox of scripts. Run once a state, with what scripts get: the table `redis`, `ending` (is the
-- transaction to be run again, or broken? then nothing catches the error), redis.register_function, cjson,
-- cmsgpack, struct, bit, caret; `mend` makes of a text of Lua 5.1 one for LuaJIT (source.c).
--
-- What a script can reach is read-only: each table is an empty one, whose metatable leads to the true one.
-- Returns a function that makes the globals of libraries ready to load one (true) or to run (false), these
-- globals, those of scripts, the table to put KEYS and ARGV in, and the function that calls a script.

local redis, ending, register, cjson, cmsgpack, struct, bit, caret, mend = ...
local setmetatable, getmetatable, error, type, next = setmetatable, getmetatable, error, type, next
local rawget, rawset, tostring, loadstring = rawget, rawset, tostring, loadstring
local concat, floor, tonumber, select = table.concat, math.floor, tonumber, select
local jit, compiles = jit, jit and jit.status()
local pcall, xpcall, resume = pcall, xpcall, coroutine.resume
local behind = setmetatable({}, {__mode = 'k'})
local function refuse() error('Attempt to modify a readonly table', 2) end
local locked = {}
behind[locked] = {}
setmetatable(locked, {__index = behind[locked], __newindex = refuse, __metatable = locked})
local function readonly(t)
    local p = setmetatable({}, {__index = t, __newindex = refuse, __metatable = locked})
    behind[p] = t
    return p
end
local function copy(t, names)
    local c = {}
    for name in names:gmatch('%S+') do c[name] = t[name] end
    return c
end
local function check(ok, e, ...)
    if ok then return true, e, ... end
    if ending() then error(e, 0) end
    if type(e) == 'table' and rawget(e, 'err') ~= nil then e = rawget(e, 'err') end
    return false, e, ...
end
local function checked(ok, ...)
    if not ok and ending() then error((...), 0) end
    return ok, ...
end
local g = copy(_G, '_VERSION assert collectgarbage error gcinfo getmetatable ipairs rawequal select '
    .. 'tonumber tostring type unpack')
function g.pcall(f, ...) return check(pcall(f, ...)) end
function g.xpcall(f, h, ...) return checked(xpcall(f, h, ...)) end
function g.pairs(t)
    if type(t) ~= 'table' then
        error("bad argument #1 to 'pairs' (table expected, got " .. type(t) .. ')', 2)
    end
    local true_one = behind[t]
    if true_one == nil then return next, t, nil end
    return function(_, k) return next(true_one, k) end, t, nil -- which must not get it
end
function g.next(t, k) return next(behind[t] or t, k) end
function g.rawget(t, k) return rawget(behind[t] or t, k) end
function g.rawset(t, k, v)
    if behind[t] then error('Attempt to modify a readonly table', 0) end
    return rawset(t, k, v)
end
function g.setmetatable(t, m)
    if behind[t] then error('Attempt to modify a readonly table', 0) end
    return setmetatable(t, m)
end
local function load_text(s, name)
    if s:byte() == 27 then return nil, 'attempt to load a binary chunk' end
    return loadstring(mend(s), name)
end
function g.load(f, name)
    if type(f) ~= 'function' then
        error("bad argument #1 to 'load' (function expected, got " .. type(f) .. ')', 2)
    end
    local t = {}
    while true do
        local ok, s = pcall(f)
        if not ok and ending() then error(s, 0) end
        if not ok then return nil, s end
        if s == nil or s == '' then return load_text(concat(t), name or '=(load)') end
        if type(s) ~= 'string' and type(s) ~= 'number' then
            return nil, 'reader function must return a string'
        end
        t[#t + 1] = s
    end
end
function g.loadstring(s, name)
    if type(s) ~= 'string' and type(s) ~= 'number' then
        error("bad argument #1 to 'loadstring' (string expected, got " .. type(s) .. ')', 2)
    end
    return load_text(tostring(s), name or tostring(s))
end
local co = copy(coroutine, 'create running status wrap yield')
function co.resume(...) return checked(resume(...)) end
local str = copy(string, 'byte char dump find format gmatch gsub len lower match rep reverse sub upper')
str.gfind = str.gmatch
local strings = getmetatable('')
strings.__index, strings.__metatable = str, locked
local tables = copy(table, 'concat foreach foreachi getn insert maxn remove sort')
function tables.setn() error("'setn' is obsolete", 2) end
local maths = copy(math, 'abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log '
    .. 'log10 max min modf pi pow rad sin sinh sqrt tan tanh')
maths.mod = maths.fmod
-- Random numbers are those of Redis, which are those of lrand48: x = 0x5DEECE66D * x + 11, of 48 bits, whose
-- upper 31 are taken. `high` and `low` are 24 bits each.
local high, low = math.random(0, 0xffffff), math.random(0, 0xffffff)
local function random()
    local sum = low * 0xece66d + 11
    high = (high * 0xece66d + low * 0x5de + floor(sum / 0x1000000)) % 0x1000000
    low = sum % 0x1000000
    return (high * 128 + floor(low / 0x20000)) % 0x7fffffff / 0x7fffffff
end
-- What C makes an int of, cut off.
local function int(v, i, name, none)
    local n = tonumber(v)
    if not n then
        local got = none and 'no value' or type(v)
        error(("bad argument #%d to '%s' (number expected, got %s)"):format(i, name, got), 3)
    end
    n = (n < 0 and -floor(-n) or floor(n)) % 0x100000000
    return n >= 0x80000000 and n - 0x100000000 or n
end
function maths.random(...)
    local n, r = select('#', ...), random()
    if n == 0 then return r end
    if n > 2 then error('wrong number of arguments', 2) end
    local first, last = 1, int((...), 1, 'random')
    if n == 2 then first, last = last, int((select(2, ...)), 2, 'random') end
    if first > last then error(("bad argument #%d to 'random' (interval is empty)"):format(n), 2) end
    return floor(r * (last - first + 1)) + first
end
function maths.randomseed(...)
    local n = int((...), 1, 'randomseed', select('#', ...) == 0) % 0x100000000
    high, low = floor(n / 256), n % 256 * 65536 + 0x330e
end
g.string, g.coroutine, g.table, g.math = readonly(str), readonly(co), readonly(tables), readonly(maths)
g.redis, g.server, g.bit = readonly(redis), nil, readonly(bit)
g.cjson, g.cmsgpack, g.struct = readonly(cjson), readonly(cmsgpack), readonly(struct)
g.caret = readonly(caret)
setmetatable(g, {__index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end})
g._G = readonly(g)
local f = {}
for k, v in pairs(g) do f[k] = v end
local missing = getmetatable(g)
setmetatable(f, missing)
local loads = {}
local calls = copy(redis, 'call pcall setresp error_reply status_reply sha1hex set_repl acl_check_cmd')
loads.register_function = register
for k, v in pairs(redis) do
    if type(v) ~= 'function' or k == 'log' then
        calls[k] = v
        if not k:find('^REPL_') then loads[k] = v end
    end
end
setmetatable(loads, missing)
f.redis = readonly(calls)
local at_load = setmetatable({redis = readonly(loads)}, missing) -- all that a library has, as in Redis
local globals = {__index = f, __newindex = refuse, __metatable = locked}
f._G = setmetatable({}, globals)
local function loading(yes)
    if compiles then jit[yes and 'off' or 'on']() end -- machine code looks at no hook
    globals.__index = yes and at_load or f
    behind[f._G] = globals.__index
end
loading(false)

-- So that a C function that the script ends with, by a tail call, is called from a place that an error can
-- tell.
local function call(script, ...)
    local answer = script(...)
    return answer
end
if jit then jit.off(call) end -- the script is compiled by itself
return loading, f._G, g._G, g, call
