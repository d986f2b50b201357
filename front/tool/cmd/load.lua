-- caret load: text to nodes.

local command = require "tool.lib.command"
local host = require "caret.host"
local json = require "tool.lib.json"
local progress = require "tool.lib.progress"
local transfer = require "caret.transfer"

local REPORTED = 100 -- bad lines that are told

local function open_input(path)
    if path == "-" then return 0, 0 end
    local fd, size = transfer.open(path, "r")
    if not fd then command.fail(("%s: %s"):format(path, size)) end
    return fd, size
end

local function shown(path)
    return path == "-" and "stdin" or path
end

local function reporter(o, path, bar)
    local n = 0
    return function(line, reason)
        n = n + 1
        bar:finish()
        if n <= REPORTED then
            io.stderr:write(("%s:%d: %s\n"):format(shown(path), line, reason))
        elseif n == REPORTED + 1 then
            io.stderr:write("more bad lines are only counted\n")
        end
        return not o.keep_going
    end
end

-- What opens the database, once: before the first node is set, so that mistakes make none; and what tells
-- whether it is still to be made.
local function opener(o)
    local db, text = nil, nil
    if not o.check then db, text = command.open_there(o) end
    return function()
        if not db then db, text = command.try(o, true) end
        return db and db:path(), text
    end, function() return not db end
end

-- from: where the bytes of it are, if that is another path.
local function load_file(o, open, path, from)
    local fd, size = open_input(from or path)
    local bar = progress.new("loading", "MiB", 2 ^ 20, not o.quiet)
    local start = host.clock()
    local counts, text = transfer.load {
        open = open, fd = fd, format = o.format, atomic = o.atomic, dry = o.check,
        report = reporter(o, path, bar),
        progress = function(_, bytes) bar:show(bytes, size > 0 and size or nil) end,
    }
    bar:finish()
    if fd ~= 0 then transfer.close(fd) end
    counts.seconds = host.clock() - start
    return counts, text
end

-- What can be read once is kept in memory: the path of that, and its descriptor.
local function keep(path)
    if select(2, transfer.resolve(path)) == "file" then return path end
    local fd = open_input(path)
    local kept, why = transfer.kept(fd)
    if fd ~= 0 then transfer.close(fd) end
    if why and not kept then command.fail(("%s: %s"):format(shown(path), why)) end
    return kept, kept and why
end

-- With --atomic nothing of a bad input is loaded.  So where there is no database yet, the input is looked
-- through first.
local function load_input(o, open, to_be_made, path)
    if not o.atomic or o.check or o.keep_going or not to_be_made() then return load_file(o, open, path) end
    local from, fd = keep(path)
    if not from then return {nodes = 0, bad = 0, line = 0} end -- a signal came
    local counts, text = load_file(setmetatable({check = true}, {__index = o}), open, path, from)
    if text or counts.bad > 0 or host.interrupted() then
        counts.nodes = 0
    else
        counts, text = load_file(o, open, path, from)
    end
    if fd then transfer.close(fd) end
    return counts, text
end

local function tell(o, path, counts)
    if o.json then
        print(json.encode(json.object("input", path, "nodes", counts.nodes, "bad", counts.bad,
            "seconds", counts.seconds)))
    else
        local done = o.check and "could be loaded" or "loaded"
        print(("%s: %s %s, %s, %.1f s"):format(shown(path), command.counted(counts.nodes, "node"), done,
            command.counted(counts.bad, "bad line"), counts.seconds))
    end
end

local function run(o)
    local open, to_be_made = opener(o)
    local status = 0
    if #o == 0 then o[1] = "-" end
    for _, path in ipairs(o) do
        local counts, text = load_input(o, open, to_be_made, path)
        local line = counts.line or 0
        if text then
            command.fail(("%s: %s (%s loaded before that)"):format(
                line > 0 and ("%s:%d"):format(shown(path), line) or shown(path), text,
                command.counted(counts.nodes or 0, "node")))
        end
        if not (o.quiet and counts.bad == 0) then tell(o, path, counts) end
        if counts.bad > 0 then status = 1 end
        if host.interrupted() then
            command.fail(line > 0 and ("stopped in line %d"):format(line) or "stopped")
        elseif counts.bad > 0 and not o.keep_going then
            break
        end
    end
    return status
end

return {
    summary = "read nodes from text that `caret dump` or others wrote",
    operands = {"[INPUT...]"},
    options = {
        {"-f, --format FORMAT", "zwr, jsonl, json or csv; else it is seen from the beginning",
            choices = command.FORMATS},
        {"-k, --keep-going", "leave bad lines out; else the first ends it"},
        {"--atomic", "each INPUT is one transaction, all or nothing (768 MiB at most)"},
        {"--check", "look for bad lines only: no database is needed"},
        {"--quiet", "no progress, and no word when all is well"},
        command.JSON, command.DB,
    },
    about = [[
INPUT is a file, or - (or none) for standard input. What is there already stays, unless it is set anew;
the database is made if it is not there, unless a bad line comes before the first node. It reads ZWR text
with or without the two lines of a header, as `mupip extract -format=zwr` of YottaDB and GT.M writes it,
JSON, JSON lines and CSV as in `caret help formats`.

A bad line is told with its number and the reason. What was read before it is loaded, unless --atomic is
given (which keeps what comes by a pipe in memory, where it is to make the database). The same holds when it
is interrupted: some of the nodes are there, each whole. Exit status 1: there was a bad line.]],
    examples = {
        {"caret load forest.zwr"},
        {"gunzip -c oaks.jsonl.gz | caret load --db copy.caret"},
        {"caret load --check --keep-going doubtful.csv"},
    },
    catches = true,
    run = run,
}
