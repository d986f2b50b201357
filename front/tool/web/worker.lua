-- The other side of jobs.lua: this process does one thing, and tells how far it is.

local caret = require "caret"
local host = require "caret.host"
local programs = require "caret.programs"
local json = require "tool.web.json"
local keys = require "tool.web.keys"

local worker = {}

local function tell(data)
    io.stdout:write("\30", json.encode(data), "\31\n")
    io.stdout:flush()
end

local function progress(data)
    tell {progress = data}
end

local function sentence(text)
    return (tostring(text):gsub("^%u[%u%d_]*: ", ""))
end

local function fail(text, name)
    name = name or tostring(text):match "^(%u[%u%d_]*):" or "FAILED"
    error({failed = {name = name, text = sentence(text)}}, 0)
end

local function open(o)
    local db, _, name = caret.open(o.path, {create = false, readonly = o.readonly})
    if not db then fail(host.reason(), name) end
    return db
end

local kinds = {}

function kinds.check(o)
    local db = open(o)
    local ok, text, name, findings = db:check "online"
    if not ok and name ~= "CORRUPT" then fail(text, name) end
    local list = json.list()
    for line in (findings or ""):gmatch "[^\n]+" do
        if #list < 1000 then list[#list + 1] = line end
    end
    return {ok = ok == true, text = ok and "all pages are right" or sentence(text), findings = list}
end

function kinds.usage(o)
    local usage, text, name = open(o):usage()
    if not usage then fail(text, name) end
    return {levels = json.list(usage.levels), globals = json.list(usage.globals)}
end

function kinds.count(o)
    local node = keys.node(open(o), o.node)
    return {nodes = node:__count()}
end

function kinds.backup(o)
    local told = 0
    local ok, text, name = open(o):backup(o.to, {compact = o.compact, overwrite = o.overwrite,
        progress = function(done, total)
            o.total = total
            if host.clock() > told + 0.1 then
                told = host.clock()
                progress {done = done, total = total}
            end
        end})
    if not ok then fail(text, name) end
    return {path = o.to, bytes = o.total or 0}
end

-- --------------------------------------------------------------------- space

local SHOWN, BELOW = 200, 50             -- children shown; of each of those
local ALL, DRAWN = 2000, 400             -- children looked at one by one; drawn where there are more
local LOOKED = 50                        -- nodes whose bytes are looked at, of a child
local SECONDS = 5                        -- for all of it

-- Nodes below one, and about how many bytes: those of the first ones, times their number.
local function measure(node)
    local nodes = node:__count()
    local bytes, looked, value = 0, 0, node:__get()
    if value then bytes, looked = #tostring(node) + #value, 1 end
    for child, v in node:__walk() do
        if looked >= LOOKED then break end
        if v then bytes, looked = bytes + #tostring(child) + #v, looked + 1 end
    end
    return nodes, looked > 0 and math.floor(bytes / looked * nodes) or 0, nodes > looked
end

local function entry_of(parent, sub)
    local node = parent(sub)
    local nodes, bytes, sampled = measure(node)
    return {name = tostring(node), sub = keys.subscript(parent, sub), nodes = nodes, bytes = bytes,
        sampled = sampled, about = sampled or nil, node = node}
end

local function all_children(node)
    local list = {}
    for sub in node:__subscripts() do
        if #list >= ALL then return nil end
        list[#list + 1] = sub
    end
    return list
end

-- Some children drawn by chance, each once.
local function drawn_children(node, ends)
    local list, known = {}, {}
    for _ = 1, DRAWN do
        local sub = node:__random()
        if sub == nil or host.clock() > ends then break end
        if not known[sub] then list[#list + 1] = sub end
        known[sub] = true
    end
    return list
end

local function by_size(list)
    table.sort(list, function(a, b)
        if a.bytes ~= b.bytes then return a.bytes > b.bytes end
        return a.name < b.name
    end)
end

-- The largest ones, and one for the rest, so that all have `bytes`, `nodes` together. Of children that were
-- drawn by chance nobody knows how many are left.
local function cut(list, bytes, nodes, sampled, most)
    by_size(list)
    local shown, rest_bytes, rest_nodes = json.list(), bytes, nodes
    for i = 1, math.min(#list, most) do
        shown[i], list[i].node = list[i], nil
        rest_bytes, rest_nodes = rest_bytes - list[i].bytes, rest_nodes - list[i].nodes
    end
    if rest_nodes > 0 and (#list > most or sampled) then
        shown[#shown + 1] = {rest = true, name = "", count = not sampled and #list - most or nil,
            bytes = math.max(rest_bytes, 0), nodes = rest_nodes, sampled = sampled, about = true}
    end
    return shown
end

local function add_children(entry, node, depth, ends, most)
    if depth == 0 or host.clock() > ends then return end
    local subs, sampled = all_children(node), false
    if not subs then subs, sampled = drawn_children(node, ends), true end
    local list = {}
    for _, sub in ipairs(subs) do
        if host.clock() > ends then
            sampled = true
            break
        end
        list[#list + 1] = entry_of(node, sub)
    end
    by_size(list)
    for i = 1, math.min(#list, most) do
        if list[i].nodes > 1 then add_children(list[i], list[i].node, depth - 1, ends, BELOW) end
    end
    entry.children, entry.sampled = cut(list, entry.bytes, entry.nodes, sampled, most), sampled
end

local function all_globals(db)
    local usage, text, name = db:usage()
    if not usage then fail(text, name) end
    local root, list = {name = "", sub = "", bytes = 0, nodes = 0, sampled = false}, {}
    for i, g in ipairs(usage.globals) do
        list[i] = {name = g.name, sub = g.name, bytes = g.bytes + g.long_bytes, nodes = g.nodes}
        root.bytes, root.nodes = root.bytes + list[i].bytes, root.nodes + g.nodes
    end
    return root, list
end

function kinds.space(o)
    local db, ends = open(o), host.clock() + SECONDS
    if o.node then
        local node = keys.node(db, o.node)
        local nodes, bytes = measure(node)
        local root = {name = o.node, sub = o.node, nodes = nodes, bytes = bytes}
        add_children(root, node, o.depth, ends, SHOWN)
        return {tree = root}
    end
    local root, list = all_globals(db)
    by_size(list)
    for i = 1, math.min(#list, SHOWN) do
        add_children(list[i], db.node(list[i].name), o.depth - 1, ends, BELOW)
    end
    root.children = cut(list, root.bytes, root.nodes, false, SHOWN)
    return {tree = root}
end

-- ---------------------------------------------------------------------- 3n+1

local EVERY = 0.2 -- seconds

-- How many blocks are done, in all and by each worker that took one or waits for its first.
local function look(run)
    local finished, done = 0, {}
    for i = 1, run.blocks do
        local pid = math.tointeger(tonumber(run.db:get("^blocks", i, "by")))
        local complete = run.db:get("^blocks", i, "done") ~= nil
        if complete then finished = finished + 1 end
        if pid then done[pid] = (done[pid] or 0) + (complete and 1 or 0) end
    end
    for pid in run.db.node("^queued"):subscripts() do
        pid = math.tointeger(pid)
        if pid then done[pid] = done[pid] or 0 end
    end
    return finished, done
end

local function steps_of(done)
    local steps = json.list()
    for pid, n in pairs(done) do steps[#steps + 1] = {pid = pid, done = n} end
    table.sort(steps, function(a, b) return a.pid < b.pid end)
    for i, step in ipairs(steps) do step.worker = i end
    return steps
end

-- Look into the database of the run, as soon as there is one.
local function watch(run)
    if not run.db then
        local db = programs.exists(run.path) and caret.open(run.path, {create = false})
        if not db then return end
        run.db = db
    end
    run.blocks = tonumber(run.db:get "^blocks") or 0
    local finished, done = look(run)
    progress {steps = steps_of(done), blocks = run.blocks, finished = finished}
end

local function report_of(r)
    return ("3n+1 to %d with %d worker%s: %.3f s, longest %d, highest %d, reads %d, updates %d"):format(r.n,
        r.workers, r.workers == 1 and "" or "s", r.seconds, r.longest, r.highest, r.reads, r.updates)
end

-- Until the run ends.
local function follow(run)
    repeat
        host.sleep(EVERY)
        run.ended = host.wait(run.pid, false) ~= nil
        watch(run)
    until run.ended
end

-- It is stopped: the run closes its database and removes it, before this process ends.
local function end_run(run, wrong)
    if not run.ended then
        host.kill(run.pid, 15)
        host.wait(run.pid, true)
    end
    error(wrong, 0)
end

local function race(o, folder)
    local run = {path = folder .. "/3n1.caret"}
    local out = folder .. "/out"
    run.pid = programs.start({"/proc/self/exe", "3n1", "-n", o.n, "-w", o.w, "--json", "--keep", "--db",
        run.path}, {out = out, err = "/dev/stderr"})
    local ok, wrong = pcall(follow, run)
    if run.db then run.db:close() end
    if not ok then end_run(run, wrong) end
    local f = assert(io.open(out))
    local result = json.decode(f:read "a")
    f:close()
    if not result then fail("the run was stopped, or went wrong") end
    result.report = report_of(result)
    return result
end

kinds["3n1"] = function(o)
    return host.scratch(function(folder) return race(o, folder) end)
end

-- ----------------------------------------------------------------------- run

--- Do what standard input says in its first line: the exit status.
function worker.run(kind)
    host.catch_signals(true)
    local o = assert(json.decode(io.read "l" or ""))
    local ok, result = pcall(kinds[kind], o)
    if ok then
        tell {done = result}
        return 0
    end
    if type(result) ~= "table" or not result.failed then
        local text = tostring(result)
        result = {failed = {name = text:match "^(%u[%u%d_]*):" or "FAILED", text = sentence(text)}}
    end
    tell(result)
    return 1
end

worker.kinds = kinds

return worker
