-- Makes a program of M small whose output on fis-gtm and on caret-m differs, as what differs is dear to find
-- in a long one: lines and commands are left out, many at once while that goes on.
--
--     PROGRAM=build/caret-m luajit test/m/shrink.lua FILE      a program as a case of conf/ has it
--
-- The program and both outputs are printed; the status is 1 if they differ. fuzz_programs.lua uses it, too.

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local suites = require("suite")

local M = {}

-- Labels end in a serial number: in a suite of variants each has its own.
local function renumbered(code, from, to)
    local lines = {}
    for i, line in ipairs(code) do
        lines[i] = line:gsub("(l[abcf])" .. from .. "%f[^%d]", "%1" .. to)
    end
    return lines
end

function M.suite_of(variants)
    local suite = { name = "fuzz", env = {}, after = "", input = "", comments = {}, cases = {},
        apart = true }
    for i, code in ipairs(variants) do
        suite.cases[i] = { at = i, code = code, out = {}, before = {} }
    end
    return suite
end

-- Where commands begin: after blanks outside of quotes.
local function starts_of(line)
    local found, inside = {}, false
    for at = 1, #line do
        local byte = line:sub(at, at)
        if byte == '"' then
            inside = not inside
        elseif (byte == " " or byte == ".") and not inside and line:match("^%a", at + 1)
            and (byte == " " or line:sub(1, at):match("^ [ .]*$")) then
            table.insert(found, at)
        end
    end
    table.insert(found, #line + 1)
    return found
end

-- What can be left out: {line} for a whole one, {line, from, to} for bytes of it.
local function lines_of(code)
    local units = {}
    for i = 2, #code do
        units[#units + 1] = { i }
    end
    return units
end

local function commands_of(code)
    local units = {}
    for i = 2, #code do -- the first one sets what others use
        local line = code[i]
        local starts = starts_of(line)
        for k = 1, #starts - 1 do
            units[#units + 1] = { i, starts[k] + 1, starts[k + 1] }
        end
    end
    return units
end

-- Units first to last of a list are left out.
local function without(code, units, first, last)
    local lines = {}
    for i, line in ipairs(code) do
        lines[i] = line
    end
    for u = last, first, -1 do -- from the right, so that places before it stay
        local unit = units[u]
        local line = lines[unit[1]]
        if not unit[2] then
            lines[unit[1]] = false
        elseif line then
            line = line:sub(1, unit[2] - 1) .. line:sub(unit[3] + 1)
            lines[unit[1]] = line:match("^[ .]*$") and unit[1] > 1 and false or line
        end
    end
    local left = {}
    for i = 1, #code do
        if lines[i] then
            left[#left + 1] = lines[i]
        end
    end
    return left
end

-- Which of the variants differ: by number. Without one of its commands a loop may not end: a variant has
-- little time.
local function differing(variants, task)
    local numbered = {}
    for i, variant in ipairs(variants) do
        numbered[i] = renumbered(variant, task.serial, 1000 + i)
    end
    local suite = M.suite_of(numbered)
    suite.seconds = 6
    local theirs, ours = task.run(suite)
    local found = {}
    for i in ipairs(variants) do
        found[i] = theirs[i] and ours[i] and task.differ(theirs[i], ours[i]) or false
    end
    return found
end

-- Chunks of that many units are tried one by one, then as many of those that can go as can go together.
local function step(code, units, size, task)
    local chunks, variants = {}, {}
    for first = 1, #units, size do
        local last = math.min(first + size - 1, #units)
        chunks[#chunks + 1] = { first, last }
        variants[#chunks] = without(code, units, first, last)
    end
    local gone, together = {}, {}
    local can = differing(variants, task)
    local best
    for i, chunk in ipairs(chunks) do
        if can[i] then
            best = best or variants[i]
            for u = chunk[1], chunk[2] do
                gone[#gone + 1] = units[u]
            end
            together[#together + 1] = without(code, gone, 1, #gone)
        end
    end
    if #together > 1 then
        local still = differing(together, task)
        for i = #together, 2, -1 do
            if still[i] then
                return together[i]
            end
        end
    end
    return best
end

local function pass(code, units_of, task)
    local size = math.max(1, math.floor(#units_of(code) / 2))
    local changed = false
    while true do
        local less = step(code, units_of(code), size, task)
        if less then
            code, changed = less, true
        elseif size == 1 then
            return code, changed
        end
        size = math.max(1, math.floor(size / 2))
    end
end

--- task = {serial = number in its labels, run = function(suite) both results end, differ = function}
function M.shrink(code, task)
    for _ = 1, 10 do
        local by_line, by_command
        code, by_line = pass(code, lines_of, task)
        code, by_command = pass(code, commands_of, task)
        if not by_line and not by_command then
            break
        end
    end
    return code
end

function M.run_pair(suite, program)
    return suites.run(suite, suites.oracle), suites.run(suite, program)
end

function M.program()
    local path = os.getenv("PROGRAM") or here .. "/../../build/caret-m"
    return suites.program(path:match("^/") and path or "$OLDPWD/" .. path), path
end

local function text_of(result)
    return table.concat(result or { "(nothing)" }, "\n")
end

local function main(path)
    local code = {}
    for line in io.lines(path) do
        code[#code + 1] = line
    end
    local program = M.program()
    local task = {
        serial = text_of(code):match("\n:l[abcf](%d+)") or 0,
        run = function(suite) return M.run_pair(suite, program) end,
        differ = function(x, y) return text_of(x) ~= text_of(y) end,
    }
    code = M.shrink(code, task)
    local theirs, ours = task.run(M.suite_of({ code }))
    print(text_of(code))
    print("  fis-gtm: " .. text_of(theirs[1]):gsub("\n", "\n           "))
    print("  caret-m: " .. text_of(ours[1]):gsub("\n", "\n           "))
    os.exit(task.differ(theirs[1], ours[1]) and 1 or 0)
end

if arg[0]:find("shrink%.lua$") then
    main(arg[1])
end
return M
