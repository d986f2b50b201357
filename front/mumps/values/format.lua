-- $FNUMBER.
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local text = require "mumps.values.text"

local str, num = number.str, number.num
local byte, sub, find = string.byte, string.sub, string.find

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
    local point = find(digits, ".", 1, true)
    local whole, rest = digits, ""
    if point then whole, rest = sub(digits, 1, point - 1), sub(digits, point) end
    local n = #whole
    local first = n % 3
    local parts = { first > 0 and sub(whole, 1, first) or nil }
    for i = first + 1, n, 3 do parts[#parts + 1] = sub(whole, i, i + 2) end
    return table.concat(parts, ",") .. rest
end

-- The sign of what is written: of 0.00 it is none, though the number was below 0.
local function sign_of(digits, negative)
    if negative then return -1 end
    return find(digits, "[1-9]") and 1 or 0
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
    codes = str(codes)
    local digits
    if decimals then digits = text.fixed(n, decimals, true) else digits = str(num(n)) end
    local c = cache[codes] or read(codes)
    local negative = byte(digits) == 45
    if negative then digits = sub(digits, 2) end
    local sign = sign_of(digits, negative)
    if c.comma then digits = with_commas(digits) end
    return text.checked(signed(digits, sign, c))
end

return F
