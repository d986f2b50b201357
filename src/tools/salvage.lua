-- caret salvage: write every node that can still be read of a damaged database to a file.
--
-- caret salvage [--sure] [--json] SRC OUT.zwr; SRC must not be open, OUT.zwr must not exist.
-- Exit status: 0 nothing is lost, 1 something is (the file is written all the same), 2 usage,
-- 3 no file was written.

local caret = require "caret"
local arguments = require "caret.arguments"

local paths, sure, json = {}, false, false
for _, a in ipairs {...} do
    if a == "--sure" then
        sure = true
    elseif a == "--json" then
        json = true
    elseif a:sub(1, 1) == "-" then
        arguments.usage("salvage", ("no option '%s'"):format(a))
    else
        paths[#paths + 1] = a
    end
end
if #paths ~= 2 then
    arguments.usage("salvage", "from which database, to which file?")
end

local counts, lost, report = caret.salvage(paths[1], paths[2], sure)
if not counts then arguments.fail("salvage", lost) end

local rows = {
    {"nodes", "nodes written"},
    {"leaves", "leaves read"},
    {"lost_pages", "pages lost: in use, and nothing that can be read"},
    {"lost_values", "long values lost"},
    {"doubtful_leaves", "leaves that may be from an older state"},
    {"stale_leaves", "leaves left out, copies from before"},
    {"logged", "changes taken from the log"},
    {"pages", "pages of the file"},
    {"epoch", "epoch of the checkpoint"},
}
local lines, findings = {}, {}
for line in report:gmatch("[^\n]+") do
    findings[#findings + 1] = json and arguments.quote(line) or line
end
for i, row in ipairs(rows) do
    local n = counts[row[1]]
    lines[i] = json and ('"%s":%d'):format(row[1], n) or ("%15d  %s"):format(n, row[2])
end
if json then
    print(('{"file":%s,"out":%s,"lost":%s,%s,"findings":[%s]}'):format(arguments.quote(paths[1]),
        arguments.quote(paths[2]), tostring(lost), table.concat(lines, ","), table.concat(findings, ",")))
else
    if #findings > 0 then print(table.concat(findings, "\n")) end
    print(table.concat(lines, "\n"))
    print(("%s: %s"):format(paths[1], lost and "something is lost, or can't be known" or "nothing is lost"))
end
return lost and 1 or 0
