-- Commands that raise errors, and trap them, for programs.lua: what $STACK, $ESTACK, $ECODE, $ZLEVEL and
-- $ZSTATUS tell within traps, in errors of traps, after GOTO, QUIT and ZGOTO out of them, with $ETRAP and
-- $ZTRAP, at levels of DO, XECUTE, extrinsics, blocks and loops.
--
-- A $ZTRAP that changes nothing may lead to its error again and again: each counts, and halts at last.

return function(g)
    local pick, chance, expr, quoted, names = g.pick, g.chance, g.expr, g.quoted, g.names
    local label, serial, guard = g.label, g.serial, g.guard

    local counts = 'w "<",$st,"/",$es,"/",$zl,"/",$ec,"/",$st(-1),">"'
    local levels = 'f zz=1:1:$st(-1) w zz,":",$st(zz),",",$st(zz,"ecode"),",",$st(zz,"place"),";"'

    local function place()
        return pick({ '$st($st,"place")', "$st($st)", '$st($st(-1),"place")', '$st($st(-1),"ecode")',
            '$p($zs,",",2,4)', "$ec", "$st(-1)", '$st($st,"mcode")', "$zl", "$es", "$st",
            '$st($st-1,"place")', "$st($st-1)", "$q" })
    end

    local faults = {
        "w 1/0", "w undef", 's $ec=",U1,"', 's $ec=",Uab,Z9,"', "d nolabel^fuzz", "zm 150373210",
        "w ^undef(1)", "zm 150373850:5", "w $$lf%d^fuzz", "q 5", "w $s(0:1)", "s x=x(99,1)", 'x "w 1/0"',
        'x "w (" ', "s @1=2", "w $$lb%d^fuzz(1)", "tc  ",
    }

    local function fault()
        return (pick(faults):gsub("%%d", tostring(serial())))
    end

    local ends = {
        's $ec=""', 's $ec="" q', 's $ec="" q:$q 7 q', "q", "q:$q 1 q", 's $ec="" g lb%d^fuzz',
        "g lc%d^fuzz", 's $ec="" zg $zl-1', "zg $zl-1", 's $ec="" zg $zl:lb%d^fuzz', 'i $es<2 s $ec=""',
        's:$es<2 $ec="" q:$q 2 q', "w 1/0", 's $ec=",U2,"', "d la%d^fuzz", 'd lb%d^fuzz s $ec=""',
        'w $$lf%d^fuzz(1) s $ec=""', 'x "s $ec="""""', 's $et="" w undef',
        'n $et s $et="s $ec="""" q" w 1/0', 's $et="s $ec="""" q" w undef', "f i=1:1:2 w $es q:i=2",
        'x "w 1/0"', 's $zt="" s $ec=""', 'i $st>4 s $ec="" q', "w $$lf%d^fuzz(undef)",
        's $ec="" w 1/0', 'g @"lb%d^fuzz"', 'n $es s $ec=""', 'd la%d^fuzz(1,.a) s $ec="" q',
    }

    local function ending()
        return (pick(ends):gsub("%%d", tostring(serial())))
    end

    local function code()
        local parts = {}
        if chance(50) then parts[#parts + 1] = chance(70) and counts or levels end
        if chance(40) then parts[#parts + 1] = "w " .. place() .. ',";"' end
        parts[#parts + 1] = ending()
        return table.concat(parts, chance(90) and " " or "  ")
    end

    local function trap()
        return quoted(code())
    end

    local function ztrap()
        local what = pick({ "g lb" .. serial() .. "^fuzz", "s x=1,a=1 q", 's $zt="" ', "zg $zl-1",
            "zg $zl:" .. label() .. serial() .. "^fuzz", 's $zt="",$et="s $ec="""" q" w undef', "q",
            "q:$q 1 q", "w $zs q" })
        return quoted("h:$i(^zt)>40  " .. (chance(50) and counts .. " " or "") .. what)
    end

    local function called()
        return pick({ "d " .. label() .. serial(),
            "d " .. label() .. serial() .. "(1,." .. pick(names) .. ")",
            "w $$lf" .. serial() .. "(" .. expr(1) .. ")", "x " .. quoted("d " .. label() .. serial()),
            "s a=$$lf" .. serial() .. "(.b)_1", "d @" .. quoted(label() .. serial()),
            "g:" .. expr(1) .. " lc" .. serial() })
    end

    local list = {
        function() return fault() end,
        function() return fault() end,
        function() return fault() .. " " .. counts end,
        function() return called() end,
        function() return called() end,
        function() return counts .. " " .. levels end,
        function() return counts end,
        function() return "w " .. place() .. ',","' end,
        function() return "s $et=" .. trap() end,
        function() return "n $et s $et=" .. trap() end,
        function() return "n $et,$es s $et=" .. trap() .. " " .. fault() end,
        function() return "n $es " .. (chance(50) and fault() or called()) end,
        function() return "s $et=" .. quoted("n $et s $et=" .. trap() .. " " .. fault()) end,
        function() return "n $zt s $zt=" .. ztrap() end,
        function() return "s $zt=" .. ztrap() .. " " .. fault() end,
        function() return "f i=1:1:2 " .. guard() .. " " .. (chance(50) and fault() or called()) end,
        function() return "x " .. quoted("n $et s $et=" .. trap() .. " " .. fault()) end,
        function() return "x " .. quoted(fault() .. " " .. counts) end,
        function() return 's $ec=""' end,
        function() return "q:" .. expr(1) .. " " end,
        function() return "zg $zl-1" end,
        function() return "zg:" .. expr(1) .. " $zl:" .. label() .. serial() end,
        function() return "i $es>3 " .. fault() end,
        function() return "s a=$g(a)+1/" .. pick({ "0", "$g(b)", "1" }) end,
    }

    return {
        list = list,
        -- Beyond the limit no trap goes on: back to the driver.
        guard = 's:$i(^zs)>150 $et="zg 2:e^zzdrv",$ec=",Ulimit,"',
        begin = function() return " k ^zt n $es s $et=" .. trap() end,
    }
end
