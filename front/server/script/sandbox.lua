-- The sandbox of scripts. Run once a state, with what scripts get: the table `redis`, `ending` (is the
-- transaction to be run again, or broken? then nothing catches the error), redis.register_function, cjson,
-- cmsgpack, struct, bit, caret.
--
-- What a script can reach is read-only: each table is an empty one, whose metatable leads to the true one.
-- Returns a function that makes the globals of libraries ready to load one (true) or to run (false), these
-- globals, those of scripts, the table to put KEYS and ARGV in, and the function that calls a script.

local redis, ending, register, cjson, cmsgpack, struct, bit, caret = ...
local setmetatable, getmetatable, error, type, next = setmetatable, getmetatable, error, type, next
local rawget, rawset, tostring, load, loadstring = rawget, rawset, tostring, load, loadstring
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
function g.load(f, name)
    if type(f) ~= 'function' then
        error("bad argument #1 to 'load' (function expected, got " .. type(f) .. ')', 2)
    end
    local first = true
    return load(function()
        local s = f()
        if first and type(s) == 'string' and s:byte() == 27 then
            error('attempt to load a binary chunk', 0)
        end
        first = first and s == ''
        return s
    end, name)
end
function g.loadstring(s, name)
    if type(s) ~= 'string' and type(s) ~= 'number' then
        error("bad argument #1 to 'loadstring' (string expected, got " .. type(s) .. ')', 2)
    end
    if tostring(s):byte() == 27 then return nil, 'attempt to load a binary chunk' end
    return loadstring(s, name)
end
local co = copy(coroutine, 'create running status wrap yield')
function co.resume(...) return checked(resume(...)) end
local str = copy(string, 'byte char dump find format gmatch gsub len lower match rep reverse sub upper')
str.gfind = str.gmatch
local strings = getmetatable('')
strings.__index, strings.__metatable = str, locked
g.string, g.coroutine = readonly(str), readonly(co)
g.table = readonly(copy(table, 'concat foreach foreachi getn insert maxn remove sort'))
g.math = readonly(copy(math, 'abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log '
    .. 'log10 max min mod modf pi pow rad random randomseed sin sinh sqrt tan tanh'))
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
