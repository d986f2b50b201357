-- Workers are killed under all kinds of writes: one, all of them at once, and their successors while they
-- start. What was answered is there, once; what was not is there once or not at all, and of a pipeline a part
-- from its beginning. After each round what workers share says what is true: the list of clients,
-- subscriptions, nobody waits in vain.
--
--     luajit test_kills.lua [KILLS] [SEED]
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, encode = check.case, check.is, resp.encode
ffi.cdef "int kill(int, int);"

local kills, seed = tonumber(arg[1]) or 12, tonumber(arg[2]) or 16
local KILLS_A_ROUND, DEPTH, CLIENTS = 6, 6, 2 -- of each kind
math.randomseed(seed)

-- ------------------------------------------------------------------------------------------------- killing

local supervisor = os.getenv("SERVE_PID")

local function workers()
    local f = io.open(("/proc/%s/task/%s/children"):format(supervisor, supervisor))
    if not f then return check.workers() end
    local t = {}
    for pid in f:read("*a"):gmatch("%d+") do t[#t + 1] = tonumber(pid) end
    f:close()
    return t
end

local count = {one = 0, all = 0, starting = 0}

local function kill_these(list, why)
    for _, pid in ipairs(list) do
        if ffi.C.kill(pid, 9) == 0 then count[why] = count[why] + 1 end
    end
end

local function killed() return count.one + count.all + count.starting end

-- All at once, and then whoever is started instead, as soon as it is there.
local function kill_starting()
    local seen = {}
    for _, pid in ipairs(workers()) do seen[pid] = true end
    kill_these(workers(), "all")
    check.wait(function()
        for _, pid in ipairs(workers()) do
            if not seen[pid] then
                kill_these({pid}, "starting")
                return true
            end
        end
    end)
end

local function kill_some()
    local dice, list = math.random(8), workers()
    if dice == 1 then
        kill_starting()
    elseif dice == 2 then
        kill_these(list, "all")
    elseif #list > 0 then
        kill_these({list[math.random(#list)]}, "one")
    end
end

-- ----------------------------------------------------------------------------------------- kinds of writes

local transaction = "redis.call('incr', 'e:n') redis.call('rpush', 'e:l', ARGV[1]) " ..
    "return redis.call('sadd', 'e:s', ARGV[1])"

-- ask: bytes; `n` answers, of which the last is to be `wanted`; found: the tokens that are there. Two write
-- nothing but what workers share.
local kinds = {
    incr = {n = 1, ask = function(token) return encode("INCR", "i:" .. token) end, wanted = 1},
    rpush = {n = 1, ask = function(token) return encode("RPUSH", "l", token) end},
    sadd = {n = 1, ask = function(token) return encode("SADD", "s", token) end, wanted = 1},
    hset = {n = 1, ask = function(token) return encode("HSET", "h", token, "1") end, wanted = 1},
    xadd = {n = 1, ask = function(token) return encode("XADD", "x", "*", "token", token) end},
    list = {n = 1, ask = function() return encode("CLIENT", "LIST") end},
    listen = {n = 4, ask = function(token)
        return encode("SUBSCRIBE", token) .. encode("PSUBSCRIBE", token) .. encode("UNSUBSCRIBE", token) ..
            encode("PUNSUBSCRIBE", token)
    end},
    move = {n = 1, ask = function(token) return encode("RPUSH", "queue", token) end},
    multi = {n = 5, ask = function(token)
        return encode("MULTI") .. encode("INCR", "m:n") .. encode("RPUSH", "m:l", token) ..
            encode("SADD", "m:s", token) .. encode("EXEC")
    end},
    eval = {n = 1, ask = function(token) return encode("EVAL", transaction, "0", token) end, wanted = 1}
}

local function list_of(key) return function(c) return c("LRANGE", key, "0", "-1") end end

kinds.rpush.found, kinds.multi.found, kinds.eval.found = list_of "l", list_of "m:l", list_of "e:l"
function kinds.sadd.found(c) return c("SMEMBERS", "s") end
function kinds.hset.found(c) return c("HKEYS", "h") end

function kinds.incr.found(c)
    local list = {}
    for _, key in ipairs(c("KEYS", "i:*")) do
        for _ = 1, tonumber(c("GET", key)) do list[#list + 1] = key:sub(3) end
    end
    return list
end

function kinds.xadd.found(c)
    local list = {}
    for i, entry in ipairs(c("XRANGE", "x", "-", "+")) do list[i] = entry[2][2] end
    return list
end

-- Both lists at one moment: a client that is gone may have sent a last request.
local function list_of_two(c, one, two)
    c("MULTI")
    c("LRANGE", one, "0", "-1")
    c("LRANGE", two, "0", "-1")
    local both = c("EXEC")
    for _, token in ipairs(both[2]) do table.insert(both[1], token) end
    return both[1]
end

function kinds.move.found(c) return list_of_two(c, "queue", "done") end

-- MULTI and EVAL: all that they wrote, or nothing.
local function is_whole(c, prefix)
    local n = tonumber(c("GET", prefix .. "n")) or 0
    is({prefix, c("LLEN", prefix .. "l"), c("SCARD", prefix .. "s")}, {prefix, n, n})
end

-- ------------------------------------------------------------------------------------------------- clients

-- A connection of a worker that may just be starting.
local function connect()
    local c
    check.wait(function()
        c = resp.connect(check.path)
        local fine = c and pcall(c, "PING")
        if c and not fine then c:close() end
        return fine
    end)
    return c
end

local clients, moving, subscribers

local function send(client)
    local bytes = {}
    client.asked, client.got = {}, 0
    for i = 1, DEPTH do
        client.last = client.last + 1
        client.asked[i] = client.kind .. client.id .. ":" .. client.last
        bytes[i] = kinds[client.kind].ask(client.asked[i])
    end
    client.c:send(table.concat(bytes))
end

-- Read an answer of each that was asked: false when the connection has ended.
local function read(client)
    local kind = kinds[client.kind]
    for i = 1, DEPTH do
        for k = 1, kind.n do
            local fine, answer = pcall(client.c.read, client.c)
            if not fine then return false end
            if type(answer) == "table" and answer.error then
                error(client.asked[i] .. ": " .. answer.error)
            end
            if k == kind.n and kind.wanted then
                is({client.asked[i], answer}, {client.asked[i], kind.wanted})
            end
        end
        client.got = i
    end
    return true
end

local function note(client)
    for i = 1, DEPTH do client.acked[client.asked[i]] = i <= client.got end
    client.batches[#client.batches + 1] = client.asked
end

-- Elements go from list to list, by clients that wait and by some that do not.
local function move(one)
    if one.asked and not one.c:ready(0) then return end
    local fine = true
    if one.asked then fine = pcall(one.c.read, one.c) end
    if fine then fine = pcall(one.c.write, one.c, unpack(one.request)) end
    one.asked = fine
    if not fine then
        one.c:close()
        one.c = connect()
    end
end

local function begin()
    clients, moving, subscribers = {}, {}, {}
    local c = connect()
    c("FLUSHALL")
    for i = 1, 30 do c("RPUSH", "ring1", "r" .. i) end
    c:close()
    for kind in pairs(kinds) do
        for id = 1, CLIENTS do
            clients[#clients + 1] =
                {kind = kind, id = id, c = connect(), last = 0, acked = {}, batches = {}}
        end
    end
    for i, request in ipairs {{"BLMOVE", "queue", "done", "LEFT", "RIGHT", "0"},
        {"BLMOVE", "queue", "done", "RIGHT", "LEFT", "0"}, {"LMOVE", "ring1", "ring2", "LEFT", "RIGHT"},
        {"BRPOPLPUSH", "ring2", "ring1", "0"}} do
        moving[i] = {request = request, c = connect()}
    end
    for i = 1, 4 do -- some die with their worker
        subscribers[i] = connect()
        subscribers[i]:write(i % 2 == 0 and "SUBSCRIBE" or "PSUBSCRIBE", "news")
    end
end

-- A step of all clients; `before_end` is called when a part of them has been read.
local function step(before_end)
    local at = math.random(#clients)
    for _, client in ipairs(clients) do send(client) end
    for i, client in ipairs(clients) do
        if before_end and i == at then before_end() end
        if not read(client) then
            client.c:close()
            client.c = nil
        end
    end
    for _, one in ipairs(moving) do move(one) end
    for _, client in ipairs(clients) do
        note(client)
        client.c = client.c or connect()
    end
end

-- -------------------------------------------------------------------------------------------------- checks

local function times_of(c, kind)
    local times = {}
    for _, token in ipairs(kinds[kind].found(c)) do times[token] = (times[token] or 0) + 1 end
    return times
end

-- What was answered is there once; else once or not, and nothing is there after what is not.
local function check_ledger(client, times)
    for _, batch in ipairs(client.batches) do
        local before = true
        for _, token in ipairs(batch) do
            local n = times[token] or 0
            if n > 1 or (client.acked[token] and n ~= 1) or (n == 1 and not before) then
                error(("%s is there %d times; answered: %s; those before it are there: %s"):format(
                    token, n, client.acked[token], before))
            end
            before = n == 1
        end
    end
end

local function check_ring(c)
    local times, n = {}, 0
    for _, token in ipairs(list_of_two(c, "ring1", "ring2")) do
        times[token], n = (times[token] or 0) + 1, n + 1
    end
    for i = 1, 30 do is({i, times["r" .. i]}, {i, 1}) end
    is(n, 30)
end

local function ids_of(list)
    local t = {}
    for id in list:gmatch("id=(%d+)") do t[#t + 1] = tonumber(id) end
    table.sort(t)
    return t
end

-- CLIENT LIST, and the counts of INFO, are the connections that are open: those of the dead are gone.
local function check_clients(c)
    local open = {c("CLIENT", "ID")}
    for _, client in ipairs(clients) do open[#open + 1] = client.c("CLIENT", "ID") end
    for _, one in ipairs(subscribers) do open[#open + 1] = one.id end
    table.sort(open)
    local fine = pcall(check.wait, function() return #ids_of(c("CLIENT", "LIST")) <= #open end)
    is(ids_of(c("CLIENT", "LIST")), open)
    assert(fine)
    local wanted = "connected_clients:" .. #open .. "\r"
    check.wait(function() return c("INFO", "clients"):find(wanted, 1, true) end)
    is(c("INFO", "clients"):match("blocked_clients:(%d+)"), "0")
end

-- The directory counts all that listen, and a message comes to each of them, once, whoever sends it.
local function check_messages(c)
    for _, one in ipairs(subscribers) do one:close() end
    check.wait(function() return c("PUBSUB", "NUMPAT") == 0 and c("PUBSUB", "NUMSUB", "news")[2] == 0 end)
    for i = 1, 6 do
        local one = connect()
        subscribers[i] = {c = one, id = one("CLIENT", "ID")}
        one(i % 2 == 0 and "SUBSCRIBE" or "PSUBSCRIBE", "news")
    end
    is(c("PUBSUB", "NUMSUB", "news"), {"news", 3})
    is(c("PUBSUB", "NUMPAT"), 1)
    for i, client in ipairs(clients) do is(client.c("PUBLISH", "news", tostring(i)), 6) end
    for _, one in ipairs(subscribers) do
        local got = {}
        for i = 1, #clients do
            local message = one.c:read()
            got[i] = tonumber(message[#message])
        end
        table.sort(got)
        for i = 1, #clients do is(got[i], i) end
    end
end

local function finish()
    for _, one in ipairs(moving) do one.c:close() end
    local c = connect()
    check.wait(function() return c("INFO", "clients"):find("blocked_clients:0\r", 1, true) end)
    for kind in pairs(kinds) do
        local times = kinds[kind].found and times_of(c, kind)
        for _, client in ipairs(clients) do
            if times and client.kind == kind then check_ledger(client, times) end
        end
    end
    is_whole(c, "m:")
    is_whole(c, "e:")
    check_ring(c)
    check_messages(c)
    check_clients(c)
    for _, one in ipairs(subscribers) do one.c:close() end
    for _, client in ipairs(clients) do client.c:close() end
    c:close()
end

case("exactly once, whoever is killed", function(first)
    first:close()
    local rounds, written = 0, 0
    while killed() < kills do
        begin()
        local enough = killed() + KILLS_A_ROUND
        while killed() < enough do step(math.random(3) == 1 and kill_some or nil) end
        step()
        finish()
        rounds = rounds + 1
        for _, client in ipairs(clients) do written = written + client.last end
    end
    print(("%d kills: %d of one, %d of all at once, %d of those that started; %d rounds, %d writes, seed %d")
        :format(killed(), count.one, count.all, count.starting, rounds, written, seed))
end)

check.run()
