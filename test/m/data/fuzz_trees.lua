-- fuzz_trees.lua SEED N OUT - write a routine of N random changes and questions of trees, local and global,
-- for fuzz_trees.sh, which runs it with caret-m and with fis-gtm.
--
-- The empty subscript is not used in the middle: fis-gtm has it elsewhere.

local seed, count, path = tonumber(arg[1]), tonumber(arg[2]), arg[3]
math.randomseed(seed)
local random = math.random

local function one_of(t) return t[random(#t)] end

local values = {'1', '2', '3', '10', '-1', '-2.5', '.5', '0', '1.5', '100000', '"a"', '"b"', '"ab"', '"A"',
    '"01"', '"1.0"', '"-0"', '"1E3"', '1E3', '" "', '"a b"', '$c(1)', '$c(127)', '"""q"""', '123456789012345',
    '"1e2"', '1234567890123456789', '"12345678901234567"', '.000001', '"+1"', '"."', '"x,y"', '"(1)"'}
local names = {"x", "y", "%z", "^x", "^y", "^%z"}

local function subscript() return random(3) == 1 and tostring(random(1, 6)) or one_of(values) end

local function subscripts(least)
    local t = {}
    for i = 1, random(least, 3) do t[i] = subscript() end
    return t
end

local function list(t) return #t > 0 and "(" .. table.concat(t, ",") .. ")" or "" end
local function variable(least) return one_of(names) .. list(subscripts(least or 0)) end

-- A text for indirection that names the same.
local function quoted(name) return '"' .. name:gsub('"', '""') .. '"' end

local function reference(least)
    local kind = random(12)
    if kind == 1 then return "@" .. quoted(variable(least)) end
    if kind == 2 then return "@" .. quoted(variable(0)) .. "@" .. list(subscripts(1)) end
    return variable(least)
end

local function last_empty()
    local t = subscripts(1)
    if random(4) == 1 then t[#t] = '""' end
    return one_of(names) .. list(t)
end

local asks = {
    function() return ("w $d(%s)"):format(reference()) end,
    function() return ("w $g(%s,%s)"):format(reference(), one_of(values)) end,
    function() return ("w $g(%s)"):format(reference()) end,
    function() return ("w $o(%s)"):format(last_empty()) end,
    function() return ("w $o(%s,-1)"):format(last_empty()) end,
    function() return ("w $q(%s)"):format(reference()) end,
    function() return ("w $na(%s)"):format(reference()) end,
    function() return ("w $na(%s,%d)"):format(reference(), random(0, 3)) end,
    function() return ("s q=%s f  s q=$q(@q) q:q=\"\"  w q,\"=\",@q,\";\""):format(quoted(one_of(names))) end,
    function() return ("s s=\"\" f  s s=$o(%s(s)) q:s=\"\"  w s,\",\""):format(one_of(names)) end,
    function() return ("s s=\"\" f  s s=$o(%s(s),-1) q:s=\"\"  w s,\",\""):format(one_of(names)) end,
    function() return ("s x=$g(%s) w $r"):format(one_of {"^x", "^y"} .. list(subscripts(1))) end,
    function() return ("s %s=1 w $g(^(%s)),$r"):format("^x" .. list(subscripts(1)), subscript()) end,
    function() return ("s z=$o(%s) s ^(%s)=2 w $r"):format("^y" .. list(subscripts(1)), subscript()) end,
    function() return ("w $d(^y(1)) s ^(%s,%s)=3 w $r"):format(subscript(), subscript()) end,
}

local changes = {
    function(i) return ("s %s=%s"):format(reference(), random(2) == 1 and i or one_of(values)) end,
    function(i) return ("s %s=%d"):format(reference(), i) end,
    function(i) return ("s %s=\"v%d\""):format(reference(1), i) end,
    function() return ("s (%s,%s)=%s"):format(variable(), variable(), one_of(values)) end,
    -- fis-gtm says "" of a global that is not there when it is added a fraction or 17 digits
    function() return ("w $i(%s,%d)"):format(reference(), random(-3, 9)) end,
    function() return "k " .. reference(1) end,
    function() return "zk " .. reference() end,
    function() return "k " .. variable() end,
    function() return ("m %s=%s"):format(one_of {"x", "^y", "w", "^w"} .. list(subscripts(0)),
                                         one_of {"y", "^x", "%z", "^%z"} .. list(subscripts(0))) end,
}

local f = assert(io.open(path, "w"))
f:write("trees ;\n k  k ^x,^y,^w,^%z\n")
for i = 1, count do
    local text = random(2) == 1 and one_of(changes)(i) or one_of(asks)()
    f:write((" d e(%d,%s)\n"):format(i, quoted(text)))
    if i % 50 == 0 then f:write(" k w,x,y,%z,^w s (^x,^y,^%z)=1\n") end
end
f:write([[
 q
e(i,c) ;
 n $et s $et="w ""? "",$p($p($zs,"","",3),""-"",3) s $ec="""""
 w i,":",c,":"
 x c
 w !
 q
]])
f:close()
