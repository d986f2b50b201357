-- Server-sent events: what goes on to one browser until it leaves.

local http = require "caret.http"
local json = require "tool.web.json"
local refuse = require "tool.web.refuse"

local events = {}
events.__index = events

local MOST = 32 -- streams at once
local ALIVE = 15 -- seconds between comments that keep the way open

local HEADERS = {["Content-Type"] = "text/event-stream", ["X-Accel-Buffering"] = "no"}

local count, all = 0, {}

--- A new stream; gone() is called once when nobody reads it any more.
function events.new(app, gone)
    if count >= MOST then -- those that left are gone now, and not in a while
        app.server:sweep()
        for _, other in ipairs(table.move(all, 1, #all, 1, {})) do other:alive() end
    end
    if count >= MOST then refuse.with("LIMIT", "too many streams: close another page") end
    count = count + 1
    local self = setmetatable({stream = http.stream(), gone = gone}, events)
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
    self.over, count = true, count - 1
    for i, other in ipairs(all) do
        if other == self then
            table.remove(all, i)
            break
        end
    end
    if self.gone then self.gone() end
end

--- Does anybody read it?
function events:alive()
    if not self.over and not self.stream:open() then left(self) end
    return not self.over
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

return events
