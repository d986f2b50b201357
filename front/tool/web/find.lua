-- Find a text in keys and values, while the page shows what came so far.
--
-- All nodes below one, or all globals, are gone through in slices between requests; the browser stops it by
-- leaving.

local host = require "caret.host"
local events = require "tool.web.events"
local keys = require "tool.web.keys"
local refuse = require "tool.web.refuse"

local find = {}

local SLICE, TELL = 0.004, 0.25 -- seconds of work between requests; between events
local SLOW = 0.1                -- seconds between looks at a browser that does not take what was found
local LOOKS, HEAVY = 64, 4096   -- nodes between looks at the clock; bytes of a value that count as one
local MOST = 10000              -- hits

-- How to look: a function of a text -> where the wanted one begins, or nil.
local function matcher(text, exact)
    if exact then
        return function(s) return s:find(text, 1, true) end
    end
    text = text:lower()
    return function(s) return s:lower():find(text, 1, true) end
end

local function unquoted(name)
    return (name:gsub('""', '"'))
end

-- Where it is in the node: "key" or "value", and the byte; nil: it is not.
local function look(job, name, value)
    if job.keys and (job.match(name) or job.match(unquoted(name))) then return "key", 0 end
    local at = job.values and value and job.match(value)
    if at then return "value", at - 1 end
    return nil
end

local function tell(job)
    return job.stream:send("progress", {done = job.done, at = job.at, hits = job.hits})
end

local function examine(job, name, value)
    job.done, job.at = job.done + 1, name
    job.looked = job.looked + 1 + #(value or "") // HEAVY
    local where, at = look(job, name, value)
    if where then
        job.hits = job.hits + 1
        job.stream:send("hit", {zwr = name, value = keys.value(value), ["in"] = where, at = at})
    end
    if job.looked >= LOOKS or where then
        job.looked = 0
        if host.clock() > job.until_ or job.stream:full() then coroutine.yield() end
    end
    return job.hits < job.limit
end

local function walk_node(job, node)
    local value = node:__get()
    if value and not examine(job, tostring(node), value) then return false end
    for child, v in node:__walk() do
        if v and not examine(job, tostring(child), v) then return false end
    end
    return true
end

local function walk(app, job)
    if job.node then return walk_node(job, job.node) end
    for name in app.db:variables() do
        if not walk_node(job, app.db.node(name)) then return false end
    end
    return true
end

-- Go on when the browser has taken what was found.
local function wait(app, job, step)
    app.loop:every(SLOW, function()
        if job.stream:alive() and job.stream:full() then return true end
        app.loop:later(function() return step(app, job) end)
        return false
    end)
    return false
end

local function step(app, job)
    if not job.stream:alive() then return false end
    if job.stream:full() then return wait(app, job, step) end
    job.until_ = host.clock() + SLICE
    local ok, complete = coroutine.resume(job.work)
    if not ok then
        local wrong = refuse.from(complete) or {name = "INTERNAL", text = tostring(complete)}
        job.stream:send("failed", {name = wrong.name, text = wrong.text})
    elseif coroutine.status(job.work) == "dead" then
        job.stream:send("done", {hits = job.hits, done = job.done, complete = complete})
    else
        if host.clock() > job.told + TELL then
            job.told = host.clock()
            return tell(job)
        end
        return true
    end
    job.stream:close()
    return false
end

--- GET /api/find
function find.start(app, request)
    local q = request.query
    local text, where = q.text or "", q["in"] or "keys,values"
    if text == "" then refuse.with("SYNTAX", "there is nothing to find") end
    local job = {match = matcher(text, q.case == "1"), keys = where:find "key", values = where:find "value",
        node = q.node and q.node ~= "" and keys.node(app.db, q.node) or nil, done = 0, looked = 0, hits = 0,
        at = "", limit = math.min(math.tointeger(tonumber(q.limit)) or 1000, MOST), told = 0}
    job.stream = events.new(app, request)
    job.work = coroutine.create(function() return walk(app, job) end)
    app.loop:later(function() return step(app, job) end)
    return job.stream:answer()
end

return find
