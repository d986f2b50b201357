-- Random values through operators and functions, here and in GT.M: caret-m -lua test/m/fuzz_values.lua SEED
-- N [NAME]
--
-- Each case is one operator or function with arguments that are made to be awkward.  GT.M reads the same
-- cases as expressions from a file and writes its answers; they are compared with ours, errors by their
-- names.  Prints each difference, and "N passed, N failed".
-- With ydb_chset=UTF-8 in the environment both are in UTF-8 mode.
local seed, cases, only = tonumber(arg[1] or 1), tonumber(arg[2] or 10000), arg[3]
local dist = os.getenv("gtm_dist") or "/usr/lib/x86_64-linux-gnu/fis-gtm/V7.0-005_x86_64"
local utf8 = require("mumps.values.mode").utf8
local here = arg[0]:match("^(.*)/[^/]*$") or "."

if not pcall(require, "mumps.runtime.error") then
    package.loaded["mumps.runtime.error"] = { fail = function(name) error({ m = name }, 0) end }
end
local F = require "mumps.values.functions"
local N = require "mumps.values.number"
local T = require "mumps.values.text"
local pattern = require "mumps.values.pattern"
local names = require "mumps.values.names"

math.randomseed(seed)
local random = math.random
local function one_of(list) return list[random(#list)] end

-- ------------------------------------------------------------------ arguments

local odd = { "", "0", "1", "-1", "2", "00", "1.0", "-0", "+5", "--3", "-+-7", ".5", ".5.", "5.", "0.5",
    "-.5", "1E3",
    "1E3abc", "1E", "1E+", "1E-", "1E+2", "1e3", "E5", "1E47", "1E46", "9.99E46", "1E-43", "1E-44",
        "-1E-43", "abc", "3abc",
    " 3", "3 ", "0x10", "inf", "nan", "-", "+", ".", "-.", "..5", "1..2", "1.5E1", "12E-1", "1E100",
        "1E-100", "007", "-007",
    "1.10", "100", "1000000000", "2147483647", "2147483648", "4294967296", "-2147483648", "9007199254740991",
    "9007199254740992", "9007199254740993", "-9007199254740992", "999999999999999999", "1000000000000000000",
    "123456789012345678", "1234567890123456789", "12345678901234567890", ".123456789012345678",
    ".1234567890123456789", "999999999999999999.9", "0.99999999999999999999", "4503599627370497.5",
    "99999999999999999999999", "-1.5", "2.5", "-2.5", "1/2", "1,2", "10E", "1E1E1", "1E0", "0E5", "-0.0" }

local function digits(n)
    local t = {}
    for i = 1, n do t[i] = random(0, 9) end
    return table.concat(t)
end

local function any_number()
    local kind = random(12)
    if kind == 1 then return one_of(odd) end
    if kind == 2 then return tostring(random(-20, 20)) end
    if kind == 3 then return digits(random(14, 22)) end
    if kind == 4 then return (one_of { "", "-" }) .. digits(random(0, 10)) .. "." .. digits(random(1, 10)) end
    if kind == 5 then return digits(random(1, 19)) .. "E" .. random(-60, 45) end
    if kind == 6 then return (one_of { "", "-" }) .. "." .. digits(random(1, 20)) end
    if kind == 7 then return one_of { "1", "-1", "9" } .. ("0"):rep(random(1, 40)) end
    if kind == 8 then return tostring(random(-1000, 1000) / 4) end
    if kind == 9 then return digits(random(1, 4)) .. one_of { ".0", "a", " ", "E2", ".", "-", "E-2", "..",
        "E", "e1" } end
    if kind == 10 then return ("9"):rep(random(1, 20)) .. one_of { "", ".9", ".99999", "E5", "E-30" } end
    return (one_of { "", "-", "" }) .. random(0, 1000000)
end

local alphabet = { "a", "b", "c", "A", "B", "^", ",", " ", "1", "2", ".", "-", '"', "E", "\0", "\1", "\127",
    "\200", "\255",
    "\208", "x", "xx", "ab", ";" }

if utf8 then
    for i, s in ipairs(alphabet) do
        if s:byte() > 127 then alphabet[i] = one_of { "é", "日", "€", "ß", "É", "😀", "ø" } end
    end
end

local function any_text()
    if random(6) == 1 then return any_number() end
    local t = {}
    for i = 1, random(0, one_of { 3, 6, 12, 40 }) do t[i] = one_of(alphabet) end
    local s = table.concat(t)
    return random(20) == 1 and s:rep(20) or s
end

local function small_text()
    local t = {}
    for i = 1, random(0, 2) do t[i] = one_of(alphabet) end
    return table.concat(t)
end

local function count()
    if random(10) == 1 then return any_number() end
    return tostring(random(-3, 12))
end

local function few()
    if random(20) == 1 then return one_of(odd) end
    return tostring(random(-1, 9))
end

-- Decimals and widths: not a hundred thousand of them.
local function places()
    return one_of { "0", "1", "2", "3", "5", "18", "25", "-1", "2.9", "" }
end

local function codes()
    local t = {}
    for i = 1, random(0, 3) do t[i] = one_of { "+", "-", ",", "T", "t", "P", "p", ".", "x" } end
    return table.concat(t)
end

local function day()
    return one_of { tostring(random(-400, 3000000)), random(-10, 70000) .. "," .. random(-5, 86405),
        any_number() }
end

local function form()
    local t = {}
    for i = 1, random(1, 5) do
        t[i] = one_of { "YEAR", "YY", "YYYY", "MM", "DD", "MON", "DAY", "12", "24", "60", "SS", "AM", "/",
            "-", " ", ":", "Y",
            "YYYYY", "M", "x" }
    end
    return table.concat(t)
end

local function bits()
    local ok, s = pcall(F.ZBITSTR, random(1, 40), random(0, 1))
    for _ = 1, random(0, 5) do
        local _, changed = pcall(F.ZBITSET, s, random(1, 8), random(0, 1))
        s = type(changed) == "string" and changed or s
    end
    return ok and random(15) > 1 and s or one_of { "", "ab", "\8\1", "\9" }
end

local function name()
    local t = {}
    for i = 1, random(0, 3) do
        local wild = random(5) == 1 and any_number() or random(4) == 1 and small_text()
        t[i] = wild or names.quote(N.key(any_text()))
    end
    local head = one_of { "A", "^A", "%b", "^", "1a", "a1", '^|"x"|G', '^["x","y"]G', "", "^a.b" }
    if #t == 0 and random(2) == 1 then return head end
    return head .. "(" .. table.concat(t, ",") .. one_of { ")", ")", ")", ")", ")", ")", "", ") ", ",)" }
end

local function class()
    local t = {}
    for i = 1, random(1, 2) do t[i] = one_of { "N", "A", "P", "U", "L", "E", "C", "n", "a" } end
    return table.concat(t)
end

local function repetition()
    return one_of { "1", "2", ".", ".", "1.", ".3", "1.2", "0", "0.1", "3.", "2.1" }
end

local function a_pattern(depth)
    local t = {}
    for i = 1, random(1, 4) do
        local kind = random(5)
        if kind <= 3 then
            t[i] = repetition() .. class()
        elseif kind == 4 or depth == 0 then
            t[i] = repetition() .. '"' .. one_of { "a", "ab", "1", "", "x", "^", '""', "-", "a1" } .. '"'
        else
            local options = {}
            for k = 1, random(1, 3) do options[k] = a_pattern(depth - 1) end
            t[i] = repetition() .. "(" .. table.concat(options, ",") .. ")"
        end
    end
    return table.concat(t)
end

local function broken_pattern()
    local p = a_pattern(1)
    if random(8) > 1 then return p end
    local at = random(#p)
    return p:sub(1, at - 1) .. one_of { "", "(", ")", '"', "Y", ".", "," } .. p:sub(at + 1)
end

local function pattern_text()
    local t = {}
    for i = 1, random(0, 10) do t[i] = one_of { "a", "b", "1", "2", "A", "-", "ab", "a1", "x", "^" } end
    return table.concat(t)
end

-- ---------------------------------------------------------------------- cases

-- M text with $1, $2...; our function; what makes the arguments.
local num2, text2 = { any_number, any_number }, { any_text, any_text }
local kinds = {}
local function add(weight, text, f, makers)
    for _ = 1, weight do kinds[#kinds + 1] = { text = text, f = f, makers = makers } end
end

local function whole_power() return tostring(random(-9, 40)) end

for op, f in pairs { ["+"] = N.add, ["-"] = N.sub, ["*"] = N.mul, ["/"] = N.div, ["\\"] = N.idiv,
    ["#"] = N.mod } do
    add(4, "$1" .. op .. "$2", f, num2)
end
add(1, "$1**$2", N.pow, { any_number, whole_power })
add(1, "+$1", N.plus, { any_number })
add(1, "-$1", N.neg, { any_number })
add(1, "'$1", N.not_, { any_number })
add(2, "$1<$2", N.lt, num2)
add(2, "$1>$2", N.gt, num2)
add(1, "$1&$2", N.and_, num2)
add(1, "$1!$2", N.or_, num2)
add(1, "$1=$2", T.eq, num2)
add(1, "$1=$2", T.eq, text2)
add(1, "$1_$2", T.concat, text2)
add(1, "$1[$2", T.contains, { any_text, small_text })
add(1, "$1]$2", T.follows, text2)
add(2, "$1]]$2", T.sortsafter, text2)
add(2, "$1]]$2", T.sortsafter, num2)
add(1, "$A($1)", F.ASCII, { any_text })
add(1, "$A($1,$2)", F.ASCII, { any_text, count })
add(1, "$C($1)", F.CHAR, { count })
add(1, "$C($1,$2,$3)", F.CHAR, { count, any_number, count })
add(1, "$E($1)", F.EXTRACT, { any_text })
add(1, "$E($1,$2)", F.EXTRACT, { any_text, count })
add(2, "$E($1,$2,$3)", F.EXTRACT, { any_text, count, count })
add(1, "$F($1,$2)", F.FIND, { any_text, small_text })
add(2, "$F($1,$2,$3)", F.FIND, { any_text, small_text, count })
add(1, "$L($1)", F.LENGTH, { any_text })
add(2, "$L($1,$2)", F.LENGTH, { any_text, small_text })
add(1, "$P($1,$2)", F.PIECE, { any_text, small_text })
add(2, "$P($1,$2,$3)", F.PIECE, { any_text, small_text, count })
add(2, "$P($1,$2,$3,$4)", F.PIECE, { any_text, small_text, count, count })
add(1, "$RE($1)", F.REVERSE, { any_text })
add(1, "$TR($1)", F.TRANSLATE, { any_text })
add(1, "$TR($1,$2)", F.TRANSLATE, { any_text, small_text })
add(2, "$TR($1,$2,$3)", F.TRANSLATE, { any_text, any_text, any_text })
add(1, "$J($1,$2)", F.JUSTIFY, { any_text, few })
add(4, "$J($1,$2,$3)", F.JUSTIFY, { any_number, few, places })
add(2, "$FN($1,$2)", F.FNUMBER, { any_number, codes })
add(2, "$FN($1,$2,$3)", F.FNUMBER, { any_number, codes, places })
add(2, "$$sp^values($1,$2,$3,,$4)", function(s, d, n, v) return F.SET_PIECE(s, d, n, nil, v) or s end,
    { any_text, small_text, few, small_text })
add(2, "$$sp^values($1,$2,$3,$4,$5)", function(s, d, a, b, v) return F.SET_PIECE(s, d, a, b, v) or s end,
    { any_text, small_text, few, few, small_text })
add(2, "$$se^values($1,$2,$3,$4)", function(s, a, b, v) return F.SET_EXTRACT(s, a, b, v) or s end,
    { any_text, few, few, small_text })
add(1, "$$se^values($1,$2,,$3)", function(s, a, v) return F.SET_EXTRACT(s, a, nil, v) or s end,
    { any_text, few, small_text })
add(1, "$ZDATE($1)", F.ZDATE, { day })
add(2, "$ZDATE($1,$2)", F.ZDATE, { day, form })
add(1, "$ZDATE($1,$2,$3,$4)", F.ZDATE, { day, form, any_text, any_text })
add(1, "$ZBITLEN($1)", F.ZBITLEN, { bits })
add(1, "$ZBITCOUNT($1)", F.ZBITCOUNT, { bits })
add(1, "$ZBITNOT($1)", F.ZBITNOT, { bits })
add(1, "$ZBITAND($1,$2)", F.ZBITAND, { bits, bits })
add(1, "$ZBITOR($1,$2)", F.ZBITOR, { bits, bits })
add(1, "$ZBITXOR($1,$2)", F.ZBITXOR, { bits, bits })
add(1, "$ZBITGET($1,$2)", F.ZBITGET, { bits, count })
add(1, "$ZBITSET($1,$2,$3)", F.ZBITSET, { bits, count, few })
add(1, "$ZBITFIND($1,$2,$3)", F.ZBITFIND, { bits, few, count })
add(1, "$ZBITSTR($1,$2)", F.ZBITSTR, { few, few })
add(1, "$ZSUBSTR($1,$2,$3)", F.ZSUBSTR, { any_text, count, count })
add(1, "$ZWIDTH($1)", F.ZWIDTH, { any_text })
add(1, "$ZCONVERT($1,$2)", F.ZCONVERT, { any_text, function() return one_of { "U", "L", "u", "l", "x",
    "" } end })
add(2, "$QL($1)", F.QLENGTH, { name })
add(2, "$QS($1,$2)", F.QSUBSCRIPT, { name, few })
add(1, "$ZWRITE($1)", F.ZWRITE, { any_text })
add(1, "$ZWRITE($ZWRITE($1),1)", function(s) return F.ZWRITE(F.ZWRITE(s), 1) end, { any_text })
add(8, "$1?@$2", pattern.match, { pattern_text, broken_pattern })

if only then
    local some = {}
    for _, k in ipairs(kinds) do
        if k.text:find(only, 1, true) then some[#some + 1] = k end
    end
    kinds = some
end

-- ----------------------------------------------------------------------- runs

-- What begins at a byte: "text" that M can have between quotes, a "$C" or a "$ZCH", and its last byte.
local function part(s, at)
    local c = s:byte(at)
    if c < 32 or c == 127 or (c > 127 and not utf8) then return "$C", at end
    if c < 128 then return "text", at end
    local n = c >= 0xF0 and 4 or c >= 0xE0 and 3 or 2
    if pcall(F.LENGTH, s:sub(at, at + n - 1)) and at + n - 1 <= #s then return "text", at + n - 1 end
    return "$ZCH", at
end

-- A text as M writes it.  GT.M's compiler refuses a constant that is too large for a number: so no `E` before
-- digits.
local function literal(s)
    local parts, at, kind = {}, 1
    while at <= #s do
        local new, last = part(s, at)
        local bytes = new == "text" and s:sub(at, last):gsub('"', '""') or s:byte(at)
        if new ~= kind or s:find("^E[-+]?%d", at - 1) then
            parts[#parts + 1] = { kind = new, bytes }
        else
            table.insert(parts[#parts], bytes)
        end
        at, kind = last + 1, new
    end
    for i, p in ipairs(parts) do
        local text = p.kind == "text"
        parts[i] = text and '"' .. table.concat(p) .. '"' or p.kind .. "(" .. table.concat(p, ",") .. ")"
    end
    if #parts == 0 then return '""' end
    return #parts == 1 and parts[1] or "(" .. table.concat(parts, "_") .. ")"
end

-- A value as a Lua number now and then, where that is the same value.
local function as_number(s)
    local n = N.key(s)
    if random(2) == 1 then return n end
    return s
end

local function make()
    local kind = one_of(kinds)
    local args, text = {}, kind.text
    for i, maker in ipairs(kind.makers) do args[i] = maker() end
    text = text:gsub("%$(%d)", function(i) return literal(args[tonumber(i)]) end)
    for i = 1, #args do args[i] = as_number(args[i]) end
    return { text = text, f = kind.f, args = args, arithmetic = kind.text:find "%$1[-+*/\\#]" ~= nil }
end

local function answer(case)
    local ok, v = pcall(case.f, unpack(case.args))
    local number = ok and type(v) == "number"
    if number and (v ~= math.floor(v) or math.abs(v) >= 2 ^ 53 or 1 / v == -math.huge) then
        return "NOT AN INTEGER " .. v
    end
    if ok then return "V " .. names.quote(v) end
    return "E " .. (type(v) == "table" and (v.m or v.mnemonic) or tostring(v))
end

local function write(path, lines)
    local file = assert(io.open(path, "wb"))
    file:write(lines)
    file:close()
end

local function oracle(list, folder)
    local lines = {}
    for i, case in ipairs(list) do lines[i] = case.text end
    write(folder .. "/cases", table.concat(lines, "\n") .. "\n")
    local command = "gtm_dist=%s gtmroutines=%s gtm_boolean=1 %s/mumps -run values <%s/cases 2>/dev/null"
    if utf8 then command = "gtm_chset=UTF-8 gtm_icu_version=7.2 LC_ALL=C.UTF-8 " .. command end
    local gtm = utf8 and dist .. "/utf8" or dist
    local pipe = assert(io.popen(command:format(gtm, folder, gtm, folder)))
    local answers = {}
    for line in pipe:lines() do answers[#answers + 1] = line end
    pipe:close()
    return answers
end

-- Differences that are left: GT.M makes anything of a count that is beyond 32 bits or no number at all,
-- looks at texts as numbers where it need not, and reports a wrong pattern by the way it goes through a
-- pattern, of which an illegal rest may be one error or another.
local function known(case, theirs, ours)
    local both = theirs .. ours
    if utf8 and theirs:find "[(,]%d%d%d%d%d" then return true end -- what no letter has been given to
    if both == "E INDRCOMPFAILE INDEXTRACHARS" or both == "E PATCODEE PATCLASS" then return true end
    if case.arithmetic then return false end
    for _, v in ipairs(case.args) do
        local ok, n = pcall(N.num, v)
        if not ok or (case.text:find "^%$" and math.abs(tonumber(n)) >= 2 ^ 31) then return true end
    end
    return false
end

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)
local source = assert(io.open(here .. "/values_oracle.m", "rb")):read("*a")
write(folder .. "/values.m", source)
local passed, failed, done = 0, 0, 0
while done < cases and failed < 200 do
    local list = {}
    for i = 1, math.min(5000, cases - done) do list[i] = make() end
    done = done + #list
    local answers = oracle(list, folder)
    for i, case in ipairs(list) do
        local ours = answer(case)
        if not answers[i] then break end -- GT.M has died of the one before
        if answers[i] == ours or known(case, answers[i], ours) then
            passed = passed + 1
        else
            failed = failed + 1
            local theirs = answers[i]:sub(1, 200)
            print(("%s\n   GT.M  %s\n   ours  %s"):format(case.text:sub(1, 300), theirs, ours:sub(1, 200)))
        end
    end
end
os.execute("rm -r " .. folder)
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
