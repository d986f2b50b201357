-- A disk that fails (EIO): what is asked of it is refused, in words that say what to do, reads go on, and
-- when the disk is well again a restart has all that was answered.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails
ffi.cdef "int kill(int, int);"
local SIGTERM, SIGKILL = 15, 9

local folder = os.getenv("SERVE_FOLDER")
local library = (os.getenv("CARET_BUILD") or os.getenv("PWD") .. "/../../build") .. "/test/failing_disk.so"
local f = io.open(library)
if not f then
    print("skipped: " .. library .. " is not there (a build that looks for faults has none)")
    os.exit(77)
end
f:close()

local function disk_fails(call)
    local control = assert(io.open(folder .. "/disk", "w"))
    control:write(call or "")
    control:close()
end

local files = 0
local function server(file, mode)
    return check.server {
        file = file, before = ("export LD_PRELOAD=%s FAILING_DISK=%s/disk"):format(library, folder),
        options = "--workers 2 --appendfsync " .. mode,
    }
end

local function stop(pid, signal)
    local workers = check.workers(pid)
    if signal == SIGKILL then
        for _, one in ipairs(workers) do ffi.C.kill(one, SIGKILL) end
    end
    ffi.C.kill(pid, signal)
    check.wait(function() return check.gone(pid) end)
    for _, one in ipairs(workers) do check.wait(function() return check.gone(one) end) end
end

-- Nodes 1 to n were answered.
local function all_there(c, n)
    for i = 1, n do is(c("GET", "k" .. i), ("v"):rep(i * 50)) end
end

local function write(c, i) return c("SET", "k" .. i, ("v"):rep(i * 50)) end

local refused = "MISCONF Errors writing to the database: "

-- Write, also long values, until small ones are refused. With `always` connections are ended, as nobody knows
-- what the disk has of their last commands. A connection, and the last refusal.
local function write_until_refused(connect)
    local c, i, got = connect(), 100, nil
    check.wait(function()
        i = i + 1
        local fine
        fine, got = pcall(c, "SET", "other", ("v"):rep(i % 20 == 0 and 5000 or 10))
        if not fine then
            c:close()
            c = connect()
        elseif got ~= "OK" then
            fails(got, refused)
        end
        return fine and got ~= "OK" and i % 20 ~= 0
    end)
    return c, got
end

for _, mode in ipairs {"always", "everysec"} do
    for _, call in ipairs {"pwrite", "sync"} do
        case(("%s of a running server fails, appendfsync %s"):format(call, mode), function()
            files = files + 1
            local file = "failing" .. files .. ".caret"
            disk_fails()
            local pid, connect = server(file, mode)
            local c = connect()
            for i = 1, 20 do is(write(c, i), "OK") end
            disk_fails(call)
            c:close()
            local refusal
            c, refusal = write_until_refused(connect)
            fails(c("SET", "k1", "no"), refused)
            fails(c("EVAL", "return redis.call('set', 'k1', 'no')", 0), refused)
            c("MULTI")
            c("SET", "k1", "no")
            fails(c("EXEC"), "EXECABORT Transaction discarded because of: MISCONF")
            all_there(c, 20)
            is(c("EVAL", "return redis.call('strlen', 'k3')", 0), 150)
            disk_fails()
            local advice = "a write failed earlier: restart the server once the disk is well"
            is(c("SET", "after", "1").error, refused .. advice)
            is(refusal.error, refused .. advice)
            stop(pid, SIGTERM)
            pid, connect = server(file, mode)
            c:close()
            c = connect()
            all_there(c, 20)
            is(c("SET", "after", "1"), "OK")
            stop(pid, SIGTERM)
        end)
    end
end

-- The server does not start, says why, and leaves the database as it was.
for _, call in ipairs {"pwrite", "sync"} do
    for _, before in ipairs {"new", "closed", "killed"} do
        case(("%s fails while a server starts on a database that is %s"):format(call, before), function()
            files = files + 1
            local file = "failing" .. files .. ".caret"
            disk_fails()
            if before ~= "new" then
                local pid, connect = server(file, "everysec")
                local c = connect()
                for i = 1, 20 do is(write(c, i), "OK") end
                stop(pid, before == "closed" and SIGTERM or SIGKILL)
                c:close()
            end
            disk_fails(call)
            local pid, connect = server(file, "everysec")
            local ended, answers
            check.wait(function()
                ended = check.gone(pid)
                local one = not ended and resp.connect(folder .. "/another")
                answers = one and pcall(one, "PING")
                if one then one:close() end
                return ended or answers
            end)
            if not ended then
                local c = connect()
                all_there(c, before ~= "new" and 20 or 0)
                stop(pid, SIGTERM)
                c:close()
            end
            disk_fails()
            pid, connect = server(file, "everysec")
            local c = connect()
            all_there(c, before ~= "new" and 20 or 0)
            is(c("SET", "after", "1"), "OK")
            stop(pid, SIGTERM)
            c:close()
        end)
    end
end

check.run()
