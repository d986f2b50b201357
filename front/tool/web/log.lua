-- The log as it comes, for one browser: a few changes at a time, four times a second.

local events = require "tool.web.events"
local json = require "tool.web.json"
local keys = require "tool.web.keys"
local nodes = require "tool.lib.nodes"
local refuse = require "tool.web.refuse"

local log = {}

local EVERY, MOST, SKIPPED = 0.25, 200, 5000 -- seconds; changes told, and passed over, in one event

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

-- What was too slow begins anew after the last commit; true: it goes on.
local function reopen(job, name)
    if name ~= "NOTFOUND" then return false end
    job.raw:close()
    job.raw = job.inspect:log(-1)
    return job.raw ~= nil
end

local function batch(job)
    local list, skipped, lost, place = json.list(), 0, false, nil
    while skipped < SKIPPED do
        local change = table.pack(job.raw:next(job.node))
        if not change[1] then
            lost = change[2] ~= nil
            if lost and not reopen(job, change[3]) then return nil, change[2] end
            break
        end
        place = change[1]
        if #list < MOST then
            list[#list + 1] = change_of(table.unpack(change, 1, change.n))
        else
            skipped = skipped + 1
        end
    end
    return {list = list, skipped = skipped, lost = lost, place = place or json.null}
end

local function tick(job)
    if not job.stream:alive() then
        job.raw:close()
        return false
    end
    local data, wrong = batch(job)
    if not data then
        job.stream:send("failed", {name = "IO", text = wrong})
        job.stream:close()
        return false
    end
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
    app.loop:every(EVERY, function() return tick(job) end)
    tick(job)
    return job.stream:answer()
end

return log
