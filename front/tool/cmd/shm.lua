-- caret shm: what lies in shared memory, of which database, and whether anybody needs it.

local command = require "tool.lib.command"
local inspect = require "caret.inspect"
local json = require "tool.lib.json"

local FIELDS = {"file", "database", "state", "why", "bytes", "pids", "removed"}

local function print_segment(s)
    local pids = #s.pids > 0 and ", by " .. table.concat(s.pids, " ") or ""
    print(("%s: %s%s"):format(s.file, s.removed and "removed" or s.state, s.removed and "" or pids))
    print(("    %.1f MiB of %s: %s"):format(s.bytes / 2 ^ 20, s.database == "" and "an unknown database"
        or s.database, s.why))
end

local function run(o)
    if o.lost and not o.remove then command.usage("--lost says what else --remove is to remove") end
    local list = inspect.shm(o.shm_dir, o.remove, o.lost)
    table.sort(list, function(a, b) return a.file < b.file end)
    local left = false
    for i, s in ipairs(list) do
        left = left or not s.removed and (s.state == "orphaned" or s.state == "lost")
        if o.json then list[i] = json.fields(s, FIELDS) else print_segment(s) end
    end
    if o.json then print(json.encode(list)) end
    return left and 1 or 0
end

return {
    summary = "tell what lies in shared memory, and remove what nobody needs",
    options = {
        {"--shm-dir DIR", "the folder; /dev/shm unless databases were opened with another"},
        {"--remove", "remove what is orphaned"},
        {"--lost", "with --remove: also what is lost, with the commits in it"},
        command.JSON,
    },
    about = [[
Each database in use has a file in /dev/shm. It stays when all its users are killed, as the next opening
recovers from it. For each file: its path, its state, the processes that use it, its memory, the database.

    used      somebody has it mapped
    needed    the next opening of its database recovers from it
    lost      its database is not where it was, and commits are in it that the log has not
    orphaned  nobody needs it, wherever its database is
    unknown   of another build, or not for this user to read

Whoever opens a database first removes what is orphaned. What is lost may belong to a database that was
moved, or that another container sees: then its next opening needs it. Only --remove --lost
removes it; until then it takes as much memory as its commits.

Exit status 1: something orphaned or lost is left.]],
    examples = {{"caret shm"}, {"caret shm --remove --json | jq -r '.[] | select(.removed) | .file'"}},
    run = run,
}
