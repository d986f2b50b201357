-- Random programs on fis-gtm and on caret-m: fuzz_programs.lua SEED N [MODE...]
--
-- N programs of each mode (programs.lua) in batches. PROGRAM in the environment is caret-m,
-- build/caret-m if it is not set. A program whose output differs is made smaller (shrink.lua) and
-- printed with both outputs; those that differ as docs/m.md says are counted alone. The exit status is 1
-- if others do, 77 without fis-gtm or caret-m.

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local suites = require("suite")
local programs = require("programs")
local shrink = require("shrink")
local run_pair, suite_of = shrink.run_pair, shrink.suite_of

local batch = 200 -- programs of one routine: compiled by both in well below a second
local most = tonumber(os.getenv("FUZZ_SHOW") or 3)

local function text_of(result)
    return table.concat(result or { "(nothing)" }, "\n")
end

-- What is written differently on purpose.
local function alike(text)
    text = text:gsub("(formal parameters: )%w*", "%1"):gsub("(an actual list: )%w*", "%1")
    text = text:gsub("(for database file: )[^,\n]*", "%1"):gsub("(is a descendant of )%w*", "%1")
    text = text:gsub("( called from module )%S+ at line %d+", "%1") -- of its own sources
    text = text:gsub("Z150373050", "Z150373048") -- INVCMD, an error there and a warning of YottaDB's
    text = text:gsub("%+%d+(%^%w+,%%YDB%-E%-ERRWETRAP)", "%1") -- of the next line, after an XECUTE
    return (text:gsub(" ;%*%f[\n%z]", ""))
end

-- Where two operands of one command are errors, fis-gtm tells the one that it uses first, which is not always
-- the left one: programs that end by different ones of these are not compared further.
local operand_errors = { LVUNDEF = true, GVUNDEF = true, DIVZERO = true, GVNAKED = true,
    QUITARGREQD = true }

local function without_last_error(text)
    local before, name = text:match("^(.-)%? %%YDB%-E%-(%u+), [^\n]*$")
    return operand_errors[name] and before or text
end

-- An undefined variable that was passed by reference has two names at least. The program's is told here, in
-- fis-gtm the one that comes first in its table of names: formals, p and q, are alike to all others.
local function with_names_of(text, other)
    local names = {}
    for name in other:gmatch("Undefined local variable: (%a+)") do
        names[#names + 1] = name
    end
    local i = 0
    return (text:gsub("(Undefined local variable: )(%a+)", function(before, name)
        i = i + 1
        local theirs = names[i] or name
        return before .. ((name:find("^[pq]$") or theirs:find("^[pq]$")) and theirs or name)
    end))
end

-- fis-gtm's process died of some programs, with a $SELECT of constants and an indirection for example.
local function has_died(text, other)
    return text:find("(ended)", 1, true) and not other:find("(ended)", 1, true)
end

-- Both were cut off: the slower one printed less.
local function are_endless(x, y)
    x, y = x:match("^(.*)\n%(ended%)$"), y:match("^(.*)\n%(ended%)$")
    local length = x and y and math.min(#x, #y)
    return length and x:sub(1, length) == y:sub(1, length)
end

-- Of an error very far up fis-gtm has fewer levels, as their lines are long.
local function with_levels_of(text, other)
    return other:find("/255>", 1, true) and text:gsub("/2[0-4]%d>", "/255>") or text
end

local function lines_of(text)
    local lines, known = {}, {}
    for line in (text .. "\n"):gmatch("(.-)\n") do
        lines[#lines + 1] = line
        known[line] = true
    end
    return lines, known
end

-- ZWRITE of aliases: ours tells each as *X=Y. There the nodes of Y are written again for an X without a
-- value, and an X that is undefined is left out after one that is not. Both texts without the nodes of such
-- an X.
local function without_aliases(theirs, ours)
    local x, in_x = lines_of(theirs)
    local y = lines_of(ours)
    local alone = {}
    for _, line in ipairs(y) do
        local name = line:match("^%*(%l)=%l$")
        if name and not in_x[line] then
            alone[name] = true
        end
    end
    local function others(lines)
        local left = {}
        for _, line in ipairs(lines) do
            if not alone[line:match("^%*?(%l)[(=]") or ""] then
                table.insert(left, line)
            end
        end
        return table.concat(left, "\n")
    end
    return others(x), others(y)
end

local function differ(theirs, ours)
    local x, y = without_aliases(alike(text_of(theirs)), alike(text_of(ours)))
    x = with_levels_of(x, y)
    if has_died(x, y) or are_endless(x, y) then
        return false
    end
    x = with_names_of(x, y)
    return x ~= y and without_last_error(x) ~= without_last_error(y)
end

-- What docs/m.md lists under "What differs from YottaDB", as far as the text of a program can tell. In
-- commands that both have & or ! and call something all operands are evaluated there. Indirection counts.
-- Aliases within an exclusive NEW, and blocks that end before a label with formals, are others.
local function is_listed(code)
    local text = table.concat(code, "\n")
    local alias_shown = text:find("[ ,\"]%*%l") and text:find("%f[%w]n %(") and text:find("zwr", 1, true)
    local block_before_formals = text:find("\n %.[^\n]*\n:?l%l%d+%(")
    if alias_shown or block_before_formals then
        return true
    end
    for _, line in ipairs(code) do
        local literal = line:match("x \"(.*)$")
        if literal and (literal:find("^[ie][: ]") or literal:find(" [ie][: ]")) then
            return true
        end
        for command in line:gmatch("%S+") do
            local calls = command:find("$$", 1, true) or command:find("$s(", 1, true)
                or command:find("@", 1, true) or command:find("$i(", 1, true)
            if command:find("[&!]") and calls then
                return true
            end
        end
    end
    return false
end

-- SET $PIECE from a piece after the last one: nothing is set, the variable of its separator is undefined.
local function sets_no_piece(code, theirs, ours)
    local name = text_of(ours):match("Undefined local variable: (%l)\n?$")
    local set = name and "%$p%([^ ]-," .. name .. ",[^ ]-,[^ ]-%)="
    return set and not text_of(theirs):find("LVUNDEF", 1, true) and table.concat(code, "\n"):find(set)
end

-- A part of a program may not compile at all there.
local function compiles(result)
    return not text_of(result):find("ZLINKFILE", 1, true)
end

-- A label that was left out may be another difference, as an actual is told first here.
local function is_without_label(result)
    return text_of(result):find("LABELMISSING", 1, true)
end

local function smaller(code, serial, before, program)
    local lacked = is_without_label(before)
    return shrink.shrink(code, {
        serial = serial,
        run = function(suite) return run_pair(suite, program) end,
        differ = function(theirs, ours)
            local same = compiles(theirs) and (lacked or not is_without_label(theirs))
            return same and differ(theirs, ours)
        end,
    })
end

local function tell(seed, which, at, code, theirs, ours)
    print(("--- %s, seed %d, program %d"):format(which, seed, at))
    print(table.concat(code, "\n"))
    print("  fis-gtm: " .. text_of(theirs):gsub("\n", "\n           "))
    print("  caret-m: " .. text_of(ours):gsub("\n", "\n           "))
end

-- The place of an error in a trap, after an XECUTE or indirection that ends its line: the next one there.
local function differ_in_place(code, theirs, ours)
    local text = table.concat(code, "\n")
    local function placeless(result)
        return alike(text_of(result)):gsub("%f[%w](%w+)%+%d+%^", "%1^")
    end
    local may = text:find("$et=", 1, true) and text:find("%f[%w][xd] [\"@]")
    return may and placeless(theirs) == placeless(ours)
end

-- The program made smaller, with both outputs. It was in company; by itself, compiled at another time, it may
-- differ no more: then the whole one.
local function smallest(case, theirs, program)
    local code = smaller(case.code, case.at, theirs, program)
    local x, y = run_pair(suite_of({ code }), program)
    if differ(x[1], y[1]) then
        return code, x[1], y[1]
    end
    x, y = run_pair(suite_of({ case.code }), program)
    return case.code, x[1], y[1]
end

local shown, listed, in_company = 0, 0, 0
local function judge(seed, which, case, theirs, program)
    local code, x, y = smallest(case, theirs, program)
    if not differ(x, y) then
        in_company = in_company + 1
        return 0
    end
    if is_listed(code) or differ_in_place(code, x, y) or sets_no_piece(code, x, y) then
        listed = listed + 1
        return 0
    end
    shown = shown + 1
    if shown <= most then
        tell(seed, which, case.at, code, x, y)
    end
    return 1
end

-- A batch that takes too long on a busy machine is cut off: what differs is run once more, by itself.
local function differs_alone(case, program)
    local theirs, ours = run_pair(suite_of({ case.code }), program)
    local is = differ(theirs[1], ours[1])
    in_company = in_company + (is and 0 or 1)
    return is
end

local function part_of(suite, from, to)
    local part = suite_of({})
    for i = from, to do
        table.insert(part.cases, suite.cases[i])
    end
    return part
end

-- fis-gtm's compiler does not end with some sources. A batch with such a program is parted until it is alone.
local endless = 0
local function run_cases(suite, seed, which, program)
    local theirs = suites.run(suite, suites.oracle)
    local half = math.floor(#suite.cases / 2)
    if theirs.stuck and half > 0 then
        return run_cases(part_of(suite, 1, half), seed, which, program)
            + run_cases(part_of(suite, half + 1, #suite.cases), seed, which, program)
    elseif theirs.stuck then
        endless = endless + 1
        return 0
    end
    local ours = suites.run(suite, program)
    local bad = 0
    for i, case in ipairs(suite.cases) do
        if differ(theirs[i], ours[i]) and differs_alone(case, program) then
            bad = bad + judge(seed, which, case, theirs[i], program)
        end
    end
    return bad
end

local function run_batch(seed, n, which, program)
    return run_cases(programs.suite(seed, n, which), seed, which, program)
end

local function available(command)
    local status = os.execute(command .. " >/dev/null 2>&1")
    return status == true or status == 0
end

local seed, count = tonumber(arg[1] or 1), tonumber(arg[2] or 200)
local modes = { unpack(arg, 3) }
if #modes == 0 then
    modes = { "programs", "indirect", "errors", "globals", "texts", "naked", "stacks", "hot" }
end
local program, path = shrink.program()
if not available("test -x " .. path) or not available("sh " .. here .. "/oracle.sh x 'q'") then
    print("fis-gtm or caret-m is missing")
    os.exit(77)
end
local bad = 0
for _, which in ipairs(modes) do
    for at = 0, count - 1, batch do
        bad = bad + run_batch(seed + at, math.min(batch, count - at), which, program)
    end
end
local result = "%d programs of each of %d kinds, %d differ, %d as docs/m.md has it, %d in their batch only, "
    .. "%d endless there"
print(result:format(count, #modes, bad, listed, in_company, endless))
os.exit(bad == 0 and 0 or 1)
