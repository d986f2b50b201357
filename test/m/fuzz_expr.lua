-- Random expressions through the compiler and the runtime, here and in GT.M:
--
--     caret-m -lua test/m/fuzz_expr.lua SEED N
--
-- Each routine has 500 lines with an expression each, of literals, locals, operators, functions and calls
-- with side effects; both run it, and what they print is compared: values as ZWRITE writes them, errors by
-- their names, and $TEST and the locals that calls change. Prints each difference, and "N passed, N
-- failed".
local seed, cases = tonumber(arg[1] or 1), tonumber(arg[2] or 5000)
local dist = os.getenv("gtm_dist") or "/usr/lib/x86_64-linux-gnu/fis-gtm/V7.0-005_x86_64"
local program = os.getenv("CARET_M") or "build/caret-m"
local PER_ROUTINE = 500

math.randomseed(seed)
local random = math.random
local function one_of(list) return list[random(#list)] end

-- ---------------------------------------------------------------- expressions

local numerals = { "0", "1", "2", "3", "7", "10", "100", "-1", "1.5", ".5", "0.5", "1.50", "007", "1E3",
    "1E-2", "12E1",
    "999999999999999999", "123456789012345678", "1234567890123456789", "9007199254740993", "2147483648",
        ".1", ".000001",
    "1E20", "1E-20", "3.14159", "00.10", "5.", "1E+2" }
local strings = { "", "a", "abc", "1", "01", "1.0", "-", "1E2", "1E2x", "a^b^c", "^", "12abc", " 5", "--3",
    "A(1)", ".5.", "+7",
    "x,y,z", '""', "Abc", "a1b2", "-0", "0x1F", "abcabcabc" }
local names = { "a", "b", "c", "d", "n", "s", "x(1)", 'x("k")', "x(a)", "x(1,2)", "u" }
local patterns = { "1N", ".N", "1.A", ".E", "1A.AN", '1"a".E', "3N", ".P", "1.3U", '.(1"a",1"b",1N)',
    '.N1".".N', "1U.L",
    '1(1"-",1"+").1N', "0.1A1.N", '.E1"b".E' }
local binary = { "+", "-", "*", "/", "\\", "#", "_", "=", "<", ">", "[", "]", "]]", "&", "!", "'=", "'<",
    "'>", "'[", "']",
    "']]", "'&", "'!", "+", "-", "*", "_", "=" }

local expr

local function string_literal(s) return '"' .. s:gsub('"', '""') .. '"' end

local function small() return one_of { "0", "1", "2", "3", "4", "-1", "1.9", '"2"', "a", "$L(s)" } end

local functions = {
    function(d) return "$P(" .. expr(d) .. "," .. expr(0) .. "," .. small() .. ")" end,
    function(d) return "$P(" .. expr(d) .. ',"^",' .. small() .. "," .. small() .. ")" end,
    function(d) return "$P(" .. expr(d) .. ',"b")' end,
    function(d) return "$E(" .. expr(d) .. "," .. small() .. ")" end,
    function(d) return "$E(" .. expr(d) .. "," .. small() .. "," .. small() .. ")" end,
    function(d) return "$L(" .. expr(d) .. ")" end,
    function(d) return "$L(" .. expr(d) .. "," .. expr(0) .. ")" end,
    function(d) return "$F(" .. expr(d) .. "," .. expr(0) .. ")" end,
    function(d) return "$A(" .. expr(d) .. "," .. small() .. ")" end,
    function(d) return "$C(" .. small() .. "+65," .. expr(d) .. "#64+32)" end,
    function(d) return "$TR(" .. expr(d) .. "," .. expr(0) .. "," .. expr(0) .. ")" end,
    function(d) return "$RE(" .. expr(d) .. ")" end,
    function(d) return "$J(" .. expr(d) .. "," .. small() .. ")" end,
    function(d) return "$J(" .. expr(d) .. "," .. small() .. "," .. one_of { "0", "1", "2", "5" } .. ")" end,
    function(d) return "$FN(" .. expr(d) .. "," .. one_of { '"+"', '","', '"T"', '"P"', '""',
        '",-"' } .. ")" end,
    function(d) return "$S(" .. expr(d) .. "=a:" .. expr(d) .. ",1:" .. expr(0) .. ")" end,
    function(d)
        return "$S(" .. one_of(names) .. ":" .. expr(d) .. "," .. one_of(names) .. ":" .. expr(0) .. ")"
    end,
    function() return "$G(" .. one_of(names) .. ")" end,
    function(d) return "$G(" .. one_of(names) .. "," .. expr(d) .. ")" end,
    function() return "$D(" .. one_of(names) .. ")" end,
    function() return "$O(x(" .. one_of { '""', "1", '"k"', "a", "0", '"z"', "-1" } .. ")" .. one_of { "",
        ",-1" } .. ")" end,
    function(d) return "$$f(" .. expr(d) .. ")" end,
    function(d) return "$$g(" .. expr(d) .. ",.n)" end,
    function() return "$I(n)" end,
    function(d) return "$I(n," .. expr(d) .. ")" end,
    function() return "@" .. one_of { '"a"', '"x(1)"', '"b"', "$$name()" } end,
    function() return "$NA(x(" .. expr(0) .. ",a))" end,
    function(d) return "$QS($NA(x(" .. expr(d) .. ',"b"))' .. ",1)" end,
    function() return "$T" end,
    function(d) return "$ZWRITE(" .. expr(d) .. ")" end,
    function(d) return "$ZCONVERT(" .. expr(d) .. ',"U")' end,
    function() return "$TEXT(f+" .. small() .. ")" end,
}

local function leaf()
    local kind = random(10)
    if kind <= 3 then return one_of(numerals) end
    if kind <= 6 then return string_literal(one_of(strings)) end
    return one_of(names)
end

local function operand(d)
    local kind = random(12)
    if d <= 0 or kind <= 4 then return leaf() end
    if kind <= 6 then return "(" .. expr(d - 1) .. ")" end
    if kind == 7 then return one_of { "-", "+", "'", "--", "-+", "''", "'-" } .. operand(d - 1) end
    return one_of(functions)(d - 1)
end

function expr(d)
    local t = { operand(d) }
    while random(10) <= (d > 0 and 5 or 1) and #t < 12 do
        if random(12) == 1 then
            t[#t + 1] = one_of { "?", "'?" } .. one_of(patterns)
        elseif random(30) == 1 then
            t[#t + 1] = "?@" .. string_literal(one_of(patterns))
        else
            t[#t + 1] = one_of(binary) .. operand(d - 1)
        end
    end
    return table.concat(t)
end

-- Numbers with a fraction, most of them of few digits, in locals that are computed with again and again.
local function fraction()
    local whole = random(3) == 1 and "" or tostring(random(0, 10 ^ random(0, random(3) == 1 and 10 or 4)))
    local places = random(3) == 1 and random(0, 8) or random(0, 3)
    local text = whole
    if places > 0 then text = text .. "." .. ("%0" .. places .. "d"):format(random(0, 10 ^ places - 1)) end
    return text == "" and "0" or random(4) == 1 and string_literal(text) or text
end

local function sum(d)
    local kind = random(8)
    if d <= 0 or kind <= 2 then return kind == 1 and fraction() or one_of { "a", "b", "c", "n", "T" } end
    if kind == 3 then return "-" .. sum(0) end
    local op = one_of { "+", "-", "*", "+", "-", "*", "/", "\\", "#" }
    return "(" .. (op == "#" and "+" or "") .. sum(d - 1) .. op .. sum(d - 1) .. ")"
end

local function fractions()
    local steps = { "s a=" .. fraction() .. ",b=" .. fraction() .. ",c=+" .. fraction() .. ",T=0" }
    for _ = 1, random(6) do
        steps[#steps + 1] = one_of {
            one_of { "a", "b", "c", "n" } .. "=" .. sum(2), one_of { "a", "b", "c" } .. "=" .. sum(1),
            "T=" .. sum(1) .. one_of { "<", ">", "'<", "'>", "=" } .. sum(1), "a=a_0",
            "x(" .. sum(1) .. ")=b",
            "n=$$f(" .. sum(1) .. ")", "b=$$h(.a," .. sum(1) .. ")",
        }
    end
    local answer = ' s R=a_" "_b_" "_c_" "_n_" "_T_" "_$O(x(""),-1) s:'
    return table.concat(steps, ",") .. answer .. sum(1) .. " R=R_1"
end

-- A line that leaves its answer in R.
local function line()
    local kind = random(16)
    if kind > 14 then return fractions() end
    if kind == 1 then return "s R=s,$p(R," .. expr(0) .. "," .. small() .. ")=" .. expr(2) end
    if kind == 2 then return "s R=s,$e(R," .. small() .. "," .. small() .. ")=" .. expr(2) end
    if kind == 3 then return "s R=0 s:" .. expr(2) .. " R=1 s R=R_$T" end
    if kind == 4 then
        return "s R=0 i " .. expr(2) .. " s R=1 i " .. expr(1) .. "," .. expr(1) .. " s R=R_2"
    end
    if kind == 5 then return "s (R,a)=" .. expr(2) .. ",R=R_" .. expr(1) end
    if kind == 6 then
        return "s x(" .. expr(1) .. ")=" .. expr(1) .. ",R=$O(x(" .. expr(0) .. "))_$D(x(a))"
    end
    if kind == 7 then return 's R="" f i=1:1:3 s R=R_(' .. expr(1) .. ")_i" end
    if kind == 8 then return "s R=" .. expr(1) .. " x " .. string_literal("s R=R_(" .. expr(1) .. ")") end
    return "s R=" .. expr(3)
end

-- -------------------------------------------------------------------- routine

local head = [=[
fz ;
 n I,L,V
 s V=$zlevel
 u $p:(width=1048576:nowrap)
 f I=0:1:%d s L="L"_I d one
 q
one n a,b,c,d,n,s,x,i,R,T,Z,$et
 s a=1,b="abc",c=-2.5,d="12^x^3",n=5,s="a^b^cde",x(1)="one",x("k")=3,x(1,2)="deep",x(-1)=0
 s T="V",R="",$et="g err^fz"
 i 0
 d @L
 s T="V "_$zwrite(R)_" "_a_" "_n_" "_$t
 w T,!
 q
err s Z=$p($p($zs,"%%",2),"-",3),Z=$p(Z,","),Z=$s(Z="LVUNDEF":"UNDEF",1:Z)
 w "E ",$s($l(Z)<40:Z,1:""),! s $ec="" zg V
f(p) i p s n=n+1
 q p_1
g(p,q) s q=q+1
 q p+q
h(p,q) n c s c=q/2,p=p+c,q=p*.5 n p s p=q+.25
 q p
name() s n=n+1
 q "c"
]=]

local function write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function output(command)
    local pipe = assert(io.popen(command .. " 2>/dev/null </dev/null"))
    local answers = {}
    for l in pipe:lines() do answers[#answers + 1] = l end
    pipe:close()
    return answers
end

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)
local gtm = ("cd %s && gtm_dist=%s gtmroutines=. gtm_boolean=1 gtm_side_effects=1 timeout 100 %s/mumps"
    .. " -run fz"):format(folder, dist, dist)
local ours = ("gtmroutines=%s ydb_routines=%s CARET_DB=%s/db %s -run fz"):format(folder, folder, folder,
    program)

local function routine(n)
    local lines, text = {}, { head:format(n - 1) }
    for i = 0, n - 1 do
        lines[i] = line()
        text[#text + 1] = "L" .. i .. " " .. lines[i] .. "\n q\n"
    end
    write(folder .. "/fz.m", table.concat(text))
    return lines
end

-- Differences that are left. GT.M does not look at the operands of a piece or of a SET that comes to
-- nothing, so not whether they are defined; it takes SET $EXTRACT from a constant below 1 for nothing; a
-- text modulo what has a fraction or over nine digits stays a text; the empty subscript comes after
-- numbers. With constants in $SELECT and $QUERY after a side effect it goes wrong: none is made. Where
-- one part of an expression has a side effect, as indirection and $SELECT are taken to have, it evaluates
-- all operands of & and ! of the whole; ours evaluates those that have one; and its value is wrong in
-- some, with a negation. Zero times 1E20 is not equal to 0 there. It wraps positions of over 32 bits, as a
-- variable may have.
local function known(text, theirs, mine)
    local undefined = (theirs .. mine):find "E UNDEF" or (theirs .. mine):find "E SELECTFALSE"
    if undefined and text:find "%f[%w]u%f[%W]" then return true end
    if undefined and text:find "x%(a%)" then return true end
    local x, y = theirs:match '^V "([^"]*)" ', mine:match "^V (%-?[%d.]+) "
    local number = x and (tonumber((x:match "^%-?[%d.]+")) or 0)
    if text:find("#", 1, true) and y and number == tonumber(y) then return true end
    if text:find "#%(.*%d%d%d%d%d%d%d%d%d%d" then return true end
    if text:find("#", 1, true) and y and x and x:gsub("0%.", ".") == y then return true end
    local effect = text:find("$I", 1, true) or text:find("$$", 1, true)
    local all = effect or text:find("$S(", 1, true) or text:find("@", 1, true)
    if all and text:find "[&!]" then return true end
    if text:find "1E20" and text:find("*", 1, true) then return true end
    if mine == "E NUMOFLOW" and text:find '%-[-+]*[("]' then return true end -- of a constant, wrong there
    if text:find "%$[PE]%([^()]*,%l[,)]" and theirs:find "%-?%d%d%d%d%d%d%d%d%d%d" then return true end
    if effect and text:find "^s R=s,$p%(R,n" then return true end -- ours is evaluated from left to right
    return text:find "$e%(R,%-1" or text:find "#[%(+'-]*[%d.$]" or (text:find "^s x%(" and mine:find '^V "k')
end

local passed, failed, done = 0, 0, 0
while done < cases and failed < 100 do
    local n = math.min(PER_ROUTINE, cases - done)
    local lines = routine(n)
    done = done + n
    local theirs, mine = output(gtm), output(ours)
    for i = 0, n - 1 do
        if not theirs[i + 1] and mine[i + 1] then break end -- it died, of a line before
        if theirs[i + 1] == mine[i + 1] or known(lines[i], theirs[i + 1] or "", mine[i + 1] or "") then
            passed = passed + 1
        else
            failed = failed + 1
            print(("%s\n   GT.M  %s\n   ours  %s"):format(lines[i], theirs[i + 1] or "nothing",
                mine[i + 1] or "nothing"))
        end
    end
end
if not os.getenv "KEEP" then os.execute("rm -r " .. folder) end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
