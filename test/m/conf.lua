-- Conformance of the M language: cases and what they print, run by caret-m or fis-gtm.
-- conf/README.md has the form.
--
--   lua conf.lua check PROGRAM FILE.list...    run the cases with PROGRAM -run; names each that differs
--   lua conf.lua confirm FILE.list...          the same with fis-gtm (oracle.sh)
--   lua conf.lua fill FILE.list...             write what fis-gtm gives into the files
--   lua conf.lua show FILE.list                print the routine that is made of the file
--
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local suites = require("suite")
local unpack = table.unpack or unpack

-- Comparing.

local function same(a, b)
    return table.concat(a or { "(nothing)" }, "\n") == table.concat(b, "\n")
end

local function tell(suite, case, result)
    print(("%s:%d: %s"):format(suite.name .. ".list", case.at, table.concat(case.code, "\n    ")))
    print("    wanted: " .. table.concat(case.out, "\n            "))
    print("    but is: " .. table.concat(result or { "(nothing)" }, "\n            "))
end

-- An open case is one that is known to differ still; conf/README.md.
local function compare_suite(suite, runner, skip_kept)
    local results, passed, failed, open = suites.run(suite, runner), 0, 0, 0
    for i, case in ipairs(suite.cases) do
        if skip_kept and case.kept or same(results[i], case.out) then
            passed = passed + 1
        elseif case.open and not os.getenv("CONF_OPEN") then
            open = open + 1
        else
            failed = failed + 1
            tell(suite, case, results[i])
        end
    end
    return passed, failed, open
end

local function compare_all(paths, runner, skip_kept)
    local passed, failed, open = 0, 0, 0
    for _, path in ipairs(paths) do
        local good, bad, left = compare_suite(suites.load(path), runner, skip_kept)
        passed, failed, open = passed + good, failed + bad, open + left
        if os.getenv("CONF_TABLE") then
            print(("%-24s %4d passed, %4d failed"):format(path:match("[^/]*$"), good, bad))
        end
    end
    print(("%d passed, %d failed, %d open"):format(passed, failed, open))
    return failed == 0
end

local commands = {}

function commands.check(program, ...)
    return compare_all({ ... }, suites.program(program))
end

function commands.confirm(...)
    return compare_all({ ... }, suites.oracle, true)
end

function commands.fill(...)
    for _, path in ipairs({ ... }) do
        local suite = suites.load(path)
        local results = suites.run(suite, suites.oracle)
        for i, case in ipairs(suite.cases) do
            if not case.kept then
                case.out = results[i] or { "(nothing)" }
            end
        end
        suites.save(suite)
        print(("%s: %d cases"):format(path, #suite.cases))
    end
    return true
end

function commands.show(path)
    local suite = suites.load(path)
    io.write(suites.routine_text(suite), suites.driver_text(suite))
    return true
end

local command = commands[arg[1]]
if not command then
    io.write("see the head of this file\n")
    os.exit(2)
end
os.exit(command(unpack(arg, 2)) and 0 or 1)
