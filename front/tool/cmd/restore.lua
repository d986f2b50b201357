-- caret restore: make a database of a backup, and of the log that was archived since.

local caret = require "caret"
local command = require "tool.lib.command"
local json = require "tool.lib.json"
local progress = require "tool.lib.progress"

local function seconds(text)
    local y, m, d, h, min, s = text:match("^(%d%d%d%d)-(%d%d)-(%d%d)[ T](%d%d):(%d%d):?(%d?%d?)$")
    if not y then command.usage("a time looks like 2026-11-21 08:30:00, not " .. text) end
    -- os.time takes the 13th month for the first one of the next year
    local day = os.date("%Y-%m-%d", os.time {year = y, month = m, day = d, hour = 12})
    local fine = tonumber(h) < 24 and tonumber(min) < 60 and (tonumber(s) or 0) < 60
    if not fine or day ~= ("%s-%s-%s"):format(y, m, d) then
        command.usage("there is no such time as " .. text)
    end
    return os.time {year = y, month = m, day = d, hour = h, min = min, sec = s ~= "" and s or 0}
end

local function run(o)
    if (o.lsn or o.time) and not o.archive then command.usage("--lsn and --time need --archive") end
    local bar = progress.new("restoring", "MiB of the log", 2 ^ 20, not o.quiet)
    local reached, text, name = caret.restore(o[1], o[2], {archive = o.archive, lsn = o.lsn,
        time = o.time and seconds(o.time), progress = function(place) bar:show(place) end})
    bar:finish()
    if not reached then
        command.fail(text, (name == "CORRUPT" or name == "FOREIGN") and 1 or 3)
    end
    if text then io.stderr:write("caret restore: ", text, "\n") end -- the archive ends before the time
    if o.json then
        print(json.encode(json.object("backup", o[1], "file", o[2], "lsn", reached, "warning", text)))
    else
        print(("%s: restored to %s, up to place %d of the log"):format(o[1], o[2], reached))
    end
    return 0
end

return {
    summary = "make a database of a backup and the log archived since",
    operands = {"BACKUP", "TO"},
    options = {
        {"--archive FOLDER", "the folder given as option `archive` when the database was open"},
        {"--lsn N", "go no further than this place in the log, which must be reached"},
        {"--time TIME",
            "go no further than this local time, YYYY-MM-DD HH:MM[:SS]: to the last checkpoint before it"},
        {"--quiet", "show no progress"},
        command.JSON,
    },
    about = [[
TO must not exist. Without an archive it is the backup alone. A file that is missing in the middle of the
archive is an error that names it, and the place that can be reached; an archive that ends before TIME is
told on standard error. Exit status 1: backup or archive are damaged, or are none.]],
    examples = {{"caret restore monday.caret forest.caret --archive /archive --time '2026-11-21 08:30'"}},
    run = run,
}
