-- The parser of M: caret-m -lua test_parse.lua [SEED [LINES]]
--
-- Errors and columns of wrong lines (wrong.list), trees of right ones (right.list), formatting that keeps the
-- tree, hostile text.

local here = arg[0]:match "^(.*/)" or "./"
local parse = require "mumps.compiler.parse"
local format = require "mumps.tools.format"

local passed, failed = 0, 0

local function note(right, what)
    if right then
        passed = passed + 1
    else
        failed = failed + 1
        print("FAILED: " .. what)
    end
end

-- A tree as text; what tells places is left out.
local places = {
    col = true, stop = true, calls = true, unblocked = true, text = true, starts = true, line = true,
    errors = true, labels = true, known = true,
}

local function tree(v)
    if type(v) == "string" then return '"' .. v .. '"' end
    if type(v) ~= "table" then return tostring(v) end
    local most, keys, parts = 0, {}, {}
    for k in pairs(v) do
        if type(k) == "number" then most = math.max(most, k) elseif not places[k] then keys[#keys + 1] = k end
    end
    for i = 1, most do parts[i] = tree(v[i]) end
    table.sort(keys)
    for _, k in ipairs(keys) do parts[#parts + 1] = k .. "=" .. tree(v[k]) end
    return "{" .. table.concat(parts, " ") .. "}"
end

-- ------------------------------------------------------------ wrong lines

local lines = {}

local function first_error(text)
    local err = parse.routine(" ;\n" .. text .. "\n", "X").errors[1]
    return err and err.mnemonic .. " " .. tostring(err.col) or "compiles"
end

local function check_wrong()
    for row in io.lines(here .. "wrong.list") do
        local mnemonic, col, text = row:match "^(%u+) (%d+)( .*)$"
        if mnemonic then
            lines[#lines + 1] = text
            local got = first_error(text)
            note(got == mnemonic .. " " .. col, ("%s: %s %s, not %s"):format(text, mnemonic, col, got))
        end
    end
end

-- ------------------------------------------------------------ right lines

local function check_right()
    for row in io.lines(here .. "right.list") do
        local text, expected = row:match "^( .-) => (.*)$"
        if text then
            lines[#lines + 1] = text
            local line = parse.line(text)
            local got = not line.errors[1] and tree(line.cmds[1]) or "does not compile"
            note(got == expected, ("%s:\n  %s\n  %s"):format(text, got, expected))
        end
    end
end

-- What runs before an error, what an error takes with it, blocks, labels.
local function check_lines()
    local function words(text)
        local list = {}
        for i, cmd in ipairs(parse.line(text).cmds) do list[i] = cmd[1] end
        return table.concat(list, " ")
    end
    note(words "S a=1 W 2 W 3+ W 4" == "SET WRITE ERROR", "commands before an error stay")
    note(words "S a=1 F i=1:1:3 W 1 W 3+" == "SET ERROR", "an error takes the FOR it is in")
    note(words "I a W $FOO(1),2 Q" == "IF WRITE QUIT", "an unknown function does not end the line")
    local r = parse.routine("A(x,y)\n D  D\n . W 1\n . D\n . . W 2\n W 3\nA Q\n", "X")
    local cmds = r.lines[2].cmds
    note(cmds[1].first == 3 and cmds[1].last == 5 and cmds[2].last == 5, "a block is what is deeper below")
    note(r.lines[4].cmds[1].last == 5 and r.lines[5].level == 2, "a block in a block")
    local deep = {}
    for _, e in ipairs(parse.routine(" D\n .. W 1\n .. W 2\n . W 3\n W 4\n . W 5\n . W 6\n", "X").errors) do
        if e.mnemonic == "BLKTOODEEP" then deep[#deep + 1] = e.line end
    end
    note(table.concat(deep, " ") == "2 3 4 6 7", "each line that no DO leads to is told")
    note(tree(r.lines[1].formals) == '{"x" "y"}' and r.labels.A == 1, "labels: the first counts")
    note(r.errors[1].mnemonic == "MULTLAB" and r.errors[1].line == 7, "labels twice are told")
    r = parse.routine("\239\187\191X ;\r\n W 1\r\n;", "X")
    note(#r.errors == 0 and #r.lines == 3 and r.labels.X == 1, "CR LF, a byte order mark")
    local list = parse.argument("KILL", "a,b(1)")
    note(tree(list) == '{{"local" "a"} {"local" "b" {{"const" 1 true}}}}', "arguments")
    local node, err = parse.expr "1+"
    note(node == nil and err.mnemonic == "RHMISSING" and err.col == 3, "an expression that is none")
    note(tree(parse.name "@a@(1)") == '{"ind" {"local" "a"} {{"const" 1 true}}}', "a name")
    note(select(2, parse.name "a+1").mnemonic == "INDEXTRACHARS", "a name and more")
end

-- -------------------------------------------------------------- formatting

local function check_format()
    local text = table.concat(lines, "\n")
    for _, short in ipairs { false, true } do
        local new = format.text(text, short)
        local before, after = parse.routine(text, "X"), parse.routine(new, "X")
        note(tree(before.lines) == tree(after.lines), "formatting keeps the tree")
        note(format.text(new, short) == new, "what was formatted stays")
    end
    note(format.text("a\ts x=$p(y,1,2)   i  w $h ;c\n..d   q\n", false)
        == "a SET x=$PIECE(y,1,2) IF  WRITE $HOROLOG ;c\n..d   q\n", "in full; what does not compile stays")
    local wrong = "a\tset x=$piece(y,1,2)  . zwrite\n"
    note(format.text(wrong, true) == wrong, "as it was")
    note(format.text(" do\n .do  halt  ;x\n", true) == " D\n . D  H  ;x\n", "abbreviated")
end

-- ----------------------------------------------------------------- hostile

local marks = "(),:.@$^\"'=?;|[]*& !#\t\0\255\n"

local function mutated(s)
    for _ = 1, math.random(4) do
        local p, how = math.random(#s + 1), math.random(4)
        local at = math.random(#marks)
        local c = math.random(4) == 1 and string.char(math.random(0, 255)) or marks:sub(at, at)
        if how == 1 then s = s:sub(1, p - 1) .. s:sub(p + 1)
        elseif how == 2 then s = s:sub(1, p - 1) .. c .. s:sub(p)
        elseif how == 3 then s = s:sub(1, p) .. s:sub(math.random(#s + 1))
        else s = s:sub(1, p - 1) .. c .. lines[math.random(#lines)] end
    end
    return s:sub(1, 200)
end

-- No error of Lua's comes out of any entry point; formatting what is wrong keeps its tree, too.
local function try(s)
    for _, e in ipairs(parse.routine(s, "X").errors) do
        if e.mnemonic == "ASSERT" then return "routine" end
    end
    for _, rule in ipairs { "expr", "name", "entry" } do
        local _, e = parse[rule](s:sub(2))
        if e and e.mnemonic == "ASSERT" then return rule end
    end
    local new = format.text(s)
    if format.text(new) ~= new then return "format" end
end

local function check_hostile(seed, n)
    math.randomseed(seed)
    local wrong
    for i = 1, n do
        local s = mutated(lines[math.random(#lines)])
        local ok, what = pcall(try, s)
        if not ok or what then wrong = ("%d: %q: %s"):format(i, s, tostring(what)) end
    end
    note(not wrong, ("seed %d: %s"):format(seed, tostring(wrong)))
    for _, text in ipairs {
        " S x=" .. ("("):rep(1e5) .. "1", " S x=" .. ("-"):rep(6e4) .. "1", " S x=" .. ("a("):rep(3e4),
        " S x=" .. ("@"):rep(6e4) .. "a", " S x=" .. ("$S("):rep(2e4), ("a"):rep(1e7),
        " S x=" .. ("1"):rep(1e7),
        " W " .. ("!"):rep(1e7), (" "):rep(1e7) .. "x", " S x=1" .. ("+1"):rep(3e4),
    } do
        local err = parse.routine(text, "X").errors
        note(#err > 0 and err[#err].mnemonic ~= "ASSERT", text:sub(1, 10) .. "... is told")
    end
end

-- The compiler need not be compiled itself each time; its functions still know their places.
local function check_inside()
    local host, ffi = require "mumps.host", require "ffi"
    local file = host.caret_mumps__embedded "mumps/compiler/parse.lua"
    note(ffi.string(file.data, 3) == "\27LJ", "the compiler is inside as bytecode")
    local place = debug.getinfo(parse.routine, "S")
    local known = place.source == "@mumps/compiler/parse.lua" and place.linedefined > 1
    note(known, "its functions know their places")
end

check_inside()
check_wrong()
check_right()
check_lines()
check_format()
check_hostile(tonumber(arg[1]) or 1, tonumber(arg[2]) or 5000)
print(("%d passed, %d failed"):format(passed, failed))
return failed == 0 and 0 or 1
