-- ZBREAK and ZSTEP: breakpoints and single steps, by tools/watch.lua.
--
-- A breakpoint belongs to a line of a routine, by name: it holds for what ZLINK brings, too.  Its action, or
-- that of a step, runs before the line does, as part of that level: QUIT and GOTO leave it, its errors are
-- ERRWZBRK there, of a step ERRWEXC.  Without an action there is a prompt (direct.lua).

local commands = require "mumps.runtime.commands"
local errors = require "mumps.runtime.error"
local level = require "mumps.runtime.level"
local load = require "mumps.runtime.load"
local number = require "mumps.values.number"
local routine = require "mumps.runtime.routine"
local special = require "mumps.runtime.special"
local trap = require "mumps.runtime.trap"
local watch = require "mumps.tools.watch"

local debugger = {}

local L = level.L
local breaks = {} -- by name of routine, by line: {action, count, place}
local n_breaks = 0
local step -- {kind, level, action}

-- ------------------------------------------------------------------ before a line

local function is_step(s)
    if s.kind == "OVER" then return L.n <= s.level end
    if s.kind == "OUTOF" then return s.left or L.n < s.level end
    return true
end

function watch.left(n)
    if step and n == step.level then step.left = true end
end

-- The function of an action; a code keeps those of its lines.
local function function_of(action, code)
    code.actions = code.actions or {}
    code.actions[action] = code.actions[action] or load.line(action, code, "i")
    return code.actions[action]
end

-- Run the action; its QUIT, or that of what it went to by GOTO, ends the level.
local function run(action, name, code, line)
    level.acting[L.n] = true
    local ok, v, at = pcall(function_of(action, code))
    level.acting[L.n] = nil
    if not ok then return errors.rethrow(errors.as_of_text(v, name, L.n)) end
    if not at then return end
    local from = level.codes[at % 65536]
    if from.kind == "i" then at = line * 65536 + code.id end
    return errors.rethrow(errors.control{ control = "goto", level = L.n, fn = function() return v, at end })
end

-- The action is run; the plain one is a prompt.
local function act(action, mnemonic, code, line)
    if action:match "^%s*[Bb][Rr]?[Ee]?[Aa]?[Kk]?%s*$" then
        local e = errors.object(mnemonic)
        e.place = level.place_of(code, line)
        local direct = require "mumps.tools.direct"
        direct.report(e)
        return direct.nested(mnemonic == "BREAKZST" and "step" or "zbreak")
    end
    return run(action, mnemonic == "BREAKZST" and "ERRWEXC" or "ERRWZBRK", code, line)
end

local function due(b)
    if b.count > 1 then
        b.count = b.count - 1
        return false
    end
    return true
end

local function update() end -- below

local function before(code, line)
    local s = step
    if s and is_step(s) then
        step = nil
        act(s.action, "BREAKZST", code, line)
    end
    local b = breaks[code.name] and breaks[code.name][line]
    if b and due(b) then act(b.action, "BREAKZBA", code, line) end
    update() -- only now: what was seen of outer levels would be lost between two steps
end

function update()
    watch.set("debug", (n_breaks > 0 or step) and before or nil)
end

-- ------------------------------------------------------------------------ ZBREAK

-- Has a line nothing that runs?
local function is_idle(text)
    local rest = text:gsub("^[%%%w]*:?", ""):gsub("^%b()", "")
    return rest:find "^[ \t.]*$" or rest:find "^[ \t.]*;"
end

-- The line at which a breakpoint of that one stops: the next one that runs.
local function stop_of(r, line)
    local last = routine.count(r)
    local at = line
    while at < last and is_idle(routine.raw(r, at)) do at = at + 1 end
    return at
end

-- The line that an entry {label, offset, routine} means, and its routine.
local function place_of(entry)
    local name = entry.routine
    local r = name and name ~= "" and routine.get(name)
    if not r then errors.fail("NOPLACE") end
    local first = 1
    if entry.label and entry.label ~= "" then first = routine.label_line(name, tostring(entry.label)) end
    local line = first and first + number.int(entry.offset or 0)
    if not line or line < 1 or line > routine.count(r) then errors.fail("NOPLACE") end
    return name, line, r
end

-- An entry as ZSHOW has it.
local function entry_text(entry)
    local offset = number.int(entry.offset or 0)
    return ("%s%s^%s"):format(entry.label or "", offset == 0 and "" or "+" .. offset, entry.routine)
end

local function remove(name, line)
    local list = breaks[name]
    if not list or not list[line] then return end
    list[line] = nil
    n_breaks = n_breaks - 1
end

local function add(entry, action, count)
    local name, wanted, r = place_of(entry)
    local line = stop_of(r, wanted)
    local place = breaks[name] and breaks[name][line] and breaks[name][line].place
    remove(name, line)
    breaks[name] = breaks[name] or {}
    n_breaks = n_breaks + 1
    breaks[name][line] = { action = action, count = count, place = place or entry_text(entry) }
end

-- entry nil: all of them.
function commands.ZBREAK(entry, action, count, removed)
    if not entry then
        breaks, n_breaks = {}, 0
        return update()
    end
    count = math.floor(tonumber(count or 1) or 1)
    if count < 0 then errors.fail("ZBRKCNTNEGATIVE", tostring(count)) end
    action = action == nil and "B" or tostring(action)
    trap.compile(action)
    if removed then
        local name, line, r = place_of(entry)
        remove(name, stop_of(r, line))
    else
        add(entry, action, count)
    end
    update()
end

-- For ZSHOW "B": place>action, in the order of routines and lines.
function debugger.breakpoints()
    local list = {}
    for name, lines in pairs(breaks) do
        for line, b in pairs(lines) do list[#list + 1] = { name, line, b.place .. ">" .. b.action } end
    end
    table.sort(list, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
    for i, item in ipairs(list) do list[i] = item[3] end
    return list
end

--- No breakpoints, and no step.
function debugger.clear()
    breaks, n_breaks, step = {}, 0, nil
    update()
end

-- ------------------------------------------------------------------------- ZSTEP

-- At a prompt the program goes on, too.
function commands.ZSTEP(kind, action)
    action = tostring(action == nil and special.get "ZSTEP" or action)
    trap.compile(action)
    step = { kind = kind or "OVER", level = L.n, action = action }
    update()
    if trap.prompt == L.n then error(errors.control { control = "continue" }, 0) end
end

return debugger
