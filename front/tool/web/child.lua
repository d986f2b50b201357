-- A child process of the server, which tells what it does on its standard output.
--
-- A worker (worker.lua, talker.lua) is this program again.  What it tells stands between \30 and \31, as
-- JSON; all else on its output is text that a user's program printed.  It dies with the server.

local host = require "caret.host"
local http = require "caret.http"
local programs = require "caret.programs"
local json = require "tool.web.json"

local child = {}
child.__index = child

local MOST = 32 << 20 -- bytes of one message
local PATIENCE = 10   -- seconds to end after its output has ended

local function emit(self, text)
    if text ~= "" and self.text then self.text(text) end
end

-- What came so far, in pieces: text(t), and told(data) for messages.  A program may print \30, too: the last
-- one before \31 begins the message.
local function take(self)
    local to = self.input:find("\31", 1, true)
    while to do
        local before, message = self.input:sub(1, to - 1):match "^(.*)\30(.*)$"
        local data = message and json.decode(message)
        emit(self, data and before or self.input:sub(1, to))
        self.input = self.input:sub(to + 1)
        if data and self.told then self.told(data) end
        to = self.input:find("\31", 1, true)
    end
    local from = self.input:find("\30", 1, true) or #self.input + 1
    emit(self, self.input:sub(1, from - 1))
    self.input = self.input:sub(from)
end

-- A message comes in pieces, which are put together when its end is there.
local function add(self, bytes)
    table.insert(self.pieces, bytes)
    self.size = self.size + #bytes
    if self.size > MOST then self:destroy() end
    if self.pieces[2] and not bytes:find("\31", 1, true) then return end
    self.input = table.concat(self.pieces)
    take(self)
    self.pieces, self.size = self.input ~= "" and {self.input} or {}, #self.input
end

--- It reads the end of its input, when it has done what it does.
function child:hang_up()
    if self.into then http.close(self.into) end
    self.into = nil
end

-- Its output has ended: it will, too.
local function reap(self)
    self.app.loop:unwatch(self.out)
    http.close(self.out)
    self:hang_up()
    local deadline = host.clock() + PATIENCE
    local function look()
        local how, number = host.wait(self.pid, false)
        if how then
            self.pid = nil
            self.ended(how, number)
            return false
        end
        if host.clock() > deadline then self:destroy() end
        return true
    end
    if look() then self.app.loop:every(0.05, look) end
end

local function read(self)
    local bytes = http.read(self.out)
    if not bytes then return end
    if bytes == "" then return reap(self) end
    add(self, bytes)
end

-- What its pipe has room for; is there more?  nil: nobody reads it.
local function flush(self)
    local n = self.into and http.write(self.into, self.unsent)
    self.unsent = n and self.unsent:sub(n + 1) or ""
    return n and self.unsent ~= ""
end

--- Send it bytes; false: it does not read what was sent before, or has ended.
function child:send(text)
    if not self.into or self.unsent ~= "" then return false end
    self.unsent = text
    local more = flush(self)
    if more then self.app.loop:every(0.02, function() return flush(self) end) end
    return more ~= nil
end

function child:kill(signal)
    if self.pid then host.kill(self.pid, signal) end
end

--- As Ctrl-C at a terminal: it, and what it started and waits for.
function child:interrupt()
    if self.pid then host.kill(-self.pid, 2) end
end

--- It ends at once, and what it started.
function child:destroy()
    if self.pid then programs.kill(self.pid) end
end

--- Have it end, and wait for that: it closes its database before this process closes its own.
function child:finish(deadline)
    local pid = self.pid
    if not pid then return end
    host.kill(pid, 15)
    while not host.wait(pid, false) do
        if host.clock() > deadline then programs.kill(pid) end
        programs.nap(0.01)
    end
    self.pid = nil
end

--- Wait for what it tells, so many seconds at most.
function child:pump(seconds)
    if self.into and host.await(self.out, seconds) then read(self) end
end

--- Start {program, argument, ...}: told(data), text(t), ended(how, number) are called from the loop.
function child.start(app, command, handlers, env)
    local their_in, into = http.pipe()
    local out, their_out = http.pipe()
    local path = "/proc/self/fd/%d"
    local self = setmetatable({app = app, pieces = {}, size = 0, unsent = "", out = out, into = into,
        told = handlers.told, text = handlers.text, ended = handlers.ended}, child)
    self.pid = programs.start(command, {input = path:format(their_in), out = path:format(their_out),
        err = path:format(their_out), env = env})
    http.close(their_in)
    http.close(their_out)
    http.nonblock(out)
    http.nonblock(into)
    app.loop:watch(out, function() read(self) end)
    return self
end

--- Start this program again as a worker of that kind, or as a talker of a language.
function child.worker(app, kind, request, handlers, language)
    local option = kind and "--worker" or "--talker"
    local self = child.start(app, {"/proc/self/exe", "web", option, kind or language}, handlers)
    self:send(json.encode(request) .. "\n")
    return self
end

return child
