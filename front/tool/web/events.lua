-- Server-sent events: what goes on to one browser until it leaves.
--
-- A browser has six connections to a server for all windows of a page together, and a stream keeps one.  So a
-- window has a single stream, its line, and all that goes on there is a channel of it:
--
--     GET /api/line                             -> a stream; its first event is "line", {id}
--     GET /api/log?node=^a&line=ID&channel=7    -> {}; its events come by the line
--     event "to", {c = 7, n = name, d = data}   one of them; {c = 7}: it has ended
--     POST /api/line/ID/leave {channel = 7}     the window does not want it any more
--
-- Without `line` such a request is answered by a stream of its own, as for a program that reads one thing.

local http = require "caret.http"
local json = require "tool.web.json"
local refuse = require "tool.web.refuse"

local events = {}
events.__index = events

local channel = {}
channel.__index = channel

local MOST, CHANNELS = 32, 16 -- streams at once; channels of a line
local ALIVE = 15              -- seconds between comments that keep the way open
local FULL = 256 << 10        -- bytes that wait for a browser: what can wait is not sent then

local HEADERS = {["Content-Type"] = "text/event-stream", ["X-Accel-Buffering"] = "no"}

local all, lines = {}, {}

-- -------------------------------------------------------------------- streams

local function new_stream(app)
    if #all >= MOST then -- those that left are gone now, and not in a while
        app.server:sweep()
        for _, other in ipairs(table.move(all, 1, #all, 1, {})) do other:alive() end
    end
    if #all >= MOST then refuse.with("LIMIT", "too many streams: close another page") end
    local self = setmetatable({stream = http.stream()}, events)
    all[#all + 1] = self
    self.stream:write ":\n\n" -- the browser knows at once that it is open
    app.loop:every(ALIVE, function()
        if self.stream:open() then self.stream:write ":\n\n" end
        return self:alive()
    end)
    return self
end

local function left(self)
    if self.over then return end
    self.over = true
    if self.id then lines[self.id] = nil end
    for i, other in ipairs(all) do
        if other == self then
            table.remove(all, i)
            break
        end
    end
end

--- Does anybody read it?
function events:alive()
    if not self.over and not self.stream:open() then left(self) end
    return not self.over
end

--- Does so much wait for the browser that one should wait for it?
function events:full()
    return self.stream:waiting() > FULL
end

--- One event: false when nobody reads it.
function events:send(name, data)
    if self.over then return false end
    if not self.stream:write(("event: %s\ndata: %s\n\n"):format(name, json.encode(data))) then left(self) end
    return not self.over
end

function events:close()
    self.stream:close()
    left(self)
end

--- What a handler returns to have it as the answer.
function events:answer()
    return nil, 200, HEADERS, self.stream
end

-- ------------------------------------------------------------------- channels

local function line_of(id)
    return lines[id] or refuse.with("NOTFOUND", "this line has ended")
end

local function new_channel(line, number)
    if not number or number < 1 then refuse.with("SYNTAX", "a channel has a number") end
    local n = 0
    for _ in pairs(line.channels) do n = n + 1 end
    if n >= CHANNELS or line.channels[number] then
        refuse.with("LIMIT", "too many channels of this window")
    end
    line.channels[number] = setmetatable({line = line, number = number}, channel)
    return line.channels[number]
end

local function leave(self)
    self.over = true
    if self.line.channels[self.number] == self then self.line.channels[self.number] = nil end
end

function channel:alive()
    return not self.over and self.line:alive()
end

function channel:full()
    return self.line:full()
end

function channel:send(name, data)
    return not self.over and self.line:send("to", {c = self.number, n = name, d = data})
end

function channel:close()
    if not self.over then self.line:send("to", {c = self.number}) end
    leave(self)
end

function channel:answer()
    return {channel = self.number}
end

-- ------------------------------------------------------------------- requests

--- What goes on from now, for the browser of this request: send(name, data), alive(), full(), close(),
-- answer().
function events.new(app, request)
    local query = request.query
    if not query.line then return new_stream(app) end
    return new_channel(line_of(query.line), math.tointeger(tonumber(query.channel)))
end

--- GET /api/line
function events.open(app)
    local self = new_stream(app)
    self.id, self.channels = http.random(16), {}
    lines[self.id] = self
    self:send("line", {id = self.id})
    return self:answer()
end

--- POST /api/line/ID/leave
function events.leave(_, request)
    local found = line_of(request.id).channels[request.data.channel]
    if found then leave(found) end
    return {}
end

return events
