-- Cases of M and how they are run: one routine with a label for each case, one driver routine, one process.
-- conf/README.md has the form of a file of cases.
--
--   suite = {name, path, env = {}, after = "", input = "", comments = {of the end}, cases = {case...}, apart}
--   case = {at = line number, code = {line...}, out = {line...}, before = {comments}, kept, open = true}
--
-- Each case has its own level, its own locals and its own $ETRAP, which comes back to the driver by ZGOTO; in
-- a suite that is `apart` there is a level between, so that a case can set $ETRAP without NEW. A program that
-- ends in the middle is started again after the case that ended it.

local suites = {}
local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."

local function read_all(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

local function write_all(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function quoted(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

local directives = {}
function directives.env(suite, text)
    local name, value = text:match("^([%w_]+)=(.*)$")
    suite.env[name] = value
end
function directives.input(suite, text)
    suite.input = suite.input .. text .. "\n"
end
function directives.after(suite, text)
    suite.after = suite.after .. " " .. text
end

local function add_comment(suite, line)
    local word, rest = line:match("^#%- (%w+): (.*)$")
    if word then
        directives[word](suite, rest)
    end
    suite.kept = suite.kept or line:match("^#= ") and true or nil
    suite.open = suite.open or line:match("^#%? ") and true or nil
    table.insert(suite.comments, line)
end

local function add_case(suite, at, line)
    local case = { at = at, code = { line }, out = {}, before = suite.comments }
    case.kept, case.open = suite.kept, suite.open
    table.insert(suite.cases, case)
    suite.comments, suite.kept, suite.open = {}, nil, nil
end

local function add_line(suite, at, line)
    local case = suite.cases[#suite.cases]
    local first = line:sub(1, 1)
    if first == "" or first == "#" then
        add_comment(suite, line)
    elseif first == ">" then
        table.insert(case.out, line:sub(3))
    elseif first == " " or first == ":" then
        table.insert(case.code, line)
    else
        add_case(suite, at, line)
    end
end

function suites.load(path)
    local suite = { path = path, env = {}, after = "", input = "", cases = {}, comments = {} }
    suite.name = assert(path:match("([%a][%w]*)%.list$"), "name a file by letters")
    local at = 0
    for line in (read_all(path):gsub("\n$", "") .. "\n"):gmatch("(.-)\n") do
        at = at + 1
        add_line(suite, at, line)
    end
    return suite
end

function suites.save(suite)
    local lines = {}
    local function all(list, prefix)
        for _, line in ipairs(list) do
            table.insert(lines, prefix .. line)
        end
    end
    for _, case in ipairs(suite.cases) do
        all(case.before, "")
        all(case.code, "")
        for _, text in ipairs(case.out) do
            table.insert(lines, text == "" and ">" or "> " .. text)
        end
    end
    all(suite.comments, "")
    write_all(suite.path, table.concat(lines, "\n") .. "\n")
end

-- The two routines: the cases, and the driver.

local function case_text(i, case)
    local lines = { "c" .. i .. " " .. case.code[1] }
    local main = true
    for k = 2, #case.code do
        local line = case.code[k]
        if line:sub(1, 1) == ":" and main then
            main = false
            table.insert(lines, " q")
        end
        table.insert(lines, (line:gsub("^:", "")))
    end
    table.insert(lines, " q")
    return table.concat(lines, "\n")
end

function suites.routine_text(suite)
    local parts = { suite.name .. " ;" }
    for i, case in ipairs(suite.cases) do
        table.insert(parts, case_text(i, case))
    end
    return table.concat(parts, "\n") .. "\n"
end

function suites.driver_text(suite)
    local parts = { "zzdrv ;" }
    for i in ipairs(suite.cases) do
        table.insert(parts, ('r%d w "=== %d",! d s%d'):format(i, i, i))
    end
    table.insert(parts, ' w "=== 0",!\n q')
    local each = 's%d n  n $et,$es s $et="zg "_$zl_":e^zzdrv" i 1 d c%d^%s g x'
    if suite.apart then
        each = 's%d n  n $et,$es s $et="zg "_$zl_":e^zzdrv" d  g x\n . n $et i 1 d c%d^%s'
    end
    for i in ipairs(suite.cases) do
        table.insert(parts, each:format(i, i, suite.name))
    end
    table.insert(parts, 'e u $p w:$x ! w "? ",$p($zs,",",3,99),! s $ec=""')
    table.insert(parts, "x u $p w:$x ! " .. suite.after .. "\n q")
    return table.concat(parts, "\n") .. "\n"
end

-- Running. A runner is a command line that takes an entry, in the folder with the routines. A program that
-- prints without end is let run, but what it prints after some megabytes is dropped.

local most_printed = 4000000

local function run_from(suite, runner, folder, i)
    local env = {}
    for name, value in pairs(suite.env) do
        table.insert(env, name .. "=" .. quoted(value))
    end
    local command = ("cd %s && { env %s %s r%d^zzdrv <input 2>>errors; echo $? >status.run; } "
        .. "| { head -c %d; cat >/dev/null; }; echo \"=== status $(cat status.run)\""):format(
        quoted(folder), table.concat(env, " "), runner, i, most_printed)
    local pipe = assert(io.popen(command))
    local output = pipe:read("*a")
    pipe:close()
    return output
end

local function give(results, i, line)
    if results[i] then
        table.insert(results[i], line)
    end
end

-- The program ended, by an error or by time. fis-gtm shows its prompt then, on a line of its own.
local function give_end(results, i)
    local result = results[i]
    if result and result[#result] ~= "(ended)" then
        if result[#result] == "" then
            table.remove(result)
        end
        table.insert(result, "(ended)")
    end
end

local function take_line(line, now, results)
    if line:match("^GTM>") then
        return give_end(results, now)
    end
    local rest, status = line:match("^(.*)=== status (%d+)$")
    if (rest or line) ~= "" or not status then
        give(results, now, rest or line)
    end
    if status and status ~= "0" then
        give_end(results, now)
    end
end

-- Returns the case during which the program ended, or nil at the regular end.
local function take_output(output, results)
    local now = -1
    for line in output:gmatch("([^\n]*)\n") do
        local rest, number = line:match("^(.*)=== (%d+)$")
        if number then
            if rest ~= "" then
                give(results, now, rest)
            end
            now = tonumber(number)
            results[now] = {}
        else
            take_line(line, now, results)
        end
    end
    return now ~= 0 and now or nil
end

local function new_folder()
    local pipe = assert(io.popen("mktemp -d /tmp/caret-m-conf.XXXXXX"))
    local folder = pipe:read("*l")
    pipe:close()
    return folder
end

-- Returns what each case printed. Where two cases in turn take all of their time, the routine may be what
-- does not end, in the compiler: the others are not run, and the result is `stuck`.
function suites.run(suite, runner)
    local folder = new_folder()
    write_all(folder .. "/" .. suite.name .. ".m", suites.routine_text(suite))
    write_all(folder .. "/zzdrv.m", suites.driver_text(suite))
    write_all(folder .. "/input", suite.input)
    os.execute(("cp %s/conf/lib/*.m %s 2>/dev/null"):format(quoted(here), quoted(folder)))
    local results, from, lost = {}, 1, 0
    while from and from <= #suite.cases and lost < 2 do
        local output = run_from(suite, runner(folder, suite.seconds), folder, from)
        local ended = take_output(output, results)
        lost = ended and ended <= from and output:find("=== status 124\n$") and lost + 1 or 0
        from = ended and math.max(from, ended) + 1
    end
    results.stuck = lost == math.min(2, #suite.cases)
    if os.getenv("CONF_KEEP") then
        print("kept " .. folder)
    else
        os.execute("rm -rf " .. quoted(folder))
    end
    return results
end

function suites.oracle(folder, limit)
    local where = here:match("^/") and here or "$OLDPWD/" .. here
    return ("ORACLE_SECONDS=%d sh %s/oracle.sh in %s"):format(limit or 20, where, quoted(folder))
end

function suites.program(program)
    local seconds = os.getenv("CONF_SECONDS") or "60"
    return function(folder, limit)
        local env = "ydb_routines=. CARET_DB=" .. quoted(folder .. "/conf.caret")
        return ("%s timeout %s %s -run"):format(env, limit or seconds, program)
    end
end

return suites
