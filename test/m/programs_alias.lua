-- Commands that make, use and end aliases, for programs.lua: SET * between locals and nodes, KILL *, what a
-- label is passed by reference, what an extrinsic returns by QUIT *, NEW, MERGE and ZWRITE of them.
--
-- TRESTART of aliases, and variables that TSTART names, differ as docs/m.md has it: neither is among these.

return function(g)
    local pick, chance, expr, quoted, names = g.pick, g.chance, g.expr, g.quoted, g.names
    local label, serial = g.label, g.serial

    local function name()
        return pick(names)
    end

    -- No i alone, of which fis-gtm takes no look below a variable without nodes.
    local function holder()
        return pick(names) .. "(" .. pick({ "1", "2", '"k"', "+i", "3", '"k",1' }) .. ")"
    end

    local function any()
        return chance(50) and name() or holder()
    end

    local function shown()
        return pick({ "$d(", "$g(", "$q(", "$zdata(" }) .. any() .. ")"
    end

    local function made()
        local way = pick({ 1, 2, 3, 4, 5, 6 })
        if way <= 3 then
            return "*" .. name() .. "=" .. name()
        elseif way == 4 then
            return "*" .. holder() .. "=" .. name()
        elseif way == 5 then
            return "*" .. name() .. "=" .. holder()
        end
        return "*" .. any() .. "=" .. (chance(50) and holder() or "$$lr" .. serial() .. "(" ..
            pick({ "", expr(1), "." .. name() }) .. ")")
    end

    -- Never into a descendant, which is an error that leaves more there than here.
    local function merged()
        local into, from = any(), any()
        return "m " .. into .. "=" .. (into:sub(1, 1) == from:sub(1, 1) and "q" or from)
    end

    local function ended()
        return "k *" .. any()
    end

    local list = {
        function() return "s " .. made() end,
        function() return "s " .. made() end,
        function() return "s " .. made() .. "," .. any() .. "=" .. expr(1) end,
        function() return "s " .. made() .. "," .. made() end,
        function() return ended() end,
        function() return ended() .. ",*" .. any() end,
        function() return "k * " end,
        function() return "k " .. any() end,
        function() return "k (" .. name() .. "," .. name() .. ",i,j)" end,
        function() return "zk " .. any() end,
        function() return "w " .. shown() .. ",! zwr" end,
        function() return "w " .. shown() .. "," .. shown() .. ",!" end,
        function() return "w " .. name() .. "," .. holder() .. ",!" end,
        function() return "w $o(" .. name() .. '("")),$o(' .. holder() .. ",-1),$na(" .. holder() .. ")" end,
        function() return "w $zah(" .. name() .. ")=$zah(" .. name() .. ")" end,
        merged,
        function() return "m " .. name() .. "=^g s ^g(2)=" .. name() end,
        function() return "n " .. name() .. " s " .. made() end,
        function() return "n " .. name() .. "," .. name() end,
        function() return "d " .. label() .. serial() .. "(." .. name() .. ",." .. name() .. ")" end,
        function() return "d " .. label() .. serial() .. "(" .. shown() .. ",." .. name() .. ")" end,
        function() return "s *p=" .. name() .. ",p(1)=" .. expr(1) end,
        function() return "s *" .. any() .. "=p" end,
        function() return "k *p s q=" .. expr(1) end,
        function() return "s p(i)=" .. expr(1) .. " k *q" end,
        function() return "x " .. quoted("s " .. made() .. " " .. ended()) end,
        function() return "s @" .. quoted(made()) end,
        function() return "k @" .. quoted("*" .. any()) end,
        function() return "s " .. holder() .. "=" .. expr(1) end,
        function() return "s $p(" .. any() .. ',"^",2)=' .. expr(1) end,
        function() return "s x=$i(" .. any() .. ")" end,
        function() return "f i=1:1:3 " .. g.guard() .. " s " .. made() .. "," .. holder() .. "=i" end,
        function() return "ts ():s  s " .. name() .. "=" .. expr(1) .. " tro " end,
        function() return "w $$lr" .. serial() .. "(." .. name() .. ")" end,
        function() return "zwr " .. pick({ name(), name() .. "(*)", "?1L", holder() }) end,
    }

    return {
        list = list,
        -- Beyond the limit no trap goes on: back to the driver.
        guard = 's:$i(^zs)>150 $et="zg 2:e^zzdrv",$ec=",Ulimit,"',
        -- All have values, and a level that ends by an error shows them.
        begin = function()
            return ' s c="c1",c(1)="c2",y="y1",y("k")="y2",b(2)=5,^g(1)=1 n $et s $et='
                .. quoted('w $ec,! zwr  s $ec="" q:$q 0')
        end,
        -- A function that returns a variable.
        labels = function()
            local given = pick({ "q *p", "q *a", "q *x(1)", "s *p=" .. name() .. " q *p",
                "n a s a=7 q *a", "q *" .. holder() })
            local before = chance(30) and "n " .. name() .. " " or ""
            return { ":lr" .. serial() .. "(p) " .. g.guard(), " " .. before .. given }
        end,
    }
end
