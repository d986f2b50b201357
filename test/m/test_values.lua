-- What the fuzz of values does not reach: caret-m -lua test/m/test_values.lua
--
-- Patterns that would explode, limits, tables of pieces, names, and that hot code becomes traces.
local F = require "mumps.values.functions"
local N = require "mumps.values.number"
local D = require "mumps.values.decimal"
local T = require "mumps.values.text"
local piece = require "mumps.values.piece"
local pattern = require "mumps.values.pattern"
local names = require "mumps.values.names"

if not pcall(require, "mumps.runtime.error") then
    package.loaded["mumps.runtime.error"] = { fail = function(name) error({ m = name }, 0) end }
end
local passed, failed = 0, 0

local function same(got, want, what)
    if got == want then
        passed = passed + 1
    else
        failed = failed + 1
        print(("FAILED: %s: %s, not %s"):format(what, tostring(got), tostring(want)))
    end
end

local function fails(mnemonic, what, f, ...)
    local ok, e = pcall(f, ...)
    same(not ok and type(e) == "table" and e.m, mnemonic, what)
end

-- Each takes minutes if every way to divide the text is tried.
local function bombs()
    local text = ("a"):rep(10000)
    same(pattern.match(text, '.E.E.E.E1"x"'), 0, "four times anything, and an x")
    same(pattern.match(text .. "x", '.E.E.E.E1"x"'), 1, "the same with the x")
    same(pattern.match(text, '.(1"a",1"aa")1"x"'), 0, "one or two of a letter, in each way")
    same(pattern.match(text, '.(.A,.N).(.A,.N)1"x"'), 0, "alternations of everything")
    same(pattern.match(text, '1.(1.(1.(1.A)))1"x"'), 0, "alternations within each other")
    same(pattern.match(text, '.1"a".1"aa".1"aaa".E1"x"'), 0, "literals of every length")
    same(pattern.match(text, "10000A"), 1, "a large count")
    same(pattern.match(text, "10001.A"), 0, "a larger one")
    same(pattern.match("", ".(.E)"), 1, "nothing, any number of times")
    same(pattern.match("", "99999999(.E)"), 1, "nothing, many times")
    fails("PATALTER2LARGE", "depth", pattern.compile, ("1("):rep(1000))
    fails("PATMAXLEN", "length", pattern.compile, ("1A"):rep(10000))
end

local function scanning()
    same(pattern.scan("X?1N.E!Y", 3), 7, "where a pattern ends")
    same(pattern.scan('1(1"a,)",2N)_X', 1), 13, "one with an alternation")
    local after, why, where = pattern.scan("1N2.1A", 1)
    same(after, nil, "no end of a wrong one")
    same(why, "PATUPPERLIM", "why")
    same(where, 6, "where")
end

local function limits()
    local most = ("x"):rep(T.MAX)
    same(#T.concat(most, ""), T.MAX, "the longest text")
    fails("MAXSTRLEN", "concat", T.concat, most, 1)
    fails("MAXSTRLEN", "concat_list", T.concat_list, 5, most, "", "", "", "y")
    fails("MAXSTRLEN", "SET $EXTRACT", F.SET_EXTRACT, most, 1, 1, "yy")
    fails("MAXSTRLEN", "SET $PIECE", F.SET_PIECE, most, "^", 2, nil, "")
    fails("MAXSTRLEN", "SET $PIECE far away", F.SET_PIECE, "", "^", 2000000000, nil, "")
    fails("MAXSTRLEN", "$JUSTIFY", F.JUSTIFY, "", 2000000000)
    same(#F.ZWRITE(("\1"):rep(1000)), 2015, "ZWRITE of much")
end

-- The table of pieces of a long text gives what cutting it gives.
local function pieces()
    local parts = {}
    for i = 1, 300 do parts[i] = i % 7 == 0 and "" or "p" .. i end
    local s = table.concat(parts, "^")
    for _ = 1, 3 do -- the first piece often, so that there is a table
        for _ = 1, 9 do same(piece.piece1(s, 94, 1), "p1", "the first") end
        for i = 0, 302 do
            same(piece.piece1(s, 94, i), parts[i] or "", "piece " .. i)
            same(piece.piece(s, "^", i), parts[i] or "", "piece " .. i .. " by the long way")
        end
    end
    same(piece.piece(s, "p2", 2):sub(1, 4), "^p3^", "a delimiter of two")
    local many = ("a^"):rep(5000)
    for _ = 1, 10 do same(piece.piece1(many, 94, 4999), "a", "more pieces than a table has") end
    for i = 1, 20000 do parts[i] = "q" .. i end
    s = table.concat(parts, "--")
    local right = 0
    for i = 1, 20000 do right = right + (piece.piece(s, "--", i) == parts[i] and 1 or 0) end
    same(right, 20000, "pieces of a very long text in order")
    for i = 20000, 1, -997 do same(piece.piece(s, "--", i), parts[i], "and backwards: " .. i) end
    same(piece.piece(s, "--", 20001), "", "after the last")
end

local function numbers()
    same(N.str(2 ^ 53 - 1), "9007199254740991", "the largest number as text")
    same(N.str(1e14), "100000000000000", "one that Lua writes with an exponent")
    same(N.add(2 ^ 53 - 1, 1), "9007199254740992", "one more than the largest")
    same(N.sub("9007199254740992", 1), 2 ^ 53 - 1, "and back")
    same(1 / N.mul(0, -1), 1 / 0, "never -0 of *")
    same(1 / N.neg(0), 1 / 0, "nor of -")
    same(1 / N.mod(-5, 5), 1 / 0, "nor of #")
    same(1 / N.idiv(-1, 2), 1 / 0, "nor of \\")
    same(1 / N.div(0, -2), 1 / 0, "nor of /")
    same(1 / N.num("-0"), 1 / 0, "nor of text")
    same(N.key("12"), 12, "a key that is a number")
    same(N.key("012"), "012", "one that is not")
    same(N.key("-0"), "-0", "nor is this")
    same(N.key("9007199254740992"), "9007199254740992", "a number too large for Lua's")
    same(N.before(".5", 1) and N.before(-1, ".5"), true, "order of keys")
    same(N.before("9007199254740992", "a"), true, "numbers before others")
    same(N.before("", -1e9) and not N.before("a", 5) and N.before("A", "a"), true, "order of others")
    same(select(2, N.dec("1E47")), "NUMOFLOW", "a literal too large")
end

-- A decimal as text, most of few digits.
local function some_decimal()
    local whole = math.random(0, 10 ^ math.random(0, math.random(3) == 1 and 10 or 4))
    local places = math.random(0, 7)
    local text = ("%d.%0" .. places + 1 .. "d"):format(whole, math.random(0, 10 ^ places))
    return (math.random(2) == 1 and "-" or "") .. text
end

local function same_number(name, a, b, x, y)
    local fine, want = pcall(N[name], a, b)
    local got = fine and D["n" .. name](x, y)
    if fine and (D.canon(got) ~= want or type(got) == "number" and D.nplus(N.str(want)) ~= got) then
        same(D.canon(got), want, name .. " of " .. a .. " and " .. b)
    end
end

-- Short fractions: each operator gives what the exact one does, as the double that such a text is; chained.
local function fractions()
    local before = failed
    for _ = 1, 30000 do
        local a, b = some_decimal(), some_decimal()
        local x, y = D.nplus(a), D.nplus(b)
        for _, name in ipairs { "add", "sub", "mul", "div", "idiv", "mod" } do
            same_number(name, a, b, x, y)
        end
        local r = D.nsub(D.nadd(x, y), y)
        if type(x) == "number" and type(y) == "number" and r ~= x then
            same(D.canon(r), N.num(a), "a sum and back of " .. a .. " and " .. b)
        end
        if N.is_lt(x, y) ~= N.is_lt(a, b) then same(x, y, "order of " .. a .. " and " .. b) end
    end
    same(failed, before, "30,000 pairs of decimals")
    local sum = 0
    for _ = 1, 100000 do sum = D.nadd(sum, 0.1) end
    same(sum, 10000, "a tenth, 100,000 times")
    same(D.canon(D.nadd(2 ^ 52, 0.5)), "4503599627370496.5", "more digits than a double has")
    same(D.canon(D.nsub(0.1, 536870912)), "-536870911.9", "the largest short fraction")
    same(1 / D.nmul(0, -0.5), 1 / 0, "never -0 of a fraction")
end

local function others()
    local salted = F.ZYHASH("YottaDB Rocks!", 123456789)
    same(salted, "0xb931c7fa5746e15dc9fdaecfb29b8626", "$ZYHASH")
    same(F.ZCONVERT(-23, "DEC", "HEX"), "E9", "a negative number in hexadecimal digits")
    same(F.ZCONVERT("ffffffffffffffff", "HEX", "DEC"), "18446744073709551615", "64 bits")
    same(names.name("A", 3, { 1, "x\"y", ".5" }), 'A(1,"x""y",.5)', "a name")
    same(names.parse('^|"e"|A("b",2)').env, "e", "its environment")
    local seen = {}
    for _ = 1, 1000 do seen[F.RANDOM(5)] = true end
    same(seen[0] and seen[4] and not seen[5], true, "$RANDOM from 0 to n - 1")
end

bombs()
scanning()
limits()
pieces()
numbers()
fractions()
others()
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
