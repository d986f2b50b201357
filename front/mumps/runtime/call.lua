-- call.lua - how the rest of the program runs M: load a routine, call a label, run a program, XECUTE.
--
--     run(label, offset, routine, args, n) the base of a program, level 0: errors end here, after the trap of
--                                            that level
--     m(label, routine, args, n, kind)       a call from Lua, one level more: errors are thrown on
--     direct(text)                           a line at the level of now

local errors = require "mumps.runtime.error"
local frames = require "mumps.runtime.frames"
local indirect = require "mumps.runtime.indirect"
local level = require "mumps.runtime.level"
local load = require "mumps.runtime.load"
local symbols = require "mumps.runtime.symbols"
local trap = require "mumps.runtime.trap"
require "mumps.runtime.svn"

local L = level.L
local M = {load = load.load, routines = load.routines, forget = load.forget}

-- ---- a call from outside

function M.m(label, routine, args, n, kind)
    local code = load.routines[routine]
    return frames.enter(code, label or "", frames.kinds[kind or "DO"], n or -1, unpack(args or {}, 1, n or 0))
end

function M.xecute(text)
    return indirect.xecute(level.running() or load.empty, text)
end

-- The same, of a text that is not the program's: its errors are told as `name`.
function M.xecute_as(text, name)
    local f = load.line(text, level.running() or load.empty)
    return frames.xecute(function()
        local ok, v, p = pcall(f)
        if not ok then
            return errors.rethrow(errors.as_of_text(v, name, L.n))
        end
        return v, p
    end)
end

-- ---- the base

-- f at the level of now: nil, or what ended it.
local function attempt(f, n, top)
    local ok, v, p = pcall(frames.in_thread, n + 150, f)
    local _, e
    if not ok or v ~= nil then
        _, e = frames.finish(1, n, top, ok, v, p)
    end
    L.n = n
    symbols.unwind(top)
    return e
end

-- Run f at the level of now: true, or false and what ended it.  What is NEW above `top` ends with it.  ZGOTO
-- to level 0 with a label goes on there in its place.
local function base(f, top)
    local n = L.n
    local e = attempt(f, n, top)
    local left -- the prompt at which it began
    while e and e.control == "goto" and e.level < n and e.fn do
        left = n == 0 and level.outside ~= ""
        e = attempt(e.fn, n, top)
    end
    if left and not e then
        e = errors.control{control = "halt", code = 0}
    end
    if e and e.control == "halt" then
        return true, e
    end
    return e == nil, e
end

local function start_of(label, offset, routine)
    local code = load.routines[routine]
    if offset and offset ~= 0 then
        return indirect.target(code, label, offset, nil)
    end
    return indirect.label_of(code, label or "")
end

-- What attempt() does, of a label with actuals, whose entry begins the level of now itself.
local function attempt_with(label, routine, args, n)
    local top = symbols.stack.top
    L.n = L.n - 1
    local ok, e = pcall(frames.in_thread, L.n + 150, M.m, label, routine, args, n)
    L.n = L.n + 1
    symbols.unwind(top)
    return not ok and errors.internal(e) or nil
end

-- f at the level of now: nil, or what ended it.
function M.at_level(f)
    return attempt(function()
        f()
    end, L.n, symbols.stack.top)
end

function M.run(label, offset, routine)
    return base(function()
        local v, p = start_of(label, offset, routine)()
        return v, p
    end, symbols.stack.top)
end

-- The same with n actuals.
function M.run_with(label, routine, args, n)
    local e = attempt_with(label, routine, args, n)
    return e == nil or e.control == "halt", e
end

-- QUIT with a value at a prompt: that of the extrinsic whose level it is.
local function quit_with(v, code)
    local n = L.n
    if n == 0 or L.kind[n] ~= frames.kinds["$$"] then
        local e = level.locate_returned(errors.object("NOTEXTRINSIC"), n, code, 1)
        e.place, e.counts = level.place(), true -- for $ECODE, which other errors of the line are not
        return errors.rethrow(e)
    end
    return errors.rethrow(errors.control{control = "goto", level = n, fn = function()
        return v
    end})
end

-- A line that was entered; nested: within a program, where it is not a level of its own; "error": at one that
-- an error has ended. What it makes NEW stays so until the level ends. What leaves the level of a prompt ends
-- that, too.
function M.direct(text, nested)
    local left
    local ok, e = base(function()
        local within = nested and nested ~= "error"
        local f, code = load.line(text, level.running() or load.empty, within and "i" or "x")
        local seen = nested == "error" and level.failed[L.n]
        if seen then
            code.at, code.at_line = seen.code, seen.line
        end
        local done, v, quits = pcall(f)
        if done and v ~= nil then
            done, v = pcall(quit_with, v, code)
        elseif done and quits and nested == "error" then
            level.prompts[L.n] = "BREAK" -- its line is what comes next
        end
        if not done and nested and type(v) == "table" and v.control == "goto" and v.level <= L.n then
            left = v
        elseif not done then
            if type(v) == "table" then
                v.typed = v.at_level == L.n and not v.counts
            end
            return errors.rethrow(v)
        end
    end, math.huge)
    if left then
        return false, left
    end
    return ok, e
end

function M.stack_lines()
    local out = {}
    for i, l in ipairs(level.stack()) do
        out[i] = l.place
    end
    return out
end

M.errors, M.trap = errors, trap

return M
