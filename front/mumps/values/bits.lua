-- $ZBIT functions: a string of bits is a byte that says how many bits of the last one are not used, and the
-- bits, the first of them the highest of its byte.
local bit = require "bit"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"

local str, int = number.str, number.int
local byte, sub, rep, strchar, concat = string.byte, string.sub, string.rep, string.char, table.concat
local band, bor, bxor, bnot, lshift, rshift = bit.band, bit.bor, bit.bxor, bit.bnot, bit.lshift, bit.rshift

local MOST = 253952
local B = {}

-- The text and the number of bits of a string of bits.
local function bits_of(s)
    s = str(s)
    local unused = byte(s)
    if #s < 1 or unused > 7 then return fail("INVBITSTR") end
    return s, (#s - 1) * 8 - unused
end

local function header(n)
    return strchar((8 - n % 8) % 8)
end

-- The last byte without what is not used of it.
local function closed(s, n)
    local unused = (8 - n % 8) % 8
    if unused == 0 then return s end
    local last = band(byte(s, #s), lshift(255, unused))
    return sub(s, 1, #s - 1) .. strchar(band(last, 255))
end

function B.zbitstr(n, v)
    n = int(n)
    if n < 1 or n > MOST then return fail("INVBITLEN") end
    local fill = v and int(v) ~= 0 and "\255" or "\0"
    return closed(header(n) .. rep(fill, math.ceil(n / 8)), n)
end

local function place(n, pos)
    pos = int(pos)
    if pos < 1 or pos > n then return fail("INVBITPOS") end
    return math.floor((pos - 1) / 8) + 2, lshift(1, 7 - (pos - 1) % 8)
end

local function bit_at(s, pos)
    return band(rshift(byte(s, math.floor((pos - 1) / 8) + 2), 7 - (pos - 1) % 8), 1)
end

function B.zbitget(s, pos)
    local text, n = bits_of(s)
    local at, mask = place(n, pos)
    return band(byte(text, at), mask) ~= 0 and 1 or 0
end

function B.zbitset(s, pos, v)
    local text, n = bits_of(s)
    local at, mask = place(n, pos)
    local old = byte(text, at)
    local new = int(v) ~= 0 and bor(old, mask) or band(old, bnot(mask))
    return sub(text, 1, at - 1) .. strchar(band(new, 255)) .. sub(text, at + 1)
end

function B.zbitlen(s)
    local _, n = bits_of(s)
    return n
end

function B.zbitcount(s)
    local text, n = bits_of(s)
    local count = 0
    for i = 1, n do count = count + bit_at(text, i) end
    return count
end

function B.zbitfind(s, v, from)
    local text, n = bits_of(s)
    local wanted = int(v) ~= 0 and 1 or 0
    from = from and int(from) or 1
    if from < 1 then from = 1 end
    for i = from, n do
        if bit_at(text, i) == wanted then return i + 1 end
    end
    return 0
end

function B.zbitnot(s)
    local text = bits_of(s)
    local parts = { sub(text, 1, 1) }
    for i = 2, #text do parts[i] = strchar(255 - byte(text, i)) end
    return concat(parts)
end

-- n bits of two strings; bytes that one has not are 0.
local function both(a, b, n, op)
    local parts = { header(n) }
    for i = 2, math.ceil(n / 8) + 1 do
        parts[i] = strchar(band(op(byte(a, i) or 0, byte(b, i) or 0), 255))
    end
    return concat(parts)
end

function B.zbitand(x, y)
    local a, n = bits_of(x)
    local b, m = bits_of(y)
    return closed(both(a, b, math.min(n, m), band), math.min(n, m))
end

function B.zbitor(x, y)
    local a, n = bits_of(x)
    local b, m = bits_of(y)
    return both(a, b, math.max(n, m), bor)
end

function B.zbitxor(x, y)
    local a, n = bits_of(x)
    local b, m = bits_of(y)
    return closed(both(a, b, math.min(n, m), bxor), math.min(n, m))
end

return B
