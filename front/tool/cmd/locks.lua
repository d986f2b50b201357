-- caret locks: which processes hold what, and which wait for it.

local command = require "tool.lib.command"
local inspect = require "caret.inspect"
local json = require "tool.lib.json"

local FIELDS = {"name", "waits", "alive", "pid", "command", "session", "count", "waiting", "age"}

local function age(seconds)
    if seconds < 60 then return ("%.1f s"):format(seconds) end
    if seconds < 3600 then return ("%d min %d s"):format(seconds // 60, seconds % 60) end
    return ("%d h %d min"):format(seconds // 3600, seconds % 3600 // 60)
end

local function alive(handle, pid)
    for _, process in ipairs(handle:processes()) do
        if process.pid == pid and process.alive then return process end
    end
    return nil
end

local function clear(o, handle)
    local pid = o.clear ~= "dead" and math.tointeger(tonumber(o.clear)) or nil
    if o.clear ~= "dead" and (not pid or pid < 1) then
        command.usage(("--clear needs the pid of a process, or the word dead, not '%s'"):format(o.clear))
    end
    local living = pid and alive(handle, pid)
    if living then
        command.fail(("process %d (%s) is alive: end it, and its locks are gone"):format(pid,
            living.command), 1)
    end
    local n = handle:clear(pid or 0)
    if o.json then
        print(json.encode(json.object("cleared", n)))
        return 0
    end
    print(n == 0 and "no dead process had locks"
        or ("the locks of %d dead processes were released"):format(n))
    return 0
end

local function print_lock(lock)
    local who = ("%s %d"):format(lock.command, lock.pid)
    local what = lock.waits and "waits" or lock.count > 1 and ("holds %dx"):format(lock.count) or "holds"
    print(("%-24s %-9s %-10s session %-4d %s%s%s"):format(who, what, age(lock.age), lock.session, lock.name,
        lock.alive and "" or "   (dead)",
        lock.waiting > 0 and ("   (%d wait)"):format(lock.waiting) or ""))
end

local function run(o)
    local handle = inspect.open(command.open(o):path())
    if o.clear then return clear(o, handle) end
    local list = handle:locks()
    if o.json then
        for i, lock in ipairs(list) do list[i] = json.fields(lock, FIELDS) end
        print(json.encode(list))
    else
        for _, lock in ipairs(list) do print_lock(lock) end
    end
    return #list > 0 and 0 or 1
end

return {
    summary = "tell who holds which locks, and who waits for them",
    options = {
        {"--clear PID", "release the locks of this dead process; `dead`: of all dead ones"},
        command.JSON, command.DB,
    },
    about = [[
A line for each lock that is held, and after it those that wait for it: program and pid, since when, the
session, the name. Exit status 1: there are none.

The locks of a dead process stand in nobody's way: whoever needs one finds out and gets it. --clear only
does that sooner. Locks are never taken from a living process, as it relies on them: end the process.]],
    examples = {{"caret locks --json | jq -r '.[] | select(.waits) | .name'"}},
    run = run,
}
