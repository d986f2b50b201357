-- Random programs of M, as cases for suite.lua: a seed gives the same programs on every machine.
--
-- A program has a main part, three labels that DO calls (la, lb, lc) and an extrinsic function (lf), over few
-- names. Each label and each FOR counts steps in ^zs and raises an error of its own above the limit, so that
-- every program ends. At its end the main part prints all locals.
--
-- Modes: "programs" (control flow), "indirect" (the same by indirection and XECUTE), "errors" ($ETRAP,
-- $ECODE, ZGOTO, $STACK), "globals" (trees and naked references), "texts" (locals that get new texts all the
-- time), "naked" (programs_naked.lua), "stacks" (programs_stack.lua), "files" (programs_files.lua), "aliases"
-- (programs_alias.lua), "hot" (programs_hot.lua, which makes the whole program).

local programs = {}

local state = 1
local function random(n)
    -- Park and Miller's generator: products stay below 2^53
    state = (state * 48271) % 2147483647
    return state % n + 1
end

local function pick(list)
    return list[random(#list)]
end

local function chance(percent)
    return random(100) <= percent
end

local mode, serial
local names = { "a", "b", "c", "x", "y" }
local expr, commands

local constants = {
    "0", "1", "2", "3", "-1", "2.5", ".1", "10", '""', '"a"', '"abc"', '"1x"', '"a^b^c"', '"007"',
}

local function constant()
    return pick(constants)
end

-- A subscript; no variable alone, as fis-gtm takes no look at one that is undefined in $GET of no array.
local function subscript()
    local text = expr(1)
    return text:find("^[abcxy]") and text .. '_""' or text
end

local function variable()
    local name = pick(names)
    if chance(35) then
        return name .. "(" .. (chance(70) and pick({ "1", "2", '"k"', "i" }) or subscript()) .. ")"
    end
    return name
end

local function global()
    return pick({ "^g", "^h" }) .. "(" .. pick({ "1", "2", '"k"', "i", "1,2", 'i,"z"' }) .. ")"
end

local function naked()
    return "^(" .. pick({ "1", "2", '"k"', "1,3" }) .. ")"
end

local function by_name(name)
    if name:find("(", 1, true) and chance(40) then
        local base, rest = name:match("^([^(]*)(%(.*)$")
        return '@"' .. base .. '"@' .. rest
    end
    return '@"' .. name:gsub('"', '""') .. '"'
end

local function target()
    if mode == "globals" and chance(60) then
        return chance(60) and global() or naked()
    end
    local name = variable()
    if mode == "indirect" and chance(30) then
        return by_name(name)
    end
    return name
end

local function call_of(label, arguments)
    return label .. serial .. "(" .. arguments .. ")"
end

local unary = { "-", "+", "'" }
local binary = {
    "+", "-", "*", "_", "=", "<", ">", "[", "]", "]]", "&", "!", "'=", "'<", "'>", "'[", "+", "-", "*", "_",
    "=", "<", ">", "&", "!", "\\", "#", "/",
}

local functions = {
    function(e) return "$l(" .. e(1) .. ")" end,
    function(e) return "$e(" .. e(1) .. "," .. e(2) .. "," .. e(2) .. ")" end,
    function(e) return "$p(" .. e(1) .. ',"^",' .. e(2) .. ")" end,
    function(e) return "$s(" .. e(1) .. ":" .. e(1) .. ",1:" .. e(1) .. ")" end,
    function() return "$d(" .. target() .. ")" end,
    function(e) return "$g(" .. target() .. "," .. e(1) .. ")" end,
    function() return "$g(" .. target() .. ")" end,
    function() return "$o(" .. pick(names) .. "(" .. constant() .. "))" end,
    function() return "$q(" .. pick(names) .. ")" end,
    function(e) return "$tr(" .. e(1) .. ',"ab","xy")' end,
    function() return "$t" end,
    function() return "$na(" .. variable() .. ")" end,
    function(e) return "$j(" .. e(1) .. ",5,2)" end,
    function(e) return "$$" .. call_of("lf", e(1)) end,
    function() return "$$" .. call_of("lf", "." .. pick(names)) end,
    function() return "$i(" .. pick(names) .. ")" end,
}

local function atom()
    local roll = random(10)
    if roll <= 4 then
        return constant()
    elseif roll <= 7 then
        return "$g(" .. target() .. ")"
    elseif roll == 8 and chance(30) then
        return target()
    end
    return pick({ "i", "j", "$t", "$d(" .. pick(names) .. ")" })
end

function expr(depth)
    if depth <= 0 or chance(30) then
        return atom()
    elseif chance(35) then
        return pick(functions)(function() return expr(depth - 1) end)
    elseif chance(12) then
        return pick(unary) .. "(" .. expr(depth - 1) .. ")"
    end
    local right = expr(depth - 1)
    if chance(60) then
        right = "(" .. right .. ")"
    end
    return expr(depth - 1) .. pick(binary) .. right
end

local function post()
    return chance(15) and ":" .. expr(1) or ""
end

-- Each gives one command, without the blank after it.
local simple = {
    function() return "s" .. post() .. " " .. target() .. "=" .. expr(2) end,
    function() return "s " .. target() .. "=$e(" .. expr(3) .. ",1,30)" end,
    function() return "s (" .. target() .. "," .. target() .. ")=" .. expr(1) end,
    function() return "s $p(" .. target() .. ',"^",' .. pick({ "1", "2", "i" }) .. ")=" .. expr(1) end,
    function() return "s $e(" .. target() .. "," .. pick({ "1", "2", "i" }) .. ")=" .. expr(1) end,
    function() return "w " .. expr(2) .. ',","' end,
    function() return "w" .. post() .. " " .. expr(1) .. ',";"' end,
    function() return "k" .. post() .. " " .. target() end,
    function() return "m " .. pick({ "a", "b" }) .. "(3)=" .. pick({ "c", "x", "y" }) end,
}

local function label()
    return pick({ "la", "lb", "lc" })
end

local flow = {
    function() return "d" .. post() .. " " .. call_of(label(), expr(1) .. ",." .. pick(names)) end,
    function() return "d " .. call_of(label(), "") end,
    function() return "d " .. label() .. serial end,
    function() return "g" .. ":" .. expr(1) .. " " .. label() .. serial end,
    function() return "q:" .. expr(1) .. " " end,
    function() return "n" .. post() .. " " .. pick(names) end,
    function() return "n (" .. pick(names) .. "," .. pick(names) .. ",i,j)" end,
    function() return "k (" .. pick(names) .. "," .. pick(names) .. ",i,j)" end,
    function() return "i " .. expr(1) end,
    function() return "e " end,
    function() return "i " end,
}

local function quoted(text)
    return '"' .. text:gsub('"', '""') .. '"'
end

local indirect = {
    function() return "x " .. quoted(commands(2)) end,
    function() return "s cc=" .. quoted(commands(2)) .. " x cc" end,
    function() return "s @" .. quoted(variable() .. "=" .. expr(1)) end,
    function() return "w @" .. quoted(expr(1)) end,
    function() return "d @" .. quoted(call_of(label(), expr(1))) end,
    function() return "i @" .. quoted(expr(1)) end,
    function() return "k @" .. quoted(pick(names)) end,
    function() return "s nn=" .. quoted(variable()) .. ",@nn=" .. expr(1) .. ",@nn@(1)=" .. expr(1) end,
    function() return "w $o(@" .. quoted(pick(names)) .. '@("")),$d(@' .. quoted(variable()) .. ")" end,
    function() return "g @" .. quoted(label() .. serial .. ":" .. expr(1)) end,
    function() return "n @" .. quoted(pick(names)) end,
    function() return "w " .. expr(1) .. '?@"1.N",' .. expr(1) .. '?.A1"b".E' end,
}

local traps = {
    's $ec=""', 's $ec="" q', 's $ec="" q:$q 7 q', 'q', 'w "{",$st,"}" s $ec=""', 'w $ec,"." s $ec=""',
    'w $p($zs,",",2,4) s $ec="" q:$q "" q', 'w $st(-1),"/",$st($st,"place") s $ec="" q', 's $ec="" w $es',
    'd la%d s $ec=""', 'g lb%d', 'i $es=0 s $ec=""', 'w $st($st(-1),"ecode") s $ec="" q:$q 1 q',
    's $ec="" zg $zl-1', 'w "T",$es,";" q:$es>1  s $ec=""', 's:$es<2 $ec="" q:$q 2 q',
}

local function trap()
    return quoted((pick(traps):gsub("%%d", tostring(serial))))
end

local faults = {
    function() return "w 1/0" end,
    function() return "w undef" end,
    function() return 's $ec=",Uabc,"' end,
    function() return "w " .. pick(names) .. "(77)" end,
    function() return "d nolabel^fuzz" end,
    function() return "zm 150373210" end,
    function() return "w ^undef(1)" end,
    function() return 'w $$lf' .. serial end,
    function() return "n $et s $et=" .. trap() end,
    function() return "s $et=" .. trap() end,
    function() return "n $es" end,
    function() return 'w $st,"/",$es,"/",$zl-' .. "1" end,
    function() return "zg $zl-1" end,
    function() return "zg:$zl>4 $zl:" .. label() .. serial end,
    function() return 'w $st($st,"place"),$st($st)' end,
    function() return "x " .. quoted("w 1/0") end,
    function() return "s cc=" .. quoted(commands(1)) .. " x cc" end,
    function() return 'w $ec,"/"' end,
}

local trees = {
    function() return "s " .. global() .. "=" .. expr(1) end,
    function() return "s " .. naked() .. "=" .. expr(1) end,
    function() return "w $o(" .. global() .. '),","' end,
    function() return "w $o(" .. naked() .. ',-1),","' end,
    function() return "w $q(" .. global() .. "),$d(" .. naked() .. ")" end,
    function() return "k " .. global() end,
    function() return "m " .. global() .. "=" .. pick(names) end,
    function() return "m " .. pick(names) .. "=" .. global() end,
    function() return "w $i(" .. global() .. "),$na(" .. naked() .. ")" end,
    function() return "w $r" end,
    function() return "zk " .. global() end,
}

local guards = {}
local function guard()
    return guards[mode] or 's:$i(^zs)>150 $ec=",Ulimit,"'
end

local ranges = { "1:1:3", "1,2", "3:-1:1", "1:1:$l($g(a))", "0:.5:1", "1:2:4,9" }

local function for_head()
    return "f " .. pick({ "i", "j" }) .. "=" .. pick(ranges) .. " " .. guard()
end

local function operand()
    local called = "$$" .. call_of("lf", "." .. pick(names))
    return pick({ "x", "y", "b", "c", "x", "y", '"a"', '"^"', "i", "j", "a", "$j(i,4)", called, "$e(x,2,9)",
        '$p(y,"^",2)', "$l(x)", "(x_y)", "(b_i)", "+x", ".5*i" })
end

local function chain()
    local parts = {}
    for i = 1, 1 + random(random(5)) do parts[i] = operand() end
    return table.concat(parts, "_")
end

local function nth()
    return pick({ "1", "2", "3", "i", "j+1", "$l(b)#4", "5" })
end

local function plain()
    return pick({ "x", "y", "b", "c", "x", "y" })
end

local function one_set()
    return "s " .. plain() .. "=" .. chain()
end

local texts = {
    one_set,
    function() return one_set() .. "," .. plain() .. "=" .. plain() end,
    function() local x = plain() return "s " .. x .. "=" .. x .. "_" .. chain() end,
    function() local x = plain() return "s " .. x .. "=$e(" .. x .. ",1,20)_" .. chain() end,
    function() return "s $p(" .. plain() .. ',"^",' .. nth() .. ")=" .. operand() end,
    function()
        local delimiter = pick({ '"^"', "c", '""', '"a^"' })
        return "s $p(" .. plain() .. "," .. delimiter .. "," .. nth() .. "," .. nth() .. ")=" .. chain()
    end,
    function()
        local width = pick({ "3", "i", "12", "-1", "$l(x)" })
        return "s " .. plain() .. "=$j(" .. operand() .. "," .. width .. pick({ "", ",2", ",0", ",i" }) .. ")"
    end,
    function()
        return "s " .. plain() .. "=$fn(" .. operand() .. '*1000,","' .. pick({ "", ",2", ",0" }) .. ")"
    end,
    function() return "w $l(" .. plain() .. "),$l(" .. plain() .. ',"^"),$a(' .. chain() .. ',i),","' end,
    function()
        return "w $e(" .. chain() .. ",i," .. nth() .. "),$p(" .. chain() .. ',"^",' .. nth() .. "),!"
    end,
    function() return "w $p(" .. plain() .. ',"^",' .. nth() .. "),$e(" .. plain() .. ",3,i+4),!" end,
    function() return "w $e(" .. plain() .. ",1,40),!" end,
    function() return "s " .. plain() .. "=$e(" .. plain() .. ",1,50)" end,
    function() return "d " .. call_of(label(), plain() .. ",." .. plain()) end,
    function() return "d " .. call_of(label(), "." .. plain() .. ",." .. plain()) end,
    function() return "n " .. plain() .. " " .. one_set() end,
    function() return "k " .. plain() .. " " .. one_set() end,
    function() return "s *" .. plain() .. "=" .. plain() end,
    function() return "i " .. plain() .. "=" .. plain() .. ' w "same",!' end,
    function() return for_head() .. " " .. one_set() .. "," .. plain() .. "=$e(" .. chain() .. ",1,60)" end,
    function() return "x " .. quoted(one_set()) end,
    function() return "ts " .. pick({ "():s ", "*:s ", "(x,y):s " }) .. " " .. one_set() .. " tro " end,
}

local tools = {
    pick = pick, chance = chance, expr = expr, quoted = quoted, names = names, label = label, guard = guard,
    serial = function() return serial end,
}
local naked_ones, stacks = require("programs_naked")(tools), require("programs_stack")(tools)
local files, aliases = require("programs_files")(tools), require("programs_alias")(tools)
local kinds = {
    programs = flow, indirect = indirect, errors = faults, globals = trees, texts = texts,
    naked = naked_ones.list, stacks = stacks.list, files = files.list,
    aliases = aliases.list,
}
guards.naked, guards.stacks, guards.files = naked_ones.guard, stacks.guard, files.guard
guards.aliases = aliases.guard
local begins = { naked = naked_ones.begin, stacks = stacks.begin, files = files.begin,
    aliases = aliases.begin }
local starts = { files = files.start } -- on the first line, which shrink.lua leaves alone
local labels = { aliases = aliases.labels } -- beside those of all programs
local endings = {
    globals = " w ! zwr:$d(^g) ^g zwr", naked = " w ! zwr:$d(^g) ^g zwr", files = files.ending,
}

local function one_command()
    local own = mode == "files" or mode == "aliases"
    if chance(own and 15 or 50) then
        return pick(simple)()
    elseif mode ~= "programs" and chance(own and 90 or 65) then
        return pick(kinds[mode])()
    end
    return pick(flow)()
end

local function block_head()
    if chance(30) then
        return for_head() .. " d  "
    end
    return chance(50) and "i " .. expr(1) .. " d  " or "d  "
end

function commands(n)
    local parts = {}
    for _ = 1, random(n) do
        table.insert(parts, chance(10) and for_head() or one_command())
    end
    return table.concat(parts, " ")
end

local function add_lines(lines, n, dots)
    for _ = 1, n do
        local text = commands(3)
        if #dots < 3 and chance(20) then
            table.insert(lines, " " .. dots .. block_head() .. text)
            add_lines(lines, random(3), dots .. ".")
        else
            table.insert(lines, " " .. dots .. text)
        end
    end
end

local start_of_texts = 's y="alpha^beta",c="^"'
local start = 'k ^zs,^g,^h s i=1,j=2,a=1,b="x^y",x(1)=1,x(2)="two",x("k",1)=3'

local hot = require("programs_hot")(tools)

local function program(index)
    serial = index
    if mode == "hot" then
        return hot()
    end
    local lines = {}
    table.insert(lines, start .. (starts[mode] or ""))
    if mode == "texts" then
        table.insert(lines, " " .. start_of_texts)
    end
    if begins[mode] then
        table.insert(lines, begins[mode]())
    elseif mode == "errors" then
        table.insert(lines, " n $es s $et=" .. trap())
    end
    add_lines(lines, random(6), "")
    table.insert(lines, endings[mode] or " w ! zwr")
    for _, name in ipairs({ "la", "lb", "lc" }) do
        table.insert(lines, ":" .. name .. index .. "(p,q) " .. guard())
        add_lines(lines, random(3), "")
        table.insert(lines, " q")
    end
    table.insert(lines, ":lf" .. index .. "(p) " .. guard())
    add_lines(lines, random(2), "")
    table.insert(lines, " q " .. expr(1))
    for _, line in ipairs(labels[mode] and labels[mode]() or {}) do
        table.insert(lines, line)
    end
    return lines
end

-- A suite of n programs.
function programs.suite(seed, n, which)
    state = (seed * 7919 + 12345) % 2147483646 + 1
    mode = which
    local suite = { name = "fuzz", env = {}, after = "", input = "", comments = {}, cases = {}, apart = true }
    for i = 1, n do
        table.insert(suite.cases, { at = i, code = program(i), out = {}, before = {} })
    end
    return suite
end

return programs
