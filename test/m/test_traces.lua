-- Hot M code becomes traces of LuaJIT: caret-m -lua test/m/test_traces.lua FOLDER [NAME]
--
-- Each snippet is the body of a loop in a label of a routine in FOLDER.  It runs until it is hot; then
-- there must be a trace, and after a first round in which branches may be tried none may be given up for
-- something that LuaJIT can't compile.  Without LuaJIT's table of messages (its module vmdef) the test is
-- skipped.
local util = require "jit.util"
local call = require "mumps.runtime.call"

local snippets = {
    add = "s x=x+1",
    arithmetic = "s x=x+i*3\\2#1000",
    decimals = 's x=x+".25"',
    compare = "s x=(i>3)+(i<9)+(i=7)",
    text_compare = 's x=(s="abc")+(s["b")+(s]"aaa")',
    truth = "s x=i&1!0",
    concat = 's x="a"_i_"b"',
    postcondition = "s:i>5 x=i s:i<3 x=2",
    condition = "i i>5 s x=1",
    condition_else = "i i#2 s x=1 e  s x=2",
    piece = 's x=$p(s,"^",2)',
    piece_variable = 's x=$p(s,"^",i#3+1)',
    piece_range = 's x=$p(s,"^",1,2)',
    set_piece = 's $p(y,"^",2)=i',
    extract = "s x=$e(s,i#5)",
    set_extract = 's $e(y,2)="z"',
    length = 's x=$l(s)+$l(s,"^")',
    find = 's x=$f(s,"b")',
    ascii = "s x=$a(s,1)+$l($c(i#90+32))",
    translate = 's x=$tr(s,"abc","xyz")',
    justify = "s x=$j(i,10)",
    justify_decimals = "s x=$j(i,10,2)",
    fnumber = 's x=$fn(i,",")',
    pattern = "s x=s?1.A.E",
    select = 's x=$s(i#2:"a",1:"b")',
    get = "s x=$g(a(i#7))",
    node = "s a(i)=i",
    node_add = "s a(1)=$g(a(1))+1",
    nodes = "s a(i#10,2)=i,x=a(i#10,2)",
    data = "s x=$d(a(i))",
    order = 's x=$o(a(i#10))',
    call = "d f",
    call_value = "d g(i)",
    extrinsic = "s x=$$h(i)",
    block = "d\n . s x=i",
    new = "d n1",
    kill = "k q s q=i",
    for_inner = "f j=1:1:3 s x=j",
}


for _, version in ipairs { "2.1.0-beta3", "2.1", "2.1.ROLLING" } do
    package.path = package.path .. ";/usr/share/luajit-" .. version .. "/?.lua"
end
local ok, vmdef = pcall(require, "jit.vmdef")
if not ok then
    print("skipped: LuaJIT's module vmdef is missing")
    os.exit(77)
end

local folder, only = arg[1], arg[2]
local order, text = {}, { "traces ;\n q\n" }
for name in pairs(snippets) do order[#order + 1] = name end
table.sort(order)
for i, name in ipairs(order) do
    text[#text + 1] = 'T' .. i .. ' n i,j,x,y,s,a,c,q s x=0,c=0,s="abc^def^ghi",y=s,q=1 f i=1:1:20 s a(i)=i\n'
    text[#text + 1] = ' f i=1:1:3000 ' .. snippets[name] .. '\n q\n'
end
text[#text + 1] = "f q\ng(p) s x=p q\nh(p) q p+1\nn1 n x s x=1 q\n"
local file = assert(io.open(folder .. "/traces.m", "wb"))
file:write(table.concat(text))
file:close()
require("mumps.runtime.search").set(folder)

local given_up, made = {}, 0

local function message(code, detail)
    local form = type(code) == "number" and vmdef.traceerr[code] or tostring(code)
    if type(detail) == "function" then
        local info = util.funcinfo(detail)
        detail = vmdef.ffnames[info.ffid] or info.loc or "?"
    end
    return (form:gsub("%%[sd]", function() return tostring(detail) end))
end

-- A function that can't be compiled either ends the try, or is called between two traces: "stitch".
local function event(what, trace, _, _, code, detail)
    if what == "stop" then
        made = made + 1
        local info = util.traceinfo(trace)
        if info and info.linktype == "stitch" then given_up[#given_up + 1] = "stitched" end
    end
    if what == "abort" then
        local why = message(code, detail)
        if why:find "NYI" and not why:find "lower frame" then given_up[#given_up + 1] = why end
    end
end

local passed, failed = 0, 0
call.m("traces", "traces", {}, nil, "DO") -- the compiler's own traces are not looked at

local function try(label)
    for _ = 1, 3 do call.m(label, "traces", {}, nil, "DO") end
end

for i, name in ipairs(order) do
    if not only or only == name then
        jit.flush()
        made, given_up = 0, {}
        jit.attach(event, "trace")
        local fine, e = pcall(try, "T" .. i)
        jit.attach(event)
        if fine and made > 0 and #given_up == 0 then
            passed = passed + 1
        else
            failed = failed + 1
            local why = table.concat(given_up, "; ")
            if not fine then why = tostring(type(e) == "table" and (e.text or e.m) or e) end
            print(("FAILED: %s: %d traces, %s"):format(name, made, why))
        end
    end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
