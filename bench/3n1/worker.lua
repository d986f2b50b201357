-- A worker of caret 3n1 (see 3n1.lua), and what its parent does with left blocks.
--
-- It runs in the tool, and by `caret 3n1 --lua luajit` in other Luas, which know no // and get a / instead:
-- both halve even numbers alone.

local caret = require "caret"

local worker = {}

local function none() return 0 end
local reads, updates = none, none

--- How many nodes that count were read and written by this process.
function worker.counts()
    return reads(), updates()
end

-- Nodes that count: only these are the benchmark's reads and updates. Also returned are the class's number
-- and set: number(node) is node:number() without the way to find it.
local function counted(db)
    local new, class, node = caret.inherit(db.node)
    class.number, reads = caret.counted(node.number)
    class.set, updates = caret.counted(node.set)
    return new, class.number, class.set
end

--- compute(block), and the nodes of the two maxima, of a database.
function worker.functions(db)
    local node, number, set = counted(db)
    local step, longest, highest = node("^step"), node("^longest"), node("^highest")
    local move = step.__move

    -- Cursors stand on the way: moving one costs less than making a node, and it knows where it was found.
    local path = setmetatable({}, {__index = function(path, i)
        path[i] = step:cursor(1)
        return path[i]
    end})

    local keep = db:transaction("BATCH", function(length, total, high)
        if total > number(longest, 0) then longest.__ = total end
        if high > number(highest, 0) then highest.__ = high end
        for i = 1, length do
            set(path[i], total - i + 1)
        end
    end)

    -- Follow the sequence of n to a number whose length is known, and keep the lengths of all on the way.
    local function sequence(n)
        local path, number, move = path, number, move -- luacheck: ignore 431 (quicker than upvalues)
        local length, high = 0, 0
        local here = move(path[1], n)
        while n > 1 and not number(here) do
            length = length + 1
            n = n % 2 == 0 and n // 2 or 3 * n + 1
            if n > high then high = n end
            here = move(path[length + 1], n)
        end
        if length == 0 then return end
        local total = length
        if n > 1 then total = total + number(here) end
        keep(length, total, high)
    end

    local function compute(block)
        for n = block.first:number(), block.last:number() do
            sequence(n)
        end
        block.done.__ = 1
    end
    return compute, longest, highest
end

--- Compute the blocks nobody has taken; then those that were left by the dead.
function worker.work(db, compute, pid)
    local blocks, count = db.node("^blocks"), db.node("^blocks"):number()
    for i = 1, count do
        local block = blocks[i]
        if not block.taken.__ and block:grab(0) then
            if block.taken:incr() == 1 then
                block.by.__ = pid
                compute(block)
            end
            block:release()
        end
    end
    for i = 1, count do
        local block = blocks[i]
        if not block.done.__ then
            block:grab() -- whoever computes it has it
            if not block.done.__ then
                db.node("^left", i).__ = pid
                block.by.__ = pid
                compute(block)
            end
            block:release()
        end
    end
end

--- The whole life of a worker with this process id.
function worker.run(path, pid)
    local db = assert(caret.open(path, {create = false}))
    local compute = worker.functions(db)
    db.node("^finished", pid):grab()
    db.node("^queued"):incr(-1)
    db.node("^queued", pid).__ = 1
    db.node("^trigger", pid):grab()
    db.node("^trigger", pid):release()
    worker.work(db, compute, pid)
    db.node("^reads"):incr(reads())
    db.node("^updates"):incr(updates())
    db.node("^finished", pid):release()
    db:close()
    return 0
end

return worker
