-- options: --appendfsync always
-- What was answered is on the disk, and many answers need one sync.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

local function persistence(c, name) return tonumber(c("INFO", "persistence"):match(name .. ":(%d+)")) end

case("nothing is left to be synced when a client is answered", function(c)
    local other = check.connect()
    for i = 1, 30 do
        c("SET", "a" .. i, "1")
        is(persistence(other, "log_durable") >= persistence(other, "log_committed"), true)
        c("MULTI")
        c("INCR", "n")
        c("RPUSH", "l", "x")
        c("EXEC")
        is(persistence(c, "log_durable") >= persistence(c, "log_committed"), true)
    end
    other:close()
end)

case("one sync for all requests of a turn", function(c)
    local before = persistence(c, "log_syncs")
    c:send(resp.encode("INCR", "n"):rep(1000))
    for i = 1, 1000 do is(c:read(), i) end
    local syncs = persistence(c, "log_syncs") - before
    if syncs < 1 or syncs > 100 then error(syncs .. " syncs for 1000 commands") end
end)

case("answers keep their order, also large ones, and those of clients that end", function(c)
    local value = ("v"):rep(300000)
    c("SET", "big", value)
    local requests = {}
    for i = 1, 40 do
        requests[i] = resp.encode("SET", "n", tostring(i)) .. resp.encode("GET", i % 10 == 0 and "big" or "n")
    end
    c:send(table.concat(requests) .. resp.encode("QUIT"))
    for i = 1, 40 do
        is(c:read(), "OK")
        is(c:read() == (i % 10 == 0 and value or tostring(i)), true)
    end
    is(c:read(), "OK")
    is(pcall(c.read, c), false)
end)

case("messages, clients that wait, and silent ones", function(c)
    local subscriber, waiter, silent = check.connect(), check.connect(), check.connect()
    is(subscriber("SUBSCRIBE", "news"), {"subscribe", "news", 1})
    waiter:write("BLPOP", "q", "0")
    check.wait(function() return c("INFO", "clients"):find("blocked_clients:1", 1, true) end)
    silent:send(resp.encode("CLIENT", "REPLY", "OFF") .. resp.encode("RPUSH", "q", "x") ..
        resp.encode("PUBLISH", "news", "hello"))
    is(waiter:read(), {"q", "x"})
    is(subscriber:read(), {"message", "news", "hello"})
    is(persistence(c, "log_durable") >= persistence(c, "log_committed"), true)
    for _, one in ipairs {subscriber, waiter, silent} do one:close() end
end)

check.run()
