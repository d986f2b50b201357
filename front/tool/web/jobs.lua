-- What takes long, each in a process of its own: check, usage, room, count, backup, 3n+1.

local events = require "tool.web.events"
local child = require "tool.web.child"
local http = require "caret.http"
local json = require "tool.web.json"
local keys = require "tool.web.keys"
local refuse = require "tool.web.refuse"

local jobs = {}

local RUNNING, KEPT = 4, 32 -- at once; that are remembered

local function whole(value, least, most, what)
    local n = math.tointeger(value)
    if not n or n < least or n > most then
        refuse.with("SYNTAX", ("%s is a whole number from %d to %d"):format(what, least, most))
    end
    return n
end

-- What a kind of job needs of the request; raises what is wrong.
local KINDS = {
    check = function() return {}, "check" end,
    usage = function() return {}, "room by global" end,
    count = function(app, data)
        local node = tostring((keys.node(app.db, data.node)))
        return {node = node}, "nodes of " .. node
    end,
    space = function(app, data)
        local text = data.node
        local node = type(text) == "string" and text ~= "" and tostring((keys.node(app.db, text)))
        return {node = node or nil, depth = whole(data.depth or 2, 1, 3, "depth")},
            "room below " .. (node or "all globals")
    end,
    backup = function(app, data)
        app:check_write()
        if type(data.to) ~= "string" or data.to:sub(1, 1) ~= "/" or data.to:find "%z" then
            refuse.with("SYNTAX", "a backup goes to a path of the server that begins with /")
        end
        return {to = data.to, compact = data.compact == true, overwrite = data.overwrite == true},
            "backup to " .. data.to
    end,
    ["3n1"] = function(_, data)
        return {n = whole(data.n, 1, 10000000, "n"), w = whole(data.w, 1, 32, "w")}, "3n+1 to " .. data.n
    end,
}

-- ------------------------------------------------------------------ one job

local function tell(job, name, data)
    for i = #job.listeners, 1, -1 do
        if not job.listeners[i]:send(name, data) then table.remove(job.listeners, i) end
    end
end

local function finish(job, state, name, data)
    if job.state ~= "running" then return end
    job.state, job.last = state, {name, data}
    tell(job, name, data)
    for _, listener in ipairs(job.listeners) do listener:close() end
    job.listeners = {}
end

local function start(app, job, request)
    request.path, request.readonly, request.kind = app.db:path(), app.inspect == nil, nil
    job.process = child.worker(app, job.kind, request, {
        told = function(data)
            if data.progress then
                job.progress = data.progress
                tell(job, "progress", data.progress)
            elseif data.failed then
                finish(job, job.cancelled and "cancelled" or "failed", "failed", data.failed)
            elseif data.done then finish(job, "done", "done", data.done)
            end
        end,
        text = function(text)
            job.text = ((job.text or "") .. text):sub(-2000)
        end,
        ended = function()
            local state = job.cancelled and "cancelled" or "failed"
            finish(job, state, "failed", {name = job.cancelled and "CANCELLED" or "ENDED",
                text = job.cancelled and "it was stopped" or "its process ended: " .. (job.text or "")})
        end,
    })
end

-- ------------------------------------------------------------------ requests

local function find(app, id)
    for _, job in ipairs(app.jobs) do
        if job.id == id then return job end
    end
    refuse.with("NOTFOUND", "there is no such job any more")
end

local function running(app)
    local n = 0
    for _, job in ipairs(app.jobs) do
        if job.state == "running" then n = n + 1 end
    end
    return n
end

local function forget_old(app)
    for i = #app.jobs, 1, -1 do
        if #app.jobs > KEPT and app.jobs[i].state ~= "running" then table.remove(app.jobs, i) end
    end
end

--- POST /api/jobs
function jobs.start(app, request)
    local kind = KINDS[request.data.kind]
    if not kind then refuse.with("SYNTAX", "there is no job of that kind") end
    local what, title = kind(app, request.data)
    if running(app) >= RUNNING then refuse.with("LIMIT", "too many jobs run: stop one, or wait") end
    local job = {id = http.random(8), kind = request.data.kind, title = title, state = "running",
        listeners = {}}
    start(app, job, what)
    table.insert(app.jobs, 1, job)
    forget_old(app)
    return {id = job.id}
end

--- GET /api/jobs
function jobs.list(app)
    local list = json.list()
    for i, job in ipairs(app.jobs) do
        list[i] = {id = job.id, kind = job.kind, title = job.title, state = job.state}
    end
    return {jobs = list}
end

--- GET /api/jobs/ID: what was told last, and what will be.
function jobs.follow(app, request)
    local job = find(app, request.id)
    local stream = events.new(app, request)
    if job.progress then stream:send("progress", job.progress) end
    if job.state == "running" then
        table.insert(job.listeners, stream)
    else
        stream:send(job.last[1], job.last[2])
        stream:close()
    end
    return stream:answer()
end

--- POST /api/jobs/ID/cancel
function jobs.cancel(app, request)
    local job = find(app, request.id)
    job.cancelled = true
    job.process:kill(15)
    app.loop:every(10, function() -- what does not look at signals
        job.process:kill(9)
        return false
    end)
    return {state = job.state}
end

--- The server ends: they do, too.
function jobs.finish(app, deadline)
    for _, job in ipairs(app.jobs) do job.process:finish(deadline) end
end

return jobs
