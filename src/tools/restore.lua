-- caret restore: make a database of a backup, and of the log that was archived since.
--
-- caret restore BACKUP TO [--archive FOLDER] [--lsn PLACE | --time "YYYY-MM-DD HH:MM[:SS]"]
--     --archive   the folder given as option `archive` when the database was open
--     --lsn       no further than this place in the log, as db:durable() tells it; it must be reached
--     --time      no further than this local time: to the last checkpoint before it
-- TO must not exist.  Exit status: 0 fine, 1 backup or archive are damaged, 2 usage, 3 it can't be done.

local caret = require "caret"
local arguments = require "caret.arguments"

local function seconds(text)
    local y, m, d, h, min, s = text:match("^(%d%d%d%d)-(%d%d)-(%d%d)[ T](%d%d):(%d%d):?(%d?%d?)$")
    if not y then arguments.usage("restore", "a time looks like 2026-11-21 08:30:00, not " .. text) end
    return os.time {year = y, month = m, day = d, hour = h, min = min, sec = s ~= "" and s or 0}
end

local function parse(list)
    local files, o, i = {}, {}, 1
    while i <= #list do
        local a, value = list[i], list[i + 1]
        if a == "--archive" or a == "--lsn" or a == "--time" then
            if not value or value == "" then arguments.usage("restore", a .. " needs a value") end
            o[a:sub(3)], i = value, i + 1
        elseif a:sub(1, 1) == "-" then
            arguments.usage("restore", ("no option '%s'"):format(a))
        else
            files[#files + 1] = a
        end
        i = i + 1
    end
    if #files ~= 2 then arguments.usage("restore", "from which backup, and where to?") end
    if o.lsn then
        o.lsn = math.tointeger(tonumber(o.lsn)) or arguments.usage("restore", "--lsn needs a whole number")
    end
    if o.time then o.time = seconds(o.time) end
    if (o.lsn or o.time) and not o.archive then
        arguments.usage("restore", "--lsn and --time need --archive")
    end
    return files[1], files[2], o
end

local backup, to, options = parse {...}
local reached, text, name = caret.restore(backup, to, options)
if not reached then
    io.stderr:write("caret restore: ", text, "\n")
    return (name == "CORRUPT" or name == "FOREIGN") and 1 or 3
end
print(("%s: restored to %s, up to place %d of the log"):format(backup, to, reached))
return 0
