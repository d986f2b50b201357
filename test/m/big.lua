-- Routines of the size and manner of a hospital's system: big.lua FOLDER ROUTINES LINES
--
-- Writes ROUTINES files of about LINES lines into FOLDER, and BIG.m, which calls one label of each and prints
-- a checksum. The code has the habits of old M: abbreviated commands, dot blocks, naked references, $P, GOTO
-- loops, indirection, XECUTE, $S chains, calls from routine to routine. What a label returns does not depend
-- on the order of the calls, so that any M must print the same number.

local folder, routines, lines = arg[1], tonumber(arg[2]), tonumber(arg[3])

local state = 20261123
local function random(n)
    state = (state * 48271) % 2147483647
    return state % n + 1
end

-- %n: a number, %v %w: two names, %s: a number of this place in the routine.
local fragments = {
    { " S %v=%n,%w=$G(%w)+%n I %v>%w S %v=%v-%w#97" },
    { " F I=1:1:%n S %v=$G(%v)+I S:I#2 %w=$G(%w)+1" },
    { ' S X="A^B^C^%n",$P(X,"^",2)=$G(%v),%w=$P(X,"^",4)+$L(X,"^")' },
    { " S ^BIG($J,%s,1)=%n,^(2)=^(1)+1,%v=^(2) K ^BIG($J,%s)" },
    { ' S Y="%v",@Y=%n,%w=@Y+$G(%w)' },
    { ' X "S %v=$G(%v)+%n"' },
    { " I $D(%v)#2=1 D  S %w=$G(%w)+1", " . S %v=%v+1", " . I %v#3=0 S %w=$G(%w)+%v Q", " . S %v=%v*2#1009" },
    { ' S %w=$S($G(%v)>%n:"HIGH",$G(%v)="":"NONE",1:"LOW"),%v=$L(%w)' },
    { " S I=0", "G%s S I=I+1 S %v=$G(%v)+I G G%s:I<%n" },
    { ' S X="ab%ncd" I X?2A.N2A S %v=$G(%v)+$F(X,"cd")' },
    { ' S T(%n,"x")=1,T(%n)=2,N="" F  S N=$O(T(N)) Q:N=""  S %v=$G(%v)+$G(T(N))', " K T" },
    { " S %v=$TR($J($G(%v)#1000,6),\" \",\"0\"),%v=+%v ; keep it short" },
    { " ; a line of remarks, as they are everywhere in such code: what %v and %w mean here" },
    { ' S %w=$E("ABCDEFGHIJ",%n#9+1)_%n,%v=$A(%w)+$G(%v)' },
    { " N Z S Z=%n D S%s(.Z) S %v=$G(%v)+Z", " G E%s", "S%s(P) S P=P+1 Q", "E%s ;" },
    { " S %v=$G(%v)#10007" },
}

local names = { "DA", "DIC", "DIE", "DR", "DIK", "U1", "XQA", "PSN" }

local function expand(line, serial, v, w)
    line = line:gsub("%%n", function()
        return tostring(random(99))
    end)
    return (line:gsub("%%v", v):gsub("%%w", w):gsub("%%s", serial))
end

local function add_label(out, routine, label, serial)
    table.insert(out, label .. "(K) N I,N,X,Y,T,DA,DIC,DIE,DR,DIK,U1,XQA,PSN S DA=K,DIC=0")
    local fragment = 0
    for _ = 1, 8 do
        fragment = fragment + 1
        local parts = fragments[random(#fragments)]
        local v = random(#names)
        local w = names[(v + random(#names - 1) - 1) % #names + 1]
        for _, line in ipairs(parts) do
            table.insert(out, expand(line, serial * 10 + fragment, names[v], w))
        end
    end
    if routine > 1 and random(3) == 1 then
        table.insert(out, (" S DIC=DIC+$$L1^BIGR%d(K#50)"):format(random(math.min(routine - 1, 20))))
    end
    table.insert(out, " Q ($G(DA)+$G(DIC)+$G(DIE)+$G(DR)+$G(DIK)+$L($G(U1)))#9973")
end

local function write_routine(number)
    local out = { ("BIGR%d ;SITE/ABC - PART %d ;1/1/90 ;;1.0;BIG;"):format(number, number) }
    local label = 0
    while #out < lines do
        label = label + 1
        add_label(out, number, "L" .. label, label)
    end
    local file = assert(io.open(("%s/BIGR%d.m"):format(folder, number), "w"))
    file:write(table.concat(out, "\n"), "\n")
    file:close()
    return #out, label
end

local total, calls = 0, { "BIG ; calls one label of each routine", " N SUM S SUM=0" }
for number = 1, routines do
    local count, labels = write_routine(number)
    total = total + count
    table.insert(calls, (" S SUM=SUM+$$L%d^BIGR%d(%d)"):format(random(labels), number, number))
end
table.insert(calls, ' W "SUM=",SUM,!\n Q')
local file = assert(io.open(folder .. "/BIG.m", "w"))
file:write(table.concat(calls, "\n"), "\n")
file:close()
print(("%d routines, %d lines"):format(routines, total))
