-- caret top: what a database does per second.

local command = require "tool.lib.command"
local host = require "caret.host"
local inspect = require "caret.inspect"
local json = require "tool.lib.json"
local sampling = require "tool.lib.sampling"

local COUNTERS = sampling.COUNTERS
local GLOBALS, COLLISIONS, PROCESSES, COMMANDS, CLIENTS = 8, 8, 12, 8, 12 -- lines of each

-- ------------------------------------------------------------------- printing

local function bytes(n)
    if n < 10000 then return ("%d B"):format(n) end
    if n < 10000 * 1024 then return ("%.1f KiB"):format(n / 1024) end
    return ("%.1f MiB"):format(n / 2 ^ 20)
end

local function print_clients(add, list)
    add("\n%-24s %-16s %9s %9s  %s", "client", "name", "age, s", "idle, s", "command")
    for i, c in ipairs(list) do
        if i > CLIENTS then
            add("and %d more", #list - CLIENTS)
            break
        end
        add("%-24s %-16s %9d %9d  %s%s", c.address, c.name, c.age, c.idle, c.command,
            c.self and " (this one)" or "")
    end
end

local function print_server(add, server)
    if server.wrong then return add("\nserver: %s", server.wrong) end
    add("\nserver at %s: %.0f commands per second, %s", server.address, server.calls,
        command.counted(#server.clients, "client"))
    add("%10s %10s  %s", "calls", "us each", "command")
    for i = 1, math.min(#server.commands, COMMANDS) do
        local c = server.commands[i]
        add("%10.0f %10.2f  %s", c.calls, c.usec, c.name)
    end
    print_clients(add, server.clients)
end

local function print_text(state, s)
    local t, out = s.rates, {}
    local function add(...) out[#out + 1] = string.format(...) end
    add("%s   %s   %s", state.db:path(), os.date("%H:%M:%S"),
        command.counted(#s.processes, "process", "processes"))
    add("per second: %.0f gets  %.0f sets  %.0f commits  %.0f restarts (conflicts)  %.0f waits for locks",
        t.gets, t.sets, t.commits, t.restarts, t.lock_waits)
    add("%s of the log not on the disk, %s not in the file; %d of %d pages of shared memory; %d snapshots",
        bytes(s.log_lag), bytes(s.checkpoint_lag), s.stat.arena_used, s.stat.arena_slots, s.stat.snapshots)
    add("\n%8s %10s %10s %10s %9s %9s  %s", "pid", "gets", "sets", "commits", "restarts", "waits", "program")
    for i, p in ipairs(s.processes) do
        if i > PROCESSES then
            add("         and %d more", #s.processes - PROCESSES)
            break
        end
        add("%8d %10.0f %10.0f %10.0f %9.0f %9.0f  %s%s", p.pid, p.gets, p.sets, p.commits, p.restarts,
            p.lock_waits, p.command, not p.alive and " (dead)" or p.self and " (this one)" or "")
    end
    add("\n%8s %10s  global%s", "changes", "gets (~)",
        s.globals_complete and "" or "  (changes are estimated: they are too many)")
    for i = 1, math.min(#s.globals, GLOBALS) do
        add("%8.0f %10.0f  %s", s.globals[i].changes, s.globals[i].gets, s.globals[i].name)
    end
    if #s.collisions > 0 then add("\n%8s  where transactions collide", "restarts") end
    for i = 1, math.min(#s.collisions, COLLISIONS) do
        local c = s.collisions[i]
        add("%8.0f  %s%s", c.restarts, c.name, c.above and "  (below it)" or "")
    end
    if s.server then print_server(add, s.server) end
    command.write(state.terminal and "\27[H\27[J" or "", table.concat(out, "\n"),
        state.terminal and "\n" or "\n\n")
end

local function list_of(rows, names)
    local list = {}
    for i, row in ipairs(rows or {}) do list[i] = json.fields(row, names) end
    return list
end

local function server_json(s)
    if not s or s.wrong then return s and json.fields(s, {"wrong"}) end
    return json.object("address", s.address, "calls", s.calls,
        "commands", list_of(s.commands, {"name", "calls", "usec"}),
        "clients", list_of(s.clients, {"id", "address", "name", "age", "idle", "command", "self"}))
end

local function print_json(state, s)
    local processes = list_of(s.processes, {"pid", "command", "alive", "self", table.unpack(COUNTERS)})
    local globals = list_of(s.globals, {"name", "changes", "gets"})
    local collisions = list_of(s.collisions, {"name", "above", "restarts", "count", "pid"})
    command.write(json.encode(json.object("file", state.db:path(), "time", os.time(), "seconds", s.seconds,
        "rates", json.fields(s.rates, COUNTERS), "log_lag", s.log_lag, "checkpoint_lag", s.checkpoint_lag,
        "arena_used", s.stat.arena_used, "arena_slots", s.stat.arena_slots, "snapshots", s.stat.snapshots,
        "processes", processes, "globals", globals, "globals_complete", s.globals_complete,
        "collisions", collisions,
        "server", server_json(s.server))), "\n")
end

local function run(o)
    local interval = tonumber(o.interval)
    if not interval or interval < 0.01 or interval > 3600 then
        command.usage(("--interval needs seconds from 0.01 to 3600, not '%s'"):format(o.interval))
    end
    local db = command.open(o)
    local handle = inspect.open(db:path())
    local sampler = sampling.new(db, handle, o.server)
    local state = {db = db, terminal = host.isatty(1) and not o.json}
    local server = sampler:ask_server(1)
    if o.server and server.wrong then command.fail(server.wrong) end
    local n = 0
    repeat
        host.sleep(interval)
        local s = sampler:sample()
        if host.interrupted() then break end
        if o.json then print_json(state, s) else print_text(state, s) end
        command.flush()
        n = n + 1
    until n == o.limit
    return 0
end

return {
    summary = "show what a database does per second, and which process does it",
    options = {
        {"-i, --interval SECONDS", "between two looks", default = "1"},
        {"-n, --limit N", "end after so many looks", least = 1},
        {"--server ADDRESS", "where its server is: a path, a port, HOST:PORT; else it is found"},
        {"--json", "print JSON lines"},
        command.DB,
    },
    catches = true,
    about = [[
Rates per second of all processes together and of each, the busiest first; how much of the log is not on
the disk yet, and how much not in the data file; the globals that are changed and read most; and the nodes
at which transactions collide: what a restarted one would have changed in the leaf of the tree that another
changed first, or the first node of the leaf. On a terminal it is a picture that changes, elsewhere a block of
lines for each look.

Processes count in shared memory what they do, each for itself and 251 calls at a time, so slow
ones show up in steps. Gets by global, marked ~, are an estimate: each session notes the global of about every
251st of its gets, so one that makes fewer may not be seen.

Where a `caret serve` has the database open it is asked, too: its commands per second with the microseconds
of each call, those that take most time first, and its clients, those that wrote last first. Its password
comes from $REDISCLI_AUTH, as for redis-cli. It counts what top asks it, INFO and CLIENT LIST, as well.]],
    examples = {{"caret top"}, {"caret top --server /run/shop.sock"},
        {"caret top --json -i 10 >>forest.log"}},
    run = run,
}
