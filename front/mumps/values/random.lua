-- $RANDOM: xorshift, begun from the clock and the process.
local bit = require "bit"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"

local int = number.int
local bxor, lshift, rshift = bit.bxor, bit.lshift, bit.rshift
local floor = math.floor

local function seed()
    local file = io.open("/dev/urandom", "rb")
    local bytes = file and file:read(4)
    if file then file:close() end
    if not bytes then return bxor(os.time(), 0x5DEECE66) end
    local a, b, c, d = bytes:byte(1, 4)
    return bxor(a, lshift(b, 8), lshift(c, 16), lshift(d, 24))
end

local state = seed()
if state == 0 then state = 88172645 end

local function step()
    local x = state
    x = bxor(x, lshift(x, 13))
    x = bxor(x, rshift(x, 17))
    x = bxor(x, lshift(x, 5))
    state = x
    return x % 4294967296
end

local R = {}

-- From 0 to n - 1: 53 random bits, scaled.
function R.random(n)
    n = int(n)
    if n < 1 then return fail("RANDARGNEG") end
    return floor((step() * 2097152 + step() % 2097152) / 2 ^ 53 * n)
end

return R
