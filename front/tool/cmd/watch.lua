-- caret watch: changes as they happen.

local changes = require "tool.lib.changes"
local command = require "tool.lib.command"
local host = require "caret.host"

-- How the command ends; when we are to end, it is told so too.
local function wait_for(pid)
    local told = false
    while true do
        local how, number = host.wait(pid, told)
        if how then return how == "exit" and number or 128 + number end
        if host.interrupted() then
            host.kill(pid, host.interrupted())
            told = true
        else
            host.sleep(0.01)
        end
    end
end

local LARGEST = 100000 -- bytes of a value in the environment; the system takes a little more

-- What can stand in the environment; false: it can't.
local function for_environment(value)
    return value and #value <= LARGEST and not value:find("\0", 1, true) and value or false
end

-- The command gets the last change of what came; more that comes meanwhile is for the next run.
local function run_command(o, change)
    local pid, why = host.execute({table.unpack(o, 2)}, {
        CARET_NODE = change.node, CARET_VALUE = for_environment(change.value), CARET_KIND = change.kind,
        CARET_LSN = tostring(change.lsn), CARET_RANGE = change.range and changes.range(change) or false,
    })
    if not pid then command.fail(("%s can't be run: %s"):format(o[2], why)) end
    return wait_for(pid)
end

local function show(o, change)
    command.write(o.json and changes.json(change) or changes.line(change), "\n")
end

-- All that is there: printed, or the last of it.
local function drain(o, log, left)
    local n, last = 0, nil
    while n < left and not host.interrupted() do
        local change = log:next(o[1])
        if not change then break end
        n, last = n + 1, change
        if not o[2] then show(o, change) end
    end
    return n, last
end

local function run(o)
    command.address(o[1])
    local log, seen = changes.open(command.open(o), -1), 0
    local limit = o.limit or math.huge
    local interval = tonumber(o.interval)
    if not interval or interval < 0.001 or interval > 3600 then
        command.usage(("--interval needs seconds from 0.001 to 3600, not '%s'"):format(o.interval))
    end
    while seen < limit and not host.interrupted() do
        local n, last = drain(o, log, o[2] and math.huge or limit - seen)
        if n == 0 then
            command.flush()
            if not o[2] and host.abandoned() then command.closed_pipe() end
            log:wait(o[1], interval)
        elseif o[2] then
            run_command(o, last)
            seen = seen + 1
        else
            seen = seen + n
        end
    end
    return 0
end

return {
    summary = "print changes below a node as they happen, or run a command",
    operands = {"NODE", "[-- COMMAND...]"},
    options = {
        {"-n, --limit N", "end after so many changes, or runs of the command"},
        {"-i, --interval SECONDS", "to sleep at most until it looks for signals", default = "0.25"},
        command.JSON, command.DB,
    },
    catches = true,
    about = [[
What is committed from now on at NODE, below it, or above it by a kill, is printed as `caret log` does.
With a COMMAND nothing is printed: the command is run after each change, or after several that came since
it was run last, with the last one in the environment: CARET_NODE, CARET_VALUE, CARET_KIND (set, delete,
kill, kill_range), CARET_LSN and of a kill_range CARET_RANGE, its bounds. CARET_VALUE is not set for a delete
or kill, nor for a value above 100,000 bytes or with a byte 0: `caret get --raw "$CARET_NODE"` has those.

It sleeps until there is something, and costs writers next to nothing. Nothing is kept for it either: when
more is committed while the command runs than the log holds, some changes are left out, and it says so.]],
    examples = {
        {"caret watch '^oaks'"},
        {"caret watch '^config' -- systemctl reload oakd"},
    },
    run = run,
}
