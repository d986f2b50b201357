-- options: --maxclients 12000
-- What an idle connection and a small key take of memory, here and in redis-server:
--
--     sh test/server/run.sh 1 memory.lua --beside-redis [CONNECTIONS] [KEYS]
--
-- Of connections: what the resident memory of all processes of the server grows by, shared memory included,
-- each having been served before. Of keys, `key:%012d` = `xxx`: pages of the file; `used_memory` of
-- redis-server.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
ffi.cdef [[struct limit { unsigned long now, most; }; int setrlimit(int, const struct limit *);]]

local connections, keys = tonumber(arg[1]) or 10000, tonumber(arg[2]) or 1000000
local redis = os.getenv("REDIS_SOCKET")
local ours = check.path
ffi.C.setrlimit(7, ffi.new("struct limit", connections + 200, connections + 200))

local function resident(pids)
    local sum = 0
    for _, pid in ipairs(pids) do
        for line in io.lines("/proc/" .. pid .. "/status") do
            sum = sum + (tonumber(line:match("^RssAnon:%s*(%d+)") or line:match("^RssShmem:%s*(%d+)")) or 0)
        end
    end
    return sum * 1024
end

local function info(path, name)
    local c = assert(resp.connect(path))
    local n = tonumber(c("INFO"):match(name .. ":(%d+)"))
    c:close()
    return n
end

local function served(path)
    local c = assert(resp.connect(path))
    assert(c("SET", "a", ("x"):rep(1000)) == "OK")
    return c
end

local function of_connection(path, pids)
    local list = {}
    for i = 1, 100 do list[i] = served(path) end
    local before = resident(pids)
    for i = 101, 100 + connections do list[i] = served(path) end
    local each = (resident(pids) - before) / connections
    for _, c in ipairs(list) do c:close() end
    return each
end

local function of_key(path, name)
    local c = assert(resp.connect(path))
    c("FLUSHALL")
    local before, bytes = info(path, name), {}
    for i = 1, keys do
        bytes[#bytes + 1] = resp.encode("SET", ("key:%012d"):format(i), "xxx")
        if #bytes == 500 or i == keys then
            c:send(table.concat(bytes))
            for _ = 1, #bytes do assert(c:read() == "OK") end
            bytes = {}
        end
    end
    local each = (info(path, name) - before) / keys
    c:close()
    return each
end

local function row(what, here, there)
    print(("| %s | %.0f | %.0f | %.2f |"):format(what, here, there, here / there))
end

assert(resp.connect(redis))("CONFIG", "SET", "maxclients", "12000")
print("| bytes of | caret-server | redis-server | ratio |\n|---|---|---|---|")
row("an idle connection", of_connection(ours, check.workers()),
    of_connection(redis, {info(redis, "process_id")}))
row("a small key", of_key(ours, "file_bytes"), of_key(redis, "used_memory"))
