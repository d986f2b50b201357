-- Texts of M by bytes: comparison of texts, joining, and the functions that cut, look for and change.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local buffer = require "mumps.values.buffer"

local str, int, key, before = number.str, number.int, number.key, number.before
local translate, reverse, justify = C.caret_mumps__translate, C.caret_mumps__reverse, C.caret_mumps__justify
local last_place = C.caret_mumps__last
local byte, sub, find, rep, strchar = string.byte, string.sub, string.find, string.rep, string.char
local type, select, tonumber = type, select, tonumber

local MAX = 1048576
local T = { MAX = MAX }

-- ---------------------------------------------------------------- comparison

-- 12 and "12" are one value; a number is not equal to any other text than its own.
local function is_eq(a, b)
    if type(a) == type(b) then return a == b end
    return str(a) == str(b)
end
T.is_eq = is_eq

function T.eq(a, b)
    return is_eq(a, b) and 1 or 0
end

local function is_contains(a, b)
    return find(str(a), str(b), 1, true) ~= nil
end
T.is_contains = is_contains

function T.contains(a, b)
    return is_contains(a, b) and 1 or 0
end

local function is_follows(a, b)
    return number.bytes_before(str(b), str(a))
end
T.is_follows = is_follows

function T.follows(a, b)
    return is_follows(a, b) and 1 or 0
end

local function is_sortsafter(a, b)
    return before(key(b), key(a))
end
T.is_sortsafter = is_sortsafter

-- A text that is too large for a number, if it is taken for one, has no place in the order.
local function placed(v)
    local k = key(v)
    if type(k) == "string" then number.num(k) end
    return k
end

-- Of two constants: GT.M's compiler compares them, and makes numbers of them.
function T.is_sortsafter_known(a, b)
    return before(placed(b), placed(a))
end

function T.sortsafter(a, b)
    return T.is_sortsafter_known(a, b) and 1 or 0
end

-- ------------------------------------------------------------------- joining

local function checked(s)
    if #s > MAX then return fail("MAXSTRLEN") end
    return s
end
T.checked = checked

function T.concat(a, b)
    local s = str(a) .. str(b)
    if #s > MAX then return fail("MAXSTRLEN") end
    return s
end
local concat = T.concat

local function concat_more(n, ...)
    local s, parts = "", { ... }
    for i = 1, n do s = concat(s, parts[i]) end
    return s
end

function T.concat_list(n, a, b, c, d, ...)
    if n == 3 then return checked(str(a) .. str(b) .. str(c)) end
    if n == 4 then return checked(str(a) .. str(b) .. str(c) .. str(d)) end
    if n == 2 then return concat(a, b) end
    return concat_more(n, a, b, c, d, ...)
end

-- ------------------------------------------------------------------- cutting

function T.ascii(s, n)
    if n then n = int(n) else n = 1 end
    if n < 1 then return -1 end
    return byte(str(s), n) or -1
end

local function char1(code)
    code = int(code)
    if code < 0 or code > 255 then return "" end
    return strchar(code)
end

local function char_more(n, ...)
    local s = ""
    for i = 1, n do s = s .. char1((select(i, ...))) end
    return s
end

function T.char(a, b, ...)
    if not b then return char1(a) end
    if select("#", ...) == 0 then return char1(a) .. char1(b) end
    return char1(a) .. char1(b) .. char_more(select("#", ...), ...)
end

function T.extract(s, from, to)
    s = str(s)
    if not from then return sub(s, 1, 1) end
    from = int(from)
    if to then to = int(to) else to = from end
    if from < 1 then from = 1 end
    if to < from then return "" end
    return sub(s, from, to)
end

function T.substr(s, from, count)
    s, from = str(s), from and int(from) or 1
    if count then count = int(count) else count = MAX end
    if from < 1 then from = 1 end
    if count < 1 then return "" end
    return sub(s, from, count < MAX and from + count - 1 or MAX)
end

function T.find(s, what, start)
    s, what = str(s), str(what)
    if start then start = int(start) else start = 1 end
    if start < 1 then start = 1 end
    if what == "" then return start < 2147483646 and start or 2147483647 end
    local _, last = find(s, what, start, true)
    return last and last + 1 or 0
end

function T.reverse(s)
    s = str(s)
    local n = #s
    if n < 2 then return s end
    local room = buffer(n)
    reverse(s, n, room)
    return ffi.string(room, n)
end

-- $FIND($REVERSE(s),what)
function T.find_back(s, what)
    s, what = str(s), str(what)
    if #what ~= 1 then return T.find(T.reverse(s), what) end
    local at = tonumber(last_place(s, #s, byte(what)))
    return at > 0 and #s - at + 2 or 0
end

function T.width(s)
    local n = 0
    s = str(s)
    for i = 1, #s do
        local c = byte(s, i)
        if not (c < 32 or (c > 126 and c < 160) or c == 255) then n = n + 1 end
    end
    return n
end

-- --------------------------------------------------------------- translation

-- values.h has the form: after the bytes how many of them change, and which, if they are few.
local FEW = 8

local function new_map(from, to)
    local map, n = ffi.new("int16_t[?]", 257 + FEW), 0
    for i = 0, 255 do map[i] = i end
    for i = #from, 1, -1 do map[byte(from, i)] = byte(to, i) or -1 end
    for i = 0, 255 do
        if map[i] ~= i then
            n = n + 1
            if n <= FEW then map[256 + n] = i end
        end
    end
    map[256] = n
    return map
end

-- The newest map is at hand; up to 64 others by their two texts.
local maps, n_maps = {}, 0
local last_from, last_to, last_map

local function map_of(from, to)
    local by_to = maps[from]
    local map = by_to and by_to[to]
    if not map then
        if n_maps == 64 then maps, n_maps = {}, 0 end
        n_maps = n_maps + 1
        map = new_map(from, to)
        maps[from] = maps[from] or {}
        maps[from][to] = map
    end
    last_from, last_to, last_map = from, to, map
    return map
end

function T.translate(s, from, to)
    s = str(s)
    if not from then return s end
    from = str(from)
    if to then to = str(to) else to = "" end
    local n = #s
    if n == 0 or from == "" then return s end
    local map = from == last_from and to == last_to and last_map or map_of(from, to)
    local room = buffer(n)
    return ffi.string(room, translate(s, n, map, room))
end

-- ------------------------------------------------------------------- filling

-- Decimals beyond this are refused before anything is computed.
local MOST_DECIMALS = MAX - 66

-- A number with so many decimals, in a field of `width`, at `room`: how many bytes.
local function fixed_at(n, width, decimals, room)
    local code
    if type(n) == "number" then
        code = justify(n, nil, 0, width, decimals, room)
    elseif type(n) == "cdata" then
        code = justify(0, n.bytes, n.n, width, decimals, room)
    else
        code = justify(0, n, #n, width, decimals, room)
    end
    if code < 0 then return fail("NUMOFLOW") end
    return code
end
T.fixed_at = fixed_at

-- The same in a buffer: where, and how many bytes.  As much again and half as much is free after it.
local function in_room(n, width, decimals)
    decimals = int(decimals)
    if decimals < 0 then return fail("JUSTFRACT") end
    if decimals > MOST_DECIMALS then return fail("MAXSTRLEN") end
    local room = buffer((decimals + width + 128) * 3)
    return room, fixed_at(n, width, decimals, room)
end
T.fixed_in_room = in_room

local function fixed(n, width, decimals)
    return ffi.string(in_room(n, width, decimals))
end

function T.fixed(n, decimals)
    return fixed(n, 0, decimals)
end

local integer_text, digits = C.caret_mumps__integer_text, ffi.new("char[24]")

-- An integer in a field, without a text of its own on the way.
local function integer_in_field(v, width)
    local n = tonumber(integer_text(v, digits))
    if width <= n then return ffi.string(digits, n) end
    local room = buffer(width)
    ffi.fill(room, width - n, 32)
    ffi.copy(room + (width - n), digits, n)
    return ffi.string(room, width)
end

function T.justify(s, width, decimals)
    width = int(width)
    if width > MAX then return fail("MAXSTRLEN") end
    if width < 0 then width = 0 end
    if decimals then return fixed(s, width, decimals) end
    if type(s) == "number" then return integer_in_field(s, width) end
    if width <= #s then return s end
    return rep(" ", width - #s) .. s
end

-- SET $EXTRACT: the new text, or nil if nothing is set.
function T.set_extract(s, from, to, new)
    s, new = str(s), str(new)
    if from then from = int(from) else from = 1 end
    if to then to = int(to) else to = from end
    if from < 1 then from = 1 end
    if to < from then return nil end
    if from - 1 > MAX then return fail("MAXSTRLEN") end
    local gap = from - 1 - #s
    if gap > 0 then return checked(s .. rep(" ", gap) .. new) end
    return checked(sub(s, 1, from - 1) .. new .. sub(s, to + 1))
end

return T
