-- Commands on sequential files, for programs.lua: OPEN, USE, READ, WRITE and CLOSE with their parameters, and
-- what special variables tell after each.
--
-- There are two files, whose bytes are shown at the end.  A WRITE begins with a text: line ends right after a
-- READ go elsewhere in fis-gtm (docs/m.md).

return function(g)
    local pick, chance, quoted, label, serial = g.pick, g.chance, g.quoted, g.label, g.serial

    local state = "x st"
    local shown_state = 's z($i(z))=$x_","_$y_","_$zeof_","_$za_","_$device_","_$a($key)_","_$a($zb)'
        .. '_","_$zkey'

    local function file()
        return pick({ '"f1"', '"f1"', '"f2"', "f" })
    end

    local function exception()
        local code = pick({ "q", "g lc" .. serial() .. "^fuzz", 's z("e")=$p($zs,",",3,9) q', "zg $zl-1",
            "q:$i(n)>5  c f u $p", 's $ec="" q', "s n=$i(n) q:n>3  u f:rewind", "w 1/0",
            's z("e")=$ec,$ec="" q', "" })
        return "exception=" .. quoted(code)
    end

    local function size()
        return pick({ "1", "5", "7", "10", "20", "80" })
    end

    local opening = {
        "newversion", "readonly", "append", "truncate", "wrap", "nowrap", "fixed", "stream", "variable",
        "rewind", "newversion", "newversion", "readonly", "fixed", "append", "stream", "writeonly",
        "notruncate", "nofixed",
        function() return "recordsize=" .. size() end, function() return "recordsize=" .. size() end,
        function() return "seek=" .. quoted(pick({ "0", "1", "3", "12", "+2", "-1" })) end, exception,
        "nofflf", "fflf",
    }

    local using = {
        "rewind", "wrap", "nowrap", "rewind", "truncate", "nofflf", "fflf",
        function() return "width=" .. size() end,
        function() return "length=" .. pick({ "0", "2", "3", "66" }) end,
        function() return "seek=" .. quoted(pick({ "0", "1", "3", "12", "+2", "x" })) end, exception,
    }

    local closing = { "delete", "rewind", 'rename="f2"', 'rename="f1"', exception }

    -- No parameter twice.
    local function parameters(list, most)
        local n, seen, parts = 1, {}, {}
        while n < most and chance(60) do n = n + 1 end
        while #parts < n do
            local one = pick(list)
            local text = type(one) == "function" and one() or one
            local name = text:match("^%a+")
            parts[#parts + 1] = not seen[name] and text or nil
            seen[name] = true
        end
        return "(" .. table.concat(parts, ":") .. ")"
    end

    local texts = { '"a"', '"abc"', '"hello world"', "1", "12345", '"x"', '$j("r",12)', "$g(x,0)", '"a,b"',
        '"0123456789abcdefghijkl"', '"p"_$c(10)_"q"', '"t"_$c(9)', '"w"_$c(13)_"v"' }

    local forms = { "!", "!!", "#", "?5", "?12", "?i", "*65", "*10", "!?3", "*0" }

    local function written()
        local parts = { pick(texts) }
        while chance(60) do parts[#parts + 1] = pick(chance(50) and forms or texts) end
        if chance(60) then parts[#parts + 1] = "!" end
        return "w " .. table.concat(parts, ",")
    end

    local function target()
        return pick({ "x", "y", "a(i)", "x", "b" })
    end

    local function timeout()
        return chance(20) and ":" .. pick({ "0", "1", ".1" }) or ""
    end

    local function read()
        local what = pick({ "", "", "#", "*" })
        if what == "*" then return "r *" .. target() .. timeout() end
        local count = what == "#" and "#" .. pick({ "1", "3", "8", "100", "i" }) or ""
        return "r " .. target() .. count .. timeout()
    end

    -- A file that is written to can't be closed any more in fis-gtm after OPEN with READONLY.
    local function opened(name, most)
        local list = parameters(opening, most)
        if list:find("%f[%a]fixed") then list = list:gsub("%)$", ":recordsize=" .. size() .. ")") end
        return (list:find("%f[%a]readonly") and "c " .. name .. " " or "") .. "o " .. name .. ":" .. list
    end

    local function open()
        local time = chance(30) and ":" .. pick({ "0", "1" }) or ""
        return "s f=" .. pick({ '"f1"', '"f2"' }) .. " " .. opened("f", 4) .. time .. " u f"
    end

    local function use()
        return "u " .. file() .. (chance(70) and ":" .. parameters(using, 3) or "")
    end

    local list = {
        function() return open() .. " " .. written() end,
        function() return open() .. " " .. read() .. " " .. state end,
        function() return opened(file(), 3) .. " u f" end,
        function() return use() .. " " .. written() .. " " .. state end,
        function() return use() .. " " .. read() .. " " .. state end,
        function() return use() .. " " .. read() .. " " .. read() .. " " .. state end,
        function() return "u f f i=1:1:3 " .. read() .. " " .. state .. " q:$zeof " end,
        function() return "u f:rewind " .. read() .. " " .. state .. " " .. read() .. " " .. state end,
        function() return read() .. " " .. state end,
        function() return read() .. " " .. state end,
        function() return written() .. " " .. state end,
        function() return written() end,
        function() return use() .. " " .. state end,
        function() return "c " .. file() .. (chance(60) and ":" .. parameters(closing, 2) or "") end,
        function() return 'c "f1","f2":(replace="f1")' end,
        function() return "c f o f" .. pick({ "", ":readonly", ":append" }) .. " u f" end,
        function() return "s x=$io_$x u f" end,
        function() return "d " .. label() .. serial() end,
        function() return "n $et s $et=" .. quoted('s z("t")=$p($zs,",",3,9),$ec="" q') end,
        function() return "s $x=" .. pick({ "0", "3", "30" }) end,
    }

    -- The bytes of a file as codes: "none" where it can't be opened.
    local shown = ' . n $et s s="none",$et="s $ec="""" q" o f:(readonly:stream:nowrap) u f s s="" '
        .. 'f j=1:1:300 r *x q:x<0  s s=s_x_","'

    return {
        list = list,
        guard = 's:$i(^zs)>60 $ec=",Ulimit,"',
        start = " s z=0,st=" .. quoted(shown_state)
            .. ' c "f1","f2" f f="f2","f1" o f:newversion c f:delete',
        begin = function() return " " .. open() .. " " .. written() end,
        ending = ' u $p w ! k st zwr\n c "f1","f2" f f="f1","f2" d  c f u $p w f," ",s,!\n' .. shown,
    }
end
