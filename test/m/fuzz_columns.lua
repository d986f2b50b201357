-- Lines that do not compile, beside fis-gtm: the first error and its column.
--
--   caret-m -lua fuzz_columns.lua [SEED [LINES]]    tells each line that differs, then how many agree
--
-- Lines of right.list and wrong.list are changed at random. Status 77: fis-gtm is not installed.

local here = arg[0]:match "^(.*/)" or "./"
local parse = require "mumps.compiler.parse"

local PER_FILE = 60 -- lines of a routine: fis-gtm lists at most 127 errors of one
local MARKS = "(),:.@$^\"'=?;|[]*& !#+-_<>/\\%{}0123456789abCDXEA"

local function output_of(command)
    local pipe = assert(io.popen(command))
    local text = pipe:read "*a"
    pipe:close()
    return text
end

local function sources()
    local list = {}
    for name, pattern in pairs { ["right.list"] = "^( .-) => ", ["wrong.list"] = "^%u+ %d+( .*)$" } do
        for row in io.lines(here .. name) do list[#list + 1] = row:match(pattern) end
    end
    table.sort(list)
    return list
end

local function mutated(list)
    local s = list[math.random(#list)]
    for _ = 1, math.random(2) do
        local p, how, at = math.random(2, #s + 1), math.random(5), math.random(#MARKS)
        local c = MARKS:sub(at, at)
        if how == 1 then s = s:sub(1, p - 1) .. s:sub(p + 1)
        elseif how == 2 then s = s:sub(1, p - 1) .. c .. s:sub(p)
        elseif how == 3 then s = s:sub(1, p) .. s:sub(math.random(#s + 1))
        elseif how == 4 then
            local other = list[math.random(#list)]
            s = s:sub(1, p - 1) .. other:sub(math.random(#other))
        else s = s:sub(1, p - 1) .. c .. s:sub(p + 1) end
    end
    return s:sub(1, 200)
end

local function made(n)
    local list, lines = sources(), {}
    while #lines < n do
        local s = mutated(list)
        if s:find "^ [^ .;]" and not s:find "[\n\r]" then lines[#lines + 1] = s end
    end
    return lines
end

-- Line i of all is line 2 * (i - from + 1) of the routine of those from `from` on.
local function routine_text(lines, from)
    local out = { "X" .. from .. " ;" }
    for i = from, math.min(from + PER_FILE - 1, #lines) do
        out[#out + 1] = lines[i]
        out[#out + 1] = " ;"
    end
    return table.concat(out, "\n") .. "\n"
end

local function note_ours(found, text, from)
    for _, e in ipairs(parse.routine(text, "X" .. from).errors) do
        local i = e.line and e.line % 2 == 0 and from + e.line / 2 - 1
        if i and not found[i] then found[i] = e.mnemonic .. " " .. tostring(e.col) end
    end
end

local function note_theirs(found, listing)
    local at, i
    for row in listing:gmatch "[^\n]+" do
        local col, line, from = row:match "At column (%d+), line (%d+), source module .-X(%d+)%.m"
        local mnemonic = row:match "^%%GTM%-%u%-(%w+)"
        if col then
            at, i = col, from + line / 2 - 1
        elseif at and mnemonic then
            found[i] = found[i] or mnemonic .. " " .. at
            at = nil
        end
    end
end

local function compile(lines, folder, gtm)
    local ours, theirs, names = {}, {}, {}
    for from = 1, #lines, PER_FILE do
        local text = routine_text(lines, from)
        names[#names + 1] = "X" .. from .. ".m"
        local file = assert(io.open(folder .. "/" .. names[#names], "w"))
        file:write(text)
        file:close()
        note_ours(ours, text, from)
    end
    local command = "cd %s && export gtm_dist=%s gtmroutines=. LC_ALL=C.UTF-8 && "
        .. "for name in %s; do $gtm_dist/mumps $name; done 2>&1"
    note_theirs(theirs, output_of(command:format(folder, gtm, table.concat(names, " "))))
    return ours, theirs
end

local gtm = output_of "ls -d /usr/lib/*/fis-gtm/V*_* 2>/dev/null":match "[^\n]+"
if not gtm then
    print "fis-gtm is not installed"
    os.exit(77)
end
math.randomseed(tonumber(arg[1]) or 1)
local lines = made(tonumber(arg[2]) or 2000)
local folder = output_of "mktemp -d":match "[^\n]+"
local ours, theirs = compile(lines, folder, gtm)
os.execute("rm -r " .. folder)
local same, wrong = 0, 0
for i, text in ipairs(lines) do
    local a, b = theirs[i], ours[i]
    wrong = wrong + ((a or b) and 1 or 0)
    if a and a == b then same = same + 1 end
    if a ~= b then print(("%-60s| fis-gtm: %-18s| here: %s"):format(text, tostring(a), tostring(b))) end
end
print(("%d of %d lines agree"):format(same, wrong))
