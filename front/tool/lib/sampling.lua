-- What a database does per second: one look, and what happened since the one before.

local host = require "caret.host"
local serving = require "tool.lib.serving"

local sampling = {}
sampling.__index = sampling

sampling.COUNTERS = {"gets", "sets", "commits", "restarts", "lock_waits", "flushes", "checkpoints", "repairs"}

local SAMPLE = 500000 -- changes looked at for the hottest globals; more are not counted
local WINDOW = 3      -- seconds for which gets by global are averaged

-- Counters by process: one that ended and came again under its pid begins anew.
local function read_processes(handle)
    local by_key, list = {}, handle:processes()
    for _, p in ipairs(list) do by_key[("%d %.6f"):format(p.pid, p.opened)] = p end
    return by_key
end

local function rates(before, now, seconds)
    local list, total = {}, {}
    for _, name in ipairs(sampling.COUNTERS) do total[name] = 0 end
    for key, p in pairs(now) do
        local row, old = {pid = p.pid, command = p.command, alive = p.alive, self = p.self, opened = p.opened,
            snapshot = p.snapshot}, before[key]
        for _, name in ipairs(sampling.COUNTERS) do
            row[name] = (p[name] - (old and old[name] or 0)) / seconds
            total[name] = total[name] + row[name]
        end
        list[#list + 1] = row
    end
    table.sort(list, function(a, b)
        local x, y = a.gets + a.sets, b.gets + b.sets
        if x ~= y then return x > y end
        return a.pid < b.pid
    end)
    return list, total
end

local function read_collisions(handle)
    local list = handle:collisions()
    for _, c in ipairs(list) do list[c.name] = c.count end
    return list
end

-- Where transactions collided since the last time, most first.  One that was forgotten meanwhile, and came
-- again, begins anew.
local function new_collisions(before, now, seconds)
    local list = {}
    for _, c in ipairs(now) do
        local old = before[c.name] or 0
        local n = c.count >= old and c.count - old or c.count
        if n > 0 then
            list[#list + 1] = {name = c.name, above = c.above, restarts = n / seconds, count = c.count,
                pid = c.pid}
        end
    end
    table.sort(list, function(a, b)
        if a.restarts ~= b.restarts then return a.restarts > b.restarts end
        return a.name < b.name
    end)
    return list
end

-- Gets by global, as they are told now.
local function read_readings(handle)
    local counts = {clock = host.clock()}
    for _, r in ipairs(handle:readings()) do counts[r.name] = r.gets end
    return counts
end

-- Gets by global per second, in the last WINDOW seconds: they are told some hundreds at a time.
local function new_readings(self)
    local looks, now, rates_of = self.read, read_readings(self.handle), {}
    while looks[2] and looks[2].clock <= now.clock - WINDOW do table.remove(looks, 1) end
    local old = looks[1]
    for name, count in pairs(now) do
        local before = name ~= "clock" and old[name] or 0
        if name ~= "clock" and count ~= before then
            local n = count > before and count - before or count -- one that was forgotten begins anew
            rates_of[name] = n / math.max(now.clock - old.clock, 1e-3)
        end
    end
    looks[#looks + 1] = now
    return rates_of
end

local function follow(handle)
    local log, text = handle:log(-1)
    if not log then error(text, 0) end
    return log
end

-- Changes by global since the last time, and whether all were counted.  What could not be looked at is taken
-- to have the same shares.
local function new_changes(self, seconds, sets, most)
    local counts, rates_of = {}, {}
    local n = self.log:count(counts, most)
    if not n or n == most then
        self.log:close()
        self.log = follow(self.handle)
    end
    local complete = n ~= nil and n < most
    local factor = complete and 1 / seconds or math.max(sets, most / seconds) / most
    for name, count in pairs(counts) do rates_of[name] = count * factor end
    return rates_of, complete
end

-- Globals that are changed or read, most changes first, then most gets; whether all changes were counted.
local function hot_globals(self, seconds, sets, most)
    local changes, complete = new_changes(self, seconds, sets, most)
    local gets, list = new_readings(self), {}
    for name, rate in pairs(changes) do
        list[#list + 1] = {name = name, changes = rate, gets = gets[name] or 0}
    end
    for name, rate in pairs(gets) do
        if not changes[name] then list[#list + 1] = {name = name, changes = 0, gets = rate} end
    end
    table.sort(list, function(a, b)
        if a.changes ~= b.changes then return a.changes > b.changes end
        if a.gets ~= b.gets then return a.gets > b.gets end
        return a.name < b.name
    end)
    return list, complete
end

--- What the server of Redis' protocol does, if there is one: see serving.sample().
function sampling:ask_server(seconds)
    return serving.sample(self.serving, self.address, self.handle:processes(), seconds)
end

--- {seconds, stat, processes, rates, globals, globals_complete, collisions, log_lag, checkpoint_lag, server}.
-- options:
-- server = false: it is not asked; changes = so many are looked at.
function sampling:sample(options)
    options = options or {}
    local clock, now = host.clock(), read_processes(self.handle)
    local seconds = math.max(clock - self.clock, 1e-3)
    local stat = self.db:stat()
    local s = {seconds = seconds, stat = stat}
    s.processes, s.rates = rates(self.before, now, seconds)
    s.globals, s.globals_complete = hot_globals(self, seconds, s.rates.sets, options.changes or SAMPLE)
    local collided = read_collisions(self.handle)
    s.collisions = new_collisions(self.collided, collided, seconds)
    s.log_lag, s.checkpoint_lag = stat.log_head - stat.log_durable, stat.log_head - stat.checkpoint_lsn
    if options.server ~= false then s.server = self:ask_server(seconds) end
    self.clock, self.before, self.collided = clock, now, collided
    return s
end

function sampling:close()
    self.log:close()
    if self.serving.server then self.serving.server.client:close() end
end

--- handle: of inspect.open(); address: where the server is, nil: it is found.
function sampling.new(db, handle, address)
    return setmetatable({db = db, handle = handle, address = address, serving = {}, log = follow(handle),
        clock = host.clock(), before = read_processes(handle), collided = read_collisions(handle),
        read = {read_readings(handle)}}, sampling)
end

return sampling
