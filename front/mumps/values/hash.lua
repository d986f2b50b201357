-- $ZYHASH and $ZYSUFFIX: MurmurHash3 of a text, as hexadecimal digits or as letters and digits for a name.
local ffi = require "ffi"
local bit = require "bit"
local C = require "mumps.host"
local number = require "mumps.values.number"

local tohex, bswap = bit.tohex, bit.bswap
local str, num = number.str, number.num
local halves = ffi.new("uint64_t[2]")
local H = {}

function H.zyhash(s, salt)
    s = str(s)
    C.caret_mumps__hash(s, #s, salt and tonumber(num(salt)) % 2 ^ 32 or 0, halves)
    return "0x" .. tohex(bswap(halves[0]), 16) .. tohex(bswap(halves[1]), 16)
end

local digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

-- 11 letters and digits for each half.
local function letters(half)
    local parts = {}
    for i = 1, 11 do
        local d = tonumber(half % 62) + 1
        parts[i] = digits:sub(d, d)
        half = half / 62
    end
    return table.concat(parts)
end

function H.zysuffix(s)
    s = str(s)
    C.caret_mumps__hash(s, #s, 0, halves)
    return letters(halves[0]) .. letters(halves[1])
end

return H
