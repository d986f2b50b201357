-- The functions on text in UTF-8 mode: positions count characters, and a byte that is not part of one is
-- BADCHAR.
--
-- A text of ASCII alone, which C tells at the speed of memory, is cut by bytes.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local text = require "mumps.values.text"
local piece = require "mumps.values.piece"

local str, int = number.str, number.int
local count, offset = C.caret_mumps__utf8_length, C.caret_mumps__utf8_offset
local code_at = C.caret_mumps__utf8_code
local byte, sub, rep, strchar, find = string.byte, string.sub, string.rep, string.char, string.find
local tonumber, select, floor = tonumber, select, math.floor

local MAX = text.MAX
local bad, size = ffi.new("size_t[1]"), ffi.new("size_t[1]")
local U = { checking = true }

local function refuse(s, at)
    return fail("BADCHAR", tostring(s:byte(at)), "UTF-8")
end

-- Characters of a text; fails if a byte of it is none.
local function length(s)
    local n = tonumber(count(s, #s, bad))
    if bad[0] ~= 0 and U.checking then return refuse(s, tonumber(bad[0])) end
    return n
end

-- The byte, from 1, at which character n, from 1, begins.
local function place(s, n)
    return tonumber(offset(s, #s, 0, n - 1)) + 1
end

function U.encode(code)
    if code < 0x80 then return strchar(code) end
    if code < 0x800 then return strchar(0xC0 + floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
        return strchar(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
    end
    return strchar(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64,
        0x80 + code % 64)
end

function U.ascii(s, n)
    s = str(s)
    n = n and int(n) or 1
    if n < 1 or s == "" then return -1 end
    local at = place(s, n)
    if at > #s then return -1 end
    local code = code_at(s, #s, at - 1, size)
    if code < 0 then return U.checking and refuse(s, at) or -1 end
    return code
end

local function char1(code)
    code = int(code)
    if code < 0 then return "" end
    local surrogate = code >= 0xD800 and code < 0xE000
    if code > 0x10FFFF or surrogate or code % 0x10000 >= 0xFFFE then return fail("INVDLRCVAL", str(code)) end
    return U.encode(code)
end

function U.char(...)
    local s = ""
    for i = 1, select("#", ...) do s = s .. char1((select(i, ...))) end
    return s
end

function U.extract(s, from, to)
    s = str(s)
    from = from and int(from) or 1
    to = to and int(to) or from
    if from < 1 then from = 1 end
    if to < from then return "" end
    if tonumber(count(s, #s, bad)) == #s and bad[0] == 0 then return sub(s, from, to) end
    local at = place(s, from)
    local last = tonumber(offset(s, #s, at - 1, to - from + 1))
    if bad[0] ~= 0 and bad[0] <= last and U.checking then return refuse(s, tonumber(bad[0])) end
    return sub(s, at, last)
end

function U.find(s, what, start)
    s, what = str(s), str(what)
    start = start and int(start) or 1
    if start < 1 then start = 1 end
    if what == "" then return text.find(s, what, start) end
    if length(s) == #s then return text.find(s, what, start) end
    local _, last = find(s, what, place(s, start), true)
    return last and length(sub(s, 1, last)) + 1 or 0
end

function U.length(s, delim)
    s = str(s)
    local n = length(s)
    return delim and piece.count(s, delim) or n
end

function U.piece(s, delim, first, last)
    s, delim = str(s), str(delim)
    length(s)
    length(delim)
    return piece.piece(s, delim, first, last)
end

function U.set_piece(s, delim, first, last, new)
    s, delim = str(s), str(delim)
    length(s)
    length(delim)
    return piece.set_piece(s, delim, first, last, new)
end

-- Calls f with each character of a text.
local function each(s, f)
    local at = 0
    while at < #s do
        local code = code_at(s, #s, at, size)
        if code < 0 and U.checking then return refuse(s, at + 1) end
        local n = tonumber(size[0])
        f(sub(s, at + 1, at + n), code)
        at = at + n
    end
end

function U.reverse(s)
    s = str(s)
    if length(s) == #s then return text.reverse(s) end
    local parts = {}
    each(s, function(c) parts[#parts + 1] = c end)
    for i = 1, floor(#parts / 2) do
        parts[i], parts[#parts + 1 - i] = parts[#parts + 1 - i], parts[i]
    end
    return table.concat(parts)
end

function U.translate(s, from, to)
    s = str(s)
    if not from then return s end
    from, to = str(from), to and str(to) or ""
    if length(s) == #s and length(from) == #from and length(to) == #to then
        return text.translate(s, from, to)
    end
    local targets, map, n, out = {}, {}, 0, {}
    each(to, function(c) targets[#targets + 1] = c end)
    each(from, function(c)
        n = n + 1
        map[c] = map[c] or targets[n] or ""
    end)
    each(s, function(c) out[#out + 1] = map[c] or c end)
    return text.checked(table.concat(out))
end

function U.justify(s, width, decimals)
    if decimals then return text.justify(s, width, decimals) end
    s, width = str(s), int(width)
    if width > MAX then return fail("MAXSTRLEN") end
    local n = length(s)
    return n < width and text.checked(rep(" ", width - n) .. s) or s
end

function U.set_extract(s, from, to, new)
    s, new = str(s), str(new)
    local n = length(s)
    if n == #s then return text.set_extract(s, from, to, new) end
    from = from and int(from) or 1
    to = to and int(to) or from
    if from < 1 then from = 1 end
    if to < from then return nil end
    if from > MAX + 1 then return fail("MAXSTRLEN") end
    if from > n then return text.checked(s .. rep(" ", from - 1 - n) .. new) end
    return text.checked(sub(s, 1, place(s, from) - 1) .. new .. sub(s, place(s, to + 1)))
end

local function inside(s, at)
    local c = byte(s, at)
    return c and c >= 0x80 and c < 0xC0
end

-- From character `from` on the whole characters within n bytes.
function U.substr(s, from, n)
    s, from = str(s), from and int(from) or 1
    n = n and int(n) or MAX
    length(s)
    if n < 1 then return "" end
    from = place(s, from < 1 and 1 or from)
    local after = n < MAX and from + n or #s + 1
    while inside(s, after) do after = after - 1 end
    return sub(s, from, after - 1)
end

local function width_of(code)
    local w = code < 0 and 0 or C.caret_mumps__utf8_width(code)
    return w > 0 and w or 0
end

function U.width(s)
    local n = 0
    s = str(s)
    length(s)
    each(s, function(_, code) n = n + width_of(code) end)
    return n
end

-- The longest part of s from that byte on that takes at most so many columns.
function U.within(s, from, columns)
    local at = from - 1
    while at < #s do
        columns = columns - width_of(code_at(s, #s, at, size))
        if columns < 0 then break end
        at = at + tonumber(size[0])
    end
    return sub(s, from, at)
end

-- ------------------------------------------------------------- other encodings

local function put16(code, little)
    local high, low = floor(code / 256), code % 256
    if little then return strchar(low, high) end
    return strchar(high, low)
end

local function to_utf16(s, little)
    local out = {}
    each(s, function(_, code)
        if code < 0x10000 then
            out[#out + 1] = put16(code, little)
        else
            code = code - 0x10000
            out[#out + 1] = put16(0xD800 + floor(code / 1024), little) .. put16(0xDC00 + code % 1024, little)
        end
    end)
    return table.concat(out)
end

local function unit(s, at, little)
    local a, b = s:byte(at, at + 1)
    if not b then return refuse(s, at) end
    if little then return a + b * 256 end
    return a * 256 + b
end

local function from_utf16(s, little)
    local out, at = {}, 1
    while at <= #s do
        local code = unit(s, at, little)
        at = at + 2
        if code >= 0xD800 and code < 0xDC00 then
            code = 0x10000 + (code - 0xD800) * 1024 + unit(s, at, little) - 0xDC00
            at = at + 2
        end
        out[#out + 1] = U.encode(code)
    end
    return table.concat(out)
end

-- UTF-16 alone: a mark of the order of bytes, little-endian, is written, and read if there; without one it
-- is big-endian.
local function from_marked(s)
    local mark = sub(s, 1, 2)
    if mark == "\255\254" then return from_utf16(sub(s, 3), true) end
    return from_utf16(mark == "\254\255" and sub(s, 3) or s, false)
end

function U.recode(s, from, into)
    if from == "UTF-8" then length(s) end
    if from == into then return s end
    if from == "UTF-16" then
        s = from_marked(s)
    elseif from ~= "UTF-8" then
        s = from_utf16(s, from == "UTF-16LE")
    end
    if into ~= "UTF-8" then
        s = (into == "UTF-16" and "\255\254" or "") .. to_utf16(s, into ~= "UTF-16BE")
    end
    return text.checked(s)
end

U.check = length

return U
