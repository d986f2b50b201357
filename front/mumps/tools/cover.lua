-- `caret m -cover -run ...`: which lines ran; `caret m -trace -run ...`: each line as it begins.  Both on
-- stderr.

local routine = require "mumps.runtime.routine"
local watch = require "mumps.tools.watch"
local level = require "mumps.runtime.level"

local cover = {}

local counts = {} -- by routine's name, by line

local function count(code, line)
    local lines = counts[code.name]
    if not lines then
        lines = {}
        counts[code.name] = lines
    end
    lines[line] = (lines[line] or 0) + 1
end

-- The lines that have commands.
local function lines_of(name)
    local r = routine.look(name)
    local list = {}
    for _, line in ipairs(r and require("mumps.compiler.parse").routine(r.source, name).lines or {}) do
        if #line.cmds > 0 then list[#list + 1] = line.n end
    end
    return list, r
end

local function report_routine(name, out)
    local lines, r = lines_of(name)
    local missed = {}
    for _, n in ipairs(lines) do
        if not counts[name][n] then missed[#missed + 1] = n end
    end
    local ran = #lines - #missed
    out:write(("%-31s %5d of %5d lines  %3d %%\n"):format(name, ran, #lines, 100 * ran / math.max(#lines, 1)))
    for _, n in ipairs(missed) do out:write(("%6d  %s\n"):format(n, routine.raw(r, n))) end
end

-- What ran of each routine, and the lines that did not.
function cover.report(out)
    local names = {}
    for name in pairs(counts) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do report_routine(name, out) end
end

local function trace(code, line)
    local device = package.loaded["mumps.io.device"]
    if device then device.flush() end
    io.stderr:write(level.place_of(code, line), "\t", (level.source_of(code, line):gsub("^%s+", "")), "\n")
end

local function run(word, entry, ...)
    if word ~= "-run" or not entry then
        io.stderr:write("usage: caret m -cover|-trace -run [LABEL^]ROUTINE [ARGUMENTS]\n")
        return nil
    end
    return require("mumps.runtime.start").run(entry, ...)
end

function cover.main(...)
    watch.set("cover", count)
    local status = run(...)
    watch.set("cover", nil)
    if not status then return 2 end
    cover.report(io.stderr)
    return status
end

function cover.trace(...)
    watch.set("trace", trace)
    return run(...) or 2
end

return cover
