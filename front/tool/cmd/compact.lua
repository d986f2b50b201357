-- caret compact: replace the file of a database by the smallest that holds the same.

local command = require "tool.lib.command"
local inspect = require "caret.inspect"
local json = require "tool.lib.json"
local progress = require "tool.lib.progress"

-- Bytes of the file; 0 if it is none: an address, which compacting refuses.
local function size(path)
    local f = io.open(path, "r")
    if not f then return 0 end
    local bytes = f:seek("end")
    f:close()
    return bytes
end

local function run(o)
    command.file_operand(o)
    o.readonly = true
    local db = command.open(o)
    local path = db:path()
    db:close()
    local before = size(path)
    local bar = progress.new("compacting", "MiB", 2 ^ 20, not o.quiet)
    local ok, wrong = pcall(inspect.compact, path, function(done, total) bar:show(done, total) end)
    bar:finish()
    if not ok then error(wrong, 0) end
    local after = size(path)
    if o.json then
        print(json.encode(json.object("file", path, "before", before, "after", after)))
    else
        print(("%s: %.1f MiB, were %.1f MiB"):format(path, after / 2 ^ 20, before / 2 ^ 20))
    end
    return 0
end

return {
    summary = "make the file of a database as small as it can be",
    operands = {"[FILE]"},
    options = {{"--quiet", "show no progress"}, command.JSON, command.DB},
    about = [[
A compact copy is made beside the file, verified and synced, and then takes its place, whole or not at
all: Ctrl-C leaves the file as it was. If somebody else has the database open nothing is done, and the
exit status is 3; whoever opens it meanwhile waits. It needs room for both files. If it is killed a file
NAME-partial-... may be left, which is to be removed.

Pages that are freed are used again, so this is for a database that will stay smaller than it was. While
others use it, `caret backup --compact` makes such a copy elsewhere.]],
    examples = {{"caret compact forest.caret"}},
    run = run,
}
