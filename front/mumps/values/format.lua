-- $FNUMBER.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local text = require "mumps.values.text"
local buffer = require "mumps.values.buffer"

local commas, integer_text = C.caret_mumps__commas, C.caret_mumps__integer_text

local str, num = number.str, number.num
local type, byte, sub = type, string.byte, string.sub

local F = {}
local known = { ["+"] = "plus", ["-"] = "minus", [","] = "comma", T = "trail", t = "trail", P = "paren",
    p = "paren" }
local cache = {}

local function read(codes)
    local c = {}
    for i = 1, #codes do
        local name = known[sub(codes, i, i)]
        if not name then return fail("FNUMARG", codes, sub(codes, i, i)) end
        c[name] = true
    end
    if c.paren and (c.plus or c.minus or c.trail) then return fail("FNARGINC", codes) end
    cache[codes] = c
    return c
end

local function with_commas(digits)
    local room = buffer(#digits * 2)
    return ffi.string(room, commas(digits, #digits, room))
end

-- An integer that is not below 0, with commas: the most frequent, without a text on the way.
local plain = ffi.new("char[24]")

function F.integer_with_commas(n, room)
    return tonumber(commas(plain, integer_text(n, plain), room))
end

local function integer_with_commas(n)
    local room = buffer(48)
    return ffi.string(room, F.integer_with_commas(n, room))
end

-- With decimals: the digits, and what is made of them after them in the same buffer.
local function fixed_with_commas(n, decimals)
    local digits, length = text.fixed_in_room(n, 0, decimals)
    local room, sign = digits + length, 0
    if digits[0] == 45 then room[0], sign = 45, 1 end
    return ffi.string(room, sign + commas(digits + sign, length - sign, room + sign))
end

-- The sign of what is written, as far as it shows: of 0.00 it is none, though the number was below 0.
local function sign_of(digits, negative, c)
    if negative then return -1 end
    return c.plus and tonumber(digits) ~= 0 and 1 or 0
end

local function signed(digits, sign, c)
    if c.paren then return sign < 0 and "(" .. digits .. ")" or " " .. digits .. " " end
    local mark = ""
    if sign < 0 and not c.minus then mark = "-" end
    if sign > 0 and c.plus then mark = "+" end
    if not c.trail then return mark .. digits end
    return digits .. (mark == "" and " " or mark)
end

function F.fnumber(n, codes, decimals)
    if codes == "," and decimals then return text.checked(fixed_with_commas(n, decimals)) end
    if codes == "," and type(n) == "number" and n >= 0 then return integer_with_commas(n) end
    codes = str(codes)
    local digits
    if decimals then digits = text.fixed(n, decimals) else digits = str(num(n)) end
    local c = cache[codes] or read(codes)
    local negative = byte(digits) == 45
    if negative then digits = sub(digits, 2) end
    local sign = sign_of(digits, negative, c)
    if c.comma then digits = with_commas(digits) end
    return text.checked(signed(digits, sign, c))
end

return F
