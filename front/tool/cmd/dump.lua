-- caret dump: nodes as text.

local command = require "tool.lib.command"
local host = require "caret.host"
local progress = require "tool.lib.progress"
local transfer = require "caret.transfer"

local function dump_to(o, db, fd)
    local nodes = {}
    for i, text in ipairs(o) do
        command.address(text)
        nodes[i] = text
    end
    local bar = progress.new("dumping", "nodes", 1, not o.quiet and (o.output or not progress.is_output()))
    local count, text, closed = transfer.dump {
        path = db:path(), readonly = o.readonly, nodes = nodes, format = o.format, bytes = o.bytes, fd = fd,
        progress = function(n) bar:show(n) end,
    }
    bar:finish()
    if closed then command.closed_pipe() end
    if closed == false then text = ("%s: %s"):format(o.output or "standard output", text) end
    return count, text
end

-- To a descriptor that is ours.  nil, text: it failed, and what was written is of no use.
local function dump_and_close(o, db, fd)
    local ok, count, wrong = pcall(dump_to, o, db, fd)
    local closed, unwritten = transfer.close(fd, true)
    if not ok then error(count, 0) end
    if host.interrupted() then return nil, "interrupted" end
    if count and not closed then return nil, ("%s: %s"):format(o.output, unwritten) end
    return count, wrong
end

-- Under another name until it is whole.
local function dump_to_file(o, db, path)
    local partial = ("%s-partial-%d"):format(path, host.getpid())
    local fd, text = transfer.open(partial, "n")
    if not fd then command.fail(("%s: %s"):format(o.output, text)) end
    local ok, count, wrong = pcall(dump_and_close, o, db, fd)
    if ok and count then
        local published, why = transfer.publish(partial, path, o.overwrite)
        if published then return count end
        count, wrong = nil, ("%s: %s"):format(path, why)
    end
    os.remove(partial)
    if not ok then error(count, 0) end
    return count, wrong
end

-- A file that is there is replaced only if that was asked for; devices and pipes are written to.
local function dump_to_output(o, db)
    local path, kind = transfer.resolve(o.output)
    if kind == "folder" then
        command.fail(o.output .. " is a folder")
    elseif path == db:path() then
        command.fail(o.output .. " is the database itself")
    elseif kind == "file" and not o.overwrite then
        command.fail(o.output .. " is there already; --overwrite replaces it")
    elseif kind ~= "other" then
        return dump_to_file(o, db, path or o.output)
    end
    local fd, text = transfer.open(path, "w")
    if not fd then command.fail(("%s: %s"):format(path, text)) end
    return dump_and_close(o, db, fd)
end

local function run(o)
    for _, text in ipairs(o) do command.address(text) end
    local db = command.open(o)
    local count, text
    if o.output then
        count, text = dump_to_output(o, db)
    else
        count, text = dump_to(o, db, 1)
    end
    if not count then command.fail(text) end
    return 0
end

return {
    summary = "write all nodes, or those below some, as text",
    operands = {"[NODE...]"},
    options = {
        {"-f, --format FORMAT", "zwr, jsonl, json or csv", default = "zwr", choices = command.FORMATS},
        {"-o, --output FILE", "into this new file, which appears when it is whole"},
        {"--overwrite", "replace that file"},
        {"--bytes", "ZWR text of bytes: 0-31, 127-159 and 255 by number, all others as they are"},
        {"--quiet", "show no progress"},
        command.READONLY, command.DB,
    },
    about = [[
What is written is a snapshot, the state of one moment: others go on meanwhile. Nodes come in the order
of the database. `caret load` reads all formats back exactly; `caret help formats` has their rules.]],
    examples = {
        {"caret dump -o forest.zwr"},
        {"caret dump -f jsonl '^oaks' '^trees(7)' | gzip >oaks.jsonl.gz"},
    },
    catches = true,
    run = run,
}
