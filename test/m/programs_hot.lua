-- Loops that are compiled, for programs.lua: questions to globals, locals and texts, two of them in one
-- command, 120 times.
--
-- A compiler that reads an answer where it is used, keeps one that has changed, or moves a question out of
-- its loop gives other results than the same loop at first: mumps.host says what has to be kept from.

return function(g)
    local pick, chance, quoted = g.pick, g.chance, g.quoted

    local function subscript()
        return pick({ "1", "2", '"k"', "i", "i#3", "j", "1,i#5", '"k",j', "$l(r)", "$l(x)#4" })
    end

    local function global()
        return pick({ "^g", "^h" }) .. "(" .. subscript() .. ")"
    end

    local function array()
        return pick({ "v", "u" }) .. "(" .. subscript() .. ")"
    end

    local function node()
        return chance(65) and global() or array()
    end

    local function called(name, argument)
        return "$$" .. name .. g.serial() .. "(" .. argument .. ")"
    end

    local function number()
        return pick({ "i", "j", "x", "y", "i+.5", "i#7", "i\\3", "2**(i#9)", "-i", "r", "i*1E9" })
    end

    local function nth()
        return pick({ "1", "2", "i#4", "$l(x)#5", "j" })
    end

    -- What is worked out leaves a number in memory itself, so the answer before it is read in time.
    local function argument()
        return chance(75) and pick({ "1", "2", "3", "9", "j", '"k"' }) or number()
    end

    local asks = {
        function() return "$g(" .. node() .. ")" end,
        function() return "$g(" .. node() .. "," .. number() .. ")" end,
        function() return "$d(" .. node() .. ")" end,
        function() return "$o(" .. node() .. ")" end,
        function() return "$o(" .. node() .. ",-1)" end,
        function() return "$q(" .. node() .. ")" end,
        function() return "$i(" .. node() .. ")" end,
        -- By no text: of one with seven digits fis-gtm makes an empty node.
        function() return "$i(" .. node() .. "," .. pick({ "i", "j", "i+.5", "i#7", "-i" }) .. ")" end,
        function() return "$g(@" .. quoted(node()) .. ")" end,
        function() return "$o(@" .. quoted(global()) .. ")" end,
        function() return called("hg", argument()) end,
        function() return called("hg", argument()) end,
        function() return called("hd", argument()) end,
        function() return called("hd", argument()) end,
        function() return called("ho", argument()) end,
        function() return called("hi", argument()) end,
        function() return called("hq", argument()) end,
        function() return "(" .. number() .. ")" end,
        function() return "$l(s)" end,
        function() return '$l(s,"^")' end,
        function() return '$f(s,"^",' .. nth() .. ")" end,
        function() return "$a(s," .. nth() .. ")" end,
        function() return "$e(s," .. nth() .. ")" end,
        function() return '$p(s,"^",' .. nth() .. ")" end,
        function() return "$j(" .. number() .. ",6,1)" end,
        function() return "$fn(" .. number() .. ',",")' end,
        function() return "$na(" .. node() .. ")" end,
        function() return '$tr(s,"^1","_2")' end,
    }

    local function ask()
        return pick(asks)()
    end

    local operators = { "+", "-", "*", "_", "=", "<", ">", "]]", "[", "'=", "'<", "]", "\\1+", "#9+" }

    -- Two questions, often of one kind: where they are compared, nothing has to be kept between them.
    local function pair()
        local one = pick(asks)
        local other = chance(60) and one or pick(asks)
        return one() .. (chance(40) and pick({ "=", "'=" }) or pick(operators)) .. other()
    end

    local function short(text)
        return "$e(" .. text .. ",1,20)"
    end

    local function mixed(text)
        local what = chance(60) and "(" .. text .. ")" or "$l(" .. text .. ")+$a(" .. text .. ")"
        return "s r=r*31+" .. what .. "#99991"
    end

    local list = {
        function() return mixed(pair()) end,
        function() return mixed(pair()) end,
        function() return "s x=" .. short(ask()) .. ",y=" .. short(ask()) .. ",r=" .. short("x_y_r") end,
        function() return "s x=" .. ask() .. "," .. node() .. "=i,y=" .. ask() .. ",r=r+(x=y)" end,
        function() return "s " .. node() .. "=" .. short(pair()) end,
        function() return "s " .. node() .. "=" .. short(ask()) end,
        function() return "s (" .. node() .. ",x)=" .. short(ask()) end,
        function() return 's $p(s,"^",' .. nth() .. ")=" .. short(ask()) .. ",s=$e(s,1,60)" end,
        function() return "s:" .. pair() .. " r=" .. short(ask() .. "_r") end,
        function() return "k:i#5=1 " .. node() end,
        function() return "k:" .. pair() .. " " .. node() end,
        function() return "m:i#20=3 u=v" end,
        function() return "m:i#20=7 ^h(\"m\")=^g(1)" end,
        function() return "d hs" .. g.serial() .. "(" .. ask() .. "," .. ask() .. ",.r)" end,
        function() return "d hs" .. g.serial() .. "(" .. ask() .. ",$g(" .. node() .. "),.x)" end,
        function() return "ts () s " .. node() .. "=" .. short(ask()) .. " tc  " .. mixed(ask()) end,
        function() return "x:i#3=1 " .. quoted(mixed(pair())) end,
        function() return "w:i#30=0 " .. short(pair()) .. ',","' end,
        function() return "w:i#40=0 " .. ask() .. ',";"' end,
        function() return "i " .. pair() .. " " .. mixed(ask()) end,
    }

    -- Functions and a label, whose answers come from another routine's code than the loop's.
    local function labels()
        local n = g.serial()
        return {
            ":hg" .. n .. "(p) q:'$d(^g(p)) 0 q ^g(p)",
            ":hd" .. n .. "(p) q $d(^g(p))", ":ho" .. n .. "(p) q $o(^g(p))",
            ":hi" .. n .. "(p) q $i(^h(p),2)", ":hq" .. n .. "(p) q $q(^h(p))",
            ":hs" .. n .. "(p,q,z) s z=" .. short("p_q_$g(z)") .. " q",
        }
    end

    -- Passes of the loops within loops are counted, and end them.
    local function head(count)
        local range = pick({ "1:1:120", "1:1:80", "120:-1:1", "1:1:3" })
        return "f " .. pick({ "i", "j" }) .. "=" .. range .. (count or "")
    end

    local function block(lines, dots, most)
        for _ = 1, pick(most) do
            if #dots < 3 and chance(15) then
                table.insert(lines, " " .. dots .. head(" q:$i(zs)>1500") .. "  d")
                block(lines, dots .. ".", { 1, 2, 3 })
            else
                table.insert(lines, " " .. dots .. pick(list)() .. (chance(40) and " " .. pick(list)() or ""))
            end
        end
    end

    -- A loop of one or two commands is most often compiled as a whole, from which most follows.
    local function loop(lines)
        if chance(70) then
            local other = chance(40) and " " .. pick(list)() or ""
            table.insert(lines, " " .. head() .. " " .. pick(list)() .. other)
        else
            table.insert(lines, " f i=1:1:120 q:$i(zs)>3000  d") -- the loops within may set i
            block(lines, ".", { 1, 2, 2, 3, 4 })
        end
    end

    return function()
        local lines = {
            'k  k ^g,^h s i=1,j=2,s="ab^1.5^25^x",(r,x,y,zs)=0',
            ' f i=1:1:5 s ^g(i)=i,^g(1,i)=.5*i,^h(i)=i_"t",(v(i),u(1,i),u,v)=i',
        }
        for _ = 1, pick({ 2, 3, 4, 5 }) do
            loop(lines)
        end
        table.insert(lines, " w ! zwr:$d(^g) ^g zwr:$d(^h) ^h zwr")
        for _, line in ipairs(labels()) do
            table.insert(lines, line)
        end
        return lines
    end
end
