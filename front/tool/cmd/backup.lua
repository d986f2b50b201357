-- caret backup: copy a database to a new file while others use it.

local command = require "tool.lib.command"
local json = require "tool.lib.json"
local progress = require "tool.lib.progress"
local transfer = require "caret.transfer"

local function run(o)
    local _, kind = transfer.resolve(o[1])
    if kind == "folder" then command.fail(o[1] .. " is a folder: name a file in it") end
    local db = command.open(o)
    local bytes = 0
    local bar = progress.new("backing up", "MiB", 2 ^ 20, not o.quiet)
    local ok, what, name = db:backup(o[1], {compact = o.compact, overwrite = o.overwrite,
        progress = function(done, total)
            bytes = total
            bar:show(done, total)
        end})
    bar:finish()
    if name == "EXISTS" then command.fail(o[1] .. " is there already; --overwrite replaces it") end
    if not ok then command.fail(what, name == "CORRUPT" and 1 or 3) end
    if o.json then
        print(json.encode(json.object("file", db:path(), "backup", o[1], "bytes", bytes)))
    else
        print(("%s: backed up to %s, %.1f MiB"):format(db:path(), o[1], bytes / 2 ^ 20))
    end
    return 0
end

return {
    summary = "copy a database to a new file while others use it",
    operands = {"TO"},
    options = {
        {"--compact", "give pages new numbers, without gaps: the smallest file", default = false},
        {"--overwrite", "replace an existing file TO, whole or not at all", default = false},
        {"--quiet", "show no progress"},
        command.JSON, command.DB,
    },
    about = [[
The copy is the database as it is when the command begins. To restore it, open it. Every page is verified
on the way: exit status 1 says that the database is damaged, and there is no copy.]],
    examples = {{"caret backup --db forest.caret /backup/forest.caret --compact"}},
    run = run,
}
