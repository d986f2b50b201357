-- The job of caret 3n1: many processes compute 3n+1 sequences through one database.
--
-- For every n from 1 to N follow the sequence (odd: 3n+1, even: n/2) until it meets a
-- number whose length is known, then store the length of every number on the way.
-- W worker processes share the work through the database and nothing else:
--
--     ^step(n)             how many steps lead from n to 1
--     ^longest, ^highest   the longest sequence, the highest number met
--     ^blocks(i, "first"), ^blocks(i, "last")   the limits of block i
--     ^blocks(i, "taken")  raised to 1 by the worker that computes it
--     ^blocks(i, "by")     the process id of that worker
--     ^blocks(i, "done")   it is complete
--
-- Start and end are locks.  A worker takes ^finished(pid), counts ^queued down and
-- waits for ^trigger(pid), below the parent's ^trigger.  The parent lets go of it
-- when nobody is missing, and then waits for ^finished, which it gets when the last
-- worker has let go of its own: by finishing or by dying.  A worker holds the lock
-- ^blocks(i) while it computes block i: a block that is neither done nor locked was
-- left by a dead one and is computed again.

local caret = require "caret"
local host = require "caret.host"
local programs = require "caret.programs"
local children = require "tool.lib.children"
local command = require "tool.lib.command"
local worker = require "3n1.worker"

local job = {}

local BLOCKS_PER_WORKER = 10

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
local function gather(db, pids)
    local queued, missing = db.node("^queued"), #pids
    while missing > 0 do
        missing = queued:number()
        for i = #pids, 1, -1 do
            local how, text = ended(pids[i])
            if how then
                io.stderr:write(("caret 3n1: worker %d %s before the start\n"):format(pids[i], text))
                if not queued[pids[i]].__ then
                    missing = queued:incr(-1)
                end
                table.remove(pids, i)
            end
        end
        if missing > 0 then programs.pause(0.001) end
    end
end

local function print_results(r, json)
    if json then
        local form = '{"seconds":%.6f,"longest":%d,"highest":%d,"reads":%d,"updates":%d,"n":%d,' ..
            '"workers":%d%s}'
        local slow = programs.slow_build and (',"slow_build":"%s"'):format(programs.slow_build) or ""
        print(form:format(r.seconds, r.longest, r.highest, r.reads, r.updates, r.n, r.workers, slow))
    else
        local form = "3n+1 to %d with %d worker%s: %.3f s, longest %d, highest %d, reads %d, updates %d"
        print(form:format(r.n, r.workers, r.workers == 1 and "" or "s", r.seconds,
            r.longest, r.highest, r.reads, r.updates))
    end
end

-- What is wrong with the answer; nil: nothing.
local function verify(r)
    local longest, highest = programs.reference(r.n)
    programs.pause(0)
    if not longest then return "no memory to verify the answer by a second computation: no result" end
    if r.longest == longest and r.highest == highest then return nil end
    return ("WRONG ANSWER: longest %d and highest %d should be %d and %d"):format(
        r.longest, r.highest, longest, highest)
end

-- "5.1" for luajit.
local function version_of(interpreter)
    local f = io.popen(("'%s' -e 'io.write(_VERSION)' 2>/dev/null"):format(interpreter:gsub("'", "")))
    local version = f:read("a"):match("^Lua (5%.%d)$")
    f:close()
    if not version then command.usage(("--lua: '%s' is not a Lua that runs here"):format(interpreter)) end
    return version
end

-- What starts a worker in another Lua: it reads a copy of worker.lua and the module built for it, from beside
-- this program.  The shell is there to tell it its process id.
local function other_lua(interpreter, version, path)
    local text = programs.text("3n1/worker.lua"):gsub("return worker\n$", "worker.run(arg[1], arg[2])\n")
    if version < "5.3" then text = text:gsub("n // 2", "n / 2") end
    local copy = path .. "-worker.lua"
    assert(assert(io.open(copy, "w")):write(text)):close()
    local folder, env = programs.folder() .. "/lua/" .. version, {}
    if programs.exists(folder) then
        local suffix = version > "5.1" and "_" .. version:gsub("%.", "_") or ""
        env["LUA_PATH" .. suffix] = ("%s/?.lua;%s/?/init.lua;;"):format(folder, folder)
        env["LUA_CPATH" .. suffix] = folder .. "/?.so;;"
    end
    return function()
        return programs.start({"sh", "-c", 'exec "$0" "$@" $$', interpreter, copy, path},
            {env = env, err = "/dev/stderr"})
    end
end

local function report(what) io.stderr:write("caret 3n1: ", what, "\n") end

-- Start the workers, let them go, wait for the last: seconds.
local function time_workers(db, pids, w, spawn)
    local trigger, finished = db.node("^trigger"), db.node("^finished")
    trigger:grab()
    for i = 1, w do pids[i] = spawn() end
    local there = table.move(pids, 1, w, 1, {})
    gather(db, there)
    local start = host.clock()
    trigger:release()
    while not finished:grab(0.2) do programs.pause(0) end -- asleep; Ctrl-C is noticed in between
    local seconds = host.clock() - start
    finished:release()
    return seconds
end

-- What the workers left undone or untold.
local function tell_deaths(db, pids)
    for _, pid in ipairs(pids) do
        local how, what = ended(pid, true)
        if how == "signal" or how and what ~= "ended with status 0" then
            report(("worker %d %s"):format(pid, what))
        end
    end
    for i in db.node("^left"):subscripts() do
        report(("block %d was left unfinished by a dead worker and was computed again"):format(i))
    end
end

-- The job in an open database: true if the answer was right.
local function compute_all(db, o, pids, spawn)
    divide(db, o.n, o.w)
    local r = {seconds = time_workers(db, pids, o.w, spawn), n = o.n, workers = o.w}
    local compute, longest, highest = worker.functions(db)
    worker.work(db, compute, host.getpid()) -- nothing is left unless every worker died
    tell_deaths(db, pids)
    r.longest, r.highest = longest:number(0), highest:number(0)
    local reads, updates = worker.counts()
    r.reads = reads + db.node("^reads"):number(0)
    r.updates = updates + db.node("^updates"):number(0)
    local wrong = verify(r)
    if wrong then report(wrong) else print_results(r, o.json) end
    return not wrong
end

-- What the run made is gone, or kept.
local function clean_up(o, path, dir)
    os.remove(path .. "-worker.lua")
    if o.keep then
        if dir then report("the database is kept at " .. path) end
    elseif dir then
        host.remove(dir)
    else
        for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
    end
end

local function open(path)
    local db, text = caret.open(path, {progress = command.progress})
    if not db then command.fail(text) end
    return db
end

--- Run it; the exit status.
function job.run(o)
    local version = o.lua and version_of(o.lua)
    if not o.json then command.warn_of_slow_build() end
    if o.db and not o.keep and programs.exists(o.db) then
        command.fail(o.db .. " is there already, and would be removed in the end; --keep keeps it")
    end
    local path, pids, dir, db, right = o.db, {}, nil, nil, nil
    return children.guard(function()
        dir = not path and host.tempdir() or nil
        path = path or dir .. "/3n1.caret"
        db = open(path)
        local function own()
            return programs.start({"/proc/self/exe", "3n1", "--worker", path}, {err = "/dev/stderr"})
        end
        right = compute_all(db, o, pids, version and other_lua(o.lua, version, path) or own)
        return right and 0 or 1
    end, function()
        if right == nil then children.kill(pids) end
        if db then db:close() end
        if db or dir then clean_up(o, path, dir) end
    end)
end

return job
