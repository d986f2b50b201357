-- mumps.runtime.source: the commands that are about routines as texts: ZLINK, ZCOMPILE, ZPRINT, ZRUPDATE.

local routine = require "mumps.runtime.routine"
local commands = require "mumps.runtime.commands"
local number = require "mumps.values.number"

local source = {}

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

local function str(v)
    return number.str(v)
end

-- ZLINK without an argument: $ZSOURCE.
function commands.ZLINK(text)
    routine.zlink(text == nil and routine.zsource or str(text))
end

-- Nothing is written: errors are shown, $ZCSTATUS is set.
function commands.ZCOMPILE(text)
    for path in str(text):gmatch "[^ ,]+" do
        if path:sub(1, 1) ~= "-" then source.check(path) end
    end
end

local function no_source(path)
    local errors = require "mumps.host.errors"
    local whole = path:find "%.[^/]*$" and path or path .. ".m"
    if whole:sub(1, 1) ~= "/" then whole = require("mumps.runtime.special").get "ZDIRECTORY" .. whole end
    io.stderr:write("%YDB-E-FILENOTFND, ", errors.text("FILENOTFND", whole), "\n")
    routine.status = -errors.get "ERRORSUMMARY"
end

-- Compile a file without keeping it.
function source.check(path)
    local file = io.open(path, "rb") or io.open(path .. ".m", "rb")
    if not file then return no_source(path) end
    local text = file:read "*a"
    file:close()
    local name = path:match "([^/]*)$":gsub("%.[^.]*$", ""):gsub("^_", "%%")
    local r = {source = text, name = name}
    local wrong = require("mumps.compiler.parse").routine(text, name).errors
    routine.status = #wrong == 0 and 1 or require("mumps.host.errors").get "ERRORSUMMARY"
    routine.listing(io.stderr, wrong, r, path)
end

function commands.ZRUPDATE()
    routine.refresh()
end

-- ----------------------------------------------------------------- ZPRINT

-- The number of the line that an entry {label, offset, routine} means, or nil if there is none.
local function line_of(name, entry)
    local first = 0
    if entry.label and entry.label ~= "" then
        first = routine.label_line(name, entry.label)
        if not first then return fail "ZPRTLABNOTFND" end
    end
    return first + number.int(entry.offset or 0)
end

-- From one entry to another, both tables of label, offset, routine; without any: the routine whole.
function commands.ZPRINT(from, to)
    from = from or {}
    local name = from.routine or require("mumps.runtime.level").routine()
    if not name or name == "" then return fail "NOTEXTRINSIC" end
    local r = routine.get(name)
    local whole = not from.label and not from.offset
    local first = whole and 1 or line_of(name, from)
    local last = to and line_of(name, to) or whole and 0 or first
    if last == 0 then last = routine.count(r) end
    local D = require "mumps.io.device"
    for i = first, math.min(last, routine.count(r)) do
        if i > 0 then
            D.write(routine.raw(r, i))
            D.newline()
        end
    end
end

return source
