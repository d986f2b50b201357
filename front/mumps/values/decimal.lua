-- decimal.lua - arithmetic where the consumer wants a number: fractions without a text.
--
-- A new text costs LuaJIT some 200 ns, its interning and its end as garbage.  So the operators of this file
-- take and give a third kind of value beside integers and texts, the *short fraction*:
--
--     a Lua number that is not an integer is the decimal with at most 6 digits after the point that is
--     nearest to it; its magnitude is below 2^29, and it is the double nearest to that decimal
--
-- It lives in operands and in the container of a local variable (symbols.lua) alone: the compiler emits
-- these operators where the result goes to another of them, to a comparison or to a plain local, and
-- canon() around what goes anywhere else, which makes the text of it.  C functions of values.h take it as a
-- number.
--
-- Why the results are exact.  Let u be 10^-6.  Doubles below 2^29 have an error of 2^-25 at most, u/33.  A
-- sum of two of them, or of one and an integer, whose magnitude is below 2^29 has an error below u/8:
-- rounding it to a multiple of u gives the right one, and a sum that is an integer as a double is that
-- integer.  Products and quotients are made of integers, which the operands are after multiplication with
-- 10^6 or 10^3, and taken only as long as all of these are below 2^52, so that each step is exact; a
-- quotient only if it multiplied again is the dividend.  n / 10^6 for such an integer n is the nearest
-- double, by IEEE 754.  What does not fit is computed by number.c with 18 digits.
local ffi = require "ffi"
local C = require "mumps.host"
local number = require "mumps.values.number"

local decimal, decimal_text = C.caret_mumps__decimal, C.caret_mumps__decimal_text
local exact, num, whole_quotient = number.exact, number.num, number.whole_quotient
local ADD, SUB, MUL, DIV, IDIV, MOD = 0, 1, 2, 3, 4, 5
local type, floor = type, math.floor

local LIMIT, SAFE = 2 ^ 53, 2 ^ 52
local BOUND = 2 ^ 29 -- of a short fraction
local UNITS = 1e6
local MOST = BOUND * UNITS

local D = {}

local room = ffi.new "char[32]"

-- The value as all others know it: an integer or a text.
function D.canon(v)
    if type(v) ~= "number" or v == floor(v) then return v end
    return ffi.string(room, decimal_text(v, room))
end

-- A text's number if it is an integer or a short fraction, else NaN.
local function of(v)
    if type(v) == "number" then return v end
    return decimal(v, #v)
end

local function scaled(x)
    return floor(x * UNITS + 0.5)
end

-- An operator: `f` for two numbers, the long way for others and for what f gives up, by nil.
local function operator(code, f)
    return function(a, b)
        local r
        if type(a) == "number" and type(b) == "number" then
            r = f(a, b)
        else
            local x, y = of(a), of(b)
            if x == x and y == y then r = f(x, y) end
        end
        if r then return r end
        return exact(code, a, b)
    end
end

local function rounded(r, x, y)
    if r < BOUND and r > -BOUND then
        if r == floor(r) then return r end
        return scaled(r) / UNITS
    end
    if r < LIMIT and r > -LIMIT and x == floor(x) and y == floor(y) then return r end
end

D.nadd = operator(ADD, function(x, y) return rounded(x + y, x, y) end)
D.nsub = operator(SUB, function(x, y) return rounded(x - y, x, y) end)

-- Both have three digits after the point at most, or nil.
local function small_product(x, y)
    local p, q = floor(x * 1000 + 0.5), floor(y * 1000 + 0.5)
    if p / 1000 == x and q / 1000 == y then return p * q end
end

-- + 0: a product must not be -0.
D.nmul = operator(MUL, function(x, y)
    local n
    if x == floor(x) then
        if y == floor(y) then
            local r = x * y
            if r < LIMIT and r > -LIMIT then return r + 0 end
            return nil
        end
        n = x * scaled(y)
    elseif y == floor(y) then
        n = scaled(x) * y
    else
        n = small_product(x, y)
    end
    if n and n < MOST and n > -MOST then return n / UNITS + 0 end
end)

D.ndiv = operator(DIV, function(x, y)
    if y == 0 then return nil end
    if x == floor(x) and y == floor(y) then
        local q = whole_quotient(x, y)
        if q then return q end
    end
    local n = scaled(x)
    if y ~= floor(y) then n, y = n * UNITS, scaled(y) end
    if n >= SAFE or n <= -SAFE then return nil end
    local q = n / y
    if q == floor(q) and q * y == n and q < MOST and q > -MOST then return q / UNITS + 0 end
end)

-- Both as integers of one scale: what they are already, or in units.
local function alike(x, y)
    if x ~= floor(x) or y ~= floor(y) then return scaled(x), scaled(y), UNITS end
    return x, y, 1
end

-- Below 2^53 the quotient of two doubles is never rounded up to an integer unless it is one.
D.nidiv = operator(IDIV, function(a, b)
    local x, y, units = alike(a, b)
    if y == 0 or units ~= 1 and (x >= SAFE or x <= -SAFE or y >= SAFE or y <= -SAFE) then return nil end
    local q = x / y
    if q >= 0 then return floor(q) + 0 end
    return -floor(-q) + 0
end)

D.nmod = operator(MOD, function(a, b)
    local x, y, units = alike(a, b)
    if y == 0 or x >= SAFE or x <= -SAFE or y >= SAFE or y <= -SAFE then return nil end -- as in number.lua
    return x % y / units + 0
end)

function D.nneg(v)
    local x = of(v)
    if x == x then return 0 - x end
    return number.neg(v)
end

function D.nplus(v)
    local x = of(v)
    if x == x then return x end
    return num(v)
end

return D
