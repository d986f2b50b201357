-- Two answers that are used together in hot code: caret-m -lua test/m/test_hot.lua FOLDER [SEED [COUNT]]
--
-- Compiled, a number that C left in memory is read where it is used: it may be that of a later call
-- (mumps.host says what prevents it).  So each case is a loop whose body asks twice and combines the answers.
-- It runs with the compiler off, then with it on, and gives the same.  First come all pairs of the same kind
-- in all forms, then COUNT random ones of different kinds.
local call = require "mumps.runtime.call"

local folder, seed, count = arg[1], tonumber(arg[2] or 1), tonumber(arg[3] or 300)

-- Expressions: what is asked first, and after it.  a to h are locals; the functions are at the routine's end.
local kinds = {
    sum = { "(a+b)", "(c+b)" },
    product = { "(a*e)", "(c*e)" },
    whole_part = { "(a\\b)", "(c\\b)" },
    power = { "(g**2)", "(h**2)" },
    plus = { "+d", "+f" },
    minus = { "-d", "-f" },
    count = { "$e(s,d)", "$e(s,f)" },
    get = { "$$get(1)", "$$get(2)" },
    get_text = { '$$get("x")', '$$get("y")' },
    get_default = { "$$default(1)", "$$default(9)" },
    get_plain = { "$$plain(0)", "$$plain(1)" },
    data = { "$$data(1)", "$$data(3)" },
    data_text = { '$$data("x")', '$$data("z")' },
    order = { "$$order(1)", "$$order(2)" },
    order_back = { "$$back(4)", "$$back(3)" },
    first = { "$$first(3)", "$$first(4)" },
    increment = { "$$add(1)", "$$add(2)" },
    increment_by_one = { "$$one()", "$$one()" },
    small_sum = { "(g+g)", "(h+h)" },
    difference = { "(g-h)", "(h-g)" },
    rest = { "(a#g)", "(a#h)" },
    subscript = { "$qs($$query(1),1)", "$qs($$query(2),1)" },
    indirect = { "@n(1)", "@n(2)" },
    indirect_get = { "$g(@n(1))", "$g(@n(2))" },
    indirect_data = { "$d(@n(1))", "$d(@n(3))" },
    indirect_order = { "$o(@n(1))", "$o(@n(2))" },
    indirect_add = { "$i(@n(4))", "$i(@n(4))" },
    below = { "@n@(1)", "@n@(2)" },
    piece = { '$p(s,"^",2)', '$p(s,"^",3)' },
    pieces = { '$l(s,"^")', '$l(t,"^")' },
    length = { "$l(s)", "$l(t)" },
    find = { '$f(s,"^")', '$f(s,"5")' },
    ascii = { "$a(s,3)", "$a(t,1)" },
    case = { '$l($zco(s,"u"))', '$l($zco(t,"l"))' },
    columns = { "$zwidth(s)", "$zwidth(t)" },
    bytes = { "$zl(s)", "$zl(t)" },
}

-- How they are combined: p and q are the two, in this order.
local forms = {
    "s r=%A=%B", "s r=%A'=%B", "s r=%A<%B", "s r=%A>%B", "s r=%A-%B", "s r=%A*%B", "s r=%A_%B", "s r=%A]]%B",
    "s r=(%A-%B)_%A", "s r=$$both(%A,%B)", "s p=%A,q=%B,r=q-p", "s p=%A,q=%B,r=q<p", "s p=%A,q=%B,r=(p=q)_p",
    "s v(%A)=%B,r=$o(v(\"\"))", "s p=%A,^w=i,q=%B,r=q>p", "s r=0 f j=1:1:2 s r=r-(%A=%B)+%A",
}

local labels = [[
set n c0 k ^a,^i,^w s a="99999999999.5",b="0.5",c="99999999998.5",e="20000.0",d="12345.60E2",f="2345.670E3"
 s g="3.0",h="5.0",s="ab^1.5^25",t="x^"_a,^a=6,^a(1)=15,^a(2)=25,^a(3,7)=1,^a(4,8)=2,^a("x")="12.0"
 s ^a("y")="2.50",^a("z",1)=1,^i=0,^i(1)=0,n(1)="^a(1)",n(2)="^a(2)",n(3)="^a(3)",n(4)="^i",n="^a" q
get(x) q ^a(x)
default(x) q $g(^a(x),77)
plain(x) s:x ^a=^a+1 q ^a
data(x) q $d(^a(x))
order(x) q $o(^a(x))
back(x) q $o(^a(x),-1)
first(x) q $o(^a(x,""))
add(x) q $i(^i,x)
one() q $i(^i)
query(x) q $q(^a(x))
both(p,q) q (q<p)_(p<q)_(q-p)_"/"_(p-q)
]]

local function random(n)
    -- Park and Miller's generator: products stay below 2^53
    seed = seed * 48271 % 2147483647
    return seed % n + 1
end

local names, cases = {}, {}
for name in pairs(kinds) do names[#names + 1] = name end
table.sort(names)

local function add(first, second, form)
    local parts = { A = kinds[first][1], B = kinds[second][2] }
    cases[#cases + 1] = (form:gsub("%%([AB])", parts))
end

for _, name in ipairs(names) do
    for _, form in ipairs(forms) do add(name, name, form) end
end
for _ = 1, count do add(names[random(#names)], names[random(#names)], forms[random(#forms)]) end

-- The results of a loop as one text: the last one, and a sum in which their order counts.
local text = { "hot ;\n" }
for i, case in ipairs(cases) do
    text[#text + 1] = ("c%d() n (ii) d set s x=0\n f i=1:1:150 %s "):format(i, case) ..
        's x=x+r*3#1000003+$l(r)\n q x_" "_r\n'
end
local file = assert(io.open(folder .. "/hot.m", "wb"))
file:write(table.concat(text), labels)
file:close()
require("mumps.runtime.search").set(folder)

local function answer(i)
    local fine, value = pcall(call.m, "c" .. i, "hot", {}, 0, "$$")
    return fine and value or "error " .. tostring(type(value) == "table" and (value.text or value.m) or value)
end

local function all_answers()
    local answers = {}
    for i = 1, #cases do answers[i] = answer(i) end
    return answers
end

jit.off()
local wanted = all_answers()
jit.on()
jit.flush()
local answers, passed, failed = all_answers(), 0, 0
for i, case in ipairs(cases) do
    if answers[i] == wanted[i] and not wanted[i]:find "^error" then
        passed = passed + 1
    else
        failed = failed + 1
        print(("FAILED: %s: %s, not %s"):format(case, answers[i], wanted[i]))
    end
end
print(("%d passed, %d failed"):format(passed, failed))
return failed == 0 and 0 or 1
