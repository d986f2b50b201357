-- What a `caret serve` does: its commands per second, its clients.  For `caret top`.
--
-- The server is asked as any client asks it (INFO, CLIENT LIST).  Where it listens is told by the kernel:
-- of the processes that have the database open, those of caret-server have sockets, and /proc/PID/net tells
-- which of these listen, and where.  What answers there is believed only if it says that it is the parent of
-- that process: an address may mean another server in another container.

local net = require "caret.net"
local resp = require "tool.lib.resp"

local serving = {}

local PATIENCE = 2 -- seconds; a server that does not answer must not stop the picture

-- --------------------------------------------------------------- finding it

local function lines(...)
    local file = io.open(string.format(...))
    if not file then return function() end end
    return function()
        local line = file:read()
        if not line then file:close() end
        return line
    end
end

-- The parent of a process: the supervisor, of a worker.
local function parent(pid)
    for line in lines("/proc/%d/status", pid) do
        local found = line:match "^PPid:%s+(%d+)"
        if found then return found end
    end
end

local function add_paths(list, pid, mine)
    for line in lines("/proc/%d/net/unix", pid) do
        local flags, inode, path = line:match "^%x+: %x+ %x+ (%x+) %x+ %x+ +(%d+) (.+)$"
        if inode and mine[inode] and tonumber(flags, 16) & 0x10000 ~= 0 then
            list[#list + 1] = path:find "^/" and path or ("/proc/%d/cwd/%s"):format(pid, path)
        end
    end
end

-- The kernel prints an address as words in its own order of bytes.
local function host_of(hex)
    local bytes = hex:gsub("%x%x%x%x%x%x%x%x", function(w) return string.pack("=I4", tonumber(w, 16)) end)
    if #bytes == 4 then
        return bytes == "\0\0\0\0" and "127.0.0.1" or ("%d.%d.%d.%d"):format(bytes:byte(1, 4))
    end
    if bytes == ("\0"):rep(16) then return "[::1]" end
    return "[" .. bytes:gsub("..", function(w) return ("%x:"):format((string.unpack(">I2", w))) end)
        :sub(1, -2) .. "]"
end

local function add_ports(list, pid, mine, name)
    local known = {}
    for line in lines("/proc/%d/net/%s", pid, name) do
        local hex, port, state, inode =
            line:match "^ *%d+: (%x+):(%x+) %x+:%x+ (%x+) %S+ %S+ %S+ +%d+ +%d+ (%d+)"
        if inode and mine[inode] and state == "0A" then
            local address = ("%s:%d"):format(host_of(hex), tonumber(port, 16))
            if not known[address] then list[#list + 1] = address end
            known[address] = true
        end
    end
end

local function addresses(pid)
    local list, mine = {}, net.sockets(pid)
    add_paths(list, pid, mine)
    add_ports(list, pid, mine, "tcp")
    add_ports(list, pid, mine, "tcp6")
    return list
end

-- ------------------------------------------------------------------- asking

-- A server that answers: {address, client, id}; or nil and what is wrong.
local function attach(address, supervisor)
    local client, text = resp.connect(address, PATIENCE)
    if not client then return nil, text end
    local asked, password = {{"CLIENT", "ID"}, {"CLIENT", "SETNAME", "caret-top"}, {"INFO", "server"}},
        os.getenv "REDISCLI_AUTH"
    if password then table.insert(asked, 1, {"AUTH", password}) end
    local answers
    answers, text = client:ask(table.unpack(asked))
    if answers and (not supervisor or answers[#answers]:match "process_id:(%d+)" == supervisor) then
        return {address = address, client = client, id = answers[#answers - 2]}
    end
    client:close()
    return nil, text or "another server answers there"
end

-- The first that answers of those that have the database open; else nil, and what is wrong if there is one.
local function find(processes)
    local wrong
    for _, p in ipairs(processes) do
        local supervisor = p.alive and p.command:find("caret-server", 1, true) and parent(p.pid)
        for _, address in ipairs(supervisor and addresses(p.pid) or {}) do
            local server, text = attach(address, supervisor)
            if server then return server end
            wrong = wrong or ("%s: %s"):format(address, text)
        end
        if supervisor then
            return nil, wrong or "it can't be seen where it listens; --server says it"
        end
    end
end

-- Numbers of all commands so far, by name.
local function commands_of(text)
    local list = {}
    for name, calls, usec in text:gmatch "cmdstat_([^:\r\n]+):calls=(%d+),usec=(%d+)" do
        list[name] = {calls = tonumber(calls), usec = tonumber(usec)}
    end
    return list
end

local function clients_of(text, id)
    local list = {}
    for line in text:gmatch "[^\n]+" do
        line = line:gsub("%c", "?")
        local n, address, name = line:match "^id=(%d+) addr=(.-) laddr=.- name=(%S*)"
        local age, idle, last = line:match " age=(%d+) idle=(%d+) .* cmd=(%S+)"
        if n and age then
            list[#list + 1] = {id = tonumber(n), address = address, name = name, age = tonumber(age),
                idle = tonumber(idle), command = last, self = tonumber(n) == id}
        end
    end
    table.sort(list, function(a, b)
        if a.self ~= b.self then return b.self end
        if a.idle ~= b.idle then return a.idle < b.idle end
        return a.id < b.id
    end)
    return list
end

-- What was counted between two answers, the commands that took most time first, and all calls per second.
-- Counters that went back (CONFIG RESETSTAT) begin anew.
local function commands_between(before, now, seconds)
    local list, total, none = {}, 0, {calls = 0, usec = 0}
    for name, c in pairs(now) do
        local old = before[name] or none
        if old.calls > c.calls then old = none end
        local calls, usec = c.calls - old.calls, math.max(c.usec - old.usec, 0)
        if calls > 0 then
            list[#list + 1] = {name = name, calls = calls / seconds, usec = usec / calls}
            total = total + calls
        end
    end
    table.sort(list, function(a, b)
        local x, y = a.calls * a.usec, b.calls * b.usec
        if x ~= y then return x > y end
        return a.name < b.name
    end)
    return list, total / seconds
end

--- What the server did in the seconds since this was asked with the same table:
--
--     {address, calls (per second), commands = {{name, calls, usec}, ...},
--      clients = {{id, address, name, age, idle, command, self}, ...}}
--
-- {wrong = text} if there is one that does not tell; nil if there is none.  A server that is asked for the
-- first time has no commands yet.
function serving.sample(state, address, processes, seconds)
    local text
    if not state.server and address then
        state.server, text = attach(address)
        text = text and address .. ": " .. text
    elseif not state.server then
        state.server, text = find(processes)
    end
    if not state.server then return text and {wrong = text} end
    local server = state.server
    local answers
    answers, text = server.client:ask({"INFO", "commandstats"}, {"CLIENT", "LIST"})
    if not answers then
        server.client:close()
        state.server = nil
        return {wrong = ("%s: %s"):format(server.address, text)}
    end
    local s, now = {address = server.address, clients = clients_of(answers[2], server.id)},
        commands_of(answers[1])
    s.commands, s.calls = commands_between(server.before or now, now, seconds)
    server.before = now
    return s
end

return serving
