-- Workers are killed while clients wait: what was pushed is handed to one client at most, and nobody waits in
-- vain. BLMOVE keeps each element in one list: that is exact. Of BLPOP an element may be lost, to a client
-- whose worker was killed after it was taken; it is never given twice.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is = check.case, check.is
ffi.cdef "int kill(int, int);"
local rounds = tonumber(arg[1]) or 3
local CONSUMERS = 6

-- A function that kills one of them at once.
local function killer()
    local list
    check.wait(function()
        list = check.workers()
        return #list > 0
    end)
    local victim = list[math.random(#list)]
    return function() ffi.C.kill(victim, 9) end, victim
end

-- Kill one, and wait until it is gone.
local function kill_one()
    local kill, victim = killer()
    kill()
    check.wait(function()
        for _, pid in ipairs(check.workers()) do
            if pid == victim then return false end
        end
        return true
    end)
end

-- A new connection instead of one that is closed; of a server whose worker is just being started.
local function connect()
    local c
    check.wait(function()
        c = check.connect()
        local fine = pcall(c, "PING")
        if not fine then c:close() end
        return fine
    end)
    return c
end

-- Each consumer has always one request on its way; what it is answered goes to `got`.
local function consume(consumers, request, got, wait_ms)
    for i, one in pairs(consumers) do
        if not one.asked then one.asked = pcall(one.c.write, one.c, unpack(request)) end
        if one.asked and one.c:ready(wait_ms) then
            local fine, answer = pcall(one.c.read, one.c)
            one.asked = false
            if fine then got(answer) end
            if not fine then
                one.c:close()
                one.c = connect()
            end
        elseif not one.asked then
            one.c:close()
            consumers[i] = {c = connect()}
        end
    end
end

-- Push `n` numbers at once after `last`, and read what is answered after `before` was called.
local function push(state, n, before)
    local bytes = {}
    for i = 1, n do bytes[i] = resp.encode("RPUSH", "in", tostring(state.last + i)) end
    pcall(state.producer.send, state.producer, table.concat(bytes))
    if before then before() end
    local fine = true
    for i = 1, n do
        fine = fine and pcall(state.producer.read, state.producer)
        if fine then state.pushed[state.last + i] = true else state.unknown[state.last + i] = true end
    end
    if not fine then
        state.producer:close()
        state.producer = connect()
    end
    state.last = state.last + n
end

local function run(request, got)
    local consumers, state = {}, {producer = connect(), last = 0, pushed = {}, unknown = {}, exact = {}}
    math.randomseed(16)
    for i = 1, CONSUMERS do consumers[i] = {c = connect()} end
    for round = 1, rounds do
        for _ = 1, 30 do
            push(state, math.random(3))
            consume(consumers, request, got, 0)
        end
        if round < rounds and round % 2 == 0 then -- all wait, most of them
            for _ = 1, 4 do consume(consumers, request, got, 3) end
            kill_one()
            state.exact[#state.exact + 1] = state.last + 1
            push(state, 5) -- clients of the dead get nothing of these
        elseif round < rounds then
            push(state, 100, killer())
        end
    end
    return consumers, state.producer, state.pushed, state.unknown, state.exact
end

-- Until the list is empty and all have what they asked for.
local function drain(consumers, producer, request, got)
    check.wait(function()
        consume(consumers, request, got, 1)
        local fine, len = pcall(producer, "LLEN", "in")
        if not fine then
            producer:close()
            producer = connect()
        end
        return fine and len == 0
    end)
    for _ = 1, 20 do consume(consumers, request, got, 5) end
    for _, one in pairs(consumers) do one.c:close() end
    producer:close()
end

case("BLMOVE: each element is in one list, once", function()
    local request = {"BLMOVE", "in", "out", "LEFT", "RIGHT", "0"}
    local consumers, producer, pushed, unknown = run(request, function() end)
    drain(consumers, producer, request, function() end)
    local c, times = connect(), {}
    for _, value in ipairs(c("LRANGE", "out", "0", "-1")) do
        times[tonumber(value)] = (times[tonumber(value)] or 0) + 1
    end
    for value in pairs(pushed) do is({value, times[value]}, {value, 1}) end
    for value in pairs(unknown) do assert((times[value] or 0) <= 1) end
    c:close()
end)

case("BLPOP: no element is given twice, few are lost", function()
    local request, times, lost, count = {"BLPOP", "in", "0"}, {}, 0, 0
    local function got(answer)
        local value = tonumber(answer[2])
        times[value] = (times[value] or 0) + 1
    end
    local consumers, producer, pushed, _, exact = run(request, got)
    drain(consumers, producer, request, got)
    for _, n in pairs(times) do is(n, 1) end
    for value in pairs(pushed) do
        count = count + 1
        if not times[value] then lost = lost + 1 end
    end
    print(("%d kills, %d elements, %d lost to clients of killed workers"):format(rounds - 1, count, lost))
    for _, first in ipairs(exact) do
        for value = first, first + 4 do
            if pushed[value] then is({value, times[value]}, {value, 1}) end
        end
    end
    -- Each client waits for one answer when its worker is killed.
    if lost > rounds * CONSUMERS then error(("%d of %d were lost"):format(lost, count)) end
end)

case("nobody is left in a line, or with an answer", function(c)
    check.wait(function() return c("INFO", "clients"):find("blocked_clients:0", 1, true) end)
    local one = connect()
    one:write("BLPOP", "in", "0")
    check.wait(function() return c("INFO", "clients"):find("blocked_clients:1", 1, true) end)
    is(c("RPUSH", "in", "x"), 1)
    is(one:read(), {"in", "x"})
    one:close()
end)

check.run()
