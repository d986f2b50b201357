-- M text -> AST.
--
-- A routine is {name, text, lines, labels, errors, starts}; a line {n, level, label, listed, formals,
-- cmds}; a command {"SET", args, pc = condition, col = column}.  Nodes are arrays {kind, ...}.  IF, ELSE
-- and FOR govern the rest of their line; a DO without arguments has `first` and `last`, the lines of its
-- block.
--
-- What can't be compiled is the command {"ERROR", {err}} in place of the one that is wrong, and the last
-- of its line: the commands before it run, as in YottaDB.

local lex = require "mumps.compiler.lex"
local unended = require "mumps.compiler.unended"
local words = require "mumps.compiler.words"
local command = require "mumps.compiler.zcommand"
local expr = require "mumps.compiler.functions"

local parse = {}

local byte, find, sub, upper = string.byte, string.find, string.sub, string.upper
local fail, mark = lex.fail, lex.mark
local rules, commands = command.rules, words.commands
local MOST_LINE = 8192 -- bytes of a line of M; a longer one is warned about
local LAST_LINE = 65536 -- arbitrary: a line that is not compiled at all

-- Past the blanks at p.
local function blanks(s, p)
    local b = byte(s, p)
    while b == 32 or b == 9 do
        p = p + 1
        b = byte(s, p)
    end
    return p
end

local function blank_or_end(b)
    return b == nil or b == 32 or b == 9
end

-- DO @x of what ends where an entry could begin is a DO without one, and as it has no block, nothing.
local function without_block(cmd)
    return cmd.indirect and cmd[1] == "DO"
end

-- The arguments of a command from p on.
local function arguments(s, p, cmd, rule, only)
    if cmd[1] == "FOR" then return rule(s, p, cmd) end
    if byte(s, p) == 34 and not lex.text(s, p) then fail("SPOREOL", #s + 1) end
    local args = cmd[2]
    while true do
        local node
        node, p = rule(s, p, cmd)
        args[#args + 1] = node
        if byte(s, p) ~= 44 then return p end
        if only then fail(cmd[1] == "QUIT" and "QUITARGLST" or "SPOREOL", p) end
        p = p + 1
        if blank_or_end(byte(s, p)) or byte(s, p) == 59 then
            if without_block(cmd) then return p end
            fail("EXPR", p)
        end
    end
end

local function word_at(s, p)
    local after = byte(s, p + 1)
    local short = (after == 32 or after == 58) and commands[sub(s, p, p)]
    if short then return short, p + 1 end
    local last = lex.last_of(s, p)
    if not last or byte(s, p) == 37 then fail("CMD", p) end
    local full = commands[sub(s, p, last)] or commands[upper(sub(s, p, last))]
    if not full then fail("INVCMD", p) end
    return full, last + 1
end

-- HALT with an argument is HANG.
local function hang(cmd, s, p)
    local b = byte(s, p + 1)
    if byte(s, p) == 32 and b and b ~= 32 and b ~= 9 and b ~= 59 then cmd[1] = "HANG" end
end

-- Whether there are arguments at p, after the command's word; and where they begin.
local function argued(s, p)
    local b = byte(s, p)
    if b == nil or b == 59 then return false, p end
    if b ~= 32 and b ~= 9 then fail("SPOREOL", p) end
    b = byte(s, p + 1)
    return b ~= nil and b ~= 32 and b ~= 9 and b ~= 59, p + 1
end

local MOST_FORS = 31

-- What a command's rule says: whether it wants arguments, takes only one, and no condition.
for _, kind in pairs(rules) do
    local letters = kind[2]
    kind.mode, kind.one = byte(letters), find(letters, "1", 1, true) ~= nil
    kind.unconditional = find(letters, ":", 1, true) ~= nil
end

-- How many FOR are before it on the line?
local function fors(cmds)
    local n = 0
    for i = 1, #cmds do
        if cmds[i][1] == "FOR" then n = n + 1 end
    end
    return n
end

local ONE_BY_ONE = { TSTART = true, TROLLBACK = true, ZHALT = true, ZTCOMMIT = true }

-- A command, or those that one of several arguments is.
local function add(cmds, cmd)
    if not ONE_BY_ONE[cmd[1]] or #cmd[2] < 2 then
        cmds[#cmds + 1] = cmd
        return
    end
    for _, arg in ipairs(cmd[2]) do cmds[#cmds + 1] = { cmd[1], { arg }, col = cmd.col, pc = cmd.pc } end
end

-- One command at p, put into cmds; the byte after it.
local function one(s, p, cmds)
    local name, after = word_at(s, p)
    local cmd = { name, {}, col = p }
    local word_end, kind = after - 1, rules[name]
    if byte(s, after) == 58 then
        if kind.unconditional then fail("SPOREOL", after) end
        cmd.pc, after = expr.parse(s, after + 1)
    end
    if name == "HALT" and word_end == p then
        hang(cmd, s, after)
        name = cmd[1]
        kind = rules[name]
    end
    local any
    any, p = argued(s, after)
    local mode = kind.mode
    if any and mode == 45 then fail("SPOREOL", p) end
    if any and name == "QUIT" and fors(cmds) > 0 then fail("QUITARGUSE", p) end
    if name == "FOR" and fors(cmds) >= MOST_FORS then fail("FOROFLOW", p, MOST_FORS) end
    if p == after and (mode == 43 or name == "FOR") then fail("SPOREOL", p) end
    if name == "FOR" and (p > #s or byte(s, p) == 59) then fail("VAREXPECTED", p) end
    if any or mode == 43 then
        p = arguments(s, p, cmd, kind[1], kind.one)
        local b = byte(s, p)
        if b and b ~= 32 and b ~= 9 and b ~= 59 then fail("SPOREOL", p) end
    end
    if name == "FOR" then cmd.calls = parse.calls end
    if name == "DO" and not any then
        cmd.calls, cmd.stop = parse.calls, blanks(s, p)
        if byte(s, cmd.stop) == 59 then cmd.stop = #s + 1 end
    end
    mark("commands", cmd.col, word_end, name)
    add(cmds, cmd)
    return p
end

-- The commands from p to the end of the line.
local function all(s, p, cmds)
    p = blanks(s, p)
    while p <= #s and byte(s, p) ~= 59 do
        parse.at, parse.calls = p, lex.count_calls()
        p = blanks(s, one(s, p, cmds))
    end
    if p <= #s then mark("comment", p) end
end

-- An error of ours is a table; anything else is a mistake in the parser, told as such, to its developers
-- in full.
local function as_error(e)
    if type(e) == "table" then return e end
    local what = os.getenv "CARET_M_DEBUG" and tostring(e) or "the compiler"
    return { mnemonic = "ASSERT", col = 1, what, "0", "" }
end

-- The error of the line as far as it counts, which ends before a literal that has no end; nil: it is in
-- errors, after the first `before`.
local function attempt_cut(s, cut, p, cmds, errors, before)
    if find(s, '^[ \t]*"', p) and #cut <= find(s, '"', p, true) then
        return { mnemonic = "LSEXPECTED", col = 0 }
    end
    lex.restart()
    local ok, e = pcall(all, cut, p, cmds)
    for i = before + 1, #errors do errors[i].col = unended.column(s, cut, errors[i].col) end
    if ok and #errors > before then return nil end
    e = ok and { mnemonic = "SPOREOL", col = #s + 1 } or as_error(e)
    e.col = unended.column(s, cut, e.col)
    return e
end

-- The error of a line of commands; nil: it is right, or what is wrong is in errors, after the first
-- `before`.
local function attempt(s, p, cmds, errors, before)
    lex.restart()
    local calls = lex.count_calls()
    local ok, e = pcall(all, s, p, cmds)
    if ok and #errors == before then return nil end
    e = not ok and as_error(e) or nil
    local cut = unended.cut(s, p)
    if cut then
        for i = #cmds, 1, -1 do cmds[i] = nil end
        for i = #errors, before + 1, -1 do errors[i] = nil end
        lex.drop_calls(calls)
        e = attempt_cut(s, cut, p, cmds, errors, before)
    end
    local beyond = e and e.col and unended.overflow(s, p, e.col)
    return beyond and { mnemonic = "NUMOFLOW", col = beyond } or e
end

-- The commands of a line from p on.  Those before an error stay.
local function body(s, p, cmds, errors)
    local e = attempt(s, p, cmds, errors, #errors)
    if not e then return end
    errors[#errors + 1] = e
    -- A FOR takes what it governs with it.
    local col, calls = parse.at, parse.calls
    for i = 1, #cmds do
        if cmds[i][1] == "FOR" then
            col, calls = cmds[i].col, cmds[i].calls
            for j = #cmds, i, -1 do cmds[j] = nil end
            break
        end
    end
    lex.drop_calls(calls)
    cmds[#cmds + 1] = { "ERROR", { e }, col = col }
end

-- (A,B) after a label, from the byte after `(` on. There may be a comma before `)`.
local function formals(s, p)
    local list, seen = {}, {}
    if byte(s, p) == 41 then return list, p + 1 end
    repeat
        local id, to = lex.name(s, p)
        if not id then fail("NAMEEXPECTED", p) end
        if seen[id] then fail("MULTFORMPARM", p) end
        seen[id] = true
        list[#list + 1] = id
        p = to + 1
        local b = byte(s, to)
        if b ~= 44 and b ~= 41 then fail("COMMAORRPAREXP", to) end
        if b == 44 and byte(s, p) == 41 then b, p = 41, p + 1 end
    until b == 41
    return list, p
end

-- The start of a line: label, formals, dots.  The byte after it.  A label with a colon is known to the
-- routine's own commands alone.
local function head(s, line)
    local p = 1
    local label = nil
    if not blank_or_end(byte(s)) then label, p = lex.label(s, p) end
    if label then line.label = label end
    if label and byte(s, p) == 58 then line.hidden, p = true, p + 1 end
    if label and byte(s, p) == 40 then
        line.listed = true -- also when the list is wrong
        line.formals, p = formals(s, p + 1)
    end
    local b = byte(s, p)
    if b and b ~= 32 and b ~= 9 and b ~= 59 then fail("LSEXPECTED", p) end
    p = blanks(s, p)
    local level = 0
    while byte(s, p) == 46 do
        level = level + 1
        p = blanks(s, p + 1)
    end
    line.level, line.begins = level, p
    return p
end

-- Is it too long to be compiled?
local function too_long(s, line, errors)
    local err = { mnemonic = "LSINSERTED", line.n, warning = #s <= LAST_LINE or nil }
    errors[#errors + 1] = err
    if err.warning then return false end
    line.cmds[1] = { "ERROR", { err }, col = MOST_LINE }
    return true
end

local function read_line(s, n, errors)
    local line = { n = n, level = 0, cmds = {}, begins = 1, first_call = 0, last_call = 0 }
    mark("line", n)
    if s == "" or byte(s) == 59 then return line end
    if #s > MOST_LINE and too_long(s, line, errors) then return line end
    local ok, p = pcall(head, s, line)
    if ok then
        body(s, p, line.cmds, errors)
        return line
    end
    p = as_error(p)
    errors[#errors + 1] = p
    line.cmds[1] = { "ERROR", { p }, col = p.col }
    return line
end

local function warning(mnemonic, line, col)
    return { mnemonic = mnemonic, line = line.n, col = col, warning = true }
end

-- No DO leads to this line: it is not compiled, and counts as one of the level before it.
local function too_deep(errors, line, level)
    local at = #errors + 1
    while errors[at - 1] and errors[at - 1].line >= line.n do
        at = at - 1
        if errors[at].line == line.n then table.remove(errors, at) end
    end
    table.insert(errors, at, warning("BLKTOODEEP", line, line.begins))
    line.cmds, line.level, line.last_call = {}, level, line.first_call - 1
end

local function has_block(line)
    for _, cmd in ipairs(line.cmds) do
        if cmd[1] == "DO" and #cmd[2] == 0 then return true end
    end
    return false
end

local function drop_too_deep(lines, errors)
    local level, deepest = 0, 0
    for _, line in ipairs(lines) do
        if line.level > deepest then too_deep(errors, line, level) end
        level = line.level
        deepest = level + (has_block(line) and 1 or 0)
    end
end

-- ends[i]: the last line of the block after line i.
local function ends_of(lines)
    local ends, stack = {}, {}
    for i = 1, #lines + 1 do
        local level = lines[i] and lines[i].level or -1
        while #stack > 0 and level <= lines[stack[#stack]].level do
            ends[stack[#stack]] = i - 1
            stack[#stack] = nil
        end
        stack[#stack + 1] = i
    end
    return ends
end

-- A DO without arguments gets the lines of its block.
local function find_blocks(lines, errors)
    drop_too_deep(lines, errors)
    local ends = ends_of(lines)
    for i, line in ipairs(lines) do
        local next_line = lines[i + 1]
        local blocked = next_line and next_line.level == line.level + 1
        for _, cmd in ipairs(line.cmds) do
            if cmd[1] == "DO" and #cmd[2] == 0 then
                cmd.first, cmd.last = i + 1, blocked and ends[i] or i
                cmd.unblocked = not blocked
            end
        end
    end
end

local function name_label(routine, line)
    local labels = routine.labels
    if labels[line.label] then
        routine.errors[#routine.errors + 1] = { mnemonic = "MULTLAB", col = 0, line = line.n }
    else
        labels[line.label] = line.n
    end
end

-- Where each line begins; the last one is the end of the text.
local function split(text)
    local starts, n, p = {}, 0, 1
    if sub(text, 1, 3) == "\239\187\191" then p = 4 end
    while p <= #text do
        n = n + 1
        starts[n] = p
        p = (find(text, "\n", p, true) or #text) + 1
    end
    starts[n + 1] = p
    return starts
end

-- Line i of a text, without its end.
function parse.source(text, starts, i)
    local last = starts[i + 1] - 1
    if byte(text, last) == 10 then last = last - 1 end
    if byte(text, last) == 13 and last >= starts[i] then last = last - 1 end
    return sub(text, starts[i], last)
end

-- What is wrong with a call of a label of the routine, if anything is.
local function wrong_call(routine, label, actuals)
    local at = routine.labels[label]
    local expected = at and routine.lines[at].formals
    if not at then
        return "LABELMISSING"
    elseif actuals and not expected then
        return "FMLLSTMISSING"
    elseif actuals and actuals > #expected then
        return "ACTLSTTOOLONG"
    end
end

-- Calls that can't work, from the first to the last, of all that the lines have.
local function tell_calls(routine, called, first, last)
    for i = first, last do
        local label, actuals = called[i][1], called[i][2]
        local mnemonic = wrong_call(routine, label, actuals)
        if mnemonic then routine.errors[#routine.errors + 1] = { mnemonic = mnemonic, label } end
    end
end

-- What is seen when all lines were read: such calls, and DO without a block, in their order.
local function look_back(routine, called)
    local errors = routine.errors
    for _, line in ipairs(routine.lines) do
        local told = line.first_call - 1
        for _, cmd in ipairs(line.cmds) do
            if cmd.unblocked then
                tell_calls(routine, called, told + 1, cmd.calls)
                told = cmd.calls
                errors[#errors + 1] = warning("DONOBLOCK", line, cmd.stop or 1)
            end
        end
        tell_calls(routine, called, told + 1, line.last_call)
    end
end

function parse.routine(text, name)
    local errors, called = lex.begin()
    local starts = split(text)
    local lines = {}
    local routine = { name = name, text = text, lines = lines, labels = {}, errors = errors, starts = starts }
    for i = 1, #starts - 1 do
        local before, calls = #errors, #called
        local line = read_line(parse.source(text, starts, i), i, errors)
        line.first_call, line.last_call = calls + 1, #called
        lines[i] = line
        for j = before + 1, #errors do errors[j].line = i end
        if line.label then name_label(routine, line) end
    end
    find_blocks(lines, errors)
    look_back(routine, called)
    return routine
end

-- XECUTE, direct mode: one line of commands.
function parse.line(text)
    local errors = lex.begin()
    local line = { n = 1, level = 0, cmds = {}, errors = errors, first_call = 1 }
    body(text, 1, line.cmds, errors)
    find_blocks({ line }, {})
    for i = #errors, 1, -1 do
        if errors[i].warning then table.remove(errors, i) end
    end
    return line
end

-- Is there nothing but blanks and a comment from p on?
local function nothing_more(text, p)
    return find(text, "^[ \t]*;", p) ~= nil or find(text, "^[ \t]*$", p) ~= nil
end

-- All of a text by one rule; or nil and the error.
local function whole(rule, text, ...)
    lex.begin()
    local ok, node, p = pcall(rule, text, 1, ...)
    local right = ok and nothing_more(text, p)
    local cut = not right and unended.cut(text, 1)
    if cut then ok, node, p = pcall(rule, cut, 1, ...) end
    if not ok then return nil, as_error(node) end
    if not right then return nil, { mnemonic = "INDEXTRACHARS", col = p } end
    return node
end

function parse.expr(text) return whole(expr.parse, text) end

function parse.name(text) return whole(expr.place, text) end

function parse.entry(text) return whole(expr.entry, text, true) end

-- The arguments of that command, as a list.
function parse.argument(op, text)
    local cmd = { op, {}, indirect = true }
    local kind = rules[op]
    local _, err = whole(function(s, p)
        if find(s, "^[ \t;]", p) and without_block(cmd) then return cmd, p end
        p = arguments(s, p, cmd, kind[1], kind.one)
        return cmd, p
    end, text)
    if err then return nil, err end
    return cmd[2], cmd
end

return parse
