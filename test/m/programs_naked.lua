-- Commands with naked references, for programs.lua: in functions, indirection, MERGE, LOCK, $QUERY, SET of
-- several, conditions, actuals, transactions and errors.
--
-- Each reference to a global is what the next naked one begins with, also where it is not there, where an
-- error follows, and where it is made by what is called in between.  $REFERENCE tells what that is.

return function(g)
    local pick, chance, expr, quoted, names = g.pick, g.chance, g.expr, g.quoted, g.names

    local function subscripts()
        return pick({ "1", "2", '"k"', "1,3", "i", '"k",1', "2,1", "$g(^(1),1)", "$d(^g(1))" })
    end

    local function full()
        return pick({ "^g", "^h", "^g" }) .. "(" .. subscripts() .. ")"
    end

    local function naked()
        return "^(" .. subscripts() .. ")"
    end

    local function any()
        return chance(65) and naked() or full()
    end

    local function by_name(reference)
        local base, rest = reference:match("^([^(]*)(%(.*)$")
        if base ~= "^" and chance(40) then return "@" .. quoted(base) .. "@" .. rest end
        return "@" .. quoted(reference)
    end

    local function target()
        return chance(25) and by_name(any()) or any()
    end

    -- $GET and SET $PIECE of a reference by its name make it twice there.
    local function got()
        local reference = any()
        local once = reference:find("^%^%a%([^^]*$") or reference:find("^%^%([^^,]*$")
        return once and chance(25) and by_name(reference) or reference
    end

    local function value()
        return chance(70) and "$g(" .. got() .. ")" or expr(1)
    end

    local function shown()
        return pick({ "$o(" .. any() .. ")", "$o(" .. any() .. ",-1)", "$q(" .. any() .. ")",
            "$d(" .. target() .. ")", "$g(" .. got() .. "," .. value() .. ")", "$na(" .. target() .. ")",
            "$na(" .. any() .. ",1)", "$i(" .. target() .. ")", "$ql($na(" .. any() .. "))",
            "$s(" .. value() .. ":" .. value() .. ",1:" .. value() .. ")", "$l(" .. value() .. ")",
            "$p(" .. value() .. ',"^",' .. value() .. ")", "$$lf" .. g.serial() .. "(" .. value() .. ")",
            value() .. pick({ "+", "_", "=", "[", "&", "!" }) .. value() })
    end

    local function wrong()
        return pick({ "1/0", "^undef(1,2)", "^(9,9)", "undef+1", "$$lf" .. g.serial() })
    end

    local list = {
        function() return "s " .. target() .. "=" .. value() end,
        function() return "s " .. target() .. "=" .. value() .. "," .. target() .. "=" .. value() end,
        function() return "s (" .. target() .. "," .. pick(names) .. "," .. target() .. ")=" .. value() end,
        function() return "s (" .. target() .. ",$p(" .. got() .. ',"^",2))=' .. value() end,
        function() return "s $p(" .. got() .. ',"^",' .. value() .. "#4)=" .. value() end,
        function() return "s $e(" .. got() .. "," .. value() .. "#4)=" .. value() end,
        function() return "w " .. shown() .. ',","' end,
        function() return "w " .. shown() .. ',",",' .. shown() .. ',"|",$r,!' end,
        function() return "w:" .. value() .. " " .. shown() end,
        function() return "k" .. (chance(20) and ":" .. value() or "") .. " " .. target() end,
        function() return "k " .. any() .. "," .. naked() end,
        function() return "zk " .. target() end,
        function() return "m " .. target() .. "=" .. pick(names) end,
        function() return "m " .. pick(names) .. "=" .. target() end,
        function()
            return "m " .. pick({ "^h(1)", "^h(i)", "^h(2,1)" }) .. "=" .. pick({ "^g(1)", "^g(2)" })
        end,
        function() return "m ^h(7)=^g(1)," .. pick({ "^(8)", "^(7,2)" }) .. "=" .. pick(names) end,
        function() return "l " .. pick({ "+", "-", "" }) .. target() .. ":0" end,
        function() return "l +(" .. any() .. "," .. naked() .. "):0 w $r" end,
        function() return "x " .. quoted("s " .. target() .. "=" .. value()) end,
        function() return "i " .. value() .. "," .. value() .. ' w "y",$r' end,
        function() return "d " .. g.label() .. g.serial() .. "(" .. value() .. ",." .. pick(names) .. ")" end,
        function() return "f i=" .. value() .. ":1:2 " .. g.guard() .. " s " .. naked() .. "=i" end,
        function() return "w $r,!" end,
        function() return "w @" .. quoted("$g(" .. any() .. ")") end,
        function() return "s @" .. quoted(any() .. "=" .. value()) end,
        function() return "ts ():s  s " .. target() .. "=" .. value() .. " tro  w $r,!" end,
        function() return "s " .. target() .. "=" .. wrong() end,
        function() return "s (" .. any() .. "," .. naked() .. ")=" .. wrong() end,
        function() return "w " .. target() end,
        function() return "w " .. wrong() end,
    }

    -- What a trap leaves the naked references to.
    local traps = { 's $ec="" w "!",$r,!', 'w "!",$r s $ec="" q:$q ""  q', 's ^(1)=5,$ec="" w $r',
        's $ec="" s ^h(3)=1' }

    return {
        list = list,
        -- Steps are counted where no reference is made.
        guard = 's $zpro=$zpro+1 s:$zpro>150 $ec=",Ulimit,"',
        begin = function()
            local trap = quoted("tro:$tl  " .. pick(traps))
            return " s $zpro=0,^g(1)=1,^(2)=2,^(2,1)=3,^h(1)=1 n $et s $et=" .. trap
        end,
    }
end
