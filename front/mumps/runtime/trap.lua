-- trap.lua - what happens to an error at a level: $ECODE, $ZSTATUS, $ETRAP, $ZTRAP.
--
-- caught(e, n, before) is asked by the catcher of level n (call.lua).  It returns the function that goes on
-- at that level instead of what failed, or nil: the error passes on to level n - 1.  `before` is the error
-- whose trap failed just now.  An error adds to $ECODE once, then it is `counted`.
--
--     $ETRAP   its code runs at that level; when it QUITs with $ECODE not empty the error passes on. An error
--              of what it called, with $ECODE not empty, is that of the level before: no trap of levels
--              above level.handling is asked, which is the one whose $ETRAP runs.
--     $ZYERROR is done first.
--     $ZTRAP   the same; at its end the line of the error is tried again. Each such try counts as a level, so
--              that a line that always fails has an end, until the M level ends or a GOTO leaves it.
--              Where it is empty by a NEW or SET of its own (`none`) no $ZTRAP of the levels before is asked.
--              An error of its code passes all levels that have the $ZTRAP of the same SET (`which`).
--
-- NEW of $ETRAP or $ZTRAP saves both, as setting one empties the other.

local errors = require "mumps.runtime.error"
local level = require "mumps.runtime.level"
local symbols = require "mumps.runtime.symbols"

local M = {etrap = "", ztrap = "B", ecode = "", zstatus = "", zerror = "Unprocessed $ZERROR, see $ZSTATUS",
    estack = 0, none = false, which = 0}
local L = level.L

function level.is_clear()
    return M.ecode == ""
end

-- ---- set by programs

local function throw_user(text)
    local e = errors.object("SETECODE")
    e.ecode = string.gsub(text, "^,", "")
    errors.raise(e)
end

function M.set_ecode(v)
    v = tostring(v)
    if v == "" then
        M.ecode = ""
        level.forget()
        return
    end
    if not string.find(v, "^,[^,].*,$") or string.find(v, ",,", 1, true) or not string.find(v, "^,[MUZ]") then
        return errors.fail("INVECODEVAL", v)
    end
    return throw_user(v)
end

local function compiles(text)
    return M.compile(text)
end

-- A text that does not compile leaves $ETRAP as it was, but takes $ZTRAP away.
function M.set_etrap(v)
    v = tostring(v)
    M.ztrap, M.none = "", false
    compiles(v)
    M.etrap = v
end

local traps = {restore = function(_, etrap, was)
    M.etrap, M.ztrap, M.which, M.none = etrap, was.ztrap, was.which, false
end}
local ztraps = {restore = function(_, etrap, was)
    M.etrap, M.ztrap, M.which, M.none = etrap, was.ztrap, was.which, was.ztrap == ""
end}

-- $ZTRAP as it is, for a NEW: the same table while it stays so, as many calls have a NEW of $ETRAP.
local kept = {}
local function now()
    if kept.which ~= M.which or kept.ztrap ~= M.ztrap then
        kept = {ztrap = M.ztrap, which = M.which}
    end
    return kept
end

local estack = {restore = function(_, n)
    M.estack = n
end}

-- $ETRAP keeps its value.
function M.new_etrap()
    symbols.push_special(traps, M.etrap, now())
    M.ztrap, M.none = "", false
end

local sets = 0 -- of $ZTRAP, in this process

-- An $ETRAP that it takes the place of comes back when the level ends.
function M.set_ztrap(v)
    v = tostring(v)
    compiles(v)
    if v ~= "" and M.etrap ~= "" then
        M.new_etrap()
    end
    sets = sets + 1
    M.ztrap, M.etrap, M.none, M.which = v, "", v == "", sets
end

function M.new_ztrap()
    symbols.push_special(ztraps, M.etrap, now())
    M.etrap, M.ztrap, M.none = "", "", true
end

function M.new_estack()
    symbols.push_special(estack, M.estack, false)
    M.estack = L.n
end

-- ---- an error at a level

-- $ECODE with one more error: of many, the last and the first ones remain.
local MOST = 32
local lost = errors.object("ECLOSTMID")

local function with_code(text)
    local list = M.ecode == "" and {} or M.list
    list[math.min(#list + 1, MOST)] = text
    if M.ecode ~= "" and #list == MOST and M.full then
        list[MOST - 1] = errors.ecode(lost)
    end
    M.list, M.full = list, #list == MOST
    return "," .. table.concat(list)
end

local function count(e)
    if e.counted then
        return
    end
    e.counted = true
    M.ecode = with_code(errors.ecode(e))
    M.zstatus = e.code .. "," .. (e.place or "") .. "," .. e.text
end

-- An error while the trap of the same level ran: it belongs to the level before. One of the trap's own text
-- is told as such; where it went to by GOTO that is an error like any other, for $ZTRAP of the same level.
-- What `first`, the error that the trap was for, leaves as the exit status of a program stays.
local function failed_as(e, name, first)
    local outer = errors.object(name)
    outer.exits = first and (first.exits or first.code)
    outer.place, outer.code_at, outer.line_at = e.place, e.code_at, e.line_at
    outer.text = outer.text .. "," .. string.gsub(e.text, "^%%", "-")
    count(outer)
    return outer
end

local function failed_trap(e, by_ztrap, first)
    count(e)
    if e.in_trap == L.n then
        e = failed_as(e, by_ztrap and "ERRWZTRAP" or "ERRWETRAP", first)
        e.passes = by_ztrap and M.which
    end
    e.trapped = true
    return e
end

-- A line that $ZTRAP had tried again failed again. The error of the level before, when there were as many of
-- these tries as there may be levels.
local function tried_out(e, before)
    e.tries = (before.tries or 0) + 1
    if e.tries + L.n <= level.LIMIT then
        return nil
    end
    local last = errors.object("STACKCRIT")
    last.place, last.code_at, last.line_at = e.place, e.code_at, e.line_at
    last.trapped = true
    count(last)
    return last
end

function M.trap_of(e)
    if e.exception then
        return e.exception, true
    elseif M.etrap ~= "" then
        return M.etrap, false
    elseif M.ztrap ~= "" and M.ztrap ~= "B" and not e.no_ztrap and e.passes ~= M.which then
        return M.ztrap, true
    end
end

-- $ZYERROR's entry is done before any trap, at the level of the error; it has no traps but its own. An error
-- of it is in $ZERROR, and nowhere else. Returns the way out that it took, ZGOTO or HALT.
local function run_zyerror(e)
    local was = {M.etrap, M.ztrap, M.ecode, M.list, M.full, M.zstatus, M.interactive, L.n, M.none}
    M.etrap, M.ztrap, M.zerror, M.interactive = "", "B", "", nil
    local ok, wrong = pcall(M.do_zyerror, e)
    L.n = was[8]
    M.etrap, M.ztrap, M.interactive, M.none = was[1], was[2], was[7], was[9]
    if ok then
        return
    end
    wrong = errors.internal(wrong)
    if wrong.control then
        return wrong
    end
    count(wrong)
    M.zerror = M.zstatus
    M.ecode, M.list, M.full, M.zstatus = was[3], was[4], was[5], was[6]
end

-- The levels above n have ended, and n itself if e is a ZGOTO that just leaves it.
local function roll_back(e, n)
    if level.abandon and (e.m or e.control == "goto") then
        local ends = e.control and e.level == n and not e.fn and not e.trap
        level.abandon(ends and n - 1 or n)
    end
end

function M.nothing()
end

-- What a ZGOTO to the level of now does there: where a $ZTRAP ends by it, the line of the error is tried
-- again.
local function arrival(e)
    local text = e.trap
    if text and text.again then
        return text.again, text.about
    end
    return e.fn or M.nothing, e
end

-- The trap of level n takes the error, if there is one: as caught().
local function take(e, n)
    e.tried = n
    e.no_ztrap = e.no_ztrap or M.none
    local text, by_ztrap = M.trap_of(e)
    e.no_ztrap = e.no_ztrap and not text
    e.by_exception, e.exception = e.exception ~= nil, nil
    local passes = e.passes == M.which
    e.by_ztrap, e.trapped = by_ztrap, text ~= nil or passes
    if text and not by_ztrap then
        level.handling, level.handled = n, e
    end
    if not text then
        local f = M.ztrap == "B" and M.interactive and M.interactive(e) -- direct mode has a prompt for it
        e.by_ztrap, e.untrapped = f and true or false, not f and not passes
        return f, e
    end
    local f = M.handler(text, by_ztrap, e)
    return f, e
end

-- A ZGOTO that ends level n, whose $ZTRAP was for an error in an XECUTE: the line of the routine that has
-- that begins again, unless its level ends, too.
local function line_instead(e, n, before)
    local below = before and before.below
    local ends = below and e.control == "goto" and e.level <= n and not e.fn and not e.trap
    return ends and below.level < e.level and below or nil
end

function M.caught(e, n, before)
    e = line_instead(e, n, before) or e
    roll_back(e, n)
    if e.control == "goto" and e.level == n then
        return arrival(e)
    elseif not e.m or n == M.prompt then -- direct mode tells the errors of its line itself
        if e.m == "SETECODE" and e.at_level == n then
            M.ecode = with_code(e.ecode)
        elseif e.counts then
            count(e)
        end
        return nil, e
    end
    if before and before.by_exception and e.in_trap == n then -- the level's own trap is there yet
        count(e)
        e, before = failed_as(e, "ERRWIOEXC"), nil
    end
    local by_ztrap_before = before and before.m and before.by_ztrap
    if before and before.m and e.in_trap == n or level.handling == n then
        return nil, failed_trap(e, by_ztrap_before, before and before.m and before)
    elseif e.tried == n then
        return nil, e
    end
    local last = by_ztrap_before and before.again and tried_out(e, before)
    if last then
        return nil, last
    end
    count(e)
    if M.zyerror() ~= "" and not e.told then
        e.told = true
        local out = run_zyerror(e)
        if out then
            return M.caught(out, n, before)
        end
    end
    if level.handling and n > level.handling then
        return nil, e
    end
    return take(e, n)
end

-- A program whose level 0 ends by a trap, not by a QUIT or HALT of its own, has the error as its exit status,
-- also if $ECODE is empty then.
function M.note_exit(n, e, by_trap)
    M.exits = n == 0 and e and by_trap and not e.by_ztrap and e.code or nil
end

--- Errors and traps as they are when a program begins.
function M.clear()
    M.etrap, M.ztrap, M.ecode, M.zstatus, M.none = "", "B", "", "", false
    M.zerror, M.estack = "Unprocessed $ZERROR, see $ZSTATUS", 0
    level.handling, M.exits = nil, nil
    level.forget()
end

return M
