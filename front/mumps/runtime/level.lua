-- level.lua - levels of M calls, and where the program is.
--
-- L.n is the level, 0 for the base; L.kind[n] how level n was entered: DO 1, $$ 2, XECUTE 3, a block 4.  Each
-- level is one emitted function on Lua's stack (GOTO is a tail call), whose chunk is named "=M<id>":
-- codes[id] says whose it is and has `map`, Lua line -> M line.  Functions whose line is not in the map
-- (entries of labels) are not levels; nor is what was compiled for an indirection (kind "i").
--
-- failed[n] is where level n was when the newest error passed it. seen[n] is the same for the first error, of
-- 256 levels, as in GT.M: $STACK() has that until $ECODE is emptied, and above it what the trap of that level
-- calls. An error in what the first one's $ETRAP called is added above it, at one level more if it is in the
-- trap itself; later ones are not.

local symbols = require "mumps.runtime.symbols"
local getinfo, match, gsub, sub = debug.getinfo, string.match, string.gsub, string.sub

local M = {LIMIT = 10000, first = "-run", codes = {}, failed = {}, seen = {}, highest = -1, base = -1,
    threads = {},
    begins = {}, -- by thread: the level that it began with, if that follows the last one of the thread before
    aliases = {}, -- by level: SET * has called it
    prompts = {}, -- by level: what has led to a prompt in it
    acting = {}, -- by level: the action of a breakpoint runs in it
    outside = ""} -- the place of what is in no routine: direct mode has one

-- Is $ECODE empty?  It is until there is one (trap.lua).
function M.is_clear()
    return true
end

local L = {n = 0, kind = {[0] = 0}, limit = 150}
M.L = L
local names = {"DO", "$$", "XECUTE", "DO"}
local XECUTE = 3
local RECORDED = 255 -- the last level that the record of an error has

-- ---- places

-- LABEL+OFF^RTN of a line of a code.
local function place_of(code, line)
    if code.kind ~= "routine" then
        return "@"
    end
    local labels = code.order
    local low, high = 1, #labels
    while low <= high do
        local middle = math.floor((low + high) / 2)
        if labels[middle].line <= line then
            low = middle + 1
        else
            high = middle - 1
        end
    end
    local l = labels[high]
    local name, off = l and l.name or "", line - (l and l.line or 0)
    return name .. (off ~= 0 and "+" .. off or "") .. "^" .. code.name
end

M.place_of = place_of

-- Of a position, which is line * 65536 + id of the code; nil: it is in no routine.
function M.place_at(pos)
    local code = pos and M.codes[pos % 65536]
    return code and code.kind == "routine" and place_of(code, math.floor(pos / 65536)) or nil
end

local function source_of(code, line)
    if code.kind ~= "routine" then
        return code.text
    end
    local starts = code.starts
    local first, after = starts[line], starts[line + 1]
    if not first then
        return ""
    end
    local text = gsub(sub(code.text, first, (after or #code.text + 1) - 1), "[\r\n]+$", "")
    local at = match(text, "^[%%%w]*%b()()") or match(text, "^[%%%w]*()")
    local blanks = match(text, "^[ \t]*", at) -- tabs before the commands are shown as blanks
    return sub(text, 1, at - 1) .. (" "):rep(#blanks) .. sub(text, at + #blanks)
end

-- Heights of frames go on in the thread that resumed this one, threads[#threads - 1], and so on (frames.lua):
-- from BELOW times 1, 2...
local BELOW = 1000000

local function info_of(height)
    if height < BELOW then
        return getinfo(height + 1, "Sl")
    end
    local thread = M.threads[#M.threads - math.floor(height / BELOW)]
    return thread and getinfo(thread, height % BELOW, "Sl")
end

-- The emitted frame at that height of Lua's stack: code, line; nil, true at the end of this thread's.
local function frame(height)
    local info = info_of(height)
    if not info then
        return nil, true
    end
    local id = match(info.source, "^=M(%d+)$")
    local code = id and M.codes[tonumber(id)]
    local line = code and code.map[info.currentline]
    if line then
        return code, line
    end
end

-- The next frame of a level from that height on: code, line, height, and the trap's text if it is one.
local function next_level(height)
    while true do
        local code, line = frame(height)
        if code and code.at then -- a trap: it is where the error was
            return code.at, code.at_line, height, code
        elseif code and code.kind ~= "i" then
            return code, line, height, code.trap and code
        elseif not code and line then
            height = (math.floor(height / BELOW) + 1) * BELOW
            if height / BELOW >= #M.threads then
                return nil
            end
        else
            height = height + 1
        end
    end
end

-- The innermost line of a routine: code, line; true: a trap that is for this line runs.
local function running(height)
    local innermost
    while true do
        local code, line, in_trap
        code, line, height, in_trap = next_level(height + 1)
        if innermost == nil then
            innermost = in_trap or false
        end
        if not code then
            return nil
        elseif code.kind == "routine" then
            return code, line, innermost
        end
        height = height + 1
    end
end

M.source_of = source_of

function M.running()
    return running(3)
end

function M.place()
    local code, line = running(3)
    return code and place_of(code, line) or M.outside
end

function M.routine()
    local code = running(3)
    return code and code.name or ""
end

-- Where level n was; as: the level that $STACK() has it as, nil for none.
local function remember(n, as, e, code, line)
    if not code then
        code, line = next_level(4)
    end
    if not code then
        return
    end
    M.failed[n] = {code = code, line = line, kind = L.kind[n], ecode = e and M.error.ecode(e) or ""}
    if as and as <= RECORDED and not M.seen[as] then
        M.seen[as] = M.failed[n]
        M.highest = as > M.highest and as or M.highest
    end
end

-- Does a trap run for the first error, at the level of that?
local function handles_first()
    return M.handling == M.base and M.handled == M.cause
end

-- An error that comes from above has passed to level n.
function M.passed(n)
    remember(n, (n < M.highest or handles_first()) and n or nil, nil)
end

-- Levels that a record of an error can have, and maybe newer ones: as live(). Those of threads below stay as
-- they are while the one above is there.
local below = setmetatable({}, {__mode = "k"})

local function levels_below(i)
    local above = M.threads[i]
    below[above] = below[above] or M.live((#M.threads - i + 1) * BELOW, M.begins[i] - 1)
    return below[above]
end

local function recorded(height, n)
    local i = #M.threads
    while (M.begins[i] or 0) > RECORDED do
        i = i - 1
    end
    return M.threads[i + 1] and levels_below(i + 1) or M.live(height, n)
end

-- A new error at level n, at that line if it has returned from there.
local function note(n, e, code, line)
    if M.is_clear() then
        M.forget()
        M.base, M.cause = n, e
        remember(n, n, e, code, line)
        for _, l in ipairs(recorded(4, code and n - 1 or n)) do
            if l.n <= RECORDED then
                M.seen[l.n] = M.seen[l.n] or l
            end
        end
        M.highest = math.min(n, RECORDED)
    else
        remember(n, handles_first() and (n == M.base and n + 1 or n) or nil, e, code, line)
    end
end

-- Give an error of a level that has returned its place: code is what that level ran, nil if it is unknown.
function M.locate_returned(e, n, code, line)
    M.error = M.error or require "mumps.runtime.error"
    e.code_at, e.line_at, e.at_level = code, line, n
    note(n, e, code, line)
    if code and code.kind ~= "routine" then -- the line that has the XECUTE
        e.code_at, e.line_at = running(4)
    end
    e.place = e.code_at and place_of(e.code_at, e.line_at) or ""
    return e
end

local function last_line(code)
    local starts = code.starts
    return starts[#starts] > #code.text and #starts - 1 or #starts
end

-- Give an error its place.
function M.locate(e)
    M.error = M.error or require "mumps.runtime.error"
    local code, line, in_trap = running(4)
    local last = e.m == "LABELNOTFND" and code and last_line(code) -- where the code of such a GOTO is
    line = last or line
    e.place = code and place_of(code, line) or L.n > 0 and M.outside or ""
    e.code_at, e.line_at, e.at_level, e.in_trap = code, line, L.n, in_trap and L.n
    if e.m then
        note(L.n, e, last and code, last and line)
    end
    return e
end

function M.forget()
    M.seen, M.highest, M.base, M.handling = {}, -1, -1, nil
end

-- All levels as they are, from the newest, or n, down to the last one: {code, line, n}.
function M.live(from, newest, last)
    local list, n, height = {}, newest or L.n, from or 2
    while n >= (last or 0) do
        local code, line, at, in_trap = next_level(height)
        if not code then
            break
        end
        list[#list + 1] = {code = code, line = line, kind = L.kind[n], n = n, in_trap = in_trap or code.trap}
        n, height = n - 1, at + 1
    end
    return list
end

-- The text of a trap that runs at that level; not when it left it by GOTO.
function M.in_trap(n)
    local at, height, code, trap, _ = L.n, 2
    repeat
        code, _, height, trap = next_level(height)
        at, height = at - 1, height and height + 1
    until not code or at < n
    return trap or false
end

-- What the text of a trap at level n has called leaves that: it ends, and so does a trap that has called it,
-- and so on. The first one of these: its level and text; nil: there is none at level n.
function M.first_trap(n)
    local text, first = M.in_trap(n), nil
    while text do
        n, first = n - 1, text
        text = n >= 0 and M.in_trap(n)
    end
    return first and n + 1, first
end

-- Level n in a thread below the newest: what it was asked for once; nil: it is in that.
local function level_below(n)
    local i, found = #M.threads, nil
    while (M.begins[i] or 0) > n do
        found, i = i, i - 1
    end
    return found and levels_below(found)[M.begins[found] - n]
end

local function level_at(n)
    local seen = M.seen[n]
    if seen or n < 0 or n > M.top() then
        return seen
    end
    local l = level_below(n)
    if not l then
        local list = M.live(2, nil, n)
        l = list[#list]
    end
    return l and l.n == n and l or nil
end

function M.top()
    local grows = M.highest < 0 or handles_first()
    return grows and math.max(M.highest, L.n) or M.highest
end

-- How level n was entered; a GOTO out of an XECUTE makes a DO of it.
function M.kind(n)
    if n == 0 then
        return M.first
    end
    local kind = M.seen[n] and M.seen[n].kind or L.kind[n] or 1
    local l = kind == XECUTE and level_at(n)
    return names[l and l.code.kind == "routine" and 1 or kind]
end

-- $STACK(n, item)
function M.info(n, item)
    local l = level_at(n)
    if not l then
        return ""
    elseif item == "ECODE" then
        return l.ecode and l.ecode ~= "" and not M.is_clear() and "," .. l.ecode or ""
    elseif n == 0 and l.code.kind ~= "routine" and M.outside ~= "" then -- direct mode
        return item == "PLACE" and M.outside or ""
    elseif item == "PLACE" then
        local place = place_of(l.code, l.line)
        return n == 0 and L.n >= 0 and l.base and l.base .. place or place
    elseif item == "MCODE" then
        return source_of(l.code, l.line)
    end
    return ""
end

-- What has led to a prompt within a level, as ZSHOW tells it: beside the place, and below it.
local prompts = {
    BREAK = {"    (Direct mode) "}, step = {"", "    (Direct mode) "},
    zbreak = {"    (ZBREAK)", "    (Direct mode) "}, error = {"    ($ZTRAP)", "    (Direct mode) "}}

-- For people and ZSHOW: newest first.
function M.stack()
    local list = {}
    for _, l in ipairs(M.live()) do
        local direct = l.n == 0 and l.code.kind ~= "routine" and M.outside ~= ""
        local place = direct and M.outside or place_of(l.code, l.line)
        local told = prompts[direct and "BREAK" or M.prompts[l.n]]
        local beside = told and told[1] or M.acting[l.n] and prompts.zbreak[1]
            or l.in_trap and prompts.error[1] or ""
        list[#list + 1] = {place = place .. beside, note = beside, kind = M.kind(l.n),
            source = source_of(l.code, l.line)}
        list[#list + 1] = told and told[2] and {place = told[2], kind = "prompt", source = ""} or nil
    end
    return list
end

-- Back to that level and that height of the NEW stack.
function M.unwind(n, top)
    symbols.unwind(top)
    L.n = n
end

return M
