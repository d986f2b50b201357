-- caret 3n1: many processes compute 3n+1 sequences through one database.
--
-- For every n from 1 to N follow the sequence (odd: 3n+1, even: n/2) until it meets a
-- number whose length is known, then store the length of every number on the way.
-- W worker processes share the work through the database and nothing else:
--
--     ^step(n)             how many steps lead from n to 1
--     ^longest, ^highest   the longest sequence, the highest number met
--     ^blocks(i, "first"), ^blocks(i, "last")   the limits of block i
--     ^blocks(i, "taken")  raised to 1 by the worker that computes it
--     ^blocks(i, "done")   it is complete
--
-- Start and end are locks.  A worker takes ^finished(pid), counts ^queued down and
-- waits for ^trigger(pid), below the parent's ^trigger.  The parent lets go of it
-- when nobody is missing, and then waits for ^finished, which it gets when the last
-- worker has let go of its own: by finishing or by dying.  A worker holds the lock
-- ^blocks(i) while it computes block i: a block that is neither done nor locked was
-- left by a dead one and is computed again.

local tonumber = tonumber
local caret = require "caret"
local host = require "caret.host"
local command = require "tool.command"

local BLOCKS_PER_WORKER = 10
local KNOWN = {[100000] = {longest = 350, highest = 1570824736}}
local CHECKED_UP_TO = 1000000 -- a second computation on plain tables verifies answers up to this N

-- ---------------------------------------------------------------- the work

local reads, updates = 0, 0

-- Nodes that count: only these are the benchmark's reads and updates.
local function counted(db)
    local new, class, node = caret.inherit(db.node)
    local get, set = node.get, node.set
    function class.get(n)
        reads = reads + 1
        return get(n)
    end
    function class.set(n, value)
        updates = updates + 1
        return set(n, value)
    end
    return new
end

local function worker_functions(db)
    local node = counted(db)
    local step, longest, highest = node("^step"), node("^longest"), node("^highest")

    local raise = db:transaction("BATCH", function(length, high)
        if length > (tonumber(longest.__) or 0) then longest.__ = length end
        if high > (tonumber(highest.__) or 0) then highest.__ = high end
    end)

    local path = {} -- luacheck: ignore 241 (the nodes on the way)
    local function sequence(start)
        local step, path = step, path -- luacheck: ignore 431 (a local is quicker than an upvalue)
        local n, length, high = start, 0, 0
        local here = step[n]
        while n > 1 and not here.__ do
            length = length + 1
            path[length] = here
            n = n % 2 == 0 and n // 2 or 3 * n + 1
            if n > high then high = n end
            here = step[n]
        end
        if length == 0 then return end
        local total = length
        if n > 1 then total = total + tonumber(here.__) end
        raise(total, high)
        for i = 1, length do
            path[i].__ = total - i + 1
        end
    end

    local function compute(block)
        for n = block.first:number(), block.last:number() do
            sequence(n)
        end
        block.done.__ = 1
    end
    return compute, longest, highest
end

-- Blocks nobody has taken; then those that were left by the dead.
local function work(db, compute)
    local blocks, count = db.node("^blocks"), db.node("^blocks"):number()
    for i = 1, count do
        local block = blocks[i]
        if not block.taken.__ and block:grab(0) then
            if block.taken:incr() == 1 then compute(block) end
            block:release()
        end
    end
    for i = 1, count do
        local block = blocks[i]
        if not block.done.__ then
            block:grab() -- whoever computes it has it
            if not block.done.__ then
                db.node("^left", i).__ = host.getpid()
                compute(block)
            end
            block:release()
        end
    end
end

local function worker(path)
    local db = assert(caret.open(path, {create = false}))
    local pid = host.getpid()
    local compute = worker_functions(db)
    db.node("^finished", pid):grab()
    db.node("^queued"):incr(-1)
    db.node("^queued", pid).__ = 1
    db.node("^trigger", pid):grab()
    db.node("^trigger", pid):release()
    work(db, compute)
    db.node("^reads"):incr(reads)
    db.node("^updates"):incr(updates)
    db.node("^finished", pid):release()
    db:close()
    return 0
end

-- --------------------------------------------------------------- the parent

local function divide(db, n, w)
    for _, name in ipairs {"step", "longest", "highest", "blocks", "queued", "reads", "updates", "left"} do
        db.node("^" .. name):kill()
    end
    local blocks, count = db.node("^blocks"), math.min(BLOCKS_PER_WORKER * w, n)
    blocks.__ = count
    for i = 1, count do
        blocks[i].first.__ = n * (i - 1) // count + 1
        blocks[i].last.__ = n * i // count
    end
    db.node("^queued").__ = w
end

local function ended(pid, hang)
    local how, number = host.wait(pid, hang)
    local text = how == "signal" and "was killed by signal %d" or "ended with status %d"
    return how, how and text:format(number)
end

-- Wait until every worker is queued or dead.
local function gather(db, pids, report)
    local queued, missing = db.node("^queued"), #pids
    while missing > 0 do
        missing = queued:number()
        for i = #pids, 1, -1 do
            local how, text = ended(pids[i])
            if how then
                report(("worker %d %s before the start"):format(pids[i], text))
                if not queued[pids[i]].__ then
                    missing = queued:incr(-1)
                end
                table.remove(pids, i)
            end
        end
        if missing > 0 then host.sleep(0.001) end
    end
end

-- The same on plain tables: what the answers must be.
local function expected(n_max)
    if KNOWN[n_max] then return KNOWN[n_max] end
    if n_max > CHECKED_UP_TO then return nil end
    local steps, longest, highest = {0}, 0, 0
    for start = 2, n_max do
        local n, path, length = start, {}, 0
        while not steps[n] do
            length = length + 1
            path[length] = n
            n = n % 2 == 0 and n // 2 or 3 * n + 1
            if n > highest then highest = n end
        end
        local total = length + steps[n]
        if total > longest then longest = total end
        for i = 1, length do steps[path[i]] = total - i + 1 end
    end
    return {longest = longest, highest = highest}
end

local function print_results(r, json)
    if json then
        local form = '{"seconds":%.6f,"longest":%d,"highest":%d,"reads":%d,"updates":%d,"n":%d,"workers":%d}'
        print(form:format(r.seconds, r.longest, r.highest, r.reads, r.updates, r.n, r.workers))
    else
        local form = "3n+1 to %d with %d worker%s: %.3f s, longest %d, highest %d, reads %d, updates %d"
        print(form:format(r.n, r.workers, r.workers == 1 and "" or "s", r.seconds,
            r.longest, r.highest, r.reads, r.updates))
    end
end

local function verify(r)
    local want = expected(r.n)
    if not want then
        io.stderr:write("caret 3n1: N is too large to be verified here by a second computation\n")
        return 0
    end
    if r.longest ~= want.longest or r.highest ~= want.highest then
        io.stderr:write(("caret 3n1: WRONG ANSWER: longest %d and highest %d should be %d and %d\n"):format(
            r.longest, r.highest, want.longest, want.highest))
        return 1
    end
    return 0
end

local function parent(o)
    local dir = not o.db and host.tempdir() or nil
    local path = o.db or dir .. "/3n1.caret"
    local db, text = caret.open(path, {progress = command.progress})
    if not db then command.fail(text) end
    local function report(what) io.stderr:write("caret 3n1: ", what, "\n") end

    divide(db, o.n, o.w)
    db.node("^trigger"):grab()
    local pids = {}
    for i = 1, o.w do pids[i] = host.spawn("3n1", "--worker", path) end
    gather(db, pids, report)
    local start = host.clock()
    db.node("^trigger"):release()
    db.node("^finished"):grab()
    local seconds = host.clock() - start
    db.node("^finished"):release()

    local compute, longest, highest = worker_functions(db)
    work(db, compute) -- nothing is left unless every worker died
    for _, pid in ipairs(pids) do
        local how, what = ended(pid, true)
        if how == "signal" or what ~= "ended with status 0" then
            report(("worker %d %s"):format(pid, what))
        end
    end
    for i in db.node("^left"):subscripts() do
        report(("block %d was left unfinished by a dead worker and was computed again"):format(i))
    end
    local r = {seconds = seconds, n = o.n, workers = o.w,
        longest = tonumber(longest.__) or 0, highest = tonumber(highest.__) or 0}
    r.reads = reads + db.node("^reads"):number(0)
    r.updates = updates + db.node("^updates"):number(0)
    print_results(r, o.json)
    local status = verify(r)
    db:close()
    if not o.keep then
        for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
        if dir then host.rmdir(dir) end
    elseif dir then
        report("the database is kept at " .. path)
    end
    return status
end

return {
    summary = "many processes compute 3n+1 sequences through one database",
    options = {
        {"-n N", "the sequences from 1 to N", default = 100000, least = 1, most = 1000000000},
        {"-w N", "so many worker processes", default = 1, least = 1, most = 200},
        {"--keep", "keep the database"},
        {"--worker FILE", "what its children are given", hidden = true},
        command.JSON,
        {"--db FILE", "the database, which is removed in the end; else one in a temporary folder"},
    },
    about = [[
For every n follow the sequence (odd: 3n+1, even: n/2) until it meets a number whose length is known, and
store the length of every number on the way. The workers share the database and nothing else. The longest
sequence and the highest number are verified by a second computation: exit status 1 if they are wrong.]],
    run = function(o)
        if o.worker then return worker(o.worker) end
        return parent(o)
    end,
}
