-- Numbers of M: texts as numbers, numbers as text, arithmetic, comparison, subscripts.
--
-- A Lua number is an integer below 2^53 in magnitude; every other value is a string.  What two such numbers
-- give is computed here as long as it is such a number again; all else is the business of number.c, which
-- counts with 18 decimal digits.  An operand that is text is made a number first, if it is one of the kind:
-- that is the way of most, as what comes out of a global or of $PIECE is text.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"

local integer, canonical, arithmetic, compare = C.caret_mumps__integer, C.caret_mumps__to_number,
    C.caret_mumps__arithmetic, C.caret_mumps__compare
local key_of, is_canonical = C.caret_mumps__key, C.caret_mumps__is_canonical
local type, tostring, tonumber, floor, format = type, tostring, tonumber, math.floor, string.format
local tobit = bit.tobit
local byte, sub, match = string.byte, string.sub, string.match

local LIMIT = 2 ^ 53
local out = ffi.new("caret_mumps__number")
local troubles = { [-1] = "NUMOFLOW", [-2] = "DIVZERO", [-3] = "NEGFRACPWR" }

local N = {}

-- ---------------------------------------------------------------------- text

local function long_str(n)
    return format("%.0f", n)
end

-- The text of an integer of 32 bits is made by a shorter way than that of a double.
local function str(v)
    if type(v) == "string" then return v end
    local n = tobit(v)
    if n == v then return tostring(n) end
    if v < 1e14 and v > -1e14 then return tostring(v) end
    return long_str(v)
end
N.str = str

local function result(code)
    if code == 0 then return out.value end
    if code > 0 then return ffi.string(out.text, code) end
    return fail(troubles[code])
end

-- out.value = 0 before each call: mumps.host says why.
local function to_number(s)
    out.value = 0
    return canonical(s, #s, out)
end

local function num_slow(s)
    return result(to_number(s))
end

-- What digits alone are, and texts that C takes for an integer, need no text of their own.
local function num(v)
    if type(v) == "number" then return v end
    local n = integer(v, #v)
    if n == n then return n end
    return num_slow(v)
end
N.num = num

function N.truth(v)
    if type(v) == "number" then return v ~= 0 end
    return num(v) ~= 0
end
local truth = N.truth

local function whole_part(s)
    local code = to_number(s)
    if code < 0 then return fail(troubles[code]) end
    if code == 0 then return out.value end
    local digits = match(ffi.string(out.text, code), "^-?%d*")
    return (tonumber(digits) or 0) + 0
end

-- A count among arguments: without its fraction, held within 32 bits.
local function int(v)
    if type(v) == "string" then
        local n = integer(v, #v)
        v = n == n and n or whole_part(v)
    end
    if v > 2147483646 then return 2147483646 end
    if v < -2147483646 then return -2147483646 end
    return v
end
N.int = int

-- What a numeric literal is, or nil and the error.
function N.dec(text)
    local code = to_number(text)
    if code < 0 then return nil, troubles[code] end
    return result(code)
end

-- ---------------------------------------------------------------- arithmetic

local ADD, SUB, MUL, DIV, IDIV, MOD, POW = 0, 1, 2, 3, 4, 5, 6

local function compute(op, a, b)
    out.value = 0
    if type(a) == "number" then
        if type(b) == "number" then return arithmetic(op, a, nil, 0, b, nil, 0, out) end
        return arithmetic(op, a, nil, 0, 0, b, #b, out)
    elseif type(b) == "number" then
        return arithmetic(op, 0, a, #a, b, nil, 0, out)
    end
    return arithmetic(op, 0, a, #a, 0, b, #b, out)
end

local function exact(op, a, b)
    return result(compute(op, a, b))
end
N.exact = exact

local of_sign = {
    ["+"] = ADD, ["-"] = SUB, ["*"] = MUL, ["/"] = DIV, ["\\"] = IDIV, ["#"] = MOD, ["**"] = POW,
}

-- What the arithmetic operator of that sign gives: nil and the error, where it is one.
function N.try(sign, a, b)
    local code = compute(of_sign[sign], a, b)
    if code < 0 then return nil, troubles[code] end
    return result(code)
end

-- Of two values, of which one is text: both as integers, or NaN.
local function number_of(v)
    if type(v) == "number" then return v end
    return integer(v, #v)
end

function N.add(a, b)
    if type(a) == "number" and type(b) == "number" then
        local r = a + b
        if r < LIMIT and r > -LIMIT then return r end
    end
    return exact(ADD, a, b)
end

function N.sub(a, b)
    if type(a) == "number" and type(b) == "number" then
        local r = a - b
        if r < LIMIT and r > -LIMIT then return r end
    end
    return exact(SUB, a, b)
end

-- + 0: a product must not be -0.
function N.mul(a, b)
    if type(a) == "number" and type(b) == "number" then
        local r = a * b
        if r < LIMIT and r > -LIMIT then return r + 0 end
    end
    return exact(MUL, a, b)
end

local function whole_quotient(x, y)
    local q = x / y
    if q == floor(q) and q < LIMIT and q > -LIMIT and q * y == x then return q + 0 end
end
N.whole_quotient = whole_quotient

function N.div(a, b)
    local x, y = number_of(a), number_of(b)
    if y ~= 0 and x == x and y == y then
        local q = whole_quotient(x, y)
        if q then return q end
    end
    return exact(DIV, a, b)
end

-- Below 2^53 the quotient of two doubles is never rounded up to an integer unless it is one.
function N.idiv(a, b)
    local x, y = number_of(a), number_of(b)
    if y ~= 0 and x == x and y == y then
        local q = x / y
        if q >= 0 then return floor(q) + 0 end
        return -floor(-q) + 0
    end
    return exact(IDIV, a, b)
end

local HALF = LIMIT / 2

-- Lua's % is M's #: the sign is that of the divisor. It takes from x a multiple of y that may be greater
-- by y; that must be below 2^53, too, or it is rounded.
function N.mod(a, b)
    local x, y = number_of(a), number_of(b)
    if y ~= 0 and x < HALF and x > -HALF and y < HALF and y > -HALF then return x % y + 0 end
    return exact(MOD, a, b)
end

function N.pow(a, b)
    return exact(POW, a, b)
end

function N.neg(v)
    v = num(v)
    if type(v) == "number" then return 0 - v end
    if byte(v) == 45 then return sub(v, 2) end
    return "-" .. v
end

N.plus = num

-- --------------------------------------------------------------- comparison

local function order(a, b)
    local r
    if type(a) == "number" then
        if type(b) == "number" then
            r = a < b and -1 or a > b and 1 or 0
        else
            r = compare(a, nil, 0, 0, b, #b)
        end
    elseif type(b) == "number" then
        r = compare(0, a, #a, b, nil, 0)
    else
        r = compare(0, a, #a, 0, b, #b)
    end
    if r == 2 then return fail("NUMOFLOW") end
    return r
end

local function is_lt(a, b)
    if type(a) == "number" and type(b) == "number" then return a < b end
    local x, y = number_of(a), number_of(b)
    if x == x and y == y then return x < y end
    return order(a, b) < 0
end
N.is_lt = is_lt

function N.is_gt(a, b)
    if type(a) == "number" and type(b) == "number" then return a > b end
    return is_lt(b, a)
end

function N.lt(a, b)
    return is_lt(a, b) and 1 or 0
end

function N.gt(a, b)
    return is_lt(b, a) and 1 or 0
end

function N.not_(v)
    return truth(v) and 0 or 1
end

-- Both operands are looked at, whatever the first one is.
function N.and_(a, b)
    a, b = truth(a), truth(b)
    return a and b and 1 or 0
end

function N.or_(a, b)
    a, b = truth(a), truth(b)
    return (a or b) and 1 or 0
end

-- --------------------------------------------------------------- subscripts

-- A text whose first byte is above "9" is not a number, nor is the empty one.
function N.key(v)
    if type(v) == "number" then return v end
    local first = byte(v)
    if not first or first > 57 then return v end
    local n = key_of(v, #v)
    if n == n then return n end
    return v
end

local function is_numeric(k)
    if type(k) == "number" then return true end
    local first = byte(k)
    return first ~= nil and first <= 57 and is_canonical(k, #k)
end
N.is_numeric = is_numeric

-- Keys in M's order: the empty one, numbers, all others by their bytes.
function N.before(a, b)
    if type(a) == "number" and type(b) == "number" then return a < b end
    if a == "" or b == "" then return a == "" and b ~= "" end
    local x, y = is_numeric(a), is_numeric(b)
    if x and y then return order(a, b) < 0 end
    if x or y then return x end
    return N.bytes_before(a, b)
end

-- Lua's < on strings goes by the locale; LuaJIT's by bytes.
function N.bytes_before(a, b)
    return a < b
end

return N
