-- mumps.bridge.types: the types of call-in and external call tables, and M's values as C's and back.
--
--     types.parse "ydb_long_t*"     {kind = "int", c = "int64_t", pointer = 1, bits = 64, signed = true}
--
-- kind: int, real, string (char*), text (ydb_string_t), buffer (ydb_buffer_t), void, status, function.

local ffi = require "ffi"
local number = require "mumps.values.number"

ffi.cdef [[
typedef struct { unsigned long length; char *address; } caret_mumps__string;
typedef struct { unsigned int len_alloc, len_used; char *buf_addr; } caret_mumps__buffer;
]]

local types = {}

local LONG = ffi.sizeof "long" * 8

local known = {
    int = {kind = "int", bits = 32, signed = true}, uint = {kind = "int", bits = 32},
    long = {kind = "int", bits = LONG, signed = true}, ulong = {kind = "int", bits = LONG},
    int64 = {kind = "int", bits = 64, signed = true}, uint64 = {kind = "int", bits = 64},
    float = {kind = "real", c = "float", digits = 6}, double = {kind = "real", c = "double", digits = 15},
    char = {kind = "string"}, string = {kind = "text", c = "caret_mumps__string"},
    buffer = {kind = "buffer", c = "caret_mumps__buffer"},
    void = {kind = "void"}, status = {kind = "status", c = "int"},
    pointertofunc = {kind = "function"},
}

-- nil: there is no such type.
function types.parse(text)
    local name, stars = text:gsub("%s+", ""):match "^([%w_]+)(%**)$"
    if not name then return nil end
    local base = known[(name:gsub("^ydb_", ""):gsub("^gtm_", ""):gsub("^xc_", ""):gsub("_t$", ""))]
    if not base or #stars > (base.kind == "string" and 2 or 1) then return nil end
    local t = {name = name .. stars, pointer = #stars}
    for k, v in pairs(base) do t[k] = v end
    if t.kind == "int" then t.c = (t.signed and "int" or "uint") .. t.bits .. "_t" end
    if t.kind == "string" then t.c = "char" end
    return t
end

-- ----------------------------------------------------------- M's value to C

local MINUS, ZERO = 45, 48

-- The integer of a canonical text of digits, modulo 2^64.
local function wide(text)
    local negative = text:byte() == MINUS
    local n = ffi.new("uint64_t", 0)
    for i = negative and 2 or 1, #text do
        local digit = text:byte(i) - ZERO
        if digit < 0 or digit > 9 then break end
        n = n * 10 + digit
    end
    return negative and -n or n
end

-- Of 32 bits: the nearest that there is; but an unsigned one of a number below 0 is that modulo 2^32.
local function narrow(v, t)
    local x = tonumber(number.num(v)) or 0
    x = x < 0 and math.ceil(x) or math.floor(x)
    if t.signed then return ffi.cast(t.c, math.max(-2 ^ 31, math.min(x, 2 ^ 31 - 1))) end
    if x >= 0 then return ffi.cast(t.c, math.min(x, 2 ^ 32 - 1)) end
    return ffi.cast(t.c, x < -2 ^ 63 and 0 or x % 2 ^ 32)
end

-- An M value as what a C integer of that type may be set to.
function types.integer(v, t)
    if t.bits == 32 then return narrow(v, t) end
    local n = type(v) == "string" and v:find "^%-?%d+$" and v or number.num(v)
    if type(n) == "string" and (n:find("%.", 1) or n:find("E", 1, true)) then
        local whole = tonumber(n) or 0
        n = whole < 0 and math.ceil(whole) or math.floor(whole)
        if n < -2 ^ 63 or n >= 2 ^ 64 then n = 0 end
    end
    local exact = type(n) == "string" and wide(n) or ffi.cast("int64_t", n)
    return ffi.cast(t.c, exact)
end

function types.real(v)
    return tonumber(number.num(v)) or 0
end

-- ----------------------------------------------------------- C's value to M

-- Of a C integer, any width.
function types.of_integer(n)
    local small = tonumber(n)
    if small > -2 ^ 53 and small < 2 ^ 53 then return small end
    return (tostring(n):gsub("[UL]+$", ""))
end

-- Of a double: so many digits.
function types.of_real(x, digits)
    if x ~= x or x == math.huge or x == -math.huge then return 0 end
    if x == math.floor(x) and math.abs(x) < 2 ^ 53 and digits >= 15 then return x == 0 and 0 or x end
    return number.num((("%." .. digits .. "g"):format(x):gsub("e", "E")))
end

return types
