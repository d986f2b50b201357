-- The log as it comes, for one browser: a few changes at a time, twice a second.  If many more have come, the
-- rest is passed over, and the next half second too: it goes on after the last commit, so that it tells what
-- happens now, and looking costs little however much is changed.  Each event has the place to go on from; the
-- first, which tells no changes, comes when all that is committed then will be told.

local events = require "tool.web.events"
local json = require "tool.web.json"
local keys = require "tool.web.keys"
local nodes = require "tool.lib.nodes"
local refuse = require "tool.web.refuse"

local log = {}

local EVERY, MOST, SKIPPED = 0.5, 200, 2000 -- seconds; changes told, and counted, in one event

-- Flags of caret_kill_range().
local PREFIX, BEFORE, FROM_STRING, TO_STRING = 1, 2, 4, 8

local function bound(text, string)
    if string or not text:find "^%-?%d*%.?%d+$" then return nodes.zwr(text) end
    return text
end

local function range_text(from, to, flags)
    local list = {}
    if from then
        local prefix = flags & PREFIX ~= 0
        list[1] = (prefix and "prefix=" or "from=") .. bound(from, prefix or flags & FROM_STRING ~= 0)
    end
    if to then
        list[#list + 1] = (flags & BEFORE ~= 0 and "before=" or "to=") .. bound(to, flags & TO_STRING ~= 0)
    end
    return table.concat(list, " ")
end

local function change_of(place, index, count, kind, node, value, length, from, to, flags)
    return {lsn = place, index = index, count = count, kind = kind, node = node, value = keys.value(value),
        length = length, range = flags and range_text(from, to, flags) or json.null}
end

-- Begin anew after the last commit; true: it goes on.
local function reopen(job)
    job.raw:close()
    job.raw = job.inspect:log(-1)
    return job.raw ~= nil
end

-- The next change as a table; true: there is one, and it is not wanted; nil: there is none, or text and name
-- of what is wrong.
local function step(job, wanted)
    if wanted then
        local change = table.pack(job.raw:next(job.node))
        if change[1] then return change_of(table.unpack(change, 1, change.n)) end
        return nil, change[2], change[3]
    end
    local place, text, name = job.raw:next(job.node)
    if place then return true end
    return nil, text, name
end

local function batch(job)
    local list, skipped = json.list(), 0
    local function answer(lost)
        return {list = list, skipped = skipped, lost = lost, place = job.raw:place()}
    end
    while skipped < SKIPPED do
        local change, text, name = step(job, #list < MOST)
        if not change and not text then return answer(false) end
        if not change then -- it was overwritten before it was read
            if name ~= "NOTFOUND" or not reopen(job) then return nil, text end
            return answer(true)
        end
        if change ~= true then list[#list + 1] = change else skipped = skipped + 1 end
    end
    if not reopen(job) then return nil, "the log can't be read" end
    return answer(true)
end

local function tick(job)
    if not job.stream:alive() then
        job.raw:close()
        return false
    end
    if job.rests then
        job.rests = false
        return true
    end
    local data, wrong = batch(job)
    if not data then
        job.stream:send("failed", {name = "IO", text = wrong})
        job.stream:close()
        return false
    end
    job.rests = data.lost
    if #data.list > 0 or data.lost then return job.stream:send("changes", data) end
    return true
end

--- GET /api/log
function log.follow(app, request)
    local inspect = app:check_inspect "changes"
    local q = request.query
    local node = q.node and q.node ~= "" and tostring((keys.node(app.db, q.node))) or nil
    local raw, text, name = inspect:log(math.tointeger(tonumber(q.from)) or -1)
    if not raw then refuse.with(name, (text:gsub("^%u+: ", ""))) end
    local job = {raw = raw, node = node, inspect = inspect, stream = events.new(app, request)}
    job.stream:send("changes", {list = json.list(), skipped = 0, lost = false, place = raw:place()})
    app.loop:every(EVERY, function() return tick(job) end)
    tick(job)
    return job.stream:answer()
end

return log
