-- Workers are killed while clients add to a stream, read it as a group and acknowledge: what was answered is
-- there exactly once, and what is pending is so in all places.
--
--     luajit test_stream_kills.lua [ROUNDS]
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is = check.case, check.is
ffi.cdef "int kill(int, int);"

local rounds = tonumber(arg[1]) or 6
math.randomseed(5)

-- Send to each client what `request` says, read all answers: done(i, answer or nil).
local function all_at_once(clients, request, done)
    for i = 1, 8 do
        clients[i] = clients[i] or check.connect()
        clients[i]:send(request(i))
    end
    for i = 1, 8 do
        local fine, answer = pcall(clients[i].read, clients[i])
        if not fine then
            clients[i]:close()
            clients[i] = nil
        end
        done(i, fine and answer or nil)
    end
end

local function fields_by_token(entries)
    local t = {}
    for _, entry in ipairs(entries) do
        local token = entry[2][2]
        if t[token] then error("the entry " .. token .. " was added twice") end
        t[token] = entry[1]
    end
    return t
end

case("what was acknowledged is there once, whoever dies", function(c)
    local clients, tokens, added, taken, acked = {}, 0, {}, {}, {}
    is(c("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"), "OK")
    for round = 1, rounds do
        for _ = 1, 25 do
            local token, mine = {}, {}
            all_at_once(clients, function(i)
                tokens = tokens + 1
                token[i] = tostring(tokens)
                return resp.encode("XADD", "s", "*", "token", token[i])
            end, function(i, id) added[token[i]] = id end)
            all_at_once(clients, function(i)
                return resp.encode("XREADGROUP", "GROUP", "g", "c" .. i, "COUNT", 2, "STREAMS", "s", ">")
            end, function(i, answer)
                for _, entry in ipairs(answer and answer ~= resp.null and answer[1][2] or {}) do
                    if taken[entry[1]] then error("the entry " .. entry[1] .. " was delivered twice") end
                    taken[entry[1]] = i
                    mine[i] = entry[1]
                end
            end)
            all_at_once(clients, function(i) return resp.encode("XACK", "s", "g", mine[i] or "1-1") end,
                function(i, n)
                    if mine[i] and n then is(n, 1) end
                    if mine[i] then acked[mine[i]] = n or "open" end
                end)
        end
        if round < rounds then
            local list
            check.wait(function()
                list = check.workers()
                return #list > 0
            end)
            ffi.C.kill(list[math.random(#list)], 9)
        end
    end
    c = check.connect()
    local entries = c("XRANGE", "s", "-", "+")
    local found = fields_by_token(entries)
    for token, id in pairs(added) do is(found[token], id) end
    is(c("XLEN", "s"), #entries)
    -- delivered entries are pending, or acknowledged; of a killed worker some that no client has seen
    local pending = {}
    for _, one in ipairs(c("XPENDING", "s", "g", "-", "+", 1000000)) do pending[one[1]] = one[2] end
    for id, i in pairs(taken) do
        if not acked[id] then is(pending[id], "c" .. i) end
        if acked[id] == 1 then is(pending[id], nil) end
    end
    local sum = 0
    for i = 1, 8 do
        local list = c("XPENDING", "s", "g", "-", "+", 1000000, "c" .. i)
        sum = sum + #list
        for _, one in ipairs(list) do is(pending[one[1]], "c" .. i) end
    end
    is(c("XPENDING", "s", "g")[1], sum)
    is(c("INFO", "server"):match("worker_restarts:(%d+)") + 0 > 0, rounds > 1)
end)

check.run()
