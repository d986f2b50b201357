-- caret backup: copy a database to a new file while others use it.
--
-- caret backup TO [--db FILE] [--compact] [--overwrite] [--quiet]
--     --compact     pages get new numbers, without gaps: the smallest file
--     --overwrite   an existing file TO is replaced, whole or not at all
--     --quiet       no progress on the terminal
-- The copy is restored by opening it.  Exit status: 0 fine, 1 there is something wrong with the database (no
-- copy is made), 2 usage, 3 it can't be opened or copied.

local caret = require "caret"
local arguments = require "caret.arguments"

local function parse(list)
    local o, i = {compact = false, overwrite = false}, 1
    while i <= #list do
        local a = list[i]
        if a == "--compact" or a == "--overwrite" or a == "--quiet" then
            o[a:sub(3)] = true
        elseif a == "--db" then
            i = i + 1
            o.db = list[i]
            if not o.db or o.db == "" then arguments.usage("backup", "--db needs a path") end
        elseif a:sub(1, 1) == "-" then
            arguments.usage("backup", ("no option '%s'"):format(a))
        elseif o.to then
            arguments.usage("backup", "one file at a time")
        else
            o.to = a
        end
        i = i + 1
    end
    if not o.to or o.to == "" then arguments.usage("backup", "where to?") end
    return o
end

local o = parse {...}
local db, text = caret.open(o.db, {create = false, progress = arguments.progress})
if not db then arguments.fail("backup", text) end

local percent, bytes = -1, 0
local function progress(done, total)
    bytes = total
    local now = math.floor(done * 100 / total)
    if now ~= percent and not o.quiet then
        percent = now
        io.stderr:write(("\r%3d %% of %.1f MiB"):format(now, total / 2 ^ 20))
    end
end

local ok, what, name = db:backup(o.to, {compact = o.compact, overwrite = o.overwrite, progress = progress})
if percent >= 0 then io.stderr:write "\n" end
if not ok then
    io.stderr:write("caret backup: ", what, "\n")
    db:close()
    return name == "CORRUPT" and 1 or 3
end
print(("%s: backed up to %s, %.1f MiB"):format(db:path(), o.to, bytes / 2 ^ 20))
db:close()
return 0
