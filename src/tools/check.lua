-- caret check: walk everything in a database and tell what is wrong.
--
-- caret check [FILE] [--db FILE] [--json] [--online] [--readonly]
-- Also while others use it: writers wait meanwhile, but not with --online, which checks a snapshot, nor with
-- --readonly, which checks the last checkpoint and needs no right to write.
-- Exit status: 0 nothing is wrong, 1 findings, 2 usage, 3 it can't be opened.

local caret = require "caret"
local arguments = require "caret.arguments"

local path, json, given = arguments.database("check", {...}, {["--online"] = true, ["--readonly"] = true})
local readonly = given["--readonly"] or false
local db, text = caret.open(path, {create = false, readonly = readonly, progress = arguments.progress})
if not db then arguments.fail("check", text) end

local ok, what, name, report = db:check(given["--online"] and "online" or nil)
local findings = {}
for line in (report or ""):gmatch("[^\n]+") do
    findings[#findings + 1] = line
end
if not ok and name ~= "CORRUPT" then arguments.fail("check", what) end

if json then
    for i, line in ipairs(findings) do findings[i] = arguments.quote(line) end
    print(('{"file":%s,"clean":%s,"findings":[%s]}'):format(
        arguments.quote(db:path()), ok and "true" or "false", table.concat(findings, ",")))
elseif ok then
    print(db:path() .. ": nothing is wrong")
else
    for _, line in ipairs(findings) do print(line) end
    print(("%s: %d findings"):format(db:path(), #findings))
end
db:close()
return ok and 0 or 1
