-- Live figures: rates, processes, globals, hot nodes, locks as a graph, the server of Redis' protocol.
--
-- One sample is taken for all browsers that look, as often as the most eager of them wants, and none while
-- nobody looks.  What is looked at in a sample is bounded, so that a database under load costs no more to
-- watch.

local host = require "caret.host"
local events = require "tool.web.events"
local json = require "tool.web.json"
local sampling = require "tool.lib.sampling"

local live = {}

local CHANGES = 5000      -- looked at in a sample for the globals
local NODES = 2000        -- and for the nodes
local HOT, LOCKS = 20, 500 -- told
local PAUSE = 30          -- seconds that a server of Redis' protocol is left alone when it did not answer

-- ------------------------------------------------------------------ hot nodes

local function reopen(state, inspect)
    if state.nodes then state.nodes:close() end
    state.nodes = inspect:log(-1)
end

-- How often each was changed since the last time; how many changes that are, and whether they are all.  A log
-- that is written faster than it is looked at is lost: then it goes on from the newest, once.
local function count_nodes(state, inspect)
    local counts, n, complete = {}, 0, true
    if not state.nodes then reopen(state, inspect) end
    while state.nodes and n < NODES do
        local place, wrong, _, _, node = state.nodes:next()
        if place then
            counts[node], n = (counts[node] or 0) + 1, n + 1
        elseif wrong and complete then
            complete = false
            reopen(state, inspect)
        else
            break
        end
    end
    if n == NODES then
        complete = false
        reopen(state, inspect) -- the rest is left out
    end
    return counts, n, complete
end

-- Changes per second; what could not be looked at is taken to have the same shares.
local function hot_nodes(state, inspect, sample)
    local list, counts, looked, complete = {}, count_nodes(state, inspect)
    local factor = 1 / sample.seconds
    if not complete then factor = math.max(sample.rates.sets / math.max(looked, 1), factor) end
    for node, n in pairs(counts) do list[#list + 1] = {node = node, changes = n * factor} end
    table.sort(list, function(a, b)
        if a.changes ~= b.changes then return a.changes > b.changes end
        return a.node < b.node
    end)
    return json.list(table.move(list, 1, HOT, 1, {}))
end

-- ---------------------------------------------------------------------- locks

-- Does a lock on the one name stand in the way of the other?  One is the other, or above it.
local function related(a, b)
    if a == b then return true end
    if #a > #b then a, b = b, a end
    local beginning = a:sub(-1) == ")" and a:sub(1, -2) .. "," or a .. "("
    return b:sub(1, #beginning) == beginning
end

local function sessions_of(locks)
    local list, by_key = json.list(), {}
    for _, lock in ipairs(locks) do
        local key = ("%d %d"):format(lock.pid, lock.session)
        if not by_key[key] then
            list[#list + 1] = {pid = lock.pid, session = lock.session, command = lock.command,
                alive = lock.alive}
            by_key[key] = #list - 1
        end
        lock.owner = by_key[key]
    end
    return list
end

local function edges_of(locks)
    local edges, known = json.list(), {}
    for _, waiter in ipairs(locks) do
        for _, holder in ipairs(waiter.waits and locks or {}) do
            local key = waiter.owner << 32 | holder.owner
            if not holder.waits and holder.owner ~= waiter.owner and not known[key]
                and related(waiter.name, holder.name) then
                known[key] = true
                edges[#edges + 1] = {from = waiter.owner, to = holder.owner, name = waiter.name}
            end
        end
    end
    return edges
end

-- Rings among the edges: each once, from its lowest session on.
local function rings_of(edges)
    local rings, to = json.list(), {}
    for _, e in ipairs(edges) do
        to[e.from] = to[e.from] or {}
        table.insert(to[e.from], e.to)
    end
    local function follow(first, at, path, on_path)
        for _, following in ipairs(to[at] or {}) do
            if following == first then
                rings[#rings + 1] = json.list(table.move(path, 1, #path, 1, {}))
            elseif following > first and not on_path[following] and #path < 16 and #rings < 8 then
                on_path[following] = true
                path[#path + 1] = following
                follow(first, following, path, on_path)
                path[#path], on_path[following] = nil, nil
            end
        end
    end
    for first in pairs(to) do follow(first, first, {first}, {[first] = true}) end
    return rings
end

-- Those that are told: what somebody waits for, and those that wait, before the others.
local function first_locks(all)
    local locks, others = json.list(), {}
    for _, lock in ipairs(all) do
        local list = (lock.waits or (lock.waiting or 0) > 0) and locks or others
        if #list < LOCKS then list[#list + 1] = lock end
    end
    return table.move(others, 1, LOCKS - #locks, #locks + 1, locks)
end

local function add_locks(sample, inspect)
    local all = inspect:locks()
    local locks = first_locks(all)
    sample.locks, sample.locks_in_all = locks, #all
    sample.sessions = sessions_of(locks)
    sample.edges = edges_of(locks)
    sample.rings = rings_of(sample.edges)
end

-- --------------------------------------------------------------------- server

local function slow_of(server)
    local answers = server.client:ask {"SLOWLOG", "GET", "20"}
    local list = json.list()
    for _, entry in ipairs(answers and type(answers[1]) == "table" and answers[1] or {}) do
        list[#list + 1] = {id = entry[1], time = entry[2], usec = entry[3], client = entry[5],
            command = type(entry[4]) == "table" and table.concat(entry[4], " "):sub(1, 200) or ""}
    end
    return list
end

local function add_server(sample, state)
    local server = sample.server
    if state.quiet and host.clock() < state.quiet then sample.server = state.wrong end
    if not server then return end
    if server.wrong then
        state.quiet, state.wrong = host.clock() + PAUSE, server
    else
        server.clients, server.commands = json.list(server.clients), json.list(server.commands)
        server.slow = state.sampler.serving.server and slow_of(state.sampler.serving.server) or nil
    end
end

-- --------------------------------------------------------------------- samples

local function wants(list, name)
    for _, looker in ipairs(list) do
        if looker[name] then return true end
    end
    return false
end

local function take(app, state)
    local asked = not state.quiet or host.clock() > state.quiet
    local sample = state.sampler:sample {server = asked, changes = CHANGES}
    sample.time = os.time()
    sample.globals, sample.processes = json.list(sample.globals), json.list(sample.processes)
    sample.hot = hot_nodes(state, app.inspect, sample)
    sample.collisions = json.list(table.move(sample.collisions, 1, HOT, 1, {}))
    if wants(state.lookers, "locks") then add_locks(sample, app.inspect) end
    add_server(sample, state)
    return sample
end

local function due(state, now)
    local list = {}
    for _, looker in ipairs(state.lookers) do
        if looker.at <= now then list[#list + 1] = looker end
    end
    return list
end

local function drop_gone(state)
    for i = #state.lookers, 1, -1 do
        if not state.lookers[i].stream:alive() then table.remove(state.lookers, i) end
    end
    return #state.lookers > 0
end

local function stop(app, state)
    state.sampler:close()
    if state.nodes then state.nodes:close() end
    app.live = nil
    return false
end

local function tick(app, state)
    if not drop_gone(state) then return stop(app, state) end
    local now = host.clock()
    local list = due(state, now + 0.05)
    if #list == 0 then return true end
    local sample = take(app, state)
    for _, looker in ipairs(list) do
        looker.at = now + looker.every
        looker.stream:send("live", sample)
    end
    return true
end

-- The state that all browsers share, while there is one.
local function state_of(app)
    if not app.live then
        app.live = {sampler = sampling.new(app.db, app.inspect, nil), lookers = {}}
        local state = app.live
        app.loop:every(0.5, function() return tick(app, state) end)
    end
    return app.live
end

--- GET /api/live
function live.follow(app, request)
    app:check_inspect "processes and locks"
    local every = math.min(math.max(tonumber(request.query.every) or 1, 0.5), 10)
    local stream = events.new(app, request)
    local locks = request.query.locks == "1"
    table.insert(state_of(app).lookers, {stream = stream, every = every, at = 0, locks = locks})
    return stream:answer()
end

--- POST /api/locks/clear
function live.clear(app, request)
    app:check_write()
    local pid = math.tointeger(request.data.pid) or 0
    return {cleared = app:check_inspect("locks"):clear(math.max(pid, 0))}
end

return live
