-- The loop of `caret web`: requests, children, and what is done in slices or at a time.
--
-- One thread.  What is long is a child process or a function that is called again and again
-- (later), which takes some milliseconds each time.  What nobody waits for (idle) waits for QUIET seconds
-- after a request, as a page asks several things in a row; but it is called each LONGEST seconds in any case.
-- Without a request, a child or a timer the loop sleeps.

local host = require "caret.host"
local http = require "caret.http"

local loop = {}
loop.__index = loop

local SWEEP = 5 -- seconds between looks for connections that dawdle, at most
local QUIET, LONGEST = 0.015, 0.05

--- patience: seconds that a request may take to come.
function loop.new(patience)
    return setmetatable({epoll = http.epoll(), readers = {}, tasks = {}, idlers = {}, timers = {}, asked = 0,
        worked = 0, sweep = math.min(patience, SWEEP)}, loop)
end

--- f() is called between requests until it returns false.
function loop:later(f)
    self.tasks[#self.tasks + 1] = f
end

--- Likewise, while no requests come.
function loop:idle(f)
    self.idlers[#self.idlers + 1] = f
end

--- f() is called when that descriptor can be read.
function loop:watch(fd, f)
    self.readers[fd] = f
    http.epoll_add(self.epoll, fd)
end

function loop:unwatch(fd)
    self.readers[fd] = nil
    http.epoll_drop(self.epoll, fd)
end

--- f() is called each so many seconds until it returns false.
function loop:every(seconds, f)
    self.timers[#self.timers + 1] = {at = host.clock() + seconds, seconds = seconds, f = f}
end

-- Seconds until those for idle times may go on.
local function rest(self, now)
    return math.max(0, math.min(self.asked + QUIET, self.worked + LONGEST) - now)
end

local function run_list(self, name)
    local list = self[name]
    self[name] = {}
    for _, f in ipairs(list) do
        if f() then table.insert(self[name], f) end
    end
end

local function run_tasks(self)
    if #self.tasks > 0 then run_list(self, "tasks") end
    if #self.idlers > 0 and rest(self, host.clock()) == 0 then
        run_list(self, "idlers")
        self.worked = host.clock()
    end
end

local function run_timers(self)
    local now, timers = host.clock(), self.timers
    self.timers = {}
    for _, t in ipairs(timers) do
        local goes_on = true
        if t.at <= now then
            goes_on = t.f()
            t.at = math.max(t.at + t.seconds, now)
        end
        if goes_on then self.timers[#self.timers + 1] = t end
    end
end

-- Seconds to sleep at most; nil: until something comes.
local function patience(self, wanted)
    if #self.tasks > 0 then return 0 end
    local least, now = wanted, host.clock()
    if #self.idlers > 0 then least = math.min(least or math.huge, rest(self, now)) end
    for _, t in ipairs(self.timers) do
        least = math.min(least or math.huge, math.max(t.at - now, 0))
    end
    return least
end

--- Serve until a signal comes.
function loop:run(server)
    self:watch(server:fd(), function() self.asked = host.clock() end)
    local swept, connections = host.clock(), 0
    while not host.interrupted() do
        local wanted = server:run()
        if host.clock() - swept > self.sweep then
            connections, swept = server:sweep(), host.clock()
        end
        if connections > 0 then wanted = math.min(wanted or self.sweep, self.sweep) end
        if host.await(self.epoll, patience(self, wanted)) then
            for _, fd in ipairs(http.epoll_list(self.epoll)) do
                local f = self.readers[fd]
                if f then f() end
            end
            if connections == 0 then connections = 1 end
        end
        run_tasks(self)
        run_timers(self)
    end
end

return loop
