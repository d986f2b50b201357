-- What every command of the tool is made of: how arguments are read, databases opened, errors told.
--
-- A command is a file cmd/NAME.lua, named in command.groups, that returns a table:
--
--     summary    one line: what it does
--     operands   {"NODE", "[FILE]", "WORD..."}: [] may be left out, ... any number
--     options    {{"-n, --limit N", "what it does", default = 10, least = 1, most = 99}, ...}; a word
--                after the names is a value, N a whole number; choices = {"a", "b"}: one of these;
--                empty = true: it may be ''
--     choices    what the first operand can be
--     about      paragraphs, separated by empty lines; indented ones stay as they are
--     examples   {{"caret ...", "what that does"}, ...}
--     raw        true: options end at the first operand
--     others     true: options that are not declared are taken, too: o.others lists their names and values
--     verbatim   true: it has no options: all words are operands
--     plain      true: its standard output is left alone
--     catches    true: at a signal it stops by itself and returns, host.interrupted() tells; for others
--                host.stopped is raised in what they do
--     run        function(o) -> exit status; o.limit is an option's value, o[1] the first operand
--
-- Help, the man page and the completion of shells are made from these tables and nothing else
-- (lib/pages.lua), so they can't differ from what is read here.  Ready-made parsers (argparse) would have
-- to be installed where the tool is built, know no man pages, and exit with statuses of their own.

local caret = require "caret"
local host = require "caret.host"

local command = {}

command.groups = {
    {"Nodes", "get", "set", "incr", "kill", "data", "ls", "tree"},
    {"Databases", "dump", "load", "stat", "check", "backup", "restore", "salvage",
        "compact"},
    {"Server", "serve"},
    {"M", "m"},
    {"What is going on", "web", "top", "locks", "log", "watch", "shm"},
    {"Lua", "repl", "run"},
    {"Benchmark", "3n1", "bench"},
    {"Help", "help", "completion", "version"},
}

-- Options that many have.
command.DB = {"--db FILE", "the database; else $CARET_DB, else ./data.caret"}
command.JSON = {"--json", "print JSON"}
command.READONLY = {"--readonly", "open it without the right to write, leaving no trace"}

--- The table of a command; nil if there is none of that name.
function command.find(name)
    for _, group in ipairs(command.groups) do
        for i = 2, #group do
            if group[i] == name then return require("tool.cmd." .. name) end
        end
    end
    return nil
end

--- Iterator over all commands, in the order of help: name, table, name of its group.
function command.all()
    return coroutine.wrap(function()
        for _, group in ipairs(command.groups) do
            for i = 2, #group do coroutine.yield(group[i], require("tool.cmd." .. group[i]), group[1]) end
        end
    end)
end

-- ------------------------------------------------------------- did you mean

-- How many letters must be put in, taken away, changed, or swapped with the next, to make b of a.
local function distance(a, b)
    local before, above, row = {}, {}, {} -- luacheck: ignore 311
    for j = 0, #b do row[j] = j end
    for i = 1, #a do
        before, above, row = above, row, {[0] = i}
        for j = 1, #b do
            local same = a:byte(i) == b:byte(j)
            row[j] = math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (same and 0 or 1))
            if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
                row[j] = math.min(row[j], before[j - 2] + 1)
            end
        end
    end
    return row[#b]
end

--- " (did you mean 'tree'?)" if one of the names is near to that text, or begins with it; else nothing.  The
-- hyphens of options tell nothing: -x and -a have no letter in common.
function command.did_you_mean(text, names)
    local best, least = nil, math.max(1, #text // 3) + 1
    text = text:sub(1, 40):gsub("^%-+", ""):lower()
    for _, option in ipairs(names) do
        local name = option:gsub("^%-+", "")
        local d = #text > 1 and name:sub(1, #text) == text and 0 or distance(text, name)
        if d < least and d < #name then best, least = option, d end
    end
    return best and (" (did you mean '%s'?)"):format(best) or ""
end

-- ------------------------------------------------------------------- failing

local failure = {}

--- End the command: one line on standard error and an exit status (3 by default).
function command.fail(text, status)
    error(setmetatable({text = tostring(text), status = status or 3}, failure), 0)
end

--- Is it what fail() raised, or an error of a database? Any other was made by a program.
function command.failed(wrong)
    local meta = getmetatable(wrong)
    return meta == failure or type(meta) == "table" and meta.__name == "caret.error"
end

--- The same for wrong arguments, status 2.
function command.usage(text)
    command.fail(("%s; see `caret help %s`"):format(text, command.name), 2)
end

command.FORMATS = {"zwr", "jsonl", "json", "csv"} -- of dump and load

--- A number and what it counts: "1 node", "2 nodes", "2 processes".
function command.counted(n, one, many)
    return ("%d %s"):format(n, n == 1 and one or many or one .. "s")
end

--- Before a command prints figures: one line if this build is slow by intent.
function command.warn_of_slow_build()
    local why = require("caret.programs").slow_build
    if why then
        local form = "caret %s: this build of the tool has %s: its figures say nothing\n"
        io.stderr:write(form:format(command.name, why))
    end
end

-- --------------------------------------------------------------- arguments

--- An option's names, what its value is called (nil: it has none), and its key in the result.
function command.declared(option)
    local names, value = {}, option[1]:match(" ([%u][%u-]*)$")
    for name in option[1]:gmatch("%-[%w-]+") do names[#names + 1] = name end
    return names, value, (names[#names]:gsub("^%-+", ""):gsub("-", "_"))
end

local function by_name(spec)
    local all = {}
    for _, option in ipairs(spec.options or {}) do
        local names, value, key = command.declared(option)
        for _, name in ipairs(names) do all[name] = {option = option, value = value, key = key} end
    end
    return all
end

-- What an option or operand may be.
local function check_choice(name, text, choices)
    for _, choice in ipairs(choices) do
        if text == choice then return end
    end
    command.usage(("%s is one of %s, not '%s'%s"):format(name, table.concat(choices, ", "), text,
        command.did_you_mean(text, choices)))
end

local function check_value(name, known, text)
    local option = known.option
    if text == "" and not option.empty then command.usage(name .. " needs a value") end
    if option.choices then check_choice(name, text, option.choices) end
    if known.value ~= "N" then return text end
    local n = math.tointeger(tonumber(text))
    local least, most = option.least or 0, option.most or math.maxinteger
    if not n or not text:match("^%d+$") or n < least or n > most then
        local range = (option.most and "from %d to %d" or "of at least %d"):format(least, most)
        command.usage(("%s needs a whole number %s, not '%s'"):format(name, range, text))
    end
    return n
end

-- One that is not declared goes to o.others, name and value; the index of what follows.
local function keep_option(name, text, list, i, o)
    o.others[#o.others + 1] = name
    o.others[#o.others + 1] = text or list[i + 1] -- without one it is for the other program to tell
    return i + (text and 1 or 2)
end

-- One option at list[i]; the index of what follows.
local function read_option(known_names, list, i, o)
    local name, text = list[i]:match("^(%-%-[^=]+)=(.*)$")
    name = name or list[i]
    local known = known_names[name]
    if not known and o.others and name:find "^%-%-" then return keep_option(name, text, list, i, o) end
    if not known then
        local names = {}
        for other, declared in pairs(known_names) do
            if not declared.option.hidden then names[#names + 1] = other end
        end
        table.sort(names)
        command.usage(("there is no option '%s'%s"):format(name, command.did_you_mean(name, names)))
    end
    if not known.value then
        if text then command.usage(name .. " takes no value") end
        o[known.key] = true
        return i + 1
    end
    if not text then
        i = i + 1
        text = list[i]
        if not text or known_names[text] then
            command.usage(name .. " needs a value" .. (text and (", as in %s=%s"):format(name, text) or ""))
        end
    end
    o[known.key] = check_value(name, known, text)
    return i + 1
end

-- "-5" and "-" are operands.
local function is_option(text)
    return text:find("^%-[%a-]") ~= nil
end

-- Operands that are paths.  An empty one, as of a variable that is not set, is a mistake.
local paths = {BACKUP = true, FILE = true, INPUT = true, OUT = true, PROGRAM = true, SRC = true, TO = true}

local function check_paths(spec, o)
    local operand
    for i, text in ipairs(o) do
        operand = (spec.operands[i] or operand):match "%u+"
        if text == "" and paths[operand] then command.usage(operand .. " needs a path") end
    end
end

local function check_operands(spec, o)
    local least, most = 0, 0
    for _, operand in ipairs(spec.operands or {}) do
        if not operand:find("^%[") then least = least + 1 end
        most = operand:find("...", 1, true) and math.huge or most + 1
    end
    if #o < least then
        command.usage(("%s is missing"):format((spec.operands[#o + 1]:gsub("%.%.%.$", ""))))
    elseif #o > most then
        command.usage(("'%s' is one argument too many"):format(o[most + 1]))
    end
    if spec.choices and o[1] then check_choice(spec.operands[1]:gsub("%W", ""), o[1], spec.choices) end
    check_paths(spec, o)
end

--- Read a command's arguments.
function command.parse(spec, list)
    local o, known, i, ended = {others = spec.others and {}}, by_name(spec), 1, spec.verbatim or false
    for _, k in pairs(known) do o[k.key] = k.option.default end
    while i <= #list do
        local text = list[i]
        if not ended and text == "--" then
            ended, i = true, i + 1
        elseif not ended and is_option(text) then
            i = read_option(known, list, i, o)
        else
            o[#o + 1], i = text, i + 1
            ended = ended or spec.raw
        end
    end
    check_operands(spec, o)
    return o
end

-- ---------------------------------------------------------------- databases

local opened = {}

--- Option progress of caret.open(): a line on standard error for each second that a recovery takes.
function command.progress(part)
    io.stderr:write(("caret: recovering: %.0f %%\n"):format(100 * part))
end

--- The path that --db says, or what stands for it.
function command.path(o)
    local default = os.getenv "CARET_DB"
    return o.db or default ~= "" and default or "data.caret"
end

-- Why it was not opened.  The engine advises an option of caret.h: here it is the command's, if it has it.
local function reason()
    local fact, advice = host.reason()
    local option, does = advice:match "^(%S+) (.*)"
    if not option or not by_name(command.find(command.name))["--" .. option] then return fact end
    return ("%s (--%s %s)"):format(fact, option, does)
end

--- Open o.db; it is closed when the command ends.  create: make it if it is not there.  Or nil, text, name.
function command.try(o, create)
    if command.path(o) == ":memory:" and not create then
        command.fail "':memory:' is a new, empty database each time: this command has nothing to find there"
    end
    local db, _, name = caret.open(command.path(o),
        {create = create or false, readonly = o.readonly or false, progress = command.progress})
    if not db then return nil, reason(), name end
    opened[#opened + 1] = db
    return db
end

--- The same, or fail.
function command.open(o, create)
    local db, text, name = command.try(o, create)
    if name == "NOTFOUND" then text = text .. "; --db or $CARET_DB names another" end
    if not db then command.fail(text) end
    return db
end

--- Open o.db, to be changed, if it is there; else nil, text, "NOTFOUND".
function command.open_there(o)
    if command.path(o) == ":memory:" then
        command.fail("':memory:' is a new database each time: " ..
            "what this command stored there would be gone with it")
    end
    local db, text, name = command.try(o)
    if not db and name ~= "NOTFOUND" then command.fail(text) end
    return db, text, name
end

-- What this system has no room for, or can't do, says nothing of what was asked for.
local OF_THE_WORLD = {DISKFULL = true, SHM = true, NOMEM = true, IO = true, SYSTEM = true, LIMIT = true}

-- change() on a database in memory: what is wrong with it is raised.
local function rehearse(change)
    local trial = caret.open ":memory:"
    if not trial then return end
    opened[#opened + 1] = trial
    local ok, wrong = pcall(change, trial)
    if not ok and not (type(wrong) == "table" and OF_THE_WORLD[wrong.name]) then error(wrong, 0) end
end

--- change(db) of a database that is made if it is not there.  Then it is tried on one in memory first: what
-- is refused makes no database.
function command.change(o, change)
    local db = command.open_there(o)
    if not db then
        rehearse(change)
        db = command.open(o, true)
    end
    return change(db)
end

--- Open o.db for reading alone: that needs no right to write, leaves no trace and is quick (caret_open()).
function command.view(o)
    o.readonly = true
    return command.open(o)
end

--- The options from, to, before and prefix as a table for kill_range and range; nil: none of them is given.
function command.range(o)
    if o.prefix and (o.from or o.to or o.before) then command.usage("--prefix goes with no other bound") end
    if o.to and o.before then command.usage("--to or --before, not both") end
    if not (o.from or o.to or o.before or o.prefix) then return nil end
    return {from = o.from, to = o.to, before = o.before, prefix = o.prefix}
end

--- The operand FILE is another way to say --db.
function command.file_operand(o)
    if o[1] and o.db then command.usage("one database at a time") end
    o.db = o.db or o[1]
end

--- Name and subscripts of the global node that ZWR text means.
function command.address(text)
    local name, subscripts = host.parse(text)
    if not name then command.usage(subscripts) end
    if name:sub(1, 1) ~= "^" then
        command.usage(("'%s' is not a global: write ^%s, in quotes"):format(text, text))
    end
    return name, subscripts
end

--- The node itself.
function command.node(db, text)
    return db.node(command.address(text))
end

-- ------------------------------------------------------------------- output

local closed_pipe = {}

local function checked(ok, text, number)
    if ok then return end
    if number == host.EPIPE then error(closed_pipe, 0) end
    command.fail("standard output: " .. text)
end

--- End the command without a word: nobody reads its output any more.
function command.closed_pipe()
    error(closed_pipe, 0)
end

--- Write to standard output; a command whose reader has gone ends without a word.
function command.write(...)
    checked(io.stdout:write(...))
end

--- What was written so far gets there now; the same.
function command.flush()
    checked(io.stdout:flush())
end

local function print_checked(...)
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    command.write(table.concat(texts, "\t"), "\n")
end

--- A string as JSON.
function command.quote(s)
    return '"' .. s:gsub('[%c"\\\127-\255]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

-- --------------------------------------------------------------------- main

local function explain(wrong)
    if type(wrong) ~= "string" then return wrong end
    if wrong:find("^[%w/._-]*:?%d*:? ?%u[%u%d_]+: ") then return (wrong:gsub("\nstack traceback:.*$", "")) end
    return debug.traceback(wrong, 2) -- a mistake of the tool's
end

local function run(spec, list)
    local status = spec.run(command.parse(spec, list))
    if not spec.plain then command.flush() end
    return status
end

-- The last process to close a database writes what is not in the file yet: that may fail.
local function close_all(status)
    for i = #opened, 1, -1 do
        local ok, text = opened[i]:close()
        if ok == nil and status == 0 then
            io.stderr:write("caret ", command.name, ": ", text, "\n")
            status = 3
        end
    end
    return status
end

local function report(wrong)
    if getmetatable(wrong) ~= failure then
        wrong = {text = tostring(wrong):gsub("^[%w/]+%.lua:%d+: ", ""), status = 3}
    end
    io.stderr:write("caret ", command.name, ": ", wrong.text, "\n")
    return wrong.status
end

local aliases = {["--help"] = "help", ["-h"] = "help", ["--version"] = "version"}

-- caret X --help is caret help X.
local function wants_help(spec, list)
    for _, text in ipairs(list) do
        if text == "--help" or text == "-h" then return true end
        if text == "--" or spec.raw and not is_option(text) then return false end
    end
    return false
end

--- caret NAME ARGUMENT...: the exit status, and the signal that this process is to end by when all is closed.
function command.main(name, ...)
    local list = {...}
    name = aliases[name] or name or "help"
    local spec = command.find(name)
    if not spec then
        local names = {}
        for other in command.all() do names[#names + 1] = other end
        io.stderr:write(("caret: no command '%s'%s; `caret help` lists them\n"):format(name:sub(1, 40),
            command.did_you_mean(name, names)))
        return 2
    end
    if wants_help(spec, list) then
        list = {name}
        name, spec = "help", command.find("help")
    end
    command.name = name
    if spec.plain then
        host.guard_output(name)
    else
        host.ignore_pipes()
        print = print_checked -- luacheck: ignore 121
    end
    host.catch_signals(not spec.catches, spec.plain)
    local ok, result = xpcall(run, explain, spec, list)
    local signal = result == closed_pipe and host.SIGPIPE or host.interrupted()
    local status = ok and (result or 0) or (result == closed_pipe or result == host.stopped) and 1 or
        report(result)
    return close_all(status), signal
end

return command
