-- caret bench mix: the workloads A to F of YCSB in several processes.
--
-- The records are ^record(1..n).  Workers begin together and the parent waits for the last, by locks as in
-- 3n1/job.lua; each adds its histograms to ^histogram(kind, nanoseconds), where the parent finds the sums.

local caret = require "caret"
local children = require "tool.lib.children"
local command = require "tool.lib.command"
local host = require "caret.host"
local measure = require "caret.measure"
local programs = require "caret.programs"
local rows = require "tool.bench.rows"

local mix = {}

local GLOBALS = {"^record", "^histogram", "^queued", "^trigger", "^finished"}

local function worker(o)
    local db, pid = assert(caret.open(o.db, {create = false})), host.getpid()
    db.node("^finished", pid):grab()
    db.node("^queued"):incr(-1)
    db.node("^trigger", pid):grab()
    db.node("^trigger", pid):release()
    local histograms = measure.mix(o.db, o.worker, not o.uniform, o.n, o.count, o.seed)
    db.node("^finished", pid):release()
    for kind, histogram in pairs(histograms) do
        for ns, count in pairs(histogram) do db.node("^histogram", kind, ns):incr(count) end
    end
    db:close()
    return 0
end

local function check(pid, hang)
    local how, number = host.wait(pid, hang)
    if how == "signal" or how and number ~= 0 then
        command.fail(("a worker ended with %s %d: no result"):format(how, number), 1)
    end
    return how
end

local function gather(db, pids)
    while db.node("^queued"):number() > 0 do
        for _, pid in ipairs(pids) do
            if check(pid) then command.fail("a worker ended before the start: no result", 1) end
        end
        programs.pause(0.001)
    end
end

-- Seconds that all workers took.
local function run_workers(db, path, letter, o, pids)
    db.node("^queued").__ = o.w
    db.node("^trigger"):grab()
    for i = 1, o.w do
        pids[i] = programs.start({"/proc/self/exe", "bench", "mix", "--worker", letter, "--db", path,
            "--seed", i, "-n", o.n, "--count", o.count, o.uniform and "--uniform" or "--"},
            {err = "/dev/stderr"})
    end
    gather(db, pids)
    local start = host.clock()
    db.node("^trigger"):release()
    while not db.node("^finished"):grab(0.2) do programs.pause(0) end -- Ctrl-C is noticed in between
    local seconds = host.clock() - start
    db.node("^finished"):release()
    while #pids > 0 do check(table.remove(pids), true) end
    return seconds
end

local function read_histogram(node)
    local histogram = {}
    for _, count, ns in node:pairs() do histogram[ns] = math.tointeger(tonumber(count)) end
    return histogram
end

local function clear(db)
    for _, name in ipairs(GLOBALS) do db.node(name):kill() end
end

-- A database that was given belongs to somebody: nothing of it may be taken for the mix's own.
local function check_empty(path)
    local db, why = caret.open(path)
    if not db then command.fail(why, 3) end
    local name = db:variables()()
    db:close()
    if name then command.usage(("--db needs an empty database; there is %s in it"):format(name)) end
end

local function run_mix(list, dir, letter, o)
    local path = o.db or ("%s/%s.caret"):format(dir, letter)
    measure.load(path, o.n)
    local db = assert(caret.open(path))
    local pids = {}
    local seconds = children.guard(function() return run_workers(db, path, letter, o, pids) end,
        function() children.kill(pids) end)
    local all, parts = {}, {}
    for node, _, kind in db.node("^histogram"):pairs() do
        local histogram = read_histogram(node)
        for ns, count in pairs(histogram) do all[ns] = (all[ns] or 0) + count end
        parts[#parts + 1] = rows.new(("%s: %s"):format(letter, kind), histogram)
    end
    local row = rows.new(("%s, %s"):format(letter, o.uniform and "uniform" or "zipfian"), all)
    if not row or row.count ~= o.w * o.count then command.fail("operations are missing: no result", 1) end
    row.ops_per_second = row.count / seconds
    list[#list + 1] = row
    table.move(parts, 1, #parts, #list + 1, list)
    clear(db)
    db:close()
end

function mix.run(o)
    if o.worker then return worker(o) end
    local letters, list = o.mix:upper(), {}
    if not letters:find("^[A-F]+$") then
        command.usage(("--mix needs some of the letters A to F, not '%s'"):format(o.mix))
    end
    if o.db then check_empty(o.db) end
    host.scratch(function(dir)
        for letter in letters:gmatch(".") do run_mix(list, dir, letter, o) end
    end)
    for _, row in ipairs(list) do row.n, row.workers = o.n, o.w end
    rows.print("mix", list, o)
    return 0
end

return mix
